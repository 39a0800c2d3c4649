package fetcher

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/backoff"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// hosts keeps the crawls that a process serves from being at a host together. Each crawl's frontier
// sees to it that its own visits to a host follow one another, and knows nothing of the others. So
// a visit waits here until the visit of another crawl is over, and until the host has rested for
// what that owed it. Crawls that want the same host have it in turn, whoever asked first.
//
// It is a second wall and not the only one: gate and check, which the crawls of a process share,
// stop a request that comes too early whoever sends it. They would stop it without an end, or count
// it as a mistake; here it is arranged that it need not be stopped.
type hosts struct {
	mu    sync.Mutex // guards known, what is in it, and calls
	known map[canon.Host]*presence
	calls int // since the last sweep
	// Before that another process may have been at any host, and nobody told us when.
	began time.Time
}

// presence is who is at a host.
type presence struct {
	crawl   crawl.Names // whose visits are under way
	visits  int         // how many; more than one when the lease of the first is over
	pause   time.Time   // no other crawl sends anything before
	waiting []*arrival  // visits of other crawls, oldest first
}

type arrival struct {
	crawl crawl.Names
	turn  chan struct{} // closed when the host is the arrival's
}

const (
	// longestWait is how long a visit waits for those of other crawls. Then it is given back.
	longestWait = 2 * time.Minute
	// longestPause is how long it waits for a host that rests. A longer rest is left to its
	// frontier.
	longestPause = 15 * time.Second
	// askLater is for how long a frontier does not grant a host for which there was no turn.
	askLater = 5 * time.Second
)

func newHosts(now time.Time) *hosts { return &hosts{known: map[canon.Host]*presence{}, began: now} }

// enter waits until a crawl may visit a host, and reports whether it may; then leave has to be
// called. If not, notBefore is for how long the host is better left alone. wait is called before
// the first waiting; delay is what the host is owed at least after what was before the process.
func (o *hosts) enter(ctx context.Context, host canon.Host, who crawl.Names, delay time.Duration, wait func()) (notBefore time.Duration, ok bool) {
	o.mu.Lock()
	p := o.known[host]
	if p == nil {
		o.sweep(time.Now()) // before the host is there: nobody is at it yet
		p = &presence{pause: o.began.Add(delay)}
		o.known[host] = p
	}
	switch {
	case p.visits > 0 && p.crawl == who && len(p.waiting) == 0:
		p.visits++ // its frontier says that the one before is over
		o.mu.Unlock()
		return 0, true
	case p.visits == 0 && len(p.waiting) == 0:
		p.crawl, p.visits = who, 1
		o.mu.Unlock()
	default:
		a := &arrival{who, make(chan struct{})}
		p.waiting = append(p.waiting, a)
		o.mu.Unlock()
		wait()
		wait = func() {}
		if !o.await(ctx, p, a) {
			return askLater, false
		}
	}
	o.mu.Lock()
	left := time.Until(p.pause)
	o.mu.Unlock()
	switch {
	case left <= 0:
		return 0, true
	case left <= longestPause:
		if wait(); backoff.Sleep(ctx, left) == nil {
			return 0, true
		}
	}
	o.leave(host, time.Time{})
	return max(left, 0), false
}

// await waits for an arrival's turn.
func (o *hosts) await(ctx context.Context, p *presence, a *arrival) bool {
	t := time.NewTimer(longestWait)
	defer t.Stop()
	select {
	case <-a.turn:
		return true
	case <-t.C:
	case <-ctx.Done():
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.Index(p.waiting, a)
	if i < 0 {
		return true // at the same moment
	}
	p.waiting = slices.Delete(p.waiting, i, i+1)
	return false
}

// leave says that a visit sends nothing any more, and until when the host rests; zero: no longer
// than was known.
func (o *hosts) leave(host canon.Host, rest time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.known[host]
	if p.pause.Before(rest) {
		p.pause = rest
	}
	if p.visits--; p.visits > 0 || len(p.waiting) == 0 {
		return
	}
	a := p.waiting[0]
	p.waiting = p.waiting[1:]
	p.crawl, p.visits = a.crawl, 1
	close(a.turn)
}

// sweep forgets hosts, now and then, at which nobody is and which have rested. Called with mu held.
func (o *hosts) sweep(now time.Time) {
	if o.calls++; o.calls < 1024 || o.calls < len(o.known)/2 {
		return
	}
	o.calls = 0
	for h, p := range o.known {
		if p.visits == 0 && len(p.waiting) == 0 && p.pause.Before(now) {
			delete(o.known, h)
		}
	}
}
