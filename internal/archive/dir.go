package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/curtsy/curtsy/internal/disk"
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
		case !e.Type().IsRegular() || !strings.HasSuffix(bare, ".warc.gz") && !strings.HasSuffix(bare, ".warc"):
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
	rec, err := warc.NewReader(io.NewSectionReader(f, e.Offset, e.Length)).Next()
	if err == nil {
		err = do(rec)
	}
	if err != nil {
		return fmt.Errorf("%s at byte %d: %w", path, e.Offset, err)
	}
	return nil
}

// Repair removes everything from a file that is not a complete record, and .open from its name.
// Nobody may be writing to the file. It returns how many bytes were removed.
func Repair(path string) (cut int64, err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if cut, err = mend(path, f); err != nil {
		return 0, err
	}
	if bare, isOpen := strings.CutSuffix(path, openSuffix); isOpen {
		if _, err := os.Lstat(bare); !errors.Is(err, fs.ErrNotExist) {
			return cut, fmt.Errorf("%s already exists", bare)
		}
		if err := os.Rename(path, bare); err != nil {
			return cut, err
		}
		path = bare
	}
	_, err = Index(path)
	return cut, err
}

// mend removes everything from a file that is not a complete record, and returns how many bytes
// that was. A file that is damaged in several places stays unchanged, and the error wraps
// warc.ErrDamaged.
func mend(path string, f *os.File) (cut int64, err error) {
	whole, _, damage := warc.Whole(f)
	if damage == nil {
		return 0, nil
	}
	if !errors.Is(damage, warc.ErrDamaged) {
		return 0, damage
	}
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	rest, err := behind(f, whole, info.Size())
	if err != nil {
		return 0, err
	}
	if rest == info.Size() {
		return rest - whole, errors.Join(f.Truncate(whole), f.Sync())
	}
	return rest - whole, rejoin(path, io.MultiReader(io.NewSectionReader(f, 0, whole), io.NewSectionReader(f, rest, info.Size()-rest)))
}

// rejoin replaces the content of a file in one step.
func rejoin(path string, content io.Reader) error {
	temp := path + newSuffix
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	to, err := disk.OpenRegular(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, content)
	if err := errors.Join(err, to.Sync(), to.Close()); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// searches is how often a file is read to find complete records after damage.
const searches = 16

var errSearched = errors.New("too much of it looks like the beginning of a record")

// limited reads a limited number of bytes in total.
type limited struct {
	io.ReaderAt
	left int64
}

// ReadAt implements io.ReaderAt.
func (l *limited) ReadAt(p []byte, at int64) (int, error) {
	if l.left <= 0 {
		return 0, errSearched
	}
	n, err := l.ReaderAt.ReadAt(p, at)
	l.left -= int64(n)
	return n, err
}

// behind returns where complete records continue after damage, or the size if there are none. From
// there on all records must be complete: a record that is followed by damage may be text of a site
// within the damaged record. It returns an error if both complete records and further damage
// follow, or if a file has so much that looks like the beginning of a long record that it would be
// read more than searches times.
func behind(file io.ReaderAt, damage, size int64) (at int64, err error) {
	f := &limited{ReaderAt: file, left: searches*size + 1<<20}
	var first [2]byte
	if _, err := f.ReadAt(first[:], 0); err != nil && err != io.EOF {
		return 0, err
	}
	begin := []byte("WARC/")
	if first == [2]byte{0x1f, 0x8b} {
		begin = []byte{0x1f, 0x8b, 8}
	}
	buf := make([]byte, 1<<20)
	inside := int64(-1)
	for at = damage + 1; at < size; {
		n, err := f.ReadAt(buf[:min(int64(len(buf)), size-at)], at)
		if err != nil && err != io.EOF {
			return 0, err
		}
		i := bytes.Index(buf[:n], begin)
		switch {
		case i < 0 && at+int64(n) == size:
			at = size
			continue
		case i < 0:
			at += int64(n - len(begin) + 1)
			continue
		}
		at += int64(i)
		length, records, err := warc.Whole(io.NewSectionReader(f, at, size-at))
		switch {
		case f.left <= 0:
			return 0, fmt.Errorf("%w at byte %d: the file is not changed, because %w", warc.ErrDamaged, damage, errSearched)
		case err != nil && !errors.Is(err, warc.ErrDamaged):
			return 0, err
		case err == nil && inside < 0:
			return at, nil
		case err == nil:
			at = size
		case records > 0:
			inside = at
			at += length
		default:
			at++
		}
	}
	if inside >= 0 {
		return 0, fmt.Errorf("%w at byte %d and again after byte %d, with whole records after both: the file is not changed", warc.ErrDamaged, damage, inside)
	}
	return size, nil
}
