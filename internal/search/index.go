package search

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/boltfile"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Options of Open; the zero value works.
type Options struct {
	Log *slog.Logger // nil: no logging
	// Turn, when set, is called before the expensive part of a batch, and done after it. Several
	// indexes share such a limit, so that together they leave capacity for the crawl. It returns an
	// error only when ctx ends.
	Turn func(ctx context.Context) (done func(), err error)
	// Now is the clock with which unavailable_after is compared; nil means time.Now.
	Now func() time.Time
	// Read, when set, runs f, which reads page p. It returns an error when the page cannot be read;
	// the page is then neither indexed nor shown.
	Read func(p *pages.Page, f func()) error
	// Content, when set, makes of a page what is indexed and shown of it.
	Content pages.Content
	// Hidden, when set, reports which pages must not be shown although they are stored.
	Hidden func(canon.URL) bool
	// HiddenHost belongs to Hidden: whether all pages of a host must not be shown, or some of them.
	HiddenHost func(canon.Host) (all, some bool)
	// Mark is stored in a new file: see Rebuild.
	Mark string
	// Readers, when set, are shared with other indexes; nil: the index has its own.
	Readers *Readers
	// Indexed, when set, is called for each batch that Run or Step has indexed.
	Indexed IndexedFunc
	// Progress, when set, is called by Rebuild after each batch with the numbers of pages done and
	// left.
	Progress func(done, left int64)
	// Fault is called at each commit: see boltfile.File.SetFault. nil, except in tests.
	Fault func(point string) error

	scratch bool               // a file that is discarded after a crash
	at      func(place string) // for tests: called with the current step of Rebuild
}

// IndexedFunc is called with pages that were added to the index, and the time when reading them
// began. It must not keep them.
type IndexedFunc func(batch []pages.Page, began time.Time)

// Index is the full-text index of one page store. A search has three steps, Terms, Rank and Show,
// which may be called from many goroutines, at the same time as one Run and one Rebuild.
type Index struct {
	path   string
	store  *pages.Store
	o      Options
	broken error // why an existing file cannot be read at all; nil: it can
	cursor atomic.Uint64

	stepping sync.Mutex // locked while a batch is indexed, and while Rebuild replaces the file
	full     bool       // the last batch ended early; only used by Step and Run

	mu sync.Mutex // guards db
	db *file      // nil: there is none, which is an empty index
}

// Open opens the index at path, which follows store. It creates or empties the file when it is
// missing, damaged, of another format or of another store. Run fills it.
func Open(path string, store *pages.Store, o Options) (*Index, error) {
	x, err := open(path, store, o)
	if errors.Is(err, errStale) || boltfile.IsDamaged(err) {
		level, reason := slog.LevelInfo, err
		if d := (*boltfile.Damaged)(nil); errors.As(err, &d) {
			level, reason = slog.LevelWarn, d.Cause
		}
		x.o.Log.Log(context.Background(), level, "the search index cannot be used as it is: rebuilding it from the page store",
			"file", path, "reason", reason, "pages", store.Stats().Pages)
		if err := errors.Join(x.Close(), Remove(path)); err != nil {
			return nil, err
		}
		x, err = open(path, store, o)
	}
	if err == nil {
		err = discard(path) // left by a Rebuild that did not end
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open search index %s: %w", path, err), x.Close())
	}
	return x, nil
}

func newIndex(path string, store *pages.Store, o Options) *Index {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.at == nil {
		o.at = func(string) {}
	}
	if o.Read == nil {
		o.Read = func(_ *pages.Page, f func()) error { f(); return nil }
	}
	if o.Readers == nil {
		o.Readers = new(Readers)
	}
	return &Index{path: path, store: store, o: o}
}

// open returns the index even with an error, so that it can be closed.
func open(path string, store *pages.Store, o Options) (x *Index, err error) {
	x = newIndex(path, store, o)
	if x.db, err = openFile(path, false, o.scratch); err != nil {
		return x, err
	}
	x.db.SetFault(o.Fault)
	if err := x.db.Update(func(tx *bolt.Tx) error { return create(tx, store.Identity(), o.Mark) }); err != nil {
		return x, err
	}
	return x, x.load()
}

// load reads the file's information about itself, and the head of each segment.
func (x *Index) load() error {
	return x.db.View(func(tx *bolt.Tx) error {
		cursor, err := check(tx, x.store.Identity())
		if err != nil {
			return err
		}
		if last := x.store.Stats().LastSeq; cursor > last {
			return fmt.Errorf("%w: it has read up to %d, but the change feed ends at %d", errStale, cursor, last)
		}
		x.cursor.Store(cursor)
		x.db.mark = string(tx.Bucket(bucketAbout).Get(keyMark))
		_, err = viewOf(tx)
		return err
	})
}

// OpenReadOnly opens an index that nobody writes, such as one left by a process that was killed. A
// file that is missing, or belongs to another store or version, counts as an empty index: searches
// find nothing, and Behind says how much is missing. If the file is damaged, searches return an
// error that says so.
func OpenReadOnly(path string, store *pages.Store, o Options) (x *Index, err error) {
	x = newIndex(path, store, o)
	if x.db, err = openFile(path, true, false); err == nil {
		err = x.load()
	}
	if err == nil {
		return x, nil
	}
	if x.db != nil {
		x.db.Close()
		x.db = nil
	}
	x.cursor.Store(0)
	if boltfile.IsDamaged(err) {
		x.broken = x.advise(err)
	} else {
		x.o.Log.Info("the search index cannot be used; to build a new one, type: curtsy reindex", "file", path, "reason", err)
	}
	return x, nil
}

// Behind is how many page changes the index has not seen; above ten thousand it is an upper bound.
func (x *Index) Behind() int64 { return x.store.Feed().Behind(x.cursor.Load()) }

// Close closes the file. Run and Rebuild must have returned.
func (x *Index) Close() error {
	if x.db == nil {
		return nil
	}
	return x.db.Close()
}
