package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/curtsy/curtsy/internal/disk"
)

// CrawlLogWriter appends lines to the crawl log of a data directory. A full file is renamed: its
// name contains its offset in the log. Then a new file is begun, and the oldest files beyond a
// limit are removed. A process has one Writer for a directory; its methods may be called
// concurrently.
//
// The state after a kill in each step of that:
//
//	after the full file was synced      nothing has changed
//	after it was renamed                no crawl.jsonl: the next Writer, or write, begins one
//	after the new one was begun         one old file too many: the next step removes it
//	after each removal                  the same
//
// A kill in a write leaves all of it or nothing, because it is one system call. If less was written
// in spite of that (the disk was full, the machine failed), the incomplete line is cut off before
// the next write.
type CrawlLogWriter struct {
	dir  string
	max  int64 // a file that would exceed this is full; 0: files have no limit
	keep int   // number of full files to keep

	mu   sync.Mutex // guards the rest
	f    *os.File   // the current file
	size int64      // length of its complete lines
	torn bool       // an incomplete line follows them
	gone bool       // f was renamed, and there is no crawl.jsonl yet
}

// step is called at each step of a rotation. Tests let it fail, as if the process was killed there.
var step = func(string) error { return nil }

// OpenCrawlLogWriter opens or begins the crawl log in dir. A file has up to max bytes (0: any
// number), and the last keep full files are kept beside the current one. Further files, which exist
// if keep was larger before, are removed once another file is full.
func OpenCrawlLogWriter(dir string, max int64, keep int) (*CrawlLogWriter, error) {
	w := &CrawlLogWriter{dir: dir, max: max, keep: keep}
	if err := w.begin(); err != nil {
		return nil, err
	}
	return w, nil
}

func (w *CrawlLogWriter) path() string { return filepath.Join(w.dir, CrawlLogName) }

// begin opens crawl.jsonl, and cuts off an incomplete line that a crash may have left at its end.
func (w *CrawlLogWriter) begin() error {
	f, err := disk.OpenRegular(w.path(), os.O_CREATE|os.O_RDWR|os.O_APPEND)
	if err != nil {
		return err
	}
	size, whole, err := wholeLines(f)
	if err == nil && whole < size {
		err = f.Truncate(whole)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("crawl log: %w", err), f.Close())
	}
	w.f, w.size = f, whole
	return nil
}

// wholeLines is the size of a file, and the length of its complete lines.
func wholeLines(f *os.File) (size, whole int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, 0, err
	}
	size = info.Size()
	b := make([]byte, logBlock)
	for whole = size; whole > 0; {
		n := min(int64(len(b)), whole)
		if _, err := f.ReadAt(b[:n], whole-n); err != nil {
			return size, 0, err
		}
		if i := bytes.LastIndexByte(b[:n], '\n'); i >= 0 {
			return size, whole - n + int64(i) + 1, nil
		}
		whole -= n
	}
	return size, 0, nil
}

// Write appends complete lines, all of them or none, to one file. If it returns an error although
// all were written, no new file could be begun, or an old one could not be removed; the next call
// tries again.
func (w *CrawlLogWriter) Write(lines []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.f == nil {
		return 0, fs.ErrClosed
	}
	if w.torn {
		if err := w.f.Truncate(w.size); err != nil {
			return 0, err
		}
		w.torn = false
	}
	var stuck error
	if w.max > 0 && w.size > 0 && w.size+int64(len(lines)) > w.max {
		stuck = w.rotate()
	}
	if w.gone {
		return 0, stuck // the renamed file must not grow
	}
	n, err := w.f.Write(lines)
	if err != nil {
		w.torn = n > 0
		return 0, err
	}
	w.size += int64(n)
	return n, stuck
}

// rotate renames the full file and begins another. The next call repeats what failed.
func (w *CrawlLogWriter) rotate() error {
	if !w.gone {
		if err := errors.Join(w.f.Sync(), step("synced")); err != nil {
			return err
		}
		if err := w.quarantine(); err != nil {
			return err
		}
		w.gone = true
		if err := step("renamed"); err != nil {
			return err
		}
	}
	full := w.f
	if err := w.begin(); err != nil {
		return err
	}
	w.gone = false
	if err := errors.Join(full.Close(), step("begun")); err != nil {
		return err
	}
	return w.removeOld()
}

// quarantine renames the full file to a name that contains its offset in the log.
func (w *CrawlLogWriter) quarantine() error {
	old, err := oldFiles(w.dir)
	if err != nil {
		return err
	}
	name := oldFile{}
	if len(old) > 0 {
		last := old[len(old)-1]
		info, err := os.Lstat(filepath.Join(w.dir, last.name()))
		if err != nil {
			return err
		}
		name = oldFile{last.id, last.base + info.Size()}
	} else if name.id, err = LogID(w.f); err != nil {
		return err
	}
	to := filepath.Join(w.dir, name.name())
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("crawl log: %s already exists (%v)", to, err)
	}
	return os.Rename(w.path(), to)
}

// removeOld removes the oldest full files.
func (w *CrawlLogWriter) removeOld() error {
	old, err := oldFiles(w.dir)
	if err != nil {
		return err
	}
	for i := range max(len(old)-w.keep, 0) {
		if err := os.Remove(filepath.Join(w.dir, old[i].name())); err != nil {
			return err
		}
		if err := step("removed"); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the file.
func (w *CrawlLogWriter) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.f == nil {
		return nil
	}
	f := w.f
	w.f = nil
	return f.Close()
}
