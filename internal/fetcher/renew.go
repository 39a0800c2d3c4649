package fetcher

import (
	"context"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
)

// leases renews the leases of running visits: every third of a lease, and those of a shard in one
// request. A lease is also renewed while its visit only publishes, so that its frontier does not
// grant the same URLs again because a log is full.
//
// A missing answer means nothing. While a shard moves, its old owner may still listen, and the new
// one may answer the next request. So a request is followed by the next one a twelfth of a lease
// later, whether it has failed or is not answered yet. Whichever answer comes is counted from when
// its own request was sent. An answer that says that a visit is over ends it.
type leases struct {
	mu     sync.Mutex // guards visits and their contents
	visits map[*crawl.Visit]*renewal
}

type renewal struct {
	lease *wire.Lease
	due   time.Time
	over  bool // according to the owner
}

func (l *leases) add(job *crawl.Visit, lease *wire.Lease) {
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

// renewTick is how often leases are checked. Leases that are due before the next check are renewed,
// too.
const renewTick = 100 * time.Millisecond

// run renews leases until ctx ends.
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
			// A shard without an owner must not delay the others.
			wg.Go(func() { l.renew(ctx, f, shard, jobs) })
		}
	}
}

// due returns the visits whose leases are to be renewed, by shard. If one is due, those of its
// shard that soon will be are included. It also ends leases that ran out while the machine was
// suspended, because their timers were suspended, too.
func (l *leases) due(now time.Time) map[int][]*crawl.Visit {
	l.mu.Lock()
	defer l.mu.Unlock()
	var shards map[int][]*crawl.Visit
	for job, r := range l.visits {
		if !r.lease.Alive() {
			r.lease.End()
		}
		if !r.over && now.After(r.due) {
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
		if list, ok := shards[job.Shard]; ok && !r.over && now.After(r.due.Add(-job.Lease/6)) {
			r.due = now.Add(job.Lease / 12)
			shards[job.Shard] = append(list, job)
		}
	}
	return shards
}

// renew asks a shard's owner once. Several such requests may run at the same time.
func (l *leases) renew(ctx context.Context, f *Fetcher, shard int, jobs []*crawl.Visit) {
	req := crawl.Renew{Fetcher: f.opt.Name}
	for _, job := range jobs {
		req.Visits = append(req.Visits, job.ID)
	}
	began := time.Now()
	sent := f.now() // the new lease is counted from here
	answer, err := f.askRenew(ctx, shard, req)
	if err != nil {
		if ctx.Err() == nil {
			f.log.Debug("the leases of visits could not be renewed", "shard", shard, "visits", len(jobs), "err", err)
		}
		return
	}
	lost := make(map[crawl.VisitID]bool)
	for _, id := range answer.Lost {
		lost[id] = true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, job := range jobs {
		r := l.visits[job]
		switch {
		case r == nil || r.over: // it ended meanwhile
		case lost[job.ID]:
			f.metrics.Lost.Inc()
			r.over = true
			r.lease.End()
		default:
			if due := began.Add(min(answer.Lease, job.Lease) / 3); due.After(r.due) {
				r.due = due
			}
			r.lease.Renew(sent, answer.Lease)
		}
	}
}
