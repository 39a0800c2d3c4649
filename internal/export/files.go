package export

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// IndexFile is the name of the file that lists the pages and their files.
const IndexFile = "index.jsonl"

// Files writes a file for each page into a folder. It also writes IndexFile, which has a line for
// each page: its record without the content, and the name of its file. If there are two lines about
// a page, the later one is valid.
//
// The name of a file consists of lower-case letters, digits and "-", so it is valid on every file
// system. It is the beginning of the SHA-256 of the URL and a part of the URL for people, such as
// "3f/3f2a…-example-org-intro.html". All access is through the folder (os.Root), so that nothing
// outside it is changed, even if the folder contains symbolic links.
type Files struct {
	root  *os.Root
	index *os.File
	lines *bufio.Writer
	made  map[string]bool // subfolders
	again bool            // there may be files of an earlier export
}

// IndexLine is a line of IndexFile.
type IndexLine struct {
	File string `json:"file,omitempty"` // empty: the page has no content, or is removed
	crawl.PageRow
}

// ErrNotEmpty means that the folder for OpenFiles contains files that it must not change.
var ErrNotEmpty = errors.New("the folder is not empty")

// OpenFiles begins an export into a folder. The folder may be empty. If there is none, OpenFiles
// creates it, readable by its owner only. With again, it may be the folder of an earlier export,
// which is updated. In all other cases the error wraps ErrNotEmpty.
func OpenFiles(dir string, again bool) (*Files, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	f := &Files{root: root, made: map[string]bool{}, again: again}
	if err := f.open(); err != nil {
		root.Close()
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return f, nil
}

func (f *Files) open() error {
	here, err := fs.ReadDir(f.root.FS(), ".")
	if err != nil {
		return err
	}
	info, err := f.root.Lstat(IndexFile)
	if len(here) > 0 && (!f.again || err != nil || !info.Mode().IsRegular()) {
		return ErrNotEmpty
	}
	if f.index, err = f.root.OpenFile(IndexFile, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600); err != nil {
		return err
	}
	if err := cutHalf(f.index); err != nil {
		return errors.Join(err, f.index.Close())
	}
	f.lines = bufio.NewWriterSize(f.index, 64<<10)
	return nil
}

// cutHalf cuts an incomplete line from the end of a file, because the next line would be lost with
// it. A process that was killed may have left it.
func cutHalf(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	buf := make([]byte, 64<<10)
	for end := info.Size(); end > 0; {
		n := min(end, int64(len(buf)))
		if _, err := f.ReadAt(buf[:n], end-n); err != nil {
			return err
		}
		i := bytes.LastIndexByte(buf[:n], '\n')
		if end -= n; i >= 0 || end == 0 {
			return f.Truncate(end + int64(i) + 1)
		}
	}
	return nil
}

// FileName is the name of the file of a page, relative to the folder. ending is "txt", "md" or
// "html".
func FileName(u canon.URL, ending string) string {
	sum := DocumentID(string(u))[:32]
	var words strings.Builder
	words.WriteString(sum)
	dash := true
	for _, c := range []byte(strings.ToLower(string(u.Host()) + u.Path())) {
		switch {
		case words.Len() == len(sum)+maxWords:
			return sum[:2] + "/" + strings.TrimRight(words.String(), "-") + "." + ending
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
			if dash {
				words.WriteByte('-')
			}
			words.WriteByte(c)
			dash = false
		default:
			dash = true
		}
	}
	return sum[:2] + "/" + words.String() + "." + ending
}

// maxWords limits the part of the URL in the name of a file, in bytes.
const maxWords = 60

// bom begins a file of HTML, so that programs read it as UTF-8 whatever charset the HTML names.
const bom = "\ufeff"

// Page writes the file of a page and its line. If the page is removed, or has no content any more,
// it deletes the file.
func (f *Files) Page(p *crawl.PageRow) error {
	u := canon.URL(p.URL)
	now := ""
	for _, content := range []struct{ ending, before, text string }{{"txt", "", p.Text}, {"md", "", p.Markdown}, {"html", bom, p.HTML}} {
		if content.text != "" {
			now = FileName(u, content.ending)
			if err := f.write(now, content.before+valid(content.text)); err != nil {
				return err
			}
		}
	}
	for _, ending := range []string{"txt", "md", "html"} {
		if name := FileName(u, ending); name != now && (f.again || now == "") {
			if err := f.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	row := *p
	row.Text, row.Markdown, row.HTML = "", "", ""
	j, err := line(IndexLine{File: now, PageRow: row})
	if err != nil {
		return err
	}
	_, err = f.lines.Write(j)
	return err
}

// write creates or replaces a file atomically, so that no file is incomplete.
func (f *Files) write(name, content string) error {
	if dir := path.Dir(name); !f.made[dir] {
		if err := f.root.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		f.made[dir] = true
	}
	const unfinished = "page.unfinished"
	to, err := f.root.OpenFile(unfinished, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.WriteString(to, content)
	if err = errors.Join(err, to.Close()); err != nil {
		return errors.Join(err, f.root.Remove(unfinished))
	}
	return f.root.Rename(unfinished, name)
}

// Close writes the rest of IndexFile.
func (f *Files) Close() error {
	return errors.Join(f.lines.Flush(), f.index.Close(), f.root.Close())
}
