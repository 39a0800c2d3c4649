package frontier

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/curtsy/curtsy/internal/backoff"
	"github.com/curtsy/curtsy/internal/boltfile"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/restore"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/queue"
)

// runShard owns one shard whenever it should be ours and is available. When the file or the log
// fails, it opens both again, and events that were applied but not committed are read from the log
// again.
func (f *Frontier) runShard(ctx context.Context, id int, kv jetstream.KeyValue) error {
	again := backoff.Delay{Least: time.Second, Most: 30 * time.Second}
	for ctx.Err() == nil {
		began := time.Now()
		err := f.holdShard(ctx, id, kv)
		switch {
		case ctx.Err() != nil && errors.Is(err, context.Canceled):
			return nil
		case ctx.Err() != nil:
			return err
		case err == nil: // another frontier should own it now
			again.Reset()
			continue
		case errors.Is(err, crawl.ErrVersion) || errors.Is(err, store.ErrFormat):
			return err
		case boltfile.IsDamaged(err) && f.opt.Embedded:
			return err // there is no checkpoint, and the log is deleted as it is applied
		case boltfile.IsDamaged(err):
			f.files.Quarantine(id, err)
		case time.Since(began) > time.Minute:
			again.Reset()
		}
		wait := again.Next()
		f.log.Error("the shard stopped; trying again", "shard", id, "error", err, "wait", wait)
		if backoff.Sleep(ctx, wait) != nil {
			return nil
		}
	}
	return nil
}

// holdShard acquires a shard as soon as it should be ours and is available. It serves the shard
// until it should no longer be ours, ctx ends, or something fails.
func (f *Frontier) holdShard(ctx context.Context, id int, kv jetstream.KeyValue) error {
	same, err := f.files.SameDir(ctx, id)
	if err != nil {
		return err
	}
	reported := ""
	mine := func() bool {
		if !f.claims.has(id) {
			return false
		}
		err := f.files.Attainable(ctx, id)
		if err != nil && err.Error() != reported && ctx.Err() == nil {
			reported = err.Error()
			f.log.Error("the shard is not acquired", "shard", id, "error", err)
		}
		return err == nil
	}
	own, err := queue.Own(ctx, kv, restore.OwnerKey(id), queue.OwnOptions{
		Owner: f.opt.Instance, Term: f.opt.Term, SameDir: same, Mine: mine, Log: f.log,
	})
	if err != nil {
		return err
	}
	owned, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() {
		_ = f.claims.await(owned, id, false)
		cancel()
	})
	return f.serveShard(owned, id, own)
}

// keeper renews an ownership in the background.
type keeper struct {
	stop func()
	done chan struct{}
	err  error // set once done is closed
}

func keep(ctx context.Context, own *queue.Ownership) *keeper {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	k := &keeper{stop: cancel, done: make(chan struct{})}
	go func() {
		defer close(k.done)
		k.err = own.Run(ctx)
	}()
	return k
}

// watch returns why the ownership ended, or nil when ctx did.
func (k *keeper) watch(ctx context.Context) error {
	select {
	case <-k.done:
		return k.err
	case <-ctx.Done():
		return nil
	}
}

func (k *keeper) end() {
	k.stop()
	<-k.done
}

// serveShard opens a shard that was just acquired, and applies its log until ctx ends or something
// fails.
func (f *Frontier) serveShard(ctx context.Context, id int, own *queue.Ownership) (err error) {
	began := time.Now()
	k := keep(ctx, own)
	defer k.end()
	s, pending, err := f.openTaken(ctx, k, id, own)
	if err != nil {
		if ctx.Err() != nil {
			// Nothing was granted. The record names another owner's state, so the next owner waits
			// for a lease in any case.
			f.release(ctx, own, "")
			return nil
		}
		return err
	}
	visits := len(s.Visits.Outstanding)
	var once sync.Once
	ready := func(pending store.Start) {
		once.Do(func() { f.ready(s, own, pending, visits, began) })
	}

	// work outlives ctx. After ctx ends the log is still applied until no visit is outstanding or
	// the grace period is over, or until the shard is handed over.
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	g, gctx := errgroup.WithContext(work)
	g.Go(func() error { return k.watch(gctx) })
	g.Go(func() error { return s.keepCommitted(gctx) })
	g.Go(func() error { return s.Passes.RunPasses(gctx) })
	g.Go(func() error { return s.Mirrors.Resolve(gctx) })
	g.Go(func() error { return s.Ledger.SendOutbox(gctx, false, f.appendTo) })
	g.Go(func() error { return s.Ledger.SendOutbox(gctx, true, f.handOverPages) })
	g.Go(func() error { return f.follow(gctx, s, pending, ready) })
	if f.opt.Embedded {
		g.Go(func() error { return f.purge(gctx, s) })
	} else {
		g.Go(func() error { return f.checkpoints.Keep(gctx, s.copies, own) })
	}
	stopLeases, err := f.serveLeases(s)
	if err != nil {
		stopWork()
		return errors.Join(err, g.Wait(), s.close(false))
	}
	f.mu.Lock()
	f.shards[id], f.served[id] = s, true
	j := f.j
	f.mu.Unlock()
	s.Ledger.Mu.Lock()
	// The spec may have changed while the file was opened.
	s.Ledger.Guarded(func() error { s.Specs.Change(j); return nil })
	s.Ledger.Mu.Unlock()

	select {
	case <-gctx.Done():
	case <-ctx.Done():
		if f.opt.Embedded {
			s.drain(gctx, f.opt.StopGrace)
		} else if f.moving.enter(f.grace) == nil {
			defer f.moving.leave()
		}
	}
	s.leave()
	stopLeases()
	stopWork()
	err = g.Wait()
	if f.opt.Embedded {
		return f.letGo(ctx, s, own, err)
	}
	return f.handOver(ctx, s, own, err)
}

