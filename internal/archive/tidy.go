package archive

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/curtsy/curtsy/internal/disk"
	"github.com/curtsy/curtsy/internal/warc"
)

const (
	indexSuffix = ".cdxj" // suffix of the index of a file
	newSuffix   = ".new"  // suffix of a file that is incomplete
)

// Tidy makes the missing indexes of closed files. It returns how many it made.
func (a *Shard) Tidy() (made int, err error) {
	a.tidying.Lock()
	defer a.tidying.Unlock()
	files, err := a.closed()
	if err != nil {
		return 0, err
	}
	for _, path := range files {
		if _, err := os.Stat(path + indexSuffix); err == nil {
			continue
		}
		if err := indexOwn(path); err != nil {
			return made, err
		}
		made++
	}
	return made, nil
}

// closed returns the files of this archive that have their final names.
func (a *Shard) closed() (paths []string, err error) {
	a.mu.Lock()
	dirs := a.st.Dirs
	a.mu.Unlock()
	for _, dir := range dirs {
		names, err := ownFiles(dir, a.id)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if strings.HasSuffix(name, ".warc.gz") {
				paths = append(paths, filepath.Join(dir, name))
			}
		}
	}
	return paths, nil
}

// indexing is locked while an index is sorted: one index at a time has its lines in memory, about
// 40 MB for a file of the largest size.
var indexing sync.Mutex

// indexOwn makes the index of a closed file. It uses the lines that were collected while the file
// was open if they exist.
func indexOwn(path string) error {
	lines := path + indexSuffix + openSuffix
	text, err := disk.ReadRegular(lines)
	if errors.Is(err, fs.ErrNotExist) {
		_, err = Index(path)
		return err
	}
	if err == nil {
		indexing.Lock()
		err = putIndex(path, slices.Collect(bytes.Lines(text)))
		indexing.Unlock()
	}
	return errors.Join(err, os.Remove(lines))
}

// Index reads a WARC file and writes its index, in one step. It returns how many answers the index
// has. For a damaged file it indexes the part before the damage, and the error wraps
// warc.ErrDamaged.
func Index(path string) (entries int, err error) {
	indexing.Lock()
	defer indexing.Unlock()
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var lines [][]byte
	damage := warc.Entries(f, filepath.Base(path), func(e warc.Entry) error {
		lines = append(lines, e.Append(nil))
		return nil
	})
	if damage != nil && !errors.Is(damage, warc.ErrDamaged) {
		return 0, damage
	}
	return len(lines), errors.Join(putIndex(path, lines), damage)
}

// putIndex writes an index of these lines.
func putIndex(path string, lines [][]byte) error {
	slices.SortFunc(lines, bytes.Compare)
	temp := path + indexSuffix + newSuffix
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := disk.OpenRegular(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 64<<10)
	for _, l := range lines {
		w.Write(l)
	}
	if err := errors.Join(w.Flush(), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(temp, path+indexSuffix)
}

// maxLine is the longest line of an index that is read.
const maxLine = 1 << 20

// readIndex calls each for the lines of a file's index.
func readIndex(path string, each func(warc.Entry) error) error {
	f, err := os.Open(path + indexSuffix)
	if err != nil {
		return err
	}
	defer f.Close()
	return readEntries(f, each)
}

// readEntries calls each for the lines of an index.
func readEntries(r io.Reader, each func(warc.Entry) error) error {
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxLine)
	for in.Scan() {
		e, err := warc.ParseEntry(in.Bytes())
		if err == nil {
			err = each(e)
		}
		if err != nil {
			return err
		}
	}
	return in.Err()
}
