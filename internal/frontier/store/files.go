package store

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/disk"
)

// oldFile identifies a full file of a log: by the log's ID, and the number of bytes of the log
// before it.
type oldFile struct {
	id   string
	base int64
}

func (o oldFile) name() string { return fmt.Sprintf("crawl-%s-%015d.jsonl", o.id, o.base) }

var oldName = regexp.MustCompile(`^crawl-([0-9a-f]{16})-([0-9]{15})\.jsonl$`)

// oldFiles lists the full files of the log in dir, oldest first. If there are files of several
// logs, it lists those of the log that was written last.
func oldFiles(dir string) ([]oldFile, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	byID := map[string][]oldFile{}
	var newest string
	var at int64
	for _, e := range entries {
		m := oldName.FindStringSubmatch(e.Name())
		if m == nil || !e.Type().IsRegular() {
			continue
		}
		base, err := strconv.ParseInt(m[2], 10, 64)
		if err != nil {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was just removed
		}
		if err != nil {
			return nil, err
		}
		byID[m[1]] = append(byID[m[1]], oldFile{m[1], base})
		if t := info.ModTime().UnixNano(); newest == "" || t > at {
			newest, at = m[1], t
		}
	}
	old := byID[newest]
	slices.SortFunc(old, func(a, b oldFile) int { return cmp.Compare(a.base, b.base) })
	return old, nil
}

// CrawlLog is the crawl log of a data directory, opened for reading: all its files as if they were
// one. An offset in it counts bytes since the log began, so it stays the same when a full file is
// renamed, and when the oldest file is removed.
type CrawlLog struct {
	ID    string // "" while there is no line
	First int64  // offset of the first byte that still exists
	Size  int64  // offset after the last byte
	parts []part // in order, without gaps
}

// part is one file of a log.
type part struct {
	f          *os.File
	base, size int64
}

// openTries is how often Open retries when the files change meanwhile.
const openTries = 10

// OpenCrawlLog opens the log in dir as it is at this moment. If there is none, the result has no
// ID.
func OpenCrawlLog(dir string) (*CrawlLog, error) {
	for try := 1; ; try++ {
		l, same, err := open(dir)
		if err != nil || same || try == openTries {
			return l, err
		}
		l.Close()
	}
}

// open opens the existing files. same is false when they have changed meanwhile.
func open(dir string) (l *CrawlLog, same bool, err error) {
	old, err := oldFiles(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return &CrawlLog{}, true, nil
	}
	if err != nil {
		return nil, false, err
	}
	l = &CrawlLog{}
	fail := func(err error) (*CrawlLog, bool, error) {
		l.Close()
		if errors.Is(err, fs.ErrNotExist) { // it was removed or renamed
			return &CrawlLog{}, false, nil
		}
		return nil, false, err
	}
	for _, o := range old {
		if err := l.add(filepath.Join(dir, o.name()), o.base); err != nil {
			return fail(err)
		}
		l.ID = o.id
	}
	name := filepath.Join(dir, CrawlLogName)
	if err := l.add(name, l.Size); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail(err)
	} else if err == nil && l.ID == "" {
		if l.ID, err = LogID(l.parts[len(l.parts)-1].f); err != nil {
			return fail(err)
		}
	}
	again, err := oldFiles(dir)
	if err != nil {
		return fail(err)
	}
	// Files may be removed and renamed meanwhile. The current file counts only if it is still the
	// one that was opened under this name.
	return l, slices.Equal(old, again), nil
}

// add opens another file, which begins at base. If it does not follow the earlier ones without a
// gap, they are left out.
func (l *CrawlLog) add(name string, base int64) error {
	f, err := disk.OpenRegular(name, os.O_RDONLY)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	if base != l.Size {
		l.Close()
		l.parts = nil
	}
	if len(l.parts) == 0 {
		l.First = base
	}
	l.parts = append(l.parts, part{f, base, info.Size()})
	l.Size = base + info.Size()
	return nil
}

// Close closes the files.
func (l *CrawlLog) Close() error {
	var errs []error
	for i := range l.parts {
		errs = append(errs, l.parts[i].f.Close())
	}
	return errors.Join(errs...)
}

// Last is the function Last for the whole log. If nothing precedes the searched part, span.From is
// 0.
func (l *CrawlLog) Last(before int64, limit int, want LogFilter) (lines []crawl.LogEntry, span crawl.LogSpan, err error) {
	lines, span, err = LastLogLines(kept{l}, l.Size-l.First, max(before-l.First, 0), limit, want)
	if span.From > 0 {
		span.From += l.First
	}
	return l.place(lines), crawl.LogSpan{From: span.From, To: span.To + l.First}, err
}

// After is the function After for the whole log. Lines that no longer exist are skipped.
func (l *CrawlLog) After(from int64, limit int, want LogFilter) (lines []crawl.LogEntry, span crawl.LogSpan, err error) {
	lines, span, err = LogAfter(kept{l}, l.Size-l.First, max(from-l.First, 0), limit, want)
	return l.place(lines), crawl.LogSpan{From: span.From + l.First, To: span.To + l.First}, err
}

// place converts offsets in the existing part to offsets in the log.
func (l *CrawlLog) place(lines []crawl.LogEntry) []crawl.LogEntry {
	for i := range lines {
		lines[i].Start, lines[i].End = lines[i].Start+l.First, lines[i].End+l.First
	}
	return lines
}

// kept is the existing part of a log, from its first byte on.
type kept struct{ log *CrawlLog }

// ReadAt reads across files.
func (k kept) ReadAt(b []byte, off int64) (n int, err error) {
	off += k.log.First
	for i := range k.log.parts {
		p := &k.log.parts[i]
		if n == len(b) || off+int64(n) >= p.base+p.size {
			continue
		}
		some := b[n:min(int64(len(b)), int64(n)+p.base+p.size-off-int64(n))]
		m, err := p.f.ReadAt(some, off+int64(n)-p.base)
		if n += m; err != nil && !(errors.Is(err, io.EOF) && m == len(some)) {
			return n, err
		}
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}
