// Package disk checks whether the disk of a directory has enough free space. Below a minimum the
// crawl pauses, so that stored data stays readable and writable.
package disk

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Every is how often Watch checks the disk.
const Every = time.Second

// Floor is a minimum of free space on a directory's disk. Use New to make one.
type Floor struct {
	dir string
	min int64

	mu  sync.Mutex // guards err
	err error
}

// New returns a Floor of min free bytes for dir. min 0 means 1 GiB or 5 % of the disk, whichever is
// more. If the disk has less than this default free when New checks it, the floor is half of what
// is free then.
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

// Err is nil while there is enough space. Otherwise it describes the problem and what to do. It is
// cheap, because Watch does the checking.
func (f *Floor) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// Free returns how many bytes are free above the floor now. It is negative below the floor.
func (f *Floor) Free() (int64, error) {
	free, _, err := Space(f.dir)
	if err != nil {
		return 0, fmt.Errorf("free space of %s: %w", f.dir, err)
	}
	return free - f.min, nil
}

// Watch checks the disk once a second until ctx ends. It logs changes, and calls changed with them
// unless changed is nil.
func (f *Floor) Watch(ctx context.Context, log *slog.Logger, changed func(err error)) {
	t := time.NewTicker(Every)
	defer t.Stop()
	paused := false
	for {
		err := f.Err()
		if (err != nil) != paused {
			paused = err != nil
			if paused {
				log.Error("paused", "err", err)
			} else {
				log.Info("the disk has enough free space again; continuing", "dir", f.dir)
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

// look updates the error. A pause ends only when an eighth more than the floor is free, so that the
// state does not change back and forth.
func (f *Floor) look() {
	free, _, err := Space(f.dir)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case err != nil:
		f.err = fmt.Errorf("free space of %s cannot be read: %w", f.dir, err)
	case free < f.min:
		f.err = fmt.Errorf("the disk of %s has %d MiB free, less than the minimum of %d MiB: free some space and the crawl continues by itself (--min-free sets the minimum)",
			f.dir, free>>20, f.min>>20)
	case free >= f.min+f.min/8:
		f.err = nil
	}
}
