package indexer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/archive"
	"github.com/curtsy/curtsy/internal/backoff"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/tracing"
	"github.com/curtsy/curtsy/pkg/queue"
)

// consume stores published pages until ctx ends, whenever the disk has space.
func (s *shard) consume(ctx context.Context, epoch uint64) error {
	fenced := sync.OnceFunc(func() { close(s.fenced) })
	for ctx.Err() == nil {
		full, changed := s.x.space()
		if full != nil {
			select {
			case <-ctx.Done():
			case <-changed:
			}
			continue
		}
		while, stop := context.WithCancel(ctx)
		go func() {
			defer stop()
			select {
			case <-while.Done():
			case <-changed:
			}
		}()
		err := s.x.work.Consume(while, s.x.names.PagesSubject(s.id), fmt.Sprintf("indexer-%d", s.id), epoch, queue.ConsumeOptions{
			MaxMessages: batchMessages, MaxBytes: batchBytes, Retry: s.x.retry, Ready: fenced,
			GiveUp: s.giveUp,
		}, s.handleAndAcknowledge)
		stop()
		if err != nil {
			return err
		}
	}
	return nil
}

// handleAndAcknowledge calls handle. If that returns nil, the batch is acknowledged.
func (s *shard) handleAndAcknowledge(ctx context.Context, batch []queue.Message) error {
	err := s.handle(ctx, batch)
	if err == nil && s.x.o.Fault != nil {
		err = s.x.o.Fault("acknowledge")
	}
	return err
}

// handle stores the pages of a batch of messages. Bodies are not copied: they stay in the messages
// until they are in the file.
func (s *shard) handle(ctx context.Context, batch []queue.Message) error {
	s.handling <- struct{}{}
	defer func() { <-s.handling }()
	var all []pages.Page
	var words, data, parts []crawl.Page
	var failed error
	now := time.Now()
	for i, m := range batch {
		decoded, err := crawl.DecodePages(m.Data)
		switch {
		case errors.Is(err, crawl.ErrVersion):
			// The message must wait for a program that can read it. This program stops, so that the
			// message is not lost.
			err = fmt.Errorf("shard %d: %w", s.id, err)
			s.fatal.CompareAndSwap(nil, &err)
			s.stop()
			return err
		case err != nil:
			return fmt.Errorf("message %d of shard %d: %w: %w", m.Seq, s.id, queue.ErrDrop, err)
		}
		for _, p := range decoded {
			if p.Kind == crawl.KindData {
				data = append(data, p)
				continue
			}
			if p.Kind == crawl.KindAlias {
				words = append(words, p)
				continue
			}
			if p.Part > 0 || p.Parts > 0 {
				parts = append(parts, p)
				continue
			}
			if !s.x.mine(s.id)(p.URL.Host()) {
				s.log.Warn("a page of another shard is ignored", "url", p.URL)
				continue
			}
			if p.Kind == crawl.KindCapture && p.Capture == nil {
				continue // it is empty
			}
			if len(all) == cap(all) { // the messages of a batch mostly have equally many pages
				all = slices.Grow(all, min(len(decoded)*(len(batch)-i), 256))
			}
			all = append(all, s.reader.read(p, now))
		}
	}
	s.pace(ctx, all)
	s.began = time.Now()
	if len(data) > 0 {
		failed = errors.Join(failed, s.persist(ctx, func() error { return s.keepData(data) }))
	}
	if len(parts) > 0 {
		failed = errors.Join(failed, s.keepParts(ctx, parts, now))
	}
	err := s.keep(ctx, all)
	failed = errors.Join(failed, s.x.offerStrays(ctx, all), s.keepAliases(ctx, words))
	if err != nil && len(batch) == 1 && len(all) > 1 {
		// Perhaps only some of them cannot be stored.
		for i := range all {
			failed = errors.Join(failed, s.keep(ctx, all[i:i+1]))
		}
		return failed
	}
	return errors.Join(failed, err)
}

// pace waits so that two commits begin at least Options.Pace apart, unless this one is large.
// Messages that arrive meanwhile share the next commit. The first message after a silence does not
// wait.
func (s *shard) pace(ctx context.Context, batch []pages.Page) {
	size := 0
	for i := range batch {
		size += len(batch[i].Body)
	}
	if left := s.x.o.Pace - time.Since(s.began); left > 0 && size < batchBytes*3/4 {
		sleep(ctx, left)
	}
}

func (x *Indexer) shardsInAll() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.spec.Shards
}

// keep stores a batch.
func (s *shard) keep(ctx context.Context, batch []pages.Page) error {
	return s.persist(ctx, func() error {
		s.gate.RLock()
		defer s.gate.RUnlock()
		batch := s.unforgotten(batch)
		s.ruling.conform(batch)
		began := time.Now()
		res, err := s.put(batch)
		if err == nil {
			s.x.metrics.stored(res, batch, time.Since(began))
			if s.x.traces != nil {
				s.x.traceKept(s.id, batch, began, (*tracing.Visit).Stored)
			}
		}
		return err
	})
}

