package archive

import (
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"container/heap"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/disk"
	"github.com/curtsy/curtsy/internal/warc"
)

// A WACZ file (Web Archive Collection Zipped, version 1.1.1) is a ZIP file of WARC files, stored
// unchanged, one index of all of them, a list of pages, and a data package with the digest of each
// file. Replay software reads only the parts that it needs, so a WARC file must not be compressed
// again.

const (
	waczVersion  = "1.1.1"
	waczSuffix   = ".wacz"
	waczManifest = "datapackage.json"
	waczDigest   = "datapackage-digest.json"
	waczArchive  = "archive/"
	waczIndex    = "indexes/index.cdx.gz"
	waczSummary  = "indexes/index.idx"
	waczPages    = "pages/pages.jsonl"

	// indexBlock is how many lines of the index are one gzip member. The summary has the first line
	// of each, so one member is read to find a URL.
	indexBlock = 3000
	// maxPacked is how many WARC files one WACZ file may have, because their indexes are open at
	// the same time.
	maxPacked = 4096
)

// Package has the title and the other descriptions of a WACZ file.
type Package struct {
	Title       string // empty: none
	Description string // Markdown; empty: none
	Software    string // that makes the file
	Created     time.Time
	// TitleOf returns the title of a page from its answer. If it is nil or returns "", the list of
	// pages has no title for it.
	TitleOf func(answer *warc.Record) string
}

// Packed counts the contents of a WACZ file.
type Packed struct {
	Files   int // WARC files
	Answers int // in the index
	Pages   int // in the list of pages
}

// resource is a file of a data package.
type resource struct {
	Name  string `json:"name"`
	Path  string `json:"path"`
	Hash  string `json:"hash"`
	Bytes int64  `json:"bytes"`
}

// manifest is a datapackage.json, with the fields that we use.
type manifest struct {
	Profile     string     `json:"profile"`
	Version     string     `json:"wacz_version"`
	Title       string     `json:"title,omitempty"`
	Description string     `json:"description,omitempty"`
	Created     time.Time  `json:"created"`
	Software    string     `json:"software"`
	Resources   []resource `json:"resources"`
}

// manifestDigest is a datapackage-digest.json.
type manifestDigest struct {
	Path string `json:"path"`
	Hash string `json:"hash"`
}

// Pack writes closed WARC files into a new WACZ file, in one step: it gets its name when all of it
// is on disk. A file without an index gets one first. Memory has only one line of each index, one
// line of the new index for each 3000 answers, and what TitleOf needs. If path exists already, the
// error wraps fs.ErrExist.
func Pack(ctx context.Context, path string, files []string, p Package) (packed Packed, err error) {
	if len(files) > maxPacked {
		return packed, fmt.Errorf("%d files are too many for one WACZ file; the limit is %d: move some into another directory", len(files), maxPacked)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return packed, cmp.Or(err, fmt.Errorf("%s: %w", path, fs.ErrExist))
	}
	temp := path + newSuffix
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return packed, err
	}
	f, err := disk.OpenRegular(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY)
	if err != nil {
		return packed, err
	}
	to := packer{ctx: ctx, zip: zip.NewWriter(f), created: p.Created}
	err = to.pack(files, p)
	if err := errors.Join(err, to.zip.Close(), f.Sync(), f.Close()); err != nil {
		return packed, errors.Join(err, os.Remove(temp))
	}
	if err := os.Rename(temp, path); err != nil {
		return packed, err
	}
	return to.packed, syncDir(filepath.Dir(path))
}

// packer is a WACZ file that is being written.
type packer struct {
	ctx       context.Context
	zip       *zip.Writer
	created   time.Time
	resources []resource
	packed    Packed
}

