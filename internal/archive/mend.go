package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/curtsy/curtsy/internal/disk"
	"github.com/curtsy/curtsy/internal/warc"
)

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
