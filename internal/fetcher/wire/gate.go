package wire

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/curtsy/curtsy/internal/backoff"
	"github.com/curtsy/curtsy/pkg/canon"
)

// ErrBusy is what Gate.Wait returns when a request to the host is already out. Callers hold
// one request per host by construction, so it means a mistake in the program, and the
// request must not be sent.
var ErrBusy = errors.New("fetcher: a request to this host is already running")

// Gate spaces the requests to each host: one at a time, and the next no sooner than the
// host's delay after the end of the last response. The zero Gate is ready. Its methods may be
// called concurrently.
//
// A rate limiter alone spaces starts, and lets an origin that takes 80 ms to answer see 120 ms of
// rest where 200 were promised. So the limiter is emptied whenever a response or failure arrives,
// and its token grows back from there.
type Gate struct {
	mu    sync.Mutex // guards hosts and what is in them
	hosts map[canon.Host]*passage
	calls int // since the last sweep
}

// passage is what the gate knows of one host.
type passage struct {
	limiter *rate.Limiter
	end     time.Time     // when the last request ended; zero: none yet
	out     bool          // a request is under way, or waits to be
	delay   time.Duration // what the last Wait asked for
}

// forgetAfter is how long a host is remembered after its delay is over. It costs only memory;
// forgetting earlier than the delay would cost politeness.
const forgetAfter = time.Minute

// Wait blocks until a request to the host may start, delay after the end of the last one, and
// reserves the host until Done. It returns ErrBusy, wrapped, if the host is reserved, and the
// context's error if that ends first; then nothing is reserved and no request may be sent.
func (g *Gate) Wait(ctx context.Context, host canon.Host, delay time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	g.mu.Lock()
	p := g.hosts[host]
	if p == nil {
		p = &passage{limiter: rate.NewLimiter(rate.Inf, 1)}
		if g.hosts == nil {
			g.hosts = make(map[canon.Host]*passage)
		}
		g.hosts[host] = p
	}
	if p.out {
		g.mu.Unlock()
		return fmt.Errorf("%s: %w", host, ErrBusy)
	}
	p.out = true
	p.delay = delay
	now := time.Now()
	wait := p.wait(now, delay)
	g.sweep(now)
	g.mu.Unlock()

	if wait <= 0 {
		return nil
	}
	if err := backoff.Sleep(ctx, wait); err != nil {
		g.mu.Lock()
		p.out = false
		p.limiter = rate.NewLimiter(rate.Inf, 1) // the token taken was not used
		if !p.end.IsZero() {
			p.empty()
		}
		g.mu.Unlock()
		return err
	}
	return nil
}

// wait takes the host's token and returns how long until it is there.
func (p *passage) wait(now time.Time, delay time.Duration) time.Duration {
	limit := rate.Inf
	if delay > 0 {
		limit = rate.Every(delay)
	}
	// Nothing has grown since the end: it grows at the new rate only.
	p.limiter.SetLimitAt(p.end, limit)
	wait := p.limiter.ReserveN(now, 1).DelayFrom(now)
	if !p.end.IsZero() {
		// The limiter computes in floating point and may come out a nanosecond short.
		wait = max(wait, p.end.Add(delay).Sub(now))
	}
	return wait
}

// empty takes the token away as of the last end, so that it grows from then on.
func (p *passage) empty() {
	p.limiter.SetBurstAt(p.end, 0)
	p.limiter.SetBurstAt(p.end, 1)
}

// Done says that the request to the host is over: its last byte was read, its connection closed, or
// it was never sent after all. The delay before the next counts from now, which is what it returns;
// zero if no request was under way.
func (g *Gate) Done(host canon.Host) (end time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.hosts[host]
	if p == nil || !p.out {
		return end
	}
	p.out = false
	p.end = time.Now()
	p.empty()
	return p.end
}

// End returns when the last request to the host ended; zero if none did, or the
// gate has forgotten it.
func (g *Gate) End(host canon.Host) time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p := g.hosts[host]; p != nil {
		return p.end
	}
	return time.Time{}
}

// sweep forgets hosts, now and then, that no delay can be pending for. Called with mu held.
func (g *Gate) sweep(now time.Time) {
	if g.calls++; g.calls < 1024 || g.calls < len(g.hosts)/2 {
		return // each call pays for looking at two hosts, at most
	}
	g.calls = 0
	for host, p := range g.hosts {
		if !p.out && now.Sub(p.end) > max(MaxCrawlDelay, p.delay)+forgetAfter {
			delete(g.hosts, host)
		}
	}
}
