package fetcher

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/queue"
)

const (
	maxTake  = 16 // visits asked for at once; fewer when there are many frontiers
	leastGap = 5 * time.Millisecond
	mostGap  = 5 * time.Second
)

// runner is one Run of a fetcher.
type runner struct {
	f          *Fetcher
	ctx        context.Context // ends when the fetcher shall stop
	requests   context.Context // ends a little later: requests under way are cut off
	publishing context.Context // ends last: what is not published by then is dropped
	wg         sync.WaitGroup  // takers and visits

	mu     sync.Mutex                    // guards takers
	takers map[string]context.CancelFunc // by frontier
}

// watch keeps one taker for each frontier that owns a shard, until ctx ends.
func (r *runner) watch() error {
	gap, said := leastGap, false
	for {
		kv, err := r.f.q.JS.KeyValue(r.ctx, r.f.names.Bucket())
		if err == nil {
			return queue.WatchOwners(r.ctx, kv, "frontier", r.owners)
		}
		if gap == mostGap/2 && !said {
			said = true
			r.f.log.Warn("waiting for the crawl's bucket", "bucket", r.f.names.Bucket(), "err", err)
		}
		if sleep(r.ctx, gap) != nil {
			return nil
		}
		gap = min(2*gap, mostGap/2)
	}
}

// owners starts and ends takers.
func (r *runner) owners(records map[string]queue.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	owners := make(map[string]bool)
	for key, rec := range records {
		if rec.Owner != "" && !rec.Clean && strings.HasPrefix(key, "frontier.") {
			owners[rec.Owner] = true
		}
	}
	for owner, stop := range r.takers {
		if !owners[owner] {
			stop()
			delete(r.takers, owner)
		}
	}
	for owner := range owners {
		if r.takers[owner] == nil && r.ctx.Err() == nil {
			ctx, stop := context.WithCancel(r.ctx)
			r.takers[owner] = stop
			r.wg.Go(func() { r.take(ctx, owner) })
		}
	}
}

// take asks one frontier for visits as long as there are free hands.
func (r *runner) take(ctx context.Context, frontier string) {
	f := r.f
	subject := f.names.Take(frontier)
	gap, silent := leastGap, false
	for ctx.Err() == nil {
		hands := f.free(ctx, r.share())
		if len(hands) == 0 {
			return
		}
		sent := f.now() // the lease counts from here: the frontier cannot have granted it earlier
		grants, err := f.askVisits(ctx, subject, len(hands))
		for i := range grants.Visits {
			if i >= len(hands) { // more than asked for: nobody has a hand for it, and its lease will end
				f.log.Error("a frontier granted more visits than asked for", "frontier", frontier)
				break
			}
			r.start(&grants.Visits[i], hands[i], sent)
		}
		for _, h := range hands[min(len(grants.Visits), len(hands)):] {
			f.hands <- h
		}
		wait := grants.Wait
		switch {
		case err != nil && ctx.Err() == nil:
			wait = gap
			gap = min(2*gap, mostGap)
			if !silent && gap > time.Second {
				silent = true
				f.log.Warn("no visits from a frontier", "frontier", frontier, "err", err)
			}
		case len(grants.Visits) > 0:
			gap, silent = leastGap, false
			continue
		default:
			gap, silent = leastGap, false
		}
		_ = sleep(ctx, min(max(wait, leastGap), mostGap))
	}
}

// share is how many hands one taker may hold out. A frontier with nothing to grant lets its asker wait a while, and those
// who have much must find hands free meanwhile.
func (r *runner) share() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return min(max(r.f.opt.Hands/(len(r.takers)+1), 1), maxTake)
}

// free waits for a free hand and takes up to most of them; none when ctx ends.
func (f *Fetcher) free(ctx context.Context, most int) (hands []*hand) {
	select {
	case <-ctx.Done():
		return nil
	case h := <-f.hands:
		hands = append(hands, h)
	}
	for len(hands) < most {
		select {
		case h := <-f.hands:
			hands = append(hands, h)
		default:
			return hands
		}
	}
	return hands
}

// askVisits asks a frontier for up to n visits.
func (f *Fetcher) askVisits(ctx context.Context, subject string, n int) (crawl.Grants, error) {
	ctx, cancel := context.WithTimeout(ctx, f.opt.RequestTimeout)
	defer cancel()
	m, err := f.q.NC.RequestWithContext(ctx, subject, crawl.AppendTake(nil, crawl.Take{Fetcher: f.opt.Name, Max: n}))
	if err != nil {
		return crawl.Grants{}, fmt.Errorf("ask %s: %w", subject, err)
	}
	g, err := crawl.DecodeGrants(m.Data)
	if err != nil {
		return crawl.Grants{}, fmt.Errorf("answer of %s: %w", subject, err)
	}
	return g, nil
}

// start carries a visit out in a goroutine of its own and gives the hand back. Also when the fetcher is stopping: the
// frontier has granted it and wants to hear of it.
func (r *runner) start(job *crawl.Visit, h *hand, sent time.Duration) {
	f := r.f
	began := time.Now()
	r.wg.Go(func() {
		f.met.running.Inc()
		defer f.met.running.Dec()
		defer func() { f.hands <- h }()

		lease, ctx := newLease(r.requests, f.now, sent, job.Lease)
		defer lease.end()
		waiting, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(r.ctx, cancel)()
		f.leases.add(job, lease)
		defer f.leases.remove(job)

		cfg := f.cfg.Load()
		v := &visit{f: f, cfg: cfg, job: job, hand: h, began: began, pubCtx: r.publishing,
			log: f.log.With("visit", job.ID, "host", string(job.Host))}
		v.hold = f.client.newHold(ctx, waiting, cfg, job.Host, lease)
		v.hold.owed, v.hold.hurried, v.hold.buf = job.Delay, job.Hurried, h.body
		h.links.reset(f.shards)
		h.results, h.pages = h.results[:0], 0
		v.run()
		v.finish()
		f.met.visits.Inc()
		f.met.count(h.results)
		v.hold.letGo()
		h.tidy(v.hold.buf)
	})
}

// tidy keeps buffers of ordinary size for the next visit, and lets go of what one large page needed.
func (h *hand) tidy(body []byte) {
	h.body = body
	if cap(h.body) > keepBuffer {
		h.body = nil
	}
	if cap(h.packed) > keepBuffer {
		h.packed = nil
	}
	if cap(h.batch) > 2*crawl.MaxPayloadBytes {
		h.batch = nil
	}
	clear(h.results)
}
