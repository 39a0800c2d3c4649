package search

import (
	"context"
	"errors"
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/pagetext"
	"github.com/curtsy/curtsy/internal/search/segment"
)

const (
	// batchPages is the maximum number of changes in one transaction. Each transaction makes a
	// segment, and a few large ones cost less than many small ones.
	batchPages = 256
	// batchWords ends a batch early: a word takes about 20 bytes while a segment is made, and a
	// page may have 200,000 words.
	batchWords = 2_000_000
	// linger is how long an incomplete batch waits for more changes.
	linger = 200 * time.Millisecond
)

// Run follows the page store until ctx ends, then returns nil. It processes changes in batches and
// waits when there are none. An error of the file is logged and the batch is tried again. Search is
// then behind, but the crawl continues.
func (x *Index) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		changed := x.store.Feed().Changed()
		n, err := x.Step(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			x.o.Log.Error("the search index cannot be updated", "file", x.path, "error", err)
			sleep(ctx, 5*time.Second)
		case n >= batchPages || x.full:
			// more changes wait
		case n > 0:
			sleep(ctx, linger)
		default:
			select {
			case <-ctx.Done():
			case <-changed:
				sleep(ctx, linger)
			}
		}
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// Step indexes one batch of changes after the cursor and returns how many there were; 0 means that
// the index is up to date. A batch is applied completely or not at all: its segment, its deletions
// and the cursor are written in one transaction, so a crash repeats nothing and leaves nothing out.
func (x *Index) Step(ctx context.Context) (n int, err error) {
	x.stepping.Lock()
	defer x.stepping.Unlock()
	defer x.edge(&err)()
	if x.db == nil {
		return 0, errors.New("index pages: the file does not exist")
	}
	began := time.Now()
	changes, err := x.store.Feed().Changes(x.cursor.Load(), batchPages)
	if err != nil || len(changes) == 0 {
		return 0, err
	}
	if x.o.Turn != nil {
		done, err := x.o.Turn(ctx)
		if err != nil {
			return 0, err
		}
		defer done()
	}
	// The batch is read before the transaction begins, so that ctx can end it between two pages.
	r := x.o.Readers.take(x.o.Content)
	x.full = false
	for i := range changes {
		if ctx.Err() != nil {
			x.o.Readers.give(r)
			return 0, ctx.Err()
		}
		x.add(r, &changes[i])
		if r.build.Words() >= batchWords {
			changes, x.full = changes[:i+1], true // the others form the next batch
			break
		}
	}
	raw := r.finish()
	x.o.Readers.give(r)
	last := changes[len(changes)-1].Seq
	if err := x.db.Update(func(tx *bolt.Tx) error { return x.write(tx, changes, raw, last) }); err != nil {
		return 0, fmt.Errorf("index %d pages: %w", len(changes), err)
	}
	x.cursor.Store(last)
	if x.o.Indexed != nil {
		x.o.Indexed(changes, began)
	}
	for merged := true; merged && ctx.Err() == nil; {
		merged, err = x.merge()
		if err != nil {
			return 0, fmt.Errorf("merge: %w", err)
		}
	}
	return len(changes), nil
}

// merge merges segments if there are enough of them, and reports whether there were. It checks this
// in a read transaction, because a write transaction without changes costs as much as one with
// changes.
func (x *Index) merge() (merged bool, err error) {
	due := false
	if err := x.db.View(func(tx *bolt.Tx) error {
		v, err := viewOf(tx)
		due = err == nil && mergeable(v) != nil
		return err
	}); err != nil || !due {
		return false, err
	}
	err = x.db.Update(func(tx *bolt.Tx) (err error) { merged, err = merge(tx); return err })
	return merged, err
}

// write writes a batch into the file.
func (x *Index) write(tx *bolt.Tx, changes []pages.Page, raw []byte, cursor uint64) error {
	v, err := viewOf(tx)
	if err != nil {
		return err
	}
	changed := map[*part]bool{}
	for i := range changes {
		v.delete(changes[i].ID, changed)
	}
	if err := save(tx, changed); err != nil {
		return err
	}
	if raw != nil {
		if err := add(tx, raw); err != nil {
			return err
		}
	}
	return putCursor(tx, cursor)
}

// add reads a page, if it may be found, into the segment that is being built.
func (x *Index) add(r *reader, p *pages.Page) {
	if p.Deleted != "" || p.Directives&crawl.NoIndex != 0 || p.Expired(x.o.Now()) || p.IsMeta() {
		return
	}
	before := r.build.Mark()
	if err := x.o.Read(p, func() { r.read(p) }); err != nil {
		// What runs there may end in the middle, by a panic.
		r.build.Back(before)
		r.extract, r.buf = pagetext.Extractor{}, nil
		x.o.Log.Warn("a page is not indexed", "url", p.URL, "error", err)
	}
}

// Try reads a page as indexing does, without storing anything.
func Try(p *pages.Page) {
	newReader(nil).read(p)
}

// segmentMost is the size from which segments are not merged any more. The result of a merge is at
// most eight times as large, and is in memory twice.
const segmentMost = 8 << 20

// mergeAt is how many segments of similar size are merged into one.
const mergeAt = 8

// merge makes one segment of several of similar size, if there are enough of them, or of one of
// which most pages are deleted. It reports whether it did.
func merge(tx *bolt.Tx) (bool, error) {
	v, err := viewOf(tx)
	if err != nil {
		return false, err
	}
	from := mergeable(v)
	if from == nil {
		return false, nil
	}
	sources := make([]segment.Source, len(from))
	left := uint32(0)
	for i, p := range from {
		if err := p.Check(); err != nil {
			return false, err
		}
		sources[i] = segment.Source{Segment: p.Segment}
		if p.dead != nil {
			sources[i].Deleted = p.deleted
		}
		left += p.live()
	}
	var raw []byte
	if left > 0 {
		raw = segment.Merge(sources)
	}
	for _, p := range from {
		if err := p.remove(tx); err != nil {
			return false, err
		}
	}
	if raw == nil {
		return true, nil
	}
	return true, add(tx, raw)
}

// mergeable returns the segments to merge next, nil when there are none.
func mergeable(v *view) []*part {
	levels := map[int][]*part{}
	for _, p := range v.parts {
		if live := p.live(); live*2 < p.Len() {
			return []*part{p}
		}
		if p.Size() >= segmentMost {
			continue
		}
		level := 0
		for s := p.Size() >> 17; s > 0; s /= mergeAt {
			level++
		}
		levels[level] = append(levels[level], p)
		if all := levels[level]; len(all) == mergeAt {
			return all
		}
	}
	return nil
}