// ready reports that an acquired shard has read its whole log.
func (f *Frontier) ready(s *Shard, own *queue.Ownership, pending store.Start, visits int, began time.Time) {
	f.metrics.ReadyTime.Observe(time.Since(began).Seconds())
	f.metrics.Taken.WithLabelValues(pending.String()).Inc()
	s.Ledger.Log.Info("shard acquired", "from", own.Predecessor().Owner, "owed", pending.String(), "visits", visits,
		"took", time.Since(began).Round(time.Millisecond))
}

// openTaken opens a shard that was just acquired, in the state that its owner must have. It tries
// again until that succeeds, ctx ends or the shard is lost. An attempt that is running when ctx
// ends continues, because only an open shard can be handed over in order.
func (f *Frontier) openTaken(ctx context.Context, k *keeper, id int, own *queue.Ownership) (*Shard, store.Start, error) {
	trying, cancel := context.WithCancel(f.grace)
	defer cancel()
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() {
		_ = k.watch(trying)
		cancel() // the state of a lost shard is not needed
	})
	again := backoff.Delay{Least: time.Second, Most: 30 * time.Second}
	for {
		s, start, err := f.tryOpen(trying, id, own)
		switch {
		case err == nil || f.opt.Embedded || errors.Is(err, store.ErrFormat):
			return s, start, err
		case ctx.Err() != nil || trying.Err() != nil:
			return nil, 0, err
		}
		wait := again.Next()
		f.log.Error("a shard was acquired, but it cannot be opened; trying again", "shard", id, "error", err, "wait", wait)
		if boltfile.IsDamaged(err) {
			f.files.Quarantine(id, err)
		}
		select {
		case <-ctx.Done():
			return nil, 0, err
		case <-trying.Done():
			return nil, 0, err
		case <-time.After(wait):
		}
	}
}

func (f *Frontier) tryOpen(ctx context.Context, id int, own *queue.Ownership) (s *Shard, st store.Start, err error) {
	var unreadable []string
	if !f.opt.Embedded {
		if unreadable, err = f.files.Prepare(ctx, id, own); err != nil {
			return nil, 0, err
		}
	}
	f.mu.Lock()
	j := f.j
	f.mu.Unlock()
	s, err = openShard(f.opt.Dir, id, j, own.Epoch(), f.opt.Instance, own.Valid, f.log)
	if err != nil {
		return nil, 0, err
	}
	s.Ledger.DB.SetFault(f.opt.Fault)
	s.Ledger.Attach(f.opt.CrawlLog, f.budget, f.metrics)
	s.Visits.Attach(f.slots, f.matcher.wake)
	s.RUPSites.SetSecret(f.secret)
	s.WebSub.SetSecret(f.secret)
	s.copies = restore.NewCopies(s.Parts, f.opt.Deltas, unreadable)
	s.Events.Trace(f.traces)
	st = f.startOf(s, own)
	f.files.ReportLoss(ctx, s.Ledger, s.was, own)
	s.Ledger.Mu.Lock()
	err = s.Ledger.Guarded(func() error { return f.begin(s, st, own) })
	s.Ledger.Mu.Unlock()
	if err != nil {
		return nil, 0, errors.Join(err, s.close(false))
	}
	return s, st, nil
}

// begin makes a shard that was opened ours, in its file too. The caller holds its mu.
func (f *Frontier) begin(s *Shard, st store.Start, own *queue.Ownership) error {
	var unaware time.Duration
	if own.Predecessor() == (queue.Record{}) {
		unaware = cmp.Or(f.opt.Term, 10*time.Second)
	}
	err := s.begin(st, unaware, time.Now())
	if err == nil && f.opt.Embedded {
		err = s.afterReboot()
	}
	if err == nil {
		err = s.Ledger.Commit(true) // from here on the record refers to this file
	}
	return err
}

// leave ends granting and renewing permanently. It takes the lock itself.
func (s *Shard) leave() {
	s.Ledger.Mu.Lock()
	defer s.Ledger.Mu.Unlock()
	s.Ledger.Phase.Leave()
}

// letGo closes a shard for which no other frontier waits.
func (f *Frontier) letGo(ctx context.Context, s *Shard, own *queue.Ownership, err error) error {
	f.forget(s.Ledger.ID)
	s.Ledger.Mu.Lock()
	idle := len(s.Visits.Outstanding) == 0
	s.Ledger.Mu.Unlock()
	err = errors.Join(err, s.close(true))
	if err == nil && idle {
		f.release(ctx, own, "")
	}
	return err
}

// forget stops answering for a shard.
func (f *Frontier) forget(id int) {
	f.mu.Lock()
	delete(f.shards, id)
	f.mu.Unlock()
	f.budget.Forget(id)
}

// release releases a shard in the record, and reports whether it could. If it cannot, that is no
// failure: the next owner waits a little longer.
func (f *Frontier) release(ctx context.Context, own *queue.Ownership, checkpoint string) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := own.Release(ctx, checkpoint); err != nil {
		f.log.Warn("a shard could not be released; its next owner will wait for one lease", "error", err)
		return false
	}
	return true
}

// drain waits until no visit is outstanding, for at most d.
func (s *Shard) drain(ctx context.Context, d time.Duration) {
	end := time.After(d)
	t := time.NewTicker(20 * time.Millisecond)
	defer t.Stop()
	for {
		s.Ledger.Mu.Lock()
		n := len(s.Visits.Outstanding)
		s.Ledger.Mu.Unlock()
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