func (p *packer) pack(files []string, about Package) error {
	var before []os.FileInfo
	for _, path := range files {
		if !HasIndex(path) {
			if _, err := Index(path); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		before = append(before, info)
		if err := p.add(waczArchive+filepath.Base(path), zip.Store, func(to io.Writer) error { return p.copy(to, path) }); err != nil {
			return err
		}
	}
	p.packed.Files = len(files)
	var summary bytes.Buffer
	if err := p.add(waczIndex, zip.Store, func(to io.Writer) error { return p.index(to, &summary, files) }); err != nil {
		return err
	}
	if err := p.add(waczSummary, zip.Deflate, func(to io.Writer) error { _, err := summary.WriteTo(to); return err }); err != nil {
		return err
	}
	if err := p.add(waczPages, zip.Deflate, func(to io.Writer) error { return p.pages(to, files, about.TitleOf) }); err != nil {
		return err
	}
	for i, path := range files {
		// Forgetting rewrites a file and its index.
		now, err := os.Stat(path)
		if err != nil {
			return err
		}
		if !os.SameFile(now, before[i]) || !now.ModTime().Equal(before[i].ModTime()) || !HasIndex(path) {
			return fmt.Errorf("%s changed while it was being packed: run the command again", path)
		}
	}
	text, err := json.MarshalIndent(manifest{"data-package", waczVersion, about.Title, about.Description, about.Created.UTC().Truncate(time.Second), about.Software, p.resources}, "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(p.write(waczManifest, text), p.writeJSON(waczDigest, manifestDigest{waczManifest, warc.Digest(text)}))
}

// add writes a file and adds it to the manifest.
func (p *packer) add(name string, method uint16, write func(to io.Writer) error) error {
	w, err := p.zip.CreateHeader(&zip.FileHeader{Name: name, Method: method, Modified: p.created})
	if err != nil {
		return err
	}
	sum := &summed{to: w, hash: sha256.New()}
	if err := write(sum); err != nil {
		return err
	}
	p.resources = append(p.resources, resource{resourceName(name, len(p.resources)), name, warc.DigestOf([sha256.Size]byte(sum.hash.Sum(nil))), sum.n})
	return nil
}

// resourceName returns the name of a resource of a data package: lower case letters, digits and a
// few other characters. A number distinguishes names that would be equal.
func resourceName(path string, n int) string {
	name := path[strings.LastIndexByte(path, '/')+1:]
	plain := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || strings.ContainsRune("-._", r) {
			return r
		}
		return '-'
	}, strings.ToLower(name))
	if plain != name {
		plain = fmt.Sprintf("%d-%s", n, plain)
	}
	return plain
}

// write writes a file that is not in the manifest.
func (p *packer) write(name string, text []byte) error {
	w, err := p.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: p.created})
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}

func (p *packer) writeJSON(name string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return p.write(name, text)
}

// summed counts and hashes what is written.
type summed struct {
	to   io.Writer
	hash hash.Hash
	n    int64
}

func (s *summed) Write(b []byte) (int, error) {
	n, err := s.to.Write(b)
	s.hash.Write(b[:n])
	s.n += int64(n)
	return n, err
}

// copy copies a file, until ctx ends.
func (p *packer) copy(to io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	buf := make([]byte, 256<<10)
	for {
		n, err := f.Read(buf)
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err := cmp.Or(err, p.ctx.Err()); err != nil {
			return err
		}
	}
}

// index writes the lines of all indexes in order, in gzip members, and a summary with their
// positions.
func (p *packer) index(to io.Writer, summary *bytes.Buffer, files []string) error {
	fmt.Fprintf(summary, "!meta 0 {\"format\": \"cdxj-gzip-1.0\", \"filename\": %q}\n", waczIndex[strings.LastIndexByte(waczIndex, '/')+1:])
	var member bytes.Buffer
	z := gzip.NewWriter(&member)
	lines, offset, first := 0, 0, ""
	end := func() error {
		if lines == 0 && offset > 0 {
			return nil
		}
		if err := z.Close(); err != nil {
			return err
		}
		if lines == 0 { // no answers at all: also an index without lines is a gzip file
			_, err := member.WriteTo(to)
			return err
		}
		fmt.Fprintf(summary, "%s {\"offset\": %d, \"length\": %d}\n", first, offset, member.Len())
		offset += member.Len()
		lines = 0
		_, err := member.WriteTo(to)
		z.Reset(&member)
		return err
	}
	err := p.merged(files, func(line []byte) error {
		e, err := warc.ParseEntry(line)
		if err != nil {
			return err
		}
		p.packed.Answers++
		if lines == 0 {
			first = e.Key + " " + e.Time
		}
		z.Write(line)
		if _, err := z.Write([]byte{'\n'}); err != nil {
			return err
		}
		if lines++; lines == indexBlock {
			return end()
		}
		return nil
	})
	return errors.Join(err, end())
}

