// Package disk tells whether the disk under a directory has room enough to go on: below a floor the crawl pauses, so that
// what is held already stays readable and writable.
package disk

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Every is how often a Watch looks.
const Every = time.Second

// Floor watches the free space of a directory's disk. Make it with New.
type Floor struct {
	dir string
	min int64

	mu  sync.Mutex // guards err
	err error
}

// New returns a Floor of min free bytes for dir; min 0 means max(1 GiB, 5 % of the disk). It looks once: on a disk that has
// never been above the default floor, half of what is free now must do.
func New(dir string, min int64) (*Floor, error) {
	f := &Floor{dir: dir, min: min}
	if min == 0 {
		free, total, err := Space(dir)
		if err != nil {
			return nil, fmt.Errorf("free space of %s: %w", dir, err)
		}
		f.min = floor(free, total)
	}
	f.look()
	return f, nil
}

func floor(free, total int64) int64 {
	const gib = 1 << 30
	want := max(gib, total/20)
	if free < want {
		return free / 2
	}
	return want
}

// Err is nil while there is room; else it says what is wrong and what to do. It costs nothing: Watch looks.
func (f *Floor) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// Room is how many bytes the disk has free above the floor, as of now; negative below it.
func (f *Floor) Room() (int64, error) {
	free, _, err := Space(f.dir)
	if err != nil {
		return 0, fmt.Errorf("free space of %s: %w", f.dir, err)
	}
	return free - f.min, nil
}

// Watch looks once a second until ctx ends. What changes is logged, and told to changed (nil: to nobody).
func (f *Floor) Watch(ctx context.Context, log *slog.Logger, changed func(err error)) {
	t := time.NewTicker(Every)
	defer t.Stop()
	said := false
	for {
		err := f.Err()
		if (err != nil) != said {
			said = err != nil
			if said {
				log.Error("paused", "err", err)
			} else {
				log.Info("the disk has room again, going on", "dir", f.dir)
			}
			if changed != nil {
				changed(err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		f.look()
	}
}

// look sets the error anew. Between the floor and an eighth above it nothing changes, so that it does not flutter.
func (f *Floor) look() {
	free, _, err := Space(f.dir)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case err != nil:
		f.err = fmt.Errorf("free space of %s cannot be read: %w", f.dir, err)
	case free < f.min:
		f.err = fmt.Errorf("the disk of %s has %d MiB free, less than the floor of %d MiB: free some space and the crawl goes on by itself (--min-free sets the floor)",
			f.dir, free>>20, f.min>>20)
	case free >= f.min+f.min/8:
		f.err = nil
	}
}
