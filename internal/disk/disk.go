// Package disk tells whether the disk under a directory has enough room to go on. Below a floor the
// crawl pauses, so that what is stored stays readable and writable.
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

// New returns a Floor of min free bytes for dir. min 0 means 1 GiB or 5 % of the disk, whichever is
// more. If the disk is below that default when New looks, the floor is half of what is free now.
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

// Err is nil while there is room. Otherwise it says what is wrong and what to do. It is cheap:
// Watch does the looking.
func (f *Floor) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// Free is how many bytes are free above the floor at this moment; negative below it.
func (f *Floor) Free() (int64, error) {
	free, _, err := Space(f.dir)
	if err != nil {
		return 0, fmt.Errorf("free space of %s: %w", f.dir, err)
	}
	return free - f.min, nil
}

// Watch looks once a second until ctx ends. It logs changes and calls changed
// (nil: nobody) with them.
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

// look sets the error anew. A pause ends only an eighth above the floor, so that the
// state does not flutter.
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
