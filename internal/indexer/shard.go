package indexer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/search"
	"github.com/curtsy/curtsy/pkg/queue"
)

const (
	batchMessages = 64      // messages in one commit
	batchBytes    = 4 << 20 // and of them
	expireEvery   = time.Minute
	expireBatch   = 1000
)

// shard is one shard while it is held.
type shard struct {
	part
	x        *Indexer
	log      *slog.Logger
	extract  pages.Extractor // used by the consumer only
	unpacked []byte
	began    time.Time                                // when the last commit began
	failed   time.Time                                // when storing failed last
	put      func([]pages.Page) (pages.Result, error) // store.Put; a test's hook
	fatal    atomic.Pointer[error]

	relinking atomic.Bool // the scope changed, and the links of stored pages are not all offered again
	stop      context.CancelFunc
}

// part is what questions about a shard are answered from: its files.
type part struct {
	id    int
	store *pages.Store
	index *atomic.Pointer[search.Index] // nil inside: search is off, or not open yet
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

// fatal reports whether trying again would not help.
func fatal(err error) bool {
	return errors.Is(err, pages.ErrFormat) || errors.Is(err, crawl.ErrVersion)
}

// serveShard holds a shard until ctx ends, another owner takes it or something fails.
func (x *Indexer) serveShard(ctx context.Context, id int, kv jetstream.KeyValue, log *slog.Logger) (err error) {
	store, err := x.comeHome(ctx, id, kv, log)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	own, err := queue.Own(ctx, kv, fmt.Sprintf("indexer.%d", id), queue.OwnOptions{
		Owner: x.o.Instance, Term: x.o.Term, SameDir: true, Log: x.log,
	})
	if err != nil {
		return nil // only when ctx ends
	}
	defer func() {
		release, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		if e := own.Release(release, ""); e != nil && !errors.Is(e, queue.ErrLost) {
			log.Warn("the shard is not released in order; the next start takes it all the same", "err", e)
		}
	}()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s := &shard{part: part{id, store, new(atomic.Pointer[search.Index])}, x: x, log: log, put: store.Put, stop: stop}
	s.relinking.Store(s.scopeChanged())
	if x.o.Search {
		if err := s.openSearch(); err != nil {
			log.Error("search is off until its file can be opened", "err", err) // followSearch tries again
		}
	}
	x.hold(s)
	defer x.letGo(s)
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return own.Run(gctx) })
	g.Go(func() error { return s.consume(gctx, own.Epoch()) })
	g.Go(func() error { return s.expire(gctx) })
	g.Go(func() error { return s.keepLinked(gctx) })
	if x.o.Search {
		g.Go(func() error { return s.followSearch(gctx) })
	}
	err = g.Wait()
	if index := s.index.Swap(nil); index != nil {
		err = errors.Join(err, index.Close())
	}
	if f := s.fatal.Load(); f != nil {
		return *f
	}
	return err
}

func (s *shard) openSearch() error {
	index, err := search.Open(searchFile(s.x.o.Dir, s.id), s.store, search.Options{Log: s.log, Turn: s.x.turn})
	if err == nil {
		s.index.Store(index)
	}
	return err
}

// followSearch keeps the index behind the store. Whatever goes wrong with it is search's trouble alone.
func (s *shard) followSearch(ctx context.Context) error {
	for wait := time.Second; ; wait = min(2*wait, time.Minute) {
		if index := s.index.Load(); index != nil {
			return index.Run(ctx)
		}
		if !sleep(ctx, wait) {
			return nil
		}
		if err := s.openSearch(); err != nil {
			s.log.Error("search index cannot be opened", "err", err)
		}
	}
}

// turn lets as many indexes analyze at a time as there are tokens.
func (x *Indexer) turn(ctx context.Context) (done func(), err error) {
	select {
	case x.turns <- struct{}{}:
		return func() { <-x.turns }, nil
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
		s.x.met.deleted.Add(float64(n))
		if n == expireBatch && ctx.Err() == nil {
			continue
		}
		if !sleep(ctx, expireEvery) {
			return nil
		}
	}
}

// consume stores what is handed over until ctx ends.
func (s *shard) consume(ctx context.Context, epoch uint64) error {
	return s.x.work.Consume(ctx, s.x.names.PagesSubject(s.id), fmt.Sprintf("indexer-%d", s.id), epoch, queue.ConsumeOptions{
		MaxMessages: batchMessages, MaxBytes: batchBytes,
		GiveUp: func(m queue.Message, err error) { s.giveUp(ctx, m, err) },
	}, s.handle)
}

