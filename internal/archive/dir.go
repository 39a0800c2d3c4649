package archive

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/curtsy/curtsy/internal/warc"
)

// ErrNone means that there is no WARC file where one was expected.
var ErrNone = errors.New("no WARC files")

// Files returns the WARC files of a directory, by any program, in the order of their names: those
// that are closed, and those that end in .open.
func Files(dir string) (closed, open []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		name := e.Name()
		bare, isOpen := strings.CutSuffix(name, openSuffix)
		switch {
		case !e.Type().IsRegular() || !isWARC(bare):
		case isOpen:
			open = append(open, filepath.Join(dir, name))
		default:
			closed = append(closed, filepath.Join(dir, name))
		}
	}
	if len(closed)+len(open) == 0 {
		return nil, nil, fmt.Errorf("%w in %s", ErrNone, dir)
	}
	return closed, open, nil
}

// isWARC reports whether a file has the name of a WARC file. Those in zstd and ARC files are among
// them, so that it is said that they are not read.
func isWARC(name string) bool {
	for _, suffix := range []string{".warc.gz", ".warc", ".warc.zst", ".arc", ".arc.gz"} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return false
}

// HasIndex reports whether a file has an index that is not older than the file.
func HasIndex(path string) bool {
	index, err := os.Stat(path + indexSuffix)
	if err != nil {
		return false
	}
	file, err := os.Stat(path)
	return err == nil && !index.ModTime().Before(file.ModTime())
}

// Entries calls each for the answers in a file. With a valid index it reads the index, in the order
// of the keys, else the file itself, in the order of its records.
func Entries(path string, each func(warc.Entry) error) error {
	if HasIndex(path) {
		return readIndex(path, each)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return warc.Entries(f, filepath.Base(path), each)
}

// newer finds the newest capture of a URL.
type newer struct {
	key, limit string
	full       bool // without revisits
	best       located
	found      bool
}

func (n *newer) look(p located) {
	if p.Key != n.key || p.Time > n.limit || n.found && p.Time < n.best.Time || n.full && p.Mime == warc.MimeRevisit {
		return
	}
	n.best, n.found = p, true
}

// referred finds the answer that a revisit refers to: by URL and time or, if these are missing or
// do not match, by digest.
type referred struct {
	key, time, digest string

	best  located
	found bool
	named bool // best is the answer that the revisit names
}

// refers returns what a revisit refers to.
func refers(rec *warc.Record) (r referred) {
	r.digest = rec.Get("WARC-Payload-Digest")
	at, err := warc.ParseTime(rec.Get("WARC-Refers-To-Date"))
	if uri := rec.Get("WARC-Refers-To-Target-URI"); uri != "" && err == nil {
		r.key, r.time = warc.Key(strings.Trim(uri, "<>")), warc.Stamp(at)
	}
	return r
}

func (r *referred) look(p located) {
	same := r.digest != "" && p.Digest == r.digest
	named := r.key != "" && p.Key == r.key && p.Time == r.time && (same || r.digest == "" || p.Digest == "")
	if p.Mime != warc.MimeRevisit && (named || same && !r.named) {
		r.best, r.found, r.named = p, true, named
	}
}

// limitOf returns the last time that begins with these digits. Indexes of other programs have times
// with milliseconds, of 17 digits.
func limitOf(until string) string { return until + strings.Repeat("9", max(20-len(until), 0)) }

// Read calls do with the record of an entry.
func Read(path string, e warc.Entry, do func(rec *warc.Record) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		err = readAt(io.NewSectionReader(f, e.Offset, max(info.Size()-e.Offset, 0)), e, do)
	}
	if err != nil {
		return fmt.Errorf("%s at byte %d: %w", path, e.Offset, err)
	}
	return nil
}

// readAt calls do with the record of an entry, in a file that is read from the entry's offset to
// its end. How a record ends may depend on what follows it.
func readAt(r io.Reader, e warc.Entry, do func(rec *warc.Record) error) error {
	rec, err := warc.NewScanner(r, e.Filename).At(e.Within)
	if err != nil {
		return err
	}
	return do(rec)
}
