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

// hosts ensures that the crawls of a process are never at a host at the same time. The frontier of
// each crawl makes its own visits to a host follow one another, and knows nothing of the other
// crawls. So a visit waits here until the visit of another crawl has ended, and until the pause
// after that. Crawls that want the same host get it in turn.
//
// This is a second protection besides gate and check, which the crawls of a process share. Those
// stop a request that comes too early, whoever sends it. They would delay it without a limit, or
// count it as a mistake. Here it is arranged that it comes in time.
type hosts struct {
	mu    sync.Mutex // guards known, its contents, and calls
	known map[canon.Host]*presence
	calls int // since the last sweep
	// Before this time another process may have been at any host, and it is unknown when.
	began time.Time
}

// presence is which crawl is at a host.
type presence struct {
	crawl   crawl.Names // whose visits are running
	visits  int         // how many; more than one if the lease of the first is over
	pause   time.Time   // no other crawl sends anything before
	waiting []*arrival  // visits of other crawls, oldest first
}

type arrival struct {
	crawl crawl.Names
	turn  chan struct{} // closed when it is the arrival's turn
}

const (
	// longestWait is how long a visit waits for those of other crawls. Then it is returned.
	longestWait = 2 * time.Minute
	// longestPause is how long a visit waits for the pause of a host. If the pause is longer, the
	// visit is returned, and its frontier waits.
	longestPause = 15 * time.Second
	// askLater is for how long a frontier does not grant a host that was waited for in vain.
	askLater = 5 * time.Second
)

func newHosts(now time.Time) *hosts { return &hosts{known: map[canon.Host]*presence{}, began: now} }

// enter waits until a crawl may visit a host, and reports whether it may; then leave has to be
// called. If not, notBefore is how long the host is better left alone. wait is called before the
// first wait. delay is the least delay after requests of an earlier process.
func (o *hosts) enter(ctx context.Context, host canon.Host, who crawl.Names, delay time.Duration, wait func()) (notBefore time.Duration, ok bool) {
	o.mu.Lock()
	p := o.known[host]
	if p == nil {
		o.sweep(time.Now()) // before the host is added, because nobody is at it yet
		p = &presence{pause: o.began.Add(delay)}
		o.known[host] = p
	}
	switch {
	case p.visits > 0 && p.crawl == who && len(p.waiting) == 0:
		p.visits++ // according to its frontier the earlier one has ended
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

// await waits until it is an arrival's turn.
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
		return true // it came at the same moment
	}
	p.waiting = slices.Delete(p.waiting, i, i+1)
	return false
}

// leave is called when a visit sends nothing any more. rest is until when the pause of the host
// lasts; zero means no longer than was known.
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

// sweep forgets hosts without a visit whose pause has ended, from time to time. mu must be locked.
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