// handle stores the pages of a batch of messages. Bodies are not copied: they stay where the message has them until
// they are in the file.
func (s *shard) handle(ctx context.Context, batch []queue.Message) error {
	var all []pages.Page
	now := time.Now()
	for _, m := range batch {
		decoded, err := crawl.DecodePages(m.Data)
		switch {
		case errors.Is(err, crawl.ErrVersion):
			// It must wait for a program that can read it: this one stops instead of giving it up.
			err = fmt.Errorf("shard %d: %w", s.id, err)
			s.fatal.CompareAndSwap(nil, &err)
			s.stop()
			return err
		case err != nil:
			return fmt.Errorf("message %d of shard %d: %w: %w", m.Seq, s.id, queue.ErrDrop, err)
		}
		for _, p := range decoded {
			if p.Kind == crawl.KindData {
				if err := s.keepData(&p); err != nil {
					return err
				}
				continue
			}
			if crawl.ShardOf(p.URL.Host(), s.x.shardsInAll()) != s.id {
				s.log.Warn("page of another shard ignored", "url", p.URL)
				continue
			}
			all = append(all, s.read(p, now))
		}
	}
	if err := s.offerStrays(ctx, all); err != nil {
		return err
	}
	s.pace(ctx, all)
	began := time.Now()
	s.began = began
	res, err := s.keep(ctx, all)
	if err != nil {
		return err
	}
	s.x.met.stored(res, all, time.Since(began))
	return nil
}

// pace leaves Options.Pace between the beginnings of two commits, unless this one is large: meanwhile more messages come
// and share the next. The first after a silence waits for nothing.
func (s *shard) pace(ctx context.Context, batch []pages.Page) {
	size := 0
	for i := range batch {
		size += len(batch[i].Body)
	}
	if left := s.x.o.Pace - time.Since(s.began); left > 0 && size < batchBytes/2 {
		sleep(ctx, left)
	}
}

func (x *Indexer) shardsInAll() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.spec.Shards
}

// read decides whether a page may be kept, and reads its title.
func (s *shard) read(p crawl.Page, now time.Time) pages.Page {
	out := pages.Page{Page: p}
	if !p.UnavailableAfter.IsZero() && !now.Before(p.UnavailableAfter) {
		out.Directives |= crawl.NoIndex
	}
	if out.Directives&crawl.NoIndex != 0 || p.Deleted != "" {
		out.Body = nil // not even looked at
		return out
	}
	body, err := out.Unpack(s.unpacked)
	if err != nil {
		s.log.Warn("page is stored without a title", "url", p.URL, "err", err)
		return out
	}
	if p.Encoding != crawl.EncodingNone {
		s.unpacked = body
	}
	out.Title, out.Lang = s.extract.Title(p.ContentType, p.Charset, body)
	return out
}

// keep puts a batch, and while the file fails tries again for Options.Patience: a disk that is full for a moment
// should cost no page one of its deliveries. Right after such a wait it does not wait again.
func (s *shard) keep(ctx context.Context, batch []pages.Page) (pages.Result, error) {
	patience := s.x.o.Patience
	if time.Since(s.failed) < 2*time.Second {
		patience = 0
	}
	began := time.Now()
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		res, err := s.put(batch)
		if err == nil {
			return res, nil
		}
		s.failed = time.Now()
		left := patience - time.Since(began)
		if left <= 0 {
			return res, err
		}
		s.log.Error("pages cannot be stored; they wait and are tried again", "pages", len(batch), "err", err)
		if !sleep(ctx, min(wait, left)) {
			return res, err
		}
	}
}

// giveUp tells the frontier that the pages of a message are not stored and never will be by this hand-over. The event
// is stored before the message is settled; should even that fail, the log is where it can be read.
func (s *shard) giveUp(ctx context.Context, m queue.Message, cause error) {
	decoded, err := crawl.DecodePages(m.Data)
	if err != nil {
		s.log.Error("a message is given up and cannot even be read", "seq", m.Seq, "err", err)
		return
	}
	var ev crawl.Event
	for _, p := range decoded {
		s.log.Error("page given up", "url", p.URL, "deliveries", m.Deliveries, "err", cause)
		ev.StoreFailed = append(ev.StoreFailed, string(p.URL))
	}
	s.x.met.failed.Add(float64(len(decoded)))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	names := s.x.names
	l, err := s.x.q.OpenLog(ctx, queue.LogConfig{Stream: names.EventsStream(s.id), Subject: names.EventsSubject(s.id)})
	if err == nil {
		_, err = l.Append(ctx, crawl.AppendEvent(nil, &ev))
	}
	if err != nil {
		s.log.Error("the frontier does not know of pages given up", "urls", ev.StoreFailed, "err", err)
	}
}
