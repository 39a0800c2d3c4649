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
)

// `curtsy reindex` beside a crawl writes the time into the spec. Each shard whose index bears
// another mark builds it anew beside the one that answers, which it replaces when it has caught up.
// The mark stands in the file, so whatever happens in between, an index is built until it bears the
// mark: an indexer that is started again, or that was away, begins at once.

// rebuilt is how far a shard is with it.
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

// reindexMark is the mark that search indexes are to bear.
func (x *Indexer) reindexMark() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.spec.Reindex
}

// building adds to a status how far the shard's index is, and reports whether it is still to be
// built.
func (s *shard) building(st *crawl.IndexerStatus) bool {
	want := s.x.reindexMark()
	if !s.x.o.Search || want == "" {
		return false
	}
	b := crawl.IndexBuild{Shard: s.id}
	if index := s.index.Load(); index != nil {
		b.Mark = index.Mark()
	}
	s.rebuilt.mu.Lock()
	b.Done, b.Left, b.Trouble = s.rebuilt.done, s.rebuilt.left, s.rebuilt.trouble
	s.rebuilt.mu.Unlock()
	if b.Mark != want && b.Done == 0 {
		b.Left = s.store.Behind(0) // it waits for its turn
	}
	st.Indexes = append(st.Indexes, b)
	return b.Mark != want
}

// keepReindexed builds the index anew whenever the spec asks for it, until ctx ends. What fails is
// tried again.
func (s *shard) keepReindexed(ctx context.Context) error {
	again := backoff.Delay{Least: time.Second, Most: time.Minute}
	for {
		changed := s.x.specChanged()
		index, mark := s.index.Load(), s.x.reindexMark()
		switch {
		case index == nil: // followSearch opens it
			if again.Sleep(ctx) != nil {
				return nil
			}
		case mark != "" && index.Mark() != mark:
			err := s.reindex(ctx, index, mark)
			if ctx.Err() != nil {
				return nil
			}
			if err == nil {
				again.Reset()
				continue
			}
			wait := again.Next()
			s.rebuilt.set(0, 0, err.Error())
			s.log.Error("the search index cannot be rebuilt yet; the old one is used", "err", err, "wait", wait)
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

func (s *shard) reindex(ctx context.Context, index *search.Index, mark string) error {
	s.rebuilt.set(0, s.store.Behind(0), "")
	select {
	case s.x.building <- struct{}{}:
		defer func() { <-s.x.building }()
	case <-ctx.Done():
		return ctx.Err()
	}
	began := time.Now()
	s.log.Info("rebuilding the search index", "asked", mark)
	err := index.Rebuild(ctx, mark, s.analyzeInTurn, func(done, left int64) { s.rebuilt.set(done, left, "") })
	if err == nil {
		s.log.Info("the search index was rebuilt", "pages", s.rebuilt.pages(), "took", time.Since(began).Round(time.Millisecond))
	}
	return err
}

func (r *rebuilt) pages() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.done
}

// analyzeInTurn is turn for an index that is built anew: it also waits while the disk has too
// little room, for it needs some.
func (s *shard) analyzeInTurn(ctx context.Context) (done func(), err error) {
	for {
		full, changed := s.x.space()
		if full == nil {
			return s.x.analyze(ctx)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Reindex builds the search indexes of a crawl that does not run anew from its stored pages, and
// marks them as the ones that Spec.Reindex asks for. progress, when not nil, is told how many pages
// were indexed and how many are left in the shard at hand. When ctx ends it returns its error: then
// the shards that are done have their new index, and the others the old one.
func Reindex(ctx context.Context, dir, mark string, log *slog.Logger, progress func(done, left int64)) error {
	ids, err := shardsIn(dir)
	if err != nil {
		return err
	}
	marks := openMarks(dir, 0, log, ownProcess)
	defer marks.close()
	before := int64(0)
	for _, id := range ids {
		shard := int64(0)
		o := search.Options{Log: log, Read: marks.read, Mark: mark, Progress: func(done, left int64) {
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
	// while a crawl runs, this says so
	store, err := pages.OpenReadOnly(assignment.PagesFile(dir, id))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return search.Rebuild(ctx, assignment.SearchFile(dir, id), store, o)
}