// traceKept traces the pages that were stored since began: a span for each visit that brought some.
func (x *Indexer) traceKept(shard int, batch []pages.Page, began time.Time, tell func(v *tracing.Visit, pages int, began, ended time.Time)) {
	ended, count := time.Now(), make(map[crawl.VisitID]int)
	for i := range batch {
		count[batch[i].Visit]++
	}
	for id, n := range count {
		tell(x.traces.Visit(shard, id), n, began, ended)
	}
}

// persist calls do, which writes to the store, again and again until ctx ends while the store
// itself fails. A full or broken disk therefore costs a page none of its deliveries. An error while
// the store can be written is an error of the data.
func (s *shard) persist(ctx context.Context, do func() error) error {
	defer s.stuck.Store(nil)
	again := backoff.Delay{Least: 100 * time.Millisecond, Most: 5 * time.Second}
	for {
		err := do()
		if err == nil || !errors.Is(err, pages.ErrNoSpace) && !errors.Is(err, archive.ErrWrite) && s.store.SetMark(markWritten, time.Now().UTC().String()) == nil {
			return err
		}
		if s.stuck.Swap(&err) == nil {
			s.log.Error("pages cannot be stored; they wait and are tried again until it works", "err", err)
		}
		if again.Sleep(ctx) != nil {
			return err
		}
	}
}

// markWritten is a mark that is written to test whether the store can be written.
const markWritten = "written"

// giveUp reports to the frontier which pages of a message are not stored and will not be stored by
// this delivery. The message is acknowledged only after the event is stored; until then it comes
// again.
func (s *shard) giveUp(ctx context.Context, m queue.Message, cause error) error {
	if ctx.Err() != nil {
		return ctx.Err() // it was interrupted, so nothing is known about its pages
	}
	decoded, err := crawl.DecodePages(m.Data)
	if err != nil {
		return nil // nobody can read it
	}
	s.handling <- struct{}{}
	defer func() { <-s.handling }()
	var ev crawl.Event
	now := time.Now()
	for _, p := range decoded {
		if p.Kind == crawl.KindData || p.Kind == crawl.KindAlias || p.Kind == crawl.KindCapture {
			s.log.Error("could not be stored", "url", p.URL, "kind", p.Kind, "deliveries", m.Deliveries, "err", cause)
			continue // the frontier does not count it
		}
		keep := func() error { return s.keep(ctx, []pages.Page{s.reader.read(p, now)}) }
		if p.Part > 0 || p.Parts > 0 {
			keep = func() error { return s.keepParts(ctx, []crawl.Page{p}, now) }
		}
		if err := keep(); err == nil {
			continue // the error was in other pages
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.log.Error("giving up on a page", "url", p.URL, "deliveries", m.Deliveries, "err", cause)
		ev.StoreFailed = append(ev.StoreFailed, string(p.URL))
	}
	if len(ev.StoreFailed) == 0 {
		return nil
	}
	if err := s.x.publish(ctx, s.id, &ev); err != nil {
		return fmt.Errorf("cannot report lost pages to the frontier: %w", err)
	}
	s.x.metrics.failed.Add(float64(len(ev.StoreFailed)))
	return nil
}

// publish appends an event to the log of a shard.
func (x *Indexer) publish(ctx context.Context, shard int, ev *crawl.Event) error {
	l, err := x.q.OpenLog(ctx, queue.LogConfig{Stream: x.names.EventsStream(shard), Subject: x.names.EventsSubject(shard)})
	if err == nil {
		_, err = l.Append(ctx, crawl.AppendEvent(nil, ev))
	}
	return err
}

// refill asks the frontier to have the pages of a shard crawled again, if the store was begun empty
// in place of a lost one. It does so once no other indexer can acknowledge pages, because
// everything that is stored from then on is stored here.
func (s *shard) refill(ctx context.Context) error {
	if !s.refilling.Load() {
		return nil
	}
	select {
	case <-ctx.Done():
		return nil
	case <-s.fenced:
	}
	if err := s.x.step("refill"); err != nil {
		return err
	}
	if err := s.x.publish(ctx, s.id, &crawl.Event{StoreLost: s.store.Identity()}); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("report the lost page store to the frontier: %w", err)
	}
	if err := s.x.step("refilled"); err != nil {
		return err
	}
	if err := s.assignment.Refilled(ctx); err != nil {
		return err // it is asked again, which changes nothing
	}
	s.refilling.Store(false)
	s.log.Info("the frontier will crawl the shard's pages again")
	return nil
}
