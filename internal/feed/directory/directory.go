// Package directory is a sink of package feed: a folder of files in JSON lines, so-called parts.
//
// Each batch is a part of its own, part-CRAWL-SHARD-GENERATION-VERSION.jsonl. It appears under this
// name when it is complete and on disk. A line is a page as `curtsy export pages` writes it, after
// its id and its version. If a line has "removed", the page is to be deleted. A page may be in
// several parts, and a part may come twice with other limits: the line with the highest version
// counts, and Fold reads a folder in this way. When a shard was sent again from its beginning, the
// parts of its earlier generations are deleted.
package directory

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/curtsy/curtsy/internal/disk"
	"github.com/curtsy/curtsy/internal/feed"
	"github.com/curtsy/curtsy/internal/siterules"
)

// Sink writes parts into a folder.
type Sink struct {
	dir string
	// Fault is called before each step that changes the disk. If it returns an error, the step
	// fails with it. It is nil except in tests.
	Fault func(point string) error
}

// Open makes a sink for a folder, which Prepare creates if it is missing.
func Open(dir string) *Sink { return &Sink{dir: dir} }

func (s *Sink) fault(point string) error {
	if s.Fault == nil {
		return nil
	}
	return s.Fault(point)
}

// Prepare creates the folder.
func (s *Sink) Prepare(context.Context, []siterules.FieldInfo) error {
	err := os.MkdirAll(s.dir, disk.DirMode)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOTDIR) {
		return &feed.Permanent{Err: fmt.Errorf("%w: use another folder, or change its permissions", err)}
	}
	return err
}

// Write makes a part of a batch.
func (s *Sink) Write(_ context.Context, b feed.Batch) ([]feed.Refused, error) {
	if len(b.Changes) == 0 {
		return nil, nil
	}
	name := partName(b.Crawl, b.Shard, b.Generation, b.Changes[len(b.Changes)-1].Version)
	return nil, s.store(name, func(w *bufio.Writer) error {
		for i := range b.Changes {
			line, err := b.Changes[i].Line()
			if err != nil {
				return err
			}
			if _, err := w.Write(append(line, '\n')); err != nil {
				return err
			}
		}
		return nil
	})
}

// store writes a file under another name, and gives it its name when it is on disk.
func (s *Sink) store(name string, write func(w *bufio.Writer) error) (err error) {
	if err := s.fault("create"); err != nil {
		return err
	}
	f, err := os.CreateTemp(s.dir, ".new-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	w := bufio.NewWriterSize(f, 64<<10)
	if err := errors.Join(write(w), w.Flush(), f.Chmod(disk.FileMode), f.Sync(), f.Close(), s.fault("rename")); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), filepath.Join(s.dir, name)); err != nil {
		return err
	}
	return syncDir(s.dir)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Sweep deletes the parts of earlier generations of a shard, and what killed processes left.
func (s *Sink) Sweep(_ context.Context, crawlName string, shard int, generation int64) error {
	return s.each(func(name string, p part) error {
		if p.crawl != crawlName || p.shard != shard || p.generation >= generation {
			return nil
		}
		if err := s.fault("remove"); err != nil {
			return err
		}
		return os.Remove(filepath.Join(s.dir, name))
	})
}

// Close does nothing.
func (s *Sink) Close() error { return nil }

// part is what the name of a part says.
type part struct {
	crawl      string
	shard      int
	generation int64
}

func partName(crawl string, shard int, generation, version int64) string {
	return fmt.Sprintf("part-%s-%04d-%010d-%019d.jsonl", crawl, shard, generation, version)
}

// parsePart reads the name of a part. The name of a crawl may contain hyphens.
func parsePart(name string) (p part, ok bool) {
	name, a := strings.CutPrefix(name, "part-")
	name, b := strings.CutSuffix(name, ".jsonl")
	words := strings.Split(name, "-")
	n := len(words)
	if !a || !b || n < 4 {
		return p, false
	}
	var err, err2 error
	p.crawl = strings.Join(words[:n-3], "-")
	p.shard, err = strconv.Atoi(words[n-3])
	p.generation, err2 = strconv.ParseInt(words[n-2], 10, 64)
	return p, err == nil && err2 == nil
}

// each calls fn for every part in the folder.
func (s *Sink) each(fn func(name string, p part) error) error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if p, ok := parsePart(e.Name()); ok {
			if err := fn(e.Name(), p); err != nil {
				return err
			}
		}
	}
	return nil
}

// Fold reads a folder as its readers should: it returns the line of each page that is not removed,
// by its id, in its highest version.
func Fold(dir string) (map[string]json.RawMessage, error) {
	type newest struct {
		version int64
		line    json.RawMessage // nil: it is removed
	}
	all := map[string]newest{}
	err := Open(dir).each(func(name string, _ part) error {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		for line := range bytes.Lines(text) {
			var head struct {
				ID      string
				Version int64
				Removed string
			}
			if err := json.Unmarshal(line, &head); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if head.Version < all[head.ID].version {
				continue
			}
			n := newest{version: head.Version}
			if head.Removed == "" {
				n.line = bytes.Clone(line)
			}
			all[head.ID] = n
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	pages := map[string]json.RawMessage{}
	for id, n := range all {
		if n.line != nil {
			pages[id] = n.line
		}
	}
	return pages, nil
}