// pages lists the answers that are pages: complete HTML, no revisits.
func (p *packer) pages(to io.Writer, files []string, titleOf func(*warc.Record) string) error {
	w := bufio.NewWriter(to)
	paths := map[string]string{} // by their names in indexes
	for _, path := range files {
		paths[filepath.Base(path)] = path
	}
	fmt.Fprintln(w, `{"format": "json-pages-1.0", "id": "pages", "title": "All Pages"}`)
	err := p.merged(files, func(line []byte) error {
		e, err := warc.ParseEntry(line)
		if err != nil {
			return err
		}
		at, err := time.Parse("20060102150405", e.Time[:min(len(e.Time), 14)])
		isAnswer := e.Status == "200" || e.Status == "" // a resource has no status
		if err != nil || !isAnswer || e.Mime != "text/html" && e.Mime != "application/xhtml+xml" {
			return nil
		}
		p.packed.Pages++
		title := ""
		if path := paths[e.Filename]; path != "" && titleOf != nil {
			if err := Read(path, e, func(rec *warc.Record) error { title = titleOf(rec); return nil }); err != nil {
				return err
			}
		}
		if err := p.ctx.Err(); err != nil {
			return err
		}
		text, err := json.Marshal(struct {
			ID    string    `json:"id"`
			URL   string    `json:"url"`
			TS    time.Time `json:"ts"`
			Title string    `json:"title,omitempty"`
		}{fmt.Sprint(p.packed.Pages), e.URL, at, title})
		if err == nil {
			_, err = w.Write(append(text, '\n'))
		}
		return err
	})
	return errors.Join(err, w.Flush())
}

// merged calls each for the lines of all indexes of the files, in order.
func (p *packer) merged(files []string, each func(line []byte) error) error {
	var all merge
	defer func() {
		for _, i := range all {
			i.f.Close()
		}
	}()
	for _, path := range files {
		f, err := os.Open(path + indexSuffix)
		if err != nil {
			return err
		}
		in := &sortedLines{f: f, Scanner: bufio.NewScanner(f)}
		in.Buffer(make([]byte, 4<<10), maxLine)
		if !in.Scan() {
			if err := errors.Join(in.Err(), f.Close()); err != nil {
				return fmt.Errorf("%s: %w", f.Name(), err)
			}
			continue
		}
		all = append(all, in)
	}
	heap.Init(&all)
	for n := 0; len(all) > 0; n++ {
		in := all[0]
		if err := each(in.Bytes()); err != nil {
			return fmt.Errorf("%s: %w", in.f.Name(), err)
		}
		if in.Scan() {
			heap.Fix(&all, 0)
		} else {
			heap.Pop(&all)
			if err := errors.Join(in.Err(), in.f.Close()); err != nil {
				return fmt.Errorf("%s: %w", in.f.Name(), err)
			}
		}
		if n%indexBlock == 0 && p.ctx.Err() != nil {
			return p.ctx.Err()
		}
	}
	return nil
}

// sortedLines is an index, at one of its lines.
type sortedLines struct {
	f *os.File
	*bufio.Scanner
}

// merge is a heap of indexes, by their lines.
type merge []*sortedLines

func (m merge) Len() int           { return len(m) }
func (m merge) Less(i, j int) bool { return bytes.Compare(m[i].Bytes(), m[j].Bytes()) < 0 }
func (m merge) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }
func (m *merge) Push(x any)        { *m = append(*m, x.(*sortedLines)) }
func (m *merge) Pop() any {
	last := (*m)[len(*m)-1]
	*m = (*m)[:len(*m)-1]
	return last
}
