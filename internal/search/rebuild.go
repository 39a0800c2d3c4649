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

// An index is rebuilt beside the file in use, in two files:
//
//	search-0.db.build  is filled from the change feed; merges leave free pages in it
//	search-0.db.new    has its live contents and later changes, and replaces the old file
//
// A crash leaves either the old or the new file in use, and perhaps one of these two, which the
// next Open removes. While they exist, they need space for about three times the new file.
const (
	suffixBuild = ".build"
	suffixNew   = ".new"
)

// discard removes the files of a rebuild that did not end.
func discard(path string) error { return removeEach(path, suffixBuild, suffixNew) }

// Mark is stored in the file: Options.Mark when it was made, or the mark of the last Rebuild.
func (x *Index) Mark() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.db == nil {
		return ""
	}
	return x.db.mark
}

// Rebuild builds the index again from its store and replaces the current one with it, with this
// mark. Until then the old one answers queries and follows the store, even when it is damaged; it
// is closed when it has no readers any more. When Rebuild fails, or ctx ends, the old one stays.
// turn and progress are as in Options. One Rebuild may run at a time, beside Run.
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
	x.stepping.Lock() // the old index does not change from here on
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

// Rebuild builds the index at path again from store. Nobody may have it open; the existing file
// stays until the new one is complete.
func Rebuild(ctx context.Context, path string, store *pages.Store, o Options) error {
	x, err := build(ctx, path, store, o)
	if err == nil {
		err = x.Close()
	}
	if err == nil {
		// Additional files of format 1 are removed first, because they have no meaning without the
		// main file.
		err = errors.Join(removeEach(path, "-wal", "-shm"), replace(path))
	}
	if err != nil {
		return errors.Join(err, discard(path))
	}
	x.o.at("replaced")
	return nil
}

// build fills a new index in path.new from the beginning of the change feed to its end, or nearly.
// The file is open when it returns without an error.
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

// fill indexes the changes that are in the change feed now. Changes may arrive faster than they can
// be indexed.
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

// compact copies the live contents of the file to a new one, and syncs it to disk.
func (x *Index) compact(ctx context.Context, path string) error {
	to, err := openFile(path, false, true)
	if err != nil {
		return err
	}
	to.DB().AllocSize = 64 << 10 // so that less unused space is left at the end
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
			// Separate transactions, because what is written in one is in memory until it ends.
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

// copySegment copies a segment of another file into this one.
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

// replace renames path.new to path, and syncs the directory so that this survives a crash.
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
