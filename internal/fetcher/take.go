package fetcher

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/backoff"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/visit"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/pkg/queue"
)

const (
	maxTake  = 16 // visits requested at once; fewer if there are many frontiers
	leastGap = 5 * time.Millisecond
	mostGap  = 5 * time.Second
	// vainGap is the longest pause after a request in vain, so that a frontier that comes back soon
	// finds its fetchers.
	vainGap = time.Second
	// stallGap is the longest pause after visits that were all returned. Other visits of that
	// frontier may be acceptable.
	stallGap = 50 * time.Millisecond
	// patience is how long slots are reserved for an answer. A frontier with nothing to grant
	// answers later, and one that is frozen or cut off never does. Then the slots are used for
	// other visits, and visits that are granted wait for a slot.
	patience = 100 * time.Millisecond
	// lastAnswer is how long an answer is awaited that is not needed any more. It may contain
	// visits, and their hosts would not be visited for a lease if they were not returned.
	lastAnswer = 750 * time.Millisecond
)

// runner is one Run of a fetcher.
type runner struct {
	f          *Fetcher
	ctx        context.Context // ends when the fetcher is to stop
	requests   context.Context // ends a little later, which cuts off running requests
	publishing context.Context // ends last; what is not published by then is dropped
	wg         sync.WaitGroup  // takers and visits

	mu     sync.Mutex                    // guards takers
	takers map[string]context.CancelFunc // by frontier
}

// watch keeps one taker for each frontier that owns a shard, until ctx ends.
func (r *runner) watch() error { return r.f.watchOwners(r.ctx, r.owners) }

// watchOwners calls changed with the owners of shards, first with those of now and then whenever
// they change, until ctx ends.
func (f *Fetcher) watchOwners(ctx context.Context, changed func(map[string]queue.Record)) error {
	again, said := backoff.Delay{Least: leastGap, Most: mostGap / 2}, false
	for {
		kv, err := f.q.JS.KeyValue(ctx, f.names.Bucket())
		if err == nil {
			return queue.WatchOwners(ctx, kv, "frontier", changed)
		}
		wait := again.Next()
		if wait == again.Most && !said {
			said = true
			f.log.Warn("waiting for the crawl's bucket", "bucket", f.names.Bucket(), "err", err)
		}
		if backoff.Sleep(ctx, wait) != nil {
			return nil
		}
	}
}

// owners starts and ends takers.
func (r *runner) owners(records map[string]queue.Record) {
	r.f.onDemand.own(records)
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

// take asks one frontier for visits as long as there are free slots.
func (r *runner) take(ctx context.Context, frontier string) {
	f := r.f
	silent, said := false, false
	vain, stall := backoff.Delay{Least: leastGap, Most: vainGap}, backoff.Delay{Least: leastGap, Most: stallGap}
	for ctx.Err() == nil {
		var slots []*visit.Scratch
		most := 1 // if the frontier did not answer; then no slot waits for its answer
		if !silent {
			if slots = f.free(ctx, r.share()); len(slots) == 0 {
				return
			}
			most = len(slots)
		}
		sent := f.now() // the lease is counted from here: it cannot have been granted earlier
		grants, slots, err := r.askVisits(ctx, frontier, most, slots)
		if len(grants.Visits) > most { // there are no slots for them, and their leases will end
			f.log.Error("a frontier granted more visits than requested", "frontier", frontier)
			grants.Visits = grants.Visits[:most]
		}
		wanted := false
		for i := range grants.Visits {
			job := &grants.Visits[i]
			if !r.accept(job) {
				continue
			}
			wanted = true
			var h *visit.Scratch
			if len(slots) > 0 {
				h, slots = slots[0], slots[1:]
			}
			r.start(job, h, sent)
		}
		f.giveBack(slots)
		if err != nil && ctx.Err() == nil {
			silent = true
			wait := vain.Next()
			if !said && wait == vain.Most {
				said = true
				f.log.Warn("no visits from a frontier", "frontier", frontier, "err", err)
			}
			_ = backoff.Sleep(ctx, wait)
			continue
		}
		silent, said = false, false
		vain.Reset()
		wait := grants.Wait
		switch {
		case wanted:
			stall.Reset()
			continue
		case len(grants.Visits) > 0: // all of them were returned
			wait = stall.Next()
		default:
			stall.Reset()
		}
		_ = backoff.Sleep(ctx, min(max(wait, leastGap), mostGap))
	}
}

// share returns how many slots one taker may reserve. A frontier with nothing to grant answers
// late, and those that have much to grant must find free slots meanwhile.
func (r *runner) share() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return min(max(r.f.slots.size()/(len(r.takers)+1), 1), maxTake)
}

// slots returns how many slots there are for the visits of one frontier, if all frontiers use the
// same number.
func (r *runner) slots() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return max(r.f.slots.size()/max(len(r.takers), 1), 1)
}

