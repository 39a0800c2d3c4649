package fetcher

import (
	"context"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// leases prolongs the visits under way: every third of a lease, those of a shard in one request. A visit renews also while
// it only publishes, so that a full log does not make its frontier grant the same URLs again.
type leases struct {
	mu     sync.Mutex // guards visits and what is in them
	visits map[*crawl.Visit]*renewal
}

type renewal struct {
	lease *lease
	due   time.Time
	busy  bool // in a request under way
}

func (l *leases) add(job *crawl.Visit, lease *lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.visits == nil {
		l.visits = make(map[*crawl.Visit]*renewal)
	}
	l.visits[job] = &renewal{lease: lease, due: time.Now().Add(job.Lease / 3)}
}

func (l *leases) remove(job *crawl.Visit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.visits, job)
}

// renewTick is how often leases are looked at; what is due until the next look is renewed with it.
const renewTick = 100 * time.Millisecond

// run renews until ctx ends.
func (l *leases) run(ctx context.Context, f *Fetcher) {
	var wg sync.WaitGroup
	defer wg.Wait()
	tick := time.NewTicker(renewTick)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for shard, jobs := range l.due(time.Now().Add(renewTick)) {
			wg.Go(func() { l.renew(ctx, f, shard, jobs) }) // a shard without an owner must not hold up the others
		}
	}
}

// due returns the visits to renew, by shard. One that is due brings along those of its shard that soon will be.
func (l *leases) due(now time.Time) map[int][]*crawl.Visit {
	l.mu.Lock()
	defer l.mu.Unlock()
	var shards map[int][]*crawl.Visit
	for job, r := range l.visits {
		if !r.busy && now.After(r.due) {
			if shards == nil {
				shards = make(map[int][]*crawl.Visit)
			}
			shards[job.Shard] = nil
		}
	}
	if shards == nil {
		return nil
	}
	for job, r := range l.visits {
		if list, ok := shards[job.Shard]; ok && !r.busy && now.After(r.due.Add(-job.Lease/6)) {
			r.busy = true
			shards[job.Shard] = append(list, job)
		}
	}
	return shards
}

func (l *leases) renew(ctx context.Context, f *Fetcher, shard int, jobs []*crawl.Visit) {
	req := crawl.Renew{Fetcher: f.opt.Name}
	for _, job := range jobs {
		req.Visits = append(req.Visits, job.ID)
	}
	sent := f.now() // the new lease counts from here
	answer, err := f.askRenew(ctx, shard, req)
	l.mu.Lock()
	defer l.mu.Unlock()
	lost := make(map[crawl.VisitID]bool)
	for _, id := range answer.Lost {
		lost[id] = true
	}
	for _, job := range jobs {
		r := l.visits[job]
		if r == nil {
			continue // over meanwhile
		}
		r.busy = false
		switch {
		case err != nil:
			r.due = time.Now().Add(job.Lease / 12) // there is time for a few more tries
		case lost[job.ID]:
			f.met.lost.Inc()
			r.due = time.Now().Add(24 * time.Hour)
			r.lease.end()
		default:
			r.due = time.Now().Add(min(answer.Lease, job.Lease) / 3)
			r.lease.renew(sent, answer.Lease)
		}
	}
	if err != nil && ctx.Err() == nil {
		f.log.Debug("visits not renewed", "shard", shard, "visits", len(jobs), "err", err)
	}
}
