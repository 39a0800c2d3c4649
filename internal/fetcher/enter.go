package fetcher

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/backoff"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/claims"
	"github.com/curtsy/curtsy/internal/fetcher/visit"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/pkg/queue"
)

// rights are what a crawl needs to enter hosts beside other crawls.
type rights struct {
	mu     sync.Mutex // locked while they are opened; guards claims
	claims *claims.Claims
}

// open opens the claims. It waits for NATS if that does not answer.
func (r *rights) open(ctx context.Context, f *Fetcher) (*claims.Claims, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	again := backoff.Delay{Least: leastGap, Most: mostGap}
	for r.claims == nil {
		c, err := claims.Open(ctx, f.q, claims.Options{
			Crawl: f.names, Process: f.shared.process, Waiting: f.opt.Slots, Log: f.log,
		})
		if err == nil {
			r.claims = c
			break
		}
		if ctx.Err() != nil || !queue.Unanswered(err) {
			return nil, fmt.Errorf("fetcher: hosts of all crawls: %w", err)
		}
		f.log.Warn("NATS does not answer yet; trying again", "bucket", crawl.HostsBucket, "err", err)
		if err := again.Sleep(ctx); err != nil {
			return nil, err
		}
	}
	return r.claims, nil
}

// entered is a visit's right to be at its host beside other visits of the process and of the
// cluster.
type entered struct {
	f     *Fetcher
	job   *crawl.Visit
	claim *claims.Claim // nil: none is needed, or idle
	// The visit ended before there was a claim. It requests nothing, and reports that at its end.
	idle bool
}

// enter waits until a visit has its host alone, among the crawls of the process and then among
// those of the cluster. If the visit is better returned, ok is false, and notBefore is how long the
// host is better left alone. free is called before the first wait.
func (f *Fetcher) enter(ctx context.Context, job *crawl.Visit, free func()) (in *entered, notBefore time.Duration, ok bool) {
	in = &entered{f: f, job: job}
	if o := f.shared.hosts; o != nil {
		if notBefore, ok = o.enter(ctx, job.Host, f.names, job.Delay, free); !ok {
			return nil, notBefore, false
		}
	}
	if f.opt.Alone {
		return in, 0, true
	}
	c, err := f.rights.open(ctx, f)
	if err == nil {
		in.claim, notBefore = c.Take(ctx, job.Host, job.Delay, free)
	}
	in.idle = in.claim == nil && ctx.Err() != nil
	if in.claim != nil || in.idle {
		return in, 0, true
	}
	if o := f.shared.hosts; o != nil {
		o.leave(job.Host, time.Time{})
	}
	return nil, max(notBefore, claims.AskLater), false
}

// hold allows requests to begin only while the claim lasts. The context that it returns ends with
// it, and over is called then.
func (in *entered) hold(ctx context.Context, lease *wire.Lease, over func()) context.Context {
	if in.claim == nil {
		if in.idle {
			lease.End()
		}
		return ctx
	}
	claim, held := in.claim.Hold(ctx)
	lease.SetParent(claim)
	context.AfterFunc(held, over)
	return held
}

// leave is called when the visit sends no more requests. rest is when the pause of the host ends.
// It is zero if nothing was requested of the host. ctx bounds how long the end of the claim is
// published.
func (in *entered) leave(ctx context.Context, rest time.Time) {
	if in.claim != nil {
		in.claim.Release(ctx, rest)
	}
	if o := in.f.shared.hosts; o != nil {
		o.leave(in.job.Host, rest)
	}
}

// enter is Fetcher.enter for a visit that may have a slot, whose buffers are *h. Before the visit
// waits, its slot is freed, and *h becomes nil. A visit that may not begin is given back to its
// frontier, and enter returns nil.
func (r *runner) enter(visiting context.Context, job *crawl.Visit, h **visit.Scratch) *entered {
	f := r.f
	free := func() {
		if *h != nil {
			f.slots.put(*h)
			*h = nil
		}
	}
	in, notBefore, ok := f.enter(visiting, job, free)
	if !ok {
		free()
		f.metrics.Returned.Inc()
		f.giveUp(r.publishing, job, notBefore)
	}
	return in
}
