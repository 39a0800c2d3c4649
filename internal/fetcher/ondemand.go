package fetcher

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/backoff"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/visit"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/pkg/queue"
)

// onDemand requests visits to hosts that its caller chooses: for downloads, and for what rendered
// pages need of other hosts. Such a visit has no URLs. Its methods may be called concurrently.
type onDemand struct {
	f *Fetcher

	mu      sync.Mutex // guards the fields below
	owners  map[int]string
	changed chan struct{} // closed when owners is replaced
}

func newOnDemand(f *Fetcher) *onDemand { return &onDemand{f: f, changed: make(chan struct{})} }

// own receives the owners of the shards.
func (d *onDemand) own(records map[string]queue.Record) {
	owners := make(map[int]string)
	for shard := range d.f.shards {
		if rec := records[fmt.Sprintf("frontier.%d", shard)]; rec.Owner != "" && !rec.Clean {
			owners[shard] = rec.Owner
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.owners = owners
	close(d.changed)
	d.changed = make(chan struct{})
}

// owner waits until a shard has an owner, and returns it.
func (d *onDemand) owner(ctx context.Context, shard int) (string, error) {
	for {
		d.mu.Lock()
		owner, changed := d.owners[shard], d.changed
		d.mu.Unlock()
		if owner != "" {
			return owner, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return "", fmt.Errorf("shard %d has no frontier: %w", shard, ctx.Err())
		}
	}
}

// wanted is a visit that somebody asks for.
type wanted struct {
	crawl.VisitRequest
	public bool // only public addresses may be reached
}

// visit waits for a visit to the host of want.Origin until waiting ends, and calls do with it. The
// visit lasts until do returns, or ctx ends, which also cuts off what is running in it. The error
// is that of do, or says why there was no visit. cut cuts off the running request.
func (d *onDemand) visit(ctx, waiting context.Context, want wanted, do func(v *visit.Visit, cut context.CancelFunc) error) error {
	want.Fetcher, want.Max, want.Downloads = d.f.opt.Name, 1, true
	for {
		job, sent, err := d.take(waiting, want.VisitRequest)
		if err != nil {
			return fmt.Errorf("visit %s: %w", want.Origin.Host, err)
		}
		if had, err := d.carryOut(ctx, waiting, want, job, sent, do); had {
			return err
		}
	}
}

// carryOut carries a granted visit out. If the host was not available, the visit was returned, and
// do was not called.
func (d *onDemand) carryOut(ctx, entering context.Context, want wanted, job *crawl.Visit, sent time.Duration, do func(v *visit.Visit, cut context.CancelFunc) error) (had bool, err error) {
	f := d.f
	began := time.Now()
	publishing, drop := context.WithCancel(context.WithoutCancel(ctx))
	defer drop()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(f.opt.Grace, drop) })()
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	lease, requests := wire.NewLease(asking, f.now, sent, job.Lease)
	defer lease.End()
	f.leases.add(job, lease)
	defer f.leases.remove(job)
	waiting, halt := context.WithCancel(requests)
	defer halt()
	patient, cancelEnter := context.WithCancel(waiting)
	defer cancelEnter()
	defer context.AfterFunc(entering, cancelEnter)()
	in, notBefore, ok := f.enter(patient, job, func() {})
	if ok && patient.Err() != nil && waiting.Err() == nil {
		in.leave(publishing, time.Time{})
		ok = false
	}
	if !ok {
		f.giveUp(publishing, job, notBefore)
		return false, nil
	}
	requests = in.hold(requests, lease, halt)
	f.metrics.Running.Inc()
	defer f.metrics.Running.Dec()
	f.halts.add(job, halt, f.cfg.Load)
	defer f.halts.remove(job)
	own := &task{f: f, yielded: true}
	if cfg := f.cfg.Load(); want.public && cfg.AllowPrivate {
		own.cfg = cfg.Public()
	}
	v := f.begin(job, own, new(visit.Scratch), began, requests, waiting, publishing, lease)
	defer func() {
		v.Abort()
		in.leave(publishing, v.PauseUntil())
		v.Close()
	}()
	return true, do(v, cancel)
}

// errNoFrontier is why there was no visit if no frontier has answered.
var errNoFrontier = errors.New("no frontier answers")

// take asks the owner of a host's shard for a visit until it grants one. If ctx ends and no owner
// has answered lately, the error wraps errNoFrontier.
func (d *onDemand) take(ctx context.Context, want crawl.VisitRequest) (*crawl.Visit, time.Duration, error) {
	f, origin := d.f, want.Origin
	vain := backoff.Delay{Least: leastGap, Most: vainGap}
	answered := false
	ended := func(err error) error {
		if answered {
			return err
		}
		return fmt.Errorf("%w: %w", errNoFrontier, err)
	}
	for {
		owner, err := d.owner(ctx, crawl.ShardOf(origin.Host, f.shards))
		if err != nil {
			return nil, 0, fmt.Errorf("%w: %w", errNoFrontier, err)
		}
		sent := f.now() // the lease is counted from here
		grants, err := d.ask(ctx, owner, want)
		if ctx.Err() == nil {
			answered = err == nil
		}
		for i := range grants.Visits {
			job := &grants.Visits[i]
			if i == 0 && job.Host == origin.Host && len(job.URLs) == 0 && len(job.Aux) == 0 && ctx.Err() == nil {
				d.giveBack(ctx, grants.Visits[1:])
				return job, sent, nil
			}
		}
		d.giveBack(ctx, grants.Visits)
		wait := grants.Wait
		if err != nil || len(grants.Visits) > 0 {
			wait = max(wait, vain.Next())
		} else {
			vain.Reset()
		}
		if err := backoff.Sleep(ctx, min(max(wait, leastGap), mostGap)); err != nil {
			return nil, 0, ended(err)
		}
	}
}

// ask asks a frontier once. When ctx ends, it waits a little longer, because a visit that is
// granted has to be returned.
func (d *onDemand) ask(ctx context.Context, owner string, want crawl.VisitRequest) (crawl.Grants, error) {
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.f.opt.RequestTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lastAnswer, cancel) })()
	return d.f.askVisits(asking, owner, want)
}

// giveBack returns visits that were not requested, or that nobody waits for any more.
func (d *onDemand) giveBack(ctx context.Context, visits []crawl.Visit) {
	for i := range visits {
		job := &visits[i]
		if job.Shard < 0 || job.Shard >= d.f.shards {
			continue
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(job.Lease, d.f.opt.Grace))
		d.f.giveUp(ctx, job, 0)
		cancel()
	}
}
