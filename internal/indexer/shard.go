package indexer

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/curtsy/curtsy/internal/archive"
	"github.com/curtsy/curtsy/internal/backoff"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/indexer/assignment"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/search"
	"github.com/curtsy/curtsy/pkg/canon"
)

const (
	batchMessages = 64      // messages in one commit
	batchBytes    = 2 << 20 // and of them; as many again are on their way meanwhile
	expireEvery   = time.Minute
	expireBatch   = 1000
)

// shard is one shard while it is held.
type shard struct {
	part
	x          *Indexer
	assignment *assignment.Shard
	log        *slog.Logger
	extract    pages.Extractor // used by the consumer only
	unpacked   []byte
	began      time.Time                                // when the last commit began
	put        func([]pages.Page) (pages.Result, error) // archive.Put; a test's hook
	archive    *archive.Shard
	fatal      atomic.Pointer[error]
	stuck      atomic.Pointer[error] // why the batch in hand is not stored yet

	forgetting atomic.Bool // something forgotten may not be deleted yet
	// Held for reading from looking at what is forgotten to having stored a page.
	gate sync.RWMutex
	// The scope changed, and the links of stored pages are not all offered again.
	relinking atomic.Bool
	// The store was begun empty in the place of another, and the frontier is not told yet.
	refilling atomic.Bool
	rebuilt   rebuilt
	fenced    chan struct{} // closed when nobody else can acknowledge pages of the shard any more
	stop      context.CancelFunc

	move *assignment.Move // to another indexer; nil: the shard stays
}

// part is what questions about a shard are answered from: its files.
type part struct {
	id    int
	store *pages.Store
	index *atomic.Pointer[search.Index] // nil inside: search is off, or not open yet
	// The shard is not held any more: its files are closed, or will be.
	gone  *atomic.Bool
	marks *marks               // of the directory
	hides func(canon.URL) bool // forgotten, though perhaps not deleted yet
}

// hidden reports whether a URL is not to be shown.
func (p part) hidden(u canon.URL) bool { return p.hides != nil && p.hides(u) }

// info is the page as it is listed, without what is forgotten.
func (p part) info(page *pages.Page) crawl.PageInfo {
	shown := *page
	shown.Aliases = slices.DeleteFunc(slices.Clone(page.Aliases), p.hidden)
	for _, u := range []*canon.URL{&shown.FoundOn, &shown.Canonical} {
		if *u != "" && p.hidden(*u) {
			*u = ""
		}
	}
	return shown.Info()
}

// behind is how many page changes search has not seen; 0 when it is off.
func (p part) behind(searching bool) int64 {
	if index := p.index.Load(); index != nil {
		return index.Behind()
	}
	if searching {
		return p.store.Behind(0)
	}
	return 0
}

// serve stores, indexes and answers for the shard until ctx ends, something fails, or it is to be
// moved; then it moves it.
func (x *Indexer) serve(parent context.Context, home *assignment.Shard, store *pages.Store, epoch uint64) error {
	ctx, stop := context.WithCancel(parent)
	defer stop()
	s := &shard{part: part{home.ID(), store, new(atomic.Pointer[search.Index]), new(atomic.Bool), x.marks, x.hides}, x: x, assignment: home, log: home.Log(),
		stop: stop, fenced: make(chan struct{})}
	if err := s.openArchive(); err != nil {
		return err
	}
	s.put = s.archive.Put
	s.relinking.Store(s.scopeChanged())
	s.refilling.Store(home.Refill())
	s.forgetting.Store(true) // until it is known that there is nothing
	if x.o.Search {
		if err := s.openSearch(); err != nil {
			// FollowSearch tries again.
			s.log.Error("search is off until the index file can be opened", "err", err)
		}
	}
	x.addShard(s)
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.consume(gctx, epoch) })
	g.Go(func() error { return s.mind(gctx) })
	g.Go(func() error { return s.expire(gctx) })
	g.Go(func() error { return s.keepQuarantined(gctx) })
	g.Go(func() error { return s.keepLinked(gctx) })
	g.Go(func() error { return s.refill(gctx) })
	g.Go(func() error { return s.sendOutbox(gctx) })
	g.Go(func() error { return s.keepForgetting(gctx) })
	g.Go(func() error { return s.keepArchive(gctx) })
	if x.o.Search {
		g.Go(func() error { return s.followSearch(gctx) })
		g.Go(func() error { return s.keepReindexed(gctx) })
	}
	if !x.o.Embedded {
		g.Go(func() error { return s.leave(gctx) })
	}
	err := errors.Join(g.Wait(), s.closeArchive())
	if s.move != nil {
		defer s.move.Done()
	}
	x.letGo(s) // before the files are closed: who reads them will know why that fails
	if index := s.index.Swap(nil); index != nil {
		err = errors.Join(err, index.Close())
	}
	if f := s.fatal.Load(); f != nil {
		return *f
	}
	if s.move != nil {
		return s.move.HandOver(parent, s.store, epoch)
	}
	return err
}

// errLeave ends serving a shard in order to move it.
var errLeave = errors.New("the shard is being moved")

// leave waits until the shard is to be moved. It returns errLeave then.
func (s *shard) leave(ctx context.Context) error {
	if s.move = s.assignment.AwaitMove(ctx, func() int64 { return s.store.Stats().FileBytes }); s.move != nil {
		return errLeave
	}
	return nil
}

// mind stops the shard for good when its page store turns out to be damaged. Pages that are handed
// over meanwhile wait in the queue: tried again in this process they would end as store-failed.
func (s *shard) mind(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case <-s.store.Damaged():
		err := s.store.Damage()
		s.fatal.CompareAndSwap(nil, &err)
		s.stop()
	}
	return nil
}

func (s *shard) openSearch() error {
	index, err := search.Open(assignment.SearchFile(s.x.o.Dir, s.id), s.store, search.Options{Log: s.log, Turn: s.x.analyze, Read: s.marks.read, Hidden: s.x.hides, HiddenHost: s.x.hidesHost,
		Mark: s.x.reindexMark(), Indexed: s.traceIndexed(), Fault: s.x.o.Fault})
	if err == nil {
		s.index.Store(index)
	}
	return err
}

// followSearch keeps the index behind the store. Whatever goes wrong with it is
// search's trouble alone.
func (s *shard) followSearch(ctx context.Context) error {
	again := backoff.Delay{Least: time.Second, Most: time.Minute}
	for {
		if index := s.index.Load(); index != nil {
			return index.Run(ctx)
		}
		if again.Sleep(ctx) != nil {
			return nil
		}
		if err := s.openSearch(); err != nil {
			s.log.Error("the search index cannot be opened", "err", err)
		}
	}
}

// analyze lets as many indexes analyze at a time as there are tokens.
func (x *Indexer) analyze(ctx context.Context) (done func(), err error) {
	select {
	case x.analyzing <- struct{}{}:
		return func() { <-x.analyzing }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// expire removes pages whose unavailable_after comes while they are held.
func (s *shard) expire(ctx context.Context) error {
	for {
		n, err := s.store.Expire(time.Now(), expireBatch)
		if err != nil {
			s.log.Error("expired pages are not removed yet", "err", err)
		}
		s.x.metrics.deleted.Add(float64(n))
		if n == expireBatch && ctx.Err() == nil {
			continue
		}
		if !sleep(ctx, expireEvery) {
			return nil
		}
	}
}
