package site

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// follower keeps the stored state equal to the document root, by the events of inotify and by
// scans.
type follower struct {
	tree    *tree
	watcher *watcher
	settle  time.Duration // how long no event must come until a burst counts as over
	every   time.Duration // between scans
	log     *slog.Logger
	scanned func(took time.Duration) // is called after every complete scan
	failed  func(error)              // is called if a scan or something else failed

	again []string // files that were written to while they were read
}

// run follows the root until ctx ends. A later scan repairs the effect of any error.
func (f *follower) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return f.watcher.run(ctx) })
	g.Go(func() error {
		next := time.NewTimer(0) // the first scan finds what changed while the process did not run
		look := time.NewTicker(5 * f.settle)
		defer look.Stop()
		for {
			full := false
			select {
			case <-ctx.Done():
				return nil
			case <-next.C:
				full = true
			case <-f.watcher.wake:
				full = !f.some(ctx)
			case <-look.C:
				f.retry()
				id, err := identify(f.tree.root)
				full = err == nil && id != f.tree.id // a changed link or a new mount
			}
			if full {
				next.Reset(f.scan(ctx))
			}
		}
	})
	return g.Wait()
}

// scan compares everything, and returns how long to wait until the next scan.
func (f *follower) scan(ctx context.Context) time.Duration {
	id, err := identify(f.tree.root)
	if err == nil {
		f.watcher.begin(id.path)
		f.watcher.take() // the scan covers all of it
		start := time.Now()
		if err = f.tree.all(ctx); err == nil {
			f.scanned(time.Since(start))
			return f.every
		}
	}
	f.complain(ctx, err)
	return min(f.every, 10*f.settle)
}

// some waits for the end of a burst and compares the paths of its events. It reports whether that
// succeeded.
func (f *follower) some(ctx context.Context) bool {
	for wait := f.watcher.settled(f.settle); wait > 0; wait = f.watcher.settled(f.settle) {
		select {
		case <-ctx.Done():
			return true
		case <-time.After(wait):
		}
	}
	rels, all := f.watcher.take()
	if all || f.tree.id == (rootID{}) {
		return false
	}
	slices.Sort(rels) // a directory comes before its contents
	err := f.tree.some(ctx, rels)
	f.complain(ctx, err)
	return err == nil
}

// retry adds the files again that were written to while they were read.
func (f *follower) retry() {
	for _, rel := range f.again {
		f.watcher.add(rel)
	}
	f.again = nil
}

func (f *follower) complain(ctx context.Context, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	f.failed(err)
	if errors.Is(err, errRootMoved) {
		f.log.Info("the document root is another directory now; scanning it")
		return
	}
	f.log.Error("the document root could not be compared; trying again", "err", err)
}
