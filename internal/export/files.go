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

// IndexFile is the name of the file that says which file is which page.
const IndexFile = "index.jsonl"

// Files writes a file for each page into a folder, and IndexFile, a line for each page: its record
// without the content, and the name of its file. Of two lines about a page the later one holds.
//
// A name is made of letters, digits and "-" in lower case, so it is the same on every file system,
// and says little: "3f/3f2a…-example-org-intro.html", the beginning of the URL's SHA-256 and a part
// of the URL for people. All access goes by way of the folder (os.Root), so that nothing outside it
// is touched, links that somebody has put there included.
type Files struct {
	root  *os.Root
	index *os.File
	lines *bufio.Writer
	made  map[string]bool // subfolders
	again bool            // there may be files of an earlier export
}

// IndexLine is a line of IndexFile.
type IndexLine struct {
	File string `json:"file,omitempty"` // absent: the page has no content, or is removed
	crawl.PageRow
}

// ErrNotEmpty is what OpenFiles says of a folder with something in it that is not to be touched.
var ErrNotEmpty = errors.New("the folder is not empty")

// OpenFiles begins an export into a folder, which it makes, readable by its owner only, unless
// there is an empty one. With again, it may be one of an earlier export, which is brought up to
// date. The error wraps ErrNotEmpty where the folder is neither.
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

// cutHalf cuts the half of a line from the end of a file, which a process leaves that was killed:
// the next line would be lost with it.
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

// FileName is the name of the file of a page, below the folder: by its URL, and by what is in it
// ("txt", "md", "html").
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

// maxWords is how much of a URL stands in a file's name, in bytes.
const maxWords = 60

// bom begins a file of HTML, so that it is read as the UTF-8 it is, whatever it says of itself.
const bom = "\ufeff"

// Page writes the file of a page and its line, or takes its file away if it is removed, or has no
// content any more.
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

// write makes a file, or puts another in its place: in one act, so that no page is there half.
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

// Close writes what is left of the index.
func (f *Files) Close() error {
	return errors.Join(f.lines.Flush(), f.index.Close(), f.root.Close())
}
