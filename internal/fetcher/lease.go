package fetcher

import (
	"context"
	"errors"
	"sync"
	"time"
)

var processStart = time.Now()

// errLease is why a visit's context ended: the lease ran out, or the shard's owner said the visit is over.
var errLease = errors.New("fetcher: the visit's lease is over")

// clock is what leases are measured by; bootTime outside of tests.
type clock func() time.Duration

// lease is how long a visit may start requests. Its context ends with it, which cuts off a request under way. Safe for
// concurrent use.
type lease struct {
	now    clock
	cancel context.CancelCauseFunc

	mu    sync.Mutex // guards what follows
	until time.Duration
	timer *time.Timer // only wakes up to look at the clock: timers stand still in suspend, the clock does not
	over  bool
}

// newLease begins a lease of length d counted from when its request was sent, and returns a context that ends with it.
func newLease(ctx context.Context, now clock, sent, d time.Duration) (*lease, context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	l := &lease{now: now, cancel: cancel, until: sent + d}
	l.mu.Lock()
	defer l.mu.Unlock()
	left := l.until - now()
	if left <= 0 {
		l.over = true
		cancel(errLease)
		return l, ctx
	}
	l.timer = time.AfterFunc(left, l.look)
	return l, ctx
}

// look ends the lease if it has run out.
func (l *lease) look() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return
	}
	if left := l.until - l.now(); left > 0 {
		l.timer.Reset(left)
		return
	}
	l.over = true
	l.cancel(errLease)
}

// alive reports whether a request may start now.
func (l *lease) alive() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.over && l.now() < l.until
}

// renew prolongs the lease to d after sent. A lease that is over stays over, and none gets shorter.
func (l *lease) renew(sent, d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if l.over || now >= l.until || sent+d <= l.until {
		return
	}
	l.until = sent + d
	l.timer.Reset(l.until - now)
}

// end ends the lease now: the visit is lost, or done.
func (l *lease) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Stop()
	}
	l.over = true
	l.cancel(errLease)
}
