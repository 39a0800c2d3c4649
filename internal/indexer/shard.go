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
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/indexer/assignment"
	"github.com/curtsy/curtsy/internal/indexer/intake"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/search"
	"github.com/curtsy/curtsy/pkg/canon"
)

const (
	batchMessages = 64      // messages in one commit
	batchBytes    = 2 << 20 // and their bytes; as many again may be in transit meanwhile
	expireEvery   = time.Minute
	expireBatch   = 1000
)

// shard is one shard while it is owned.
type shard struct {
	part
	x          *Indexer
	assignment *assignment.Shard
	log        *slog.Logger
	handling   chan struct{} // has a token while messages are stored; guards reader and began
	reader     pageReader
	began      time.Time                                // when the last commit began
	intake     *intake.Intake                           // nil: pages come through NATS only
	retries    sync.WaitGroup                           // messages of intake that are tried again
	put        func([]pages.Page) (pages.Result, error) // archive.Put; tests replace it
	archive    *archive.Shard
	search     *searchFollower
	links      *relinker
	ruling     *ruling
	fatal      atomic.Pointer[error]
	stuck      atomic.Pointer[error] // why the current batch is not stored yet

	forgetting atomic.Bool // perhaps not all forgotten pages are deleted yet
	// It is locked for reading from the look at the list of forgotten pages, and at the site rules,
	// until a page is stored.
	gate sync.RWMutex
	// The store was begun empty in place of another, and the frontier does not know yet.
	refilling atomic.Bool
	fenced    chan struct{} // closed when no other indexer can acknowledge pages of it
	stop      context.CancelFunc

	move *assignment.Move // to another indexer; nil: the shard stays
}

// part is what a question about a shard reads: its files.
type part struct {
	id    int
	store *pages.Store
	index *atomic.Pointer[search.Index] // contains nil while search is off, or not open yet
	// The shard is no longer owned: its files are closed, or will be.
	gone  *atomic.Bool
	marks *marks               // of the directory
	hides func(canon.URL) bool // the URL is forgotten, but perhaps not deleted yet
	// content is what people and search read of a page; nil: the page as it is.
	content pages.Content
}

// hidden reports whether a URL must not be shown.
func (p part) hidden(u canon.URL) bool { return p.hides != nil && p.hides(u) }

// info returns the page as in a list, without what is forgotten.
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

// behind returns how many changes of pages search has not read, 0 if it is off.
func (p part) behind(searching bool) int64 {
	if index := p.index.Load(); index != nil {
		return index.Behind()
	}
	if searching {
		return p.store.Feed().Behind(0)
	}
	return 0
}

// serve stores, indexes and answers for the shard until ctx ends, something fails, or the shard
// must be moved. Then it moves the shard.
func (x *Indexer) serve(parent context.Context, home *assignment.Shard, store *pages.Store, epoch uint64) error {
	ctx, stop := context.WithCancel(parent)
	defer stop()
	s := &shard{part: part{home.ID(), store, new(atomic.Pointer[search.Index]), new(atomic.Bool), x.marks, x.hides, contentBy(x.rules.Load)}, x: x, assignment: home, log: home.Log(),
		stop: stop, fenced: make(chan struct{}), handling: make(chan struct{}, 1)}
	s.reader = pageReader{log: s.log, marks: s.marks}
	s.search = &searchFollower{part: s.part, x: x, log: s.log}
	s.links = &relinker{x: x, store: store, log: s.log}
	s.ruling = newRuling(s)
	err := s.openArchive()
	if err != nil {
		return err
	}
	s.put = s.archive.Put
	s.links.pending.Store(s.links.scopeChanged())
	s.ruling.pending.Store(s.ruling.behind())
	s.refilling.Store(home.Refill())
	s.forgetting.Store(true) // until it is known that there are none
	if x.o.Search {
		if err := s.search.open(); err != nil {
			// follow tries again.
			s.log.Error("search is off until the index file can be opened", "err", err)
		}
	}
	if x.o.Embedded {
		if s.intake, err = intake.Open(x.o.Dir, s.id, x.o.IntakeFile, s.log); err != nil {
			return errors.Join(err, s.closeArchive(), s.search.close())
		}
	}
	x.addShard(s)
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.consume(gctx, epoch) })
	g.Go(func() error { return s.mind(gctx) })
	g.Go(func() error { return s.expire(gctx) })
	g.Go(func() error { return s.keepQuarantined(gctx) })
	g.Go(func() error { return s.links.keepLinked(gctx) })
	g.Go(func() error { return s.ruling.keepApplied(gctx) })
	g.Go(func() error { return s.refill(gctx) })
	g.Go(func() error { return s.sendOutbox(gctx) })
	g.Go(func() error { return s.keepForgetting(gctx) })
	g.Go(func() error { return s.keepArchive(gctx) })
	if x.o.Search {
		g.Go(func() error { return s.search.follow(gctx) })
		g.Go(func() error { return s.search.keepReindexed(gctx) })
	}
	if s.intake != nil {
		g.Go(func() error { return s.consumeIntake(gctx) })
		g.Go(func() error { return s.keepSynced(gctx) })
	} else {
		g.Go(func() error { return s.leave(gctx) })
	}
	err = errors.Join(g.Wait(), s.closeIntake(), s.closeArchive())
	if s.move != nil {
		defer s.move.Done()
	}
	x.letGo(s) // before the files are closed, so that readers know why reading fails
	err = errors.Join(err, s.search.close())
	if f := s.fatal.Load(); f != nil {
		return *f
	}
	if s.move != nil {
		return s.move.HandOver(parent, s.store, epoch)
	}
	return err
}

// errLeave stops serving a shard in order to move it.
var errLeave = errors.New("the shard is being moved")

// leave waits until the shard must be moved. Then it returns errLeave.
func (s *shard) leave(ctx context.Context) error {
	if s.move = s.assignment.AwaitMove(ctx, func() int64 { return s.store.Stats().FileBytes }); s.move != nil {
		return errLeave
	}
	return nil
}

// mind stops the shard permanently if its page store turns out to be damaged. Pages that are
// published meanwhile wait in the queue. If they were tried again in this process, they would end
// as store-failed.
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

// expire removes pages whose unavailable_after passes while they are stored.
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
