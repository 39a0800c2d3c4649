package indexer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/backoff"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/indexer/assignment"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/search"
	"github.com/curtsy/curtsy/internal/siterules"
)

// `curtsy reindex` writes the time into the spec of a running crawl. Each shard whose index has
// another mark builds a new index next to the one that answers, and replaces it when the new one
// has caught up. The mark is in the file. Whatever happens in between, an index is therefore built
// until it has the mark: an indexer that was restarted, or was away, begins at once.

// rebuilt is the progress of a shard.
type rebuilt struct {
	mu         sync.Mutex // guards what follows
	done, left int64
	trouble    string
}

func (r *rebuilt) set(done, left int64, trouble string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done, r.left, r.trouble = done, left, trouble
}

// reindexMark is the mark that search indexes must have.
func (x *Indexer) reindexMark() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.spec.Reindex
}

// building adds the progress of the shard's index to a status, and reports whether it must still be
// built.
func (f *searchFollower) building(st *crawl.IndexerStatus) bool {
	want := f.x.reindexMark()
	if !f.x.o.Search || want == "" {
		return false
	}
	b := crawl.IndexBuild{Shard: f.id}
	if index := f.index.Load(); index != nil {
		b.Mark = index.Mark()
	}
	f.rebuilt.mu.Lock()
	b.Done, b.Left, b.Trouble = f.rebuilt.done, f.rebuilt.left, f.rebuilt.trouble
	f.rebuilt.mu.Unlock()
	if b.Mark != want && b.Done == 0 {
		b.Left = f.store.Feed().Behind(0) // it waits for the token
	}
	st.Indexes = append(st.Indexes, b)
	return b.Mark != want
}

// keepReindexed builds the index again whenever the spec requests it, until ctx ends. It retries
// after an error.
func (f *searchFollower) keepReindexed(ctx context.Context) error {
	again := backoff.Delay{Least: time.Second, Most: time.Minute}
	for {
		changed := f.x.specChanged()
		index, mark := f.index.Load(), f.x.reindexMark()
		switch {
		case index == nil: // follow opens it
			if again.Sleep(ctx) != nil {
				return nil
			}
		case mark != "" && index.Mark() != mark:
			err := f.reindex(ctx, index, mark)
			if ctx.Err() != nil {
				return nil
			}
			if err == nil {
				again.Reset()
				continue
			}
			wait := again.Next()
			f.rebuilt.set(0, 0, err.Error())
			f.log.Error("the search index cannot be rebuilt yet; the old one is used", "err", err, "wait", wait)
			if !sleep(ctx, wait) {
				return nil
			}
		default:
			again.Reset()
			select {
			case <-ctx.Done():
				return nil
			case <-changed:
			}
		}
	}
}

func (f *searchFollower) reindex(ctx context.Context, index *search.Index, mark string) error {
	f.rebuilt.set(0, f.store.Feed().Behind(0), "")
	select {
	case f.x.building <- struct{}{}:
		defer func() { <-f.x.building }()
	case <-ctx.Done():
		return ctx.Err()
	}
	began := time.Now()
	f.log.Info("rebuilding the search index", "asked", mark)
	err := index.Rebuild(ctx, mark, f.analyzeInTurn, func(done, left int64) { f.rebuilt.set(done, left, "") })
	if err == nil {
		f.log.Info("the search index was rebuilt", "pages", f.rebuilt.pages(), "took", time.Since(began).Round(time.Millisecond))
	}
	return err
}

func (r *rebuilt) pages() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.done
}

// analyzeInTurn is analyze for an index that is built again. It also waits while the disk has too
// little space for it.
func (f *searchFollower) analyzeInTurn(ctx context.Context) (done func(), err error) {
	for {
		full, changed := f.x.space()
		if full == nil {
			return f.x.analyze(ctx)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Reindex builds the search indexes of a crawl that does not run again from its stored pages, as
// its site rules say, and gives them the mark that Spec.Reindex requests. If progress is not nil,
// it is called with how many pages of the current shard were indexed and how many are left. If ctx
// ends, Reindex returns its error. Finished shards then have their new index, and the others the
// old one.
func Reindex(ctx context.Context, dir string, spec *crawl.Spec, log *slog.Logger, progress func(done, left int64)) error {
	ids, err := shardsIn(dir)
	if err != nil {
		return err
	}
	rules, err := siterules.Of(spec)
	if err != nil {
		return err
	}
	marks := openMarks(dir, 0, log, ownProcess(func() string { return spec.Sites }))
	defer marks.close()
	before := int64(0)
	for _, id := range ids {
		shard := int64(0)
		o := search.Options{Log: log, Read: marks.read, Mark: spec.Reindex, Content: contentBy(func() *siterules.Rules { return rules }), Progress: func(done, left int64) {
			if shard = done; progress != nil {
				progress(before+done, left)
			}
		}}
		if err := reindexShard(ctx, dir, id, o); err != nil {
			return fmt.Errorf("reindex shard %d: %w", id, err)
		}
		before += shard
	}
	return nil
}

func reindexShard(ctx context.Context, dir string, id int, o search.Options) (err error) {
	// this reports a running crawl
	store, err := pages.OpenReadOnly(assignment.PagesFile(dir, id))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return search.Rebuild(ctx, assignment.SearchFile(dir, id), store, o)
}
