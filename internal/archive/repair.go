package archive

import (
	"bufio"
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

// oldSuffix is appended to the name of a file that was repaired. It may be followed by a number.
const oldSuffix = ".old"

// Repaired is what Repair did to a file.
type Repaired struct {
	Path    string // of the file now; without .open
	Old     string // where the bytes of before are, or "": they were as they should be
	Records int    // in the file, if it was written again
	Odd     int    // of these: written in another way than before
}

// ErrNothing means that a file has nothing that can be read, so that it was left as it is.
var ErrNothing = errors.New("no record in it can be read, so it is not changed")

// Repair writes a file again with all records that can be read, each as it should be, and keeps the
// old file under another name: what could not be read is in that one. It takes .open from the name,
// and writes a new index. A file that is as it should be stays. Nobody may be writing to the file.
//
// The new file is on disk before the old one changes its name, so a kill at any moment leaves a
// whole file under the name, and Repair may be called again. Memory does not depend on the file.
func Repair(path string) (did Repaired, err error) {
	bare, isOpen := strings.CutSuffix(path, openSuffix)
	did.Path = bare
	if isOpen {
		if _, err := os.Lstat(bare); !errors.Is(err, fs.ErrNotExist) {
			return did, fmt.Errorf("%s already exists", bare)
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return did, err
	}
	defer f.Close()
	before, err := f.Stat()
	if err != nil {
		return did, err
	}
	if mends, err := odd(f, bare); err != nil {
		return did, err
	} else if mends {
		if err := did.write(f, before); err != nil {
			return did, err
		}
		if did.Old, err = keep(path, before); err == nil {
			err = os.Rename(bare+newSuffix, path)
		}
		if err != nil {
			return did, err
		}
	}
	if isOpen {
		if err := os.Rename(path, bare); err != nil {
			return did, err
		}
	}
	if err := syncDir(filepath.Dir(bare)); err != nil {
		return did, err
	}
	if _, err = Index(bare); errors.Is(err, warc.ErrDamaged) {
		err = nil // it is of a kind that is not read
	}
	return did, err
}

// odd reports whether a file is not as Repair would write it.
func odd(f *os.File, name string) (mends bool, err error) {
	in := warc.NewScanner(f, name)
	in.Report = func(o warc.Oddity) { mends = mends || o.Mends }
	for err == nil {
		_, err = in.Next()
	}
	if err == io.EOF {
		err = nil
	}
	return mends, err
}

// write writes the new file.
func (did *Repaired) write(f *os.File, before fs.FileInfo) error {
	temp := did.Path + newSuffix
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	to, err := disk.OpenRegular(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(to, 64<<10)
	err = did.copy(w, f)
	if err == nil && did.Records == 0 {
		err = fmt.Errorf("%s: %w", f.Name(), ErrNothing)
	}
	if err := errors.Join(err, w.Flush(), to.Chmod(before.Mode().Perm()), to.Sync(), to.Close()); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return nil
}

// copy copies the records of a file. Two scanners read it, one a record behind the other: where a
// block ends, which the header of its record must say, is known only behind it.
func (did *Repaired) copy(w io.Writer, f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	first := warc.NewScanner(io.NewSectionReader(f, 0, info.Size()), did.Path)
	second := warc.NewScanner(io.NewSectionReader(f, 0, info.Size()), did.Path)
	for {
		rec, err := first.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		behind, err := second.Next()
		if err != nil {
			return err
		}
		switch err := rec.Close(); {
		case errors.Is(err, warc.ErrDamaged):
			continue
		case err != nil:
			return err
		}
		if did.Records++; rec.Perfect() {
			_, err = io.Copy(w, io.NewSectionReader(f, rec.Offset, rec.Length))
		} else {
			did.Odd++
			err = behind.Rewrite(w, rec.Size, first.Packed())
		}
		if err != nil {
			return err
		}
	}
}

// keep gives a file a second name for good: the first one that is free, or that the file has
// already, because a kill came between keep and what follows it.
func keep(path string, file fs.FileInfo) (old string, err error) {
	for n := 1; ; n++ {
		if old = path + oldSuffix; n > 1 {
			old += fmt.Sprint(n)
		}
		err = os.Link(path, old)
		if there, serr := os.Lstat(old); err != nil && serr == nil {
			if os.SameFile(there, file) {
				return old, nil
			}
			continue
		}
		break
	}
	if err != nil { // the file system has no links
		err = duplicate(path, old)
	}
	if err != nil {
		return "", err
	}
	return old, syncDir(filepath.Dir(path))
}

// duplicate copies a file.
func duplicate(path, to string) error {
	from, err := os.Open(path)
	if err != nil {
		return err
	}
	defer from.Close()
	return rejoin(to, from)
}