// free waits for a free slot and returns up to most of them. It returns none when ctx ends.
func (f *Fetcher) free(ctx context.Context, most int) (slots []*visit.Scratch) {
	h := f.slots.take(ctx)
	if h == nil {
		return nil
	}
	slots = append(slots, h)
	for len(slots) < most {
		if h = f.slots.try(); h == nil {
			break
		}
		slots = append(slots, h)
	}
	return slots
}

func (f *Fetcher) giveBack(slots []*visit.Scratch) {
	for _, h := range slots {
		f.slots.put(h)
	}
}

// askVisits asks a frontier for up to n visits. It returns the slots that it was given, unless it
// had to return them to the pool. When ctx ends, it waits a little longer.
func (r *runner) askVisits(ctx context.Context, frontier string, n int, slots []*visit.Scratch) (crawl.Grants, []*visit.Scratch, error) {
	asking, cancel := context.WithTimeout(r.publishing, r.f.opt.RequestTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lastAnswer, cancel) })()
	var mu sync.Mutex // guards slots
	impatient := time.AfterFunc(patience, func() {
		mu.Lock()
		defer mu.Unlock()
		r.f.giveBack(slots)
		slots = nil
	})
	g, err := r.f.askVisits(asking, frontier, crawl.VisitRequest{Fetcher: r.f.opt.Name, Max: n, Slots: r.slots()})
	impatient.Stop()
	mu.Lock()
	defer mu.Unlock()
	kept := slots
	slots = nil // if the timer has fired just now
	return g, kept, err
}

func (f *Fetcher) askVisits(ctx context.Context, frontier string, take crawl.VisitRequest) (crawl.Grants, error) {
	subject, asked := f.names.VisitRequest(frontier), f.wall.Micro(time.Now())
	m, err := f.q.NC.RequestWithContext(ctx, subject, crawl.AppendVisitRequest(nil, take))
	if err != nil {
		return crawl.Grants{}, fmt.Errorf("ask %s: %w", subject, err)
	}
	g, err := crawl.DecodeGrants(m.Data)
	if err != nil {
		return crawl.Grants{}, fmt.Errorf("answer of %s: %w", subject, err)
	}
	f.clocks.answered(&g, asked, f.wall.Micro(time.Now()))
	return g, nil
}

// accept reports whether a visit is to be carried out.
func (r *runner) accept(job *crawl.Visit) bool {
	switch {
	case job.Shard < 0 || job.Shard >= r.f.shards:
		r.f.log.Error("a visit is ignored: this crawl does not have its shard", "shard", job.Shard, "host", string(job.Host))
		return false
	case r.f.backpressure.stalled(job.Shard) && len(job.Aux) == 0:
		r.wg.Go(func() { r.returnVisit(job) })
		return false
	}
	return true
}

// start carries a visit out in a goroutine of its own. If h is nil, it waits for a slot. It returns
// the slot at the end. It does this also while the fetcher stops, because the frontier has granted
// the visit and waits for its outcome.
func (r *runner) start(job *crawl.Visit, h *visit.Scratch, sent time.Duration) {
	f := r.f
	began := time.Now()
	r.wg.Go(func() {
		lease, ctx := wire.NewLease(r.requests, f.now, sent, job.Lease)
		defer lease.End()
		f.leases.add(job, lease)
		defer f.leases.remove(job)
		waiting, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(r.ctx, cancel)()
		in := r.enter(waiting, job, &h)
		if in == nil {
			return
		}
		ctx = in.hold(ctx, lease, cancel)
		var rest time.Time
		leave := sync.OnceFunc(func() { in.leave(r.publishing, rest) })
		defer leave()
		if h == nil {
			if h = f.slots.take(r.publishing); h == nil {
				return
			}
		}
		f.metrics.Running.Inc()
		defer f.metrics.Running.Dec()
		if r.ctx.Err() != nil {
			cancel() // AfterFunc would do so a moment later
		}
		f.halts.add(job, cancel, f.cfg.Load)
		defer f.halts.remove(job)

		s := &task{f: f, scratch: h}
		defer s.leave()
		v := f.begin(job, s, h, began, ctx, waiting, r.publishing, lease)
		v.Run()
		rest = v.PauseUntil()
		leave() // publishing may take long, and requests nothing of the host
		v.Close()
	})
}

// begin makes a granted visit ready to be carried out. For the contexts see visit.Grant.
func (f *Fetcher) begin(job *crawl.Visit, s *task, h *visit.Scratch, began time.Time, sending, waiting, publishing context.Context, l *wire.Lease) *visit.Visit {
	clock := f.wall.Micro(began) + f.clocks.ahead(job.Shard).Microseconds()
	var book visit.RequestLog
	if f.requestLog != nil {
		book = f.requestLog.begin(job, began, clock)
	}
	return f.deps.New(visit.Grant{
		Job: job, Config: cmp.Or(s.cfg, f.cfg.Load()), Scratch: h, Sink: s, Lease: l, Began: began, Clock: clock, RequestLog: book,
		Trace:    f.traces.Visit(job.Shard, job.ID),
		Open:     func() bool { return f.cfg.Load().Open(job.Host, time.Now()) },
		Requests: sending, Waiting: waiting, Publishing: publishing,
	})
}
