package frontier

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/queue"
)

// runShard owns one shard for as long as it can, again and again: when the file or the log fails it opens both anew,
// and whatever was applied but not committed comes from the log once more.
func (f *Frontier) runShard(ctx context.Context, id int, kv jetstream.KeyValue) error {
	for wait := time.Second; ; wait = min(2*wait, 30*time.Second) {
		if err := f.awaitTurn(ctx, id, kv); err != nil {
			return nil // ctx ended
		}
		own, err := queue.Own(ctx, kv, fmt.Sprintf("frontier.%d", id), queue.OwnOptions{
			Owner: f.opt.Instance, Term: f.opt.Term, SameDir: true, Log: f.log,
		})
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			began := time.Now()
			err = f.serveShard(ctx, id, own)
			if ctx.Err() != nil {
				return err
			}
			if time.Since(began) > time.Minute {
				wait = time.Second
			}
		}
		if errors.Is(err, crawl.ErrVersion) || errors.Is(err, ErrFormat) {
			return err
		}
		f.log.Error("shard stopped; trying again", "shard", id, "error", err, "wait", wait)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// awaitTurn waits while the shard's state lies in another frontier's directory. Until checkpoints travel between machines,
// taking such a shard would mean to begin it from the little that is left in its log.
func (f *Frontier) awaitTurn(ctx context.Context, id int, kv jetstream.KeyValue) error {
	for said := false; ; {
		if _, err := os.Stat(filepath.Join(f.opt.Dir, fileName(id))); err == nil {
			return nil
		}
		e, err := kv.Get(ctx, fmt.Sprintf("frontier.%d", id))
		var rec queue.Record
		if err == nil {
			err = json.Unmarshal(e.Value(), &rec)
		}
		if errors.Is(err, jetstream.ErrKeyNotFound) || err == nil && rec.Owner == f.opt.Instance {
			return nil
		}
		if !said && err == nil {
			f.log.Info("shard is another frontier's, with its state; waiting", "shard", id, "owner", rec.Owner)
			said = true
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(2 * time.Second):
		}
	}
}

// serveShard opens a shard's file and follows its log until ctx ends or something fails.
func (f *Frontier) serveShard(ctx context.Context, id int, own *queue.Ownership) error {
	f.mu.Lock()
	j := f.j
	f.mu.Unlock()
	s, err := openShard(f.opt.Dir, id, f.names, j, own.Epoch(), f.opt.Instance, own.Valid, f.log)
	if err != nil {
		return err
	}
	s.out, s.budget, s.met, s.notify = f.opt.CrawlLog, f.budget, f.met, f.wake
	start := f.startOf(s, own)

	// run outlives ctx: after it ends the log is still applied until no visit is outstanding, or the grace is over.
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	g, gctx := errgroup.WithContext(run)
	g.Go(func() error { return own.Run(gctx) })
	g.Go(func() error { return s.keepCommitted(gctx) })
	g.Go(func() error { return s.sendOutbox(gctx, f.appendTo) })
	g.Go(func() error { return f.purge(gctx, s) })
	g.Go(func() error { return f.follow(gctx, s, start) })
	subs, err := f.serveLeases(s)
	if err != nil {
		cancel()
		return errors.Join(err, g.Wait(), s.close())
	}
	f.mu.Lock()
	f.shards[id], f.served[id] = s, true
	j = f.j
	f.mu.Unlock()
	s.mu.Lock()
	s.judgeBy(j) // the spec may have changed while the file was opened
	s.mu.Unlock()

	select {
	case <-gctx.Done():
	case <-ctx.Done():
		s.drain(gctx, f.opt.StopGrace)
	}
	f.mu.Lock()
	delete(f.shards, id)
	f.mu.Unlock()
	cancel()
	err = g.Wait()
	for _, sub := range subs {
		sub.Unsubscribe()
	}
	s.mu.Lock()
	idle := len(s.visits) == 0
	s.mu.Unlock()
	err = errors.Join(err, s.close())
	if err == nil && idle {
		rctx, done := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer done()
		if err := own.Release(rctx, ""); err != nil {
			f.log.Warn("shard not released; its next owner will wait a lease", "shard", id, "error", err)
		}
	}
	return err
}

// drain waits until no visit is outstanding, for at most d.
func (s *shard) drain(ctx context.Context, d time.Duration) {
	end := time.After(d)
	t := time.NewTicker(20 * time.Millisecond)
	defer t.Stop()
	for {
		s.mu.Lock()
		n := len(s.visits)
		s.mu.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-end:
			return
		case <-t.C:
		}
	}
}

func (f *Frontier) appendTo(ctx context.Context, shard int, data []byte) error {
	_, err := f.logs[shard].Append(ctx, data)
	return err
}

// purgeLag is how long an applied and committed event stays in the log all the same.
const purgeLag = 30 * time.Second

// purge drops from the log what has been applied and committed for a while.
func (f *Frontier) purge(ctx context.Context, s *shard) error {
	t := time.NewTicker(purgeLag / 2)
	defer t.Stop()
	var old, older uint64
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
		s.mu.Lock()
		err := s.commit(true)
		seq := s.m.Seq
		s.mu.Unlock()
		if err != nil {
			return err
		}
		if seq < old {
			old, older = 0, 0 // the log began anew: what these numbers meant is gone
		}
		if older > 0 {
			if err := f.logs[s.id].Purge(ctx, older); err != nil && ctx.Err() == nil {
				s.log.Warn("purge", "error", err)
			}
		}
		old, older = seq, old
	}
}

// serveLeases answers the fetchers' requests about one shard: renewals, and robots.txt bodies by digest.
func (f *Frontier) serveLeases(s *shard) ([]*nats.Subscription, error) {
	renew, err := f.q.NC.Subscribe(f.names.Renew(s.id), func(m *nats.Msg) {
		r, err := crawl.DecodeRenew(m.Data)
		if err != nil {
			return
		}
		s.mu.Lock()
		ans := s.renew(r.Visits, time.Now())
		s.mu.Unlock()
		m.Respond(crawl.AppendRenewed(nil, ans))
	})
	if err != nil {
		return nil, err
	}
	bodies, err := f.q.NC.Subscribe(f.names.Robots(s.id), func(m *nats.Msg) {
		s.mu.Lock()
		var body []byte
		if ref, ok := s.digests[string(m.Data)]; ok && s.tx != nil {
			body = append(body, s.tx.Bucket(bucketRobots).Get(robotsKey(ref.id, ref.origin))...)
		}
		s.mu.Unlock()
		m.Respond(body)
	})
	if err != nil {
		renew.Unsubscribe()
		return nil, err
	}
	return []*nats.Subscription{renew, bodies}, nil
}
