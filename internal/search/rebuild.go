package search

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/pages"
)

// An index is built anew beside the file in use, in two files:
//
//	search-0.db.build  is filled from the beginning of the journal; merges leave free pages in it
//	search-0.db.new    has what is alive in that and what came meanwhile, and replaces the old one
//
// A crash leaves the old file in use, or the new one, and perhaps one of these two, which the next
// Open removes. Together they need room for about three times the new file while they are there.
const (
	suffixBuild = ".build"
	suffixNew   = ".new"
)

// discard removes what a rebuild left that did not end.
func discard(path string) error { return removeEach(path, suffixBuild, suffixNew) }

// Mark is what the file bears: Options.Mark of when it was made, or what Rebuild was told last.
func (x *Index) Mark() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.db == nil {
		return ""
	}
	return x.db.mark
}

// Rebuild makes the index anew from its store and puts it, with this mark, in the place of the one
// there is. Until then the old one answers and follows, even when it is damaged; it is closed when
// nobody reads it any more. When Rebuild fails, or ctx ends, the old one stays. turn and progress
// are as in Options. One Rebuild may run at a time, beside Run.
func (x *Index) Rebuild(ctx context.Context, mark string, turn func(context.Context) (func(), error), progress func(done, left int64)) (err error) {
	if x.broken != nil || x.empty() {
		return fmt.Errorf("rebuild search index %s: it is open for reading only", x.path)
	}
	o := x.o
	o.Mark, o.Turn, o.Progress = mark, turn, progress
	fresh, err := build(ctx, x.path, x.store, o)
	if err != nil {
		return errors.Join(err, discard(x.path))
	}
	x.stepping.Lock() // the old one does not move on from here
	defer x.stepping.Unlock()
	for n := 1; n > 0 && err == nil && fresh.cursor.Load() < x.cursor.Load(); {
		n, err = fresh.Step(ctx)
	}
	x.o.at("caught up")
	if err := errors.Join(err, fresh.Close()); err != nil {
		return errors.Join(err, discard(x.path))
	}
	if err := replace(x.path); err != nil {
		return errors.Join(err, discard(x.path))
	}
	x.o.at("replaced")
	o = x.o
	o.Mark = mark
	next, err := open(x.path, x.store, o)
	if err != nil {
		return errors.Join(fmt.Errorf("open the rebuilt search index: %w", err), next.Close())
	}
	x.mu.Lock()
	old := x.db
	x.db = next.db
	x.cursor.Store(next.cursor.Load())
	x.mu.Unlock()
	old.users.Wait()
	if err := old.Close(); err != nil {
		x.o.Log.Warn("the replaced search index", "file", x.path, "error", err)
	}
	return nil
}

// Rebuild makes the index at path anew from store. Nobody may have it open; what is there stays
// until the new one is whole.
func Rebuild(ctx context.Context, path string, store *pages.Store, o Options) error {
	x, err := build(ctx, path, store, o)
	if err == nil {
		err = x.Close()
	}
	if err == nil {
		// What format 1 had beside its file goes first: it means nothing without it.
		err = errors.Join(removeEach(path, "-wal", "-shm"), replace(path))
	}
	if err != nil {
		return errors.Join(err, discard(path))
	}
	x.o.at("replaced")
	return nil
}

// build fills a new index in path.new from the beginning of the journal to where that ends, or did
// a moment ago. The file is open when it returns without an error.
func build(ctx context.Context, path string, store *pages.Store, o Options) (*Index, error) {
	if err := discard(path); err != nil {
		return nil, err
	}
	o.scratch = true
	x, err := open(path+suffixBuild, store, o)
	x.o.at("begun")
	var done int64
	if err == nil {
		err = x.fill(ctx, &done)
	}
	x.o.at("filled")
	if err == nil {
		err = x.compact(ctx, path+suffixNew)
	}
	x.o.at("copied")
	if err := errors.Join(err, x.Close()); err != nil {
		return nil, fmt.Errorf("build search index: %w", err)
	}
	if err := removeEach(path, suffixBuild); err != nil {
		return nil, err
	}
	o.scratch = false
	x, err = open(path+suffixNew, store, o)
	if err == nil {
		err = x.fill(ctx, &done)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("build search index: %w", err), x.Close())
	}
	return x, nil
}

// fill takes what waits in the journal now. What comes meanwhile may be more than can be taken.
func (x *Index) fill(ctx context.Context, done *int64) error {
	for end := x.store.Stats().LastSeq; x.cursor.Load() < end; {
		n, err := x.Step(ctx)
		if err != nil || n == 0 {
			return err
		}
		*done += int64(n)
		if x.o.Progress != nil {
			x.o.Progress(*done, x.Behind())
		}
		x.o.at("stepped")
	}
	return nil
}

// compact copies what is alive in the file to a new one, and has it on the disk.
func (x *Index) compact(ctx context.Context, path string) error {
	to, err := openFile(path, false, true)
	if err != nil {
		return err
	}
	to.DB().AllocSize = 64 << 10 // leave less behind the end
	err = x.db.View(func(from *bolt.Tx) error {
		err := to.Update(func(tx *bolt.Tx) error { return create(tx, x.store.Identity(), x.o.Mark) })
		if err != nil {
			return err
		}
		c := from.Bucket(bucketSegments).Cursor()
		for k, _ := c.First(); k != nil; k, _ = c.Next() {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			// A transaction each: what is written in one is held in memory until it ends.
			if err := to.Update(func(tx *bolt.Tx) error { return copySegment(tx, from, k) }); err != nil {
				return err
			}
		}
		cursor, err := check(from, x.store.Identity())
		if err != nil {
			return err
		}
		return to.Update(func(tx *bolt.Tx) error { return putCursor(tx, cursor) })
	})
	if err == nil {
		err = to.DB().Sync()
	}
	return errors.Join(err, to.Close())
}

// copySegment puts a segment of another file into this one.
func copySegment(tx, from *bolt.Tx, key []byte) error {
	raw, err := rawOf(from.Bucket(bucketSegments), key)
	if err != nil {
		return err
	}
	all := tx.Bucket(bucketSegments)
	n, err := all.NextSequence()
	if err != nil {
		return err
	}
	to := number(n)
	if dead := from.Bucket(bucketDeleted).Get(key); dead != nil {
		err = tx.Bucket(bucketDeleted).Put(to, dead)
	}
	return errors.Join(err, putRaw(all, to, raw))
}

// replace puts path.new in the place of path, and sees to it that this outlives a crash.
func replace(path string) error {
	if err := os.Rename(path+suffixNew, path); err != nil {
		return fmt.Errorf("install the rebuilt search index: %w", err)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
