package archive

import (
	"archive/zip"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/curtsy/curtsy/internal/warc"
)

// Collection is a set of answers that can be searched: the closed WARC files of a directory, or a
// WACZ file.
type Collection struct {
	files []string // of a directory

	f      *os.File // a WACZ file
	inside map[string]*zip.File
	index  []*zip.File
}

// OpenCollection opens a directory, or a file with the name of a WACZ file. The error wraps ErrNone
// if there are no WARC files.
func OpenCollection(name string) (*Collection, error) {
	if !IsWACZ(name) {
		closed, _, err := Files(name)
		return &Collection{files: closed}, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	c := &Collection{f: f, inside: map[string]*zip.File{}}
	if err := c.look(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), f.Close())
	}
	return c, nil
}

// look reads the directory of a WACZ file.
func (c *Collection) look() error {
	info, err := c.f.Stat()
	if err != nil {
		return err
	}
	z, err := zip.NewReader(c.f, info.Size())
	if err != nil {
		return err
	}
	for _, f := range z.File {
		switch {
		case strings.HasSuffix(f.Name, "/"):
		case strings.HasPrefix(f.Name, waczArchive):
			c.inside[path.Base(f.Name)] = f
		case strings.HasPrefix(f.Name, "indexes/") && !strings.HasSuffix(f.Name, ".idx"):
			c.index = append(c.index, f)
		}
	}
	if len(c.inside) == 0 || len(c.index) == 0 {
		return fmt.Errorf("%w, or no index", ErrNone)
	}
	return nil
}

// Close closes the files.
func (c *Collection) Close() error {
	if c.f == nil {
		return nil
	}
	return c.f.Close()
}

// Entries calls each for all answers, file by file, or for a WACZ file in the order of its index.
// If a file is damaged, the error wraps warc.ErrDamaged, after all answers that can be read.
func (c *Collection) Entries(each func(warc.Entry) error) error {
	var damage error
	for _, file := range c.files {
		err := Entries(file, each)
		if errors.Is(err, warc.ErrDamaged) {
			damage = errors.Join(damage, fmt.Errorf("%s: %w", file, err))
		} else if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	for _, f := range c.index {
		if err := entriesIn(f, each); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return damage
}

// entriesIn calls each for the lines of an index in a WACZ file.
func entriesIn(f *zip.File, each func(warc.Entry) error) error {
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	lines := io.Reader(r)
	if strings.HasSuffix(f.Name, ".gz") {
		if lines, err = gzip.NewReader(r); err != nil {
			return err
		}
	}
	return readEntries(io.LimitReader(lines, maxIndex), each)
}

// located is an answer and its file; for a directory the file's path.
type located struct {
	warc.Entry
	path string
}

// located calls each for all answers. Damage is no error: what was lost cannot be found.
func (c *Collection) located(each func(located)) error {
	for _, file := range c.files {
		err := Entries(file, func(e warc.Entry) error { each(located{e, file}); return nil })
		if err != nil && !errors.Is(err, warc.ErrDamaged) {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	if c.f == nil {
		return nil
	}
	return c.Entries(func(e warc.Entry) error { each(located{e, ""}); return nil })
}

// Find calls do with the record of the newest capture of a URL, by its key, that is not newer than
// until (14 digits, or the first of them; "" for the newest of all). With body, a revisit is
// replaced by the answer that it refers to or, if that is not in the collection, by the newest
// answer of the URL that is not a revisit. The error wraps fs.ErrNotExist if there is none.
func (c *Collection) Find(key, until string, body bool, do func(rec *warc.Record) error) error {
	newest := newer{key: key, limit: limitOf(until)}
	full := newer{key: key, limit: limitOf(until), full: true}
	if err := c.located(func(p located) { newest.look(p); full.look(p) }); err != nil {
		return err
	}
	if !newest.found {
		return fs.ErrNotExist
	}
	if !body || newest.best.Mime != warc.MimeRevisit {
		return c.read(newest.best, do)
	}
	var first referred
	if err := c.read(newest.best, func(rec *warc.Record) error { first = refers(rec); return nil }); err != nil {
		return err
	}
	if err := c.located(first.look); err != nil {
		return err
	}
	switch {
	case first.found:
		return c.read(first.best, do)
	case full.found:
		return c.read(full.best, do)
	}
	return fs.ErrNotExist
}

// read calls do with the record of an answer. In a WACZ file, a WARC file that is stored
// uncompressed, as it should be, is read at the record's position; otherwise everything before the
// record must be unpacked.
func (c *Collection) read(e located, do func(rec *warc.Record) error) error {
	if c.f == nil {
		return Read(e.path, e.Entry, do)
	}
	f := c.inside[path.Base(e.Filename)]
	if f == nil {
		return fmt.Errorf("its index lists %.80q, but it does not contain that file", e.Filename)
	}
	var at io.Reader
	if f.Method == zip.Store {
		from, err := f.DataOffset()
		if err != nil {
			return err
		}
		within := io.NewSectionReader(c.f, from, int64(f.UncompressedSize64))
		at = io.NewSectionReader(within, e.Offset, max(within.Size()-e.Offset, 0))
	} else {
		r, err := f.Open()
		if err != nil {
			return err
		}
		defer r.Close()
		if _, err := io.CopyN(io.Discard, r, e.Offset); err != nil {
			return fmt.Errorf("%s at byte %d: %w", f.Name, e.Offset, err)
		}
		at = r
	}
	if err := readAt(at, e.Entry, do); err != nil {
		return fmt.Errorf("%s at byte %d: %w", f.Name, e.Offset, err)
	}
	return nil
}
