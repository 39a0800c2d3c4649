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

// ErrBusy is the error of Gate.Wait if a request to the host is running. Callers send one request
// to a host at a time, so it means a mistake in the program, and the request must not be sent.
var ErrBusy = errors.New("fetcher: a request to this host is already running")

// Gate spaces the requests to each host: one at a time, and the next one not before the host's
// delay after the end of the last response. The zero Gate is ready for use. Its methods may be
// called concurrently.
//
// A rate limiter alone would space the starts of requests. An origin that takes 80 ms to answer
// would see a pause of 120 ms if 200 ms were promised. So the limiter is emptied when a response or
// a failure arrives, and its token grows from then on.
type Gate struct {
	mu    sync.Mutex // guards hosts and their contents
	hosts map[canon.Host]*passage
	calls int // since the last sweep
}

// passage is what the gate knows of one host.
type passage struct {
	limiter *rate.Limiter
	end     time.Time     // when the last request ended; zero: there was none
	out     bool          // a request is running or waits
	delay   time.Duration // of the last call of Wait
}

// forgetAfter is how long a host is remembered after its delay. That only costs memory. To forget
// it before the end of its delay would be impolite.
const forgetAfter = time.Minute

// Wait blocks until a request to the host may start, which is delay after the end of the last one,
// and reserves the host until Done. If the host is reserved already, it returns ErrBusy, wrapped.
// If the context ends first, it returns the context's error. In both cases nothing is reserved and
// no request may be sent.
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
		p.limiter = rate.NewLimiter(rate.Inf, 1) // the token was not used
		if !p.end.IsZero() {
			p.empty()
		}
		g.mu.Unlock()
		return err
	}
	return nil
}

// wait takes the host's token and returns how long until it may be used.
func (p *passage) wait(now time.Time, delay time.Duration) time.Duration {
	limit := rate.Inf
	if delay > 0 {
		limit = rate.Every(delay)
	}
	// The token has not grown since the end. It grows at the new rate only.
	p.limiter.SetLimitAt(p.end, limit)
	wait := p.limiter.ReserveN(now, 1).DelayFrom(now)
	if !p.end.IsZero() {
		// The limiter computes in floating point and may be a nanosecond short.
		wait = max(wait, p.end.Add(delay).Sub(now))
	}
	return wait
}

// empty removes the token as of the end of the last request, so that it grows from then on.
func (p *passage) empty() {
	p.limiter.SetBurstAt(p.end, 0)
	p.limiter.SetBurstAt(p.end, 1)
}

// Done ends the request to the host: its last byte was read, its connection was closed, or it was
// never sent. The next delay is counted from now, which Done returns. It returns zero if no request
// was running.
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

// End returns when the last request to the host ended. It is zero if there was none, or if the gate
// has forgotten it.
func (g *Gate) End(host canon.Host) time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p := g.hosts[host]; p != nil {
		return p.end
	}
	return time.Time{}
}

// sweep forgets hosts whose delay must have ended, from time to time. mu must be locked.
func (g *Gate) sweep(now time.Time) {
	if g.calls++; g.calls < 1024 || g.calls < len(g.hosts)/2 {
		return // so on average each call looks at two hosts at most
	}
	g.calls = 0
	for host, p := range g.hosts {
		if !p.out && now.Sub(p.end) > max(MaxCrawlDelay, p.delay)+forgetAfter {
			delete(g.hosts, host)
		}
	}
}
