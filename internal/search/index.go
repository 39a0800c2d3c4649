package search

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Options of Open; the zero value works.
type Options struct {
	Log *slog.Logger // nil: silent
	// Turn, when set, is called before the costly part of a batch, and done after it. Several
	// indexes share such a gate, so that together they leave room for the crawl. It returns an
	// error only when ctx ends.
	Turn func(ctx context.Context) (done func(), err error)
	// Now is the clock unavailable_after is held against; nil: time.Now.
	Now func() time.Time
	// Read, when set, runs f, which reads page p. It returns an error when the page cannot be read:
	// then the page is neither indexed nor shown.
	Read func(p *pages.Page, f func()) error
	// Hidden, when set, reports which pages must not be shown although they are in the store.
	Hidden func(canon.URL) bool
}

// Index is the full-text index of one page store. Search may be called from many
// goroutines, beside one Run.
type Index struct {
	path    string
	store   *pages.Store
	o       Options
	w, r    *sql.DB // one connection each: SQLite has one writer, and a query never waits for it
	cleanup func()
	broken  error // why an existing file cannot be read at all; nil: it can, or there is none
	cursor  atomic.Uint64
	langs   atomic.Pointer[[]string] // languages of the pages indexed, most pages first

	extract   pages.Extractor // extract and the field below are used by Step only
	buf, text []byte
}

// Analyzers remember words. Those for indexing are few and large: there are as many as indexes that
// work at the same time. Those for queries are small.
var (
	indexing = sync.Pool{New: func() any { return newAnalyzer(16) }}
	querying = sync.Pool{New: func() any { return newAnalyzer(12) }}
)

// Open opens the index at path, which follows store, and creates or empties it when it is missing,
// damaged, of another format or of another store. Run fills it.
func Open(path string, store *pages.Store, o Options) (*Index, error) {
	x, err := open(path, store, o)
	if errors.Is(err, errStale) {
		x.o.Log.Info("search index starts anew", "file", path, "reason", err)
		x.Close()
		if err := Remove(path); err != nil {
			return nil, err
		}
		x, err = open(path, store, o)
	}
	if err != nil {
		x.Close()
		return nil, fmt.Errorf("open search index %s: %w", path, err)
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
	if o.Read == nil {
		o.Read = func(_ *pages.Page, f func()) error { f(); return nil }
	}
	return &Index{path: path, store: store, o: o, cleanup: func() {}}
}

// open returns the index together with an error, so that it can be closed.
func open(path string, store *pages.Store, o Options) (*Index, error) {
	x := newIndex(path, store, o)
	ctx := context.Background()
	var err error
	if x.w, err = openWriter(path); err != nil {
		return x, stale(err)
	}
	var tables int
	if err := x.w.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
		return x, stale(err)
	}
	if tables == 0 {
		if err := x.create(ctx); err != nil {
			return x, err
		}
	}
	cursor, err := checkAbout(ctx, x.w, store.Identity())
	if err != nil {
		return x, err
	}
	if last := store.Stats().LastSeq; cursor > last {
		return x, fmt.Errorf("%w: it has read to %d, the journal ends at %d", errStale, cursor, last)
	}
	x.cursor.Store(cursor)
	if x.r, err = openReader(path); err != nil {
		return x, stale(err)
	}
	return x, stale(x.readLangs(ctx, x.w))
}

// stale tells a file that must be filled again from an error that filling would not mend.
func stale(err error) error {
	if damaged(err) {
		return fmt.Errorf("%w: %v", errStale, err)
	}
	return err
}

func (x *Index) create(ctx context.Context) error {
	tx, err := x.w.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, schema); err != nil {
		return err
	}
	for k, v := range map[string]string{"format": format, "store": x.store.Identity(), "cursor": "0"} {
		if _, err := tx.ExecContext(ctx, "INSERT INTO about VALUES (?, ?)", k, v); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// OpenReadOnly opens an index that nobody writes, such as one left by a process that was killed. A
// file that is missing, or belongs to another store or version, counts as an empty index: Search
// finds nothing, and Behind says how much is missing. If the file is damaged, Search returns an
// error that says so.
func OpenReadOnly(path string, store *pages.Store, o Options) (*Index, error) {
	x := newIndex(path, store, o)
	db, cleanup, err := openLeftover(path)
	if damaged(err) {
		x.broken = x.advise(err)
		return x, nil
	}
	if err != nil {
		x.o.Log.Info("search index cannot be read; curtsy reindex makes a new one", "file", path, "reason", err)
		return x, nil
	}
	cursor, err := checkAbout(context.Background(), db, store.Identity())
	if err == nil && cursor > store.Stats().LastSeq {
		err = errStale
	}
	if damaged(err) {
		db.Close()
		cleanup()
		x.broken = x.advise(err)
		return x, nil
	}
	if err != nil {
		db.Close()
		cleanup()
		x.o.Log.Info("search index cannot be used; curtsy reindex makes a new one", "file", path, "reason", err)
		return x, nil
	}
	x.r, x.cleanup = db, cleanup
	x.cursor.Store(cursor)
	if err := x.readLangs(context.Background(), db); damaged(err) {
		x.broken = x.advise(err)
	} else if err != nil {
		x.Close()
		return nil, fmt.Errorf("open search index %s: %w", path, err)
	}
	return x, nil
}

func (x *Index) readLangs(ctx context.Context, db *sql.DB) error {
	rows, err := db.QueryContext(ctx, "SELECT lang FROM langs WHERE docs > 0 ORDER BY docs DESC, lang LIMIT ?", maxLangs)
	if err != nil {
		return err
	}
	defer rows.Close()
	var langs []string
	for rows.Next() {
		var l string
		if err := rows.Scan(&l); err != nil {
			return err
		}
		langs = append(langs, l)
	}
	x.langs.Store(&langs)
	return rows.Err()
}

// Behind is how many page changes the index has not seen; past ten thousand an upper bound.
func (x *Index) Behind() int64 { return x.store.Behind(x.cursor.Load()) }

// Close lets go of the file. Run must have returned.
func (x *Index) Close() error {
	var errs []error
	for _, db := range []*sql.DB{x.r, x.w} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	x.cleanup()
	return errors.Join(errs...)
}
