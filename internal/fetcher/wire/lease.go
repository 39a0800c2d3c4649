package wire

import (
	"context"
	"errors"
	"sync"
	"time"
)

var processStart = time.Now()

// errLease is why a visit's context ended: its lease ran out, or the shard's owner ended the visit.
var errLease = errors.New("fetcher: the visit's lease is over")

// errClosed is why a request was not sent: the hours of its host are over.
var errClosed = errors.New("fetcher: the hours in which requests may be sent to the host are over")

// Clock is the clock of leases: boottime.Now, except in tests.
type Clock func() time.Duration

// Lease is the time in which a visit may start requests. Its context ends with it, which cuts off a
// running request. It may be used concurrently.
type Lease struct {
	now    Clock
	cancel context.CancelCauseFunc

	mu    sync.Mutex // guards the fields below
	until time.Duration
	// The timer only causes a look at the clock. Timers stop in suspend, the clock does not.
	timer    *time.Timer
	over     bool
	inFlight *Lease // another lease that has to be alive, too; nil: there is none
	delay    time.Duration
	onDelay  func(d time.Duration)
}

// NewLease begins a lease of length d, counted from when it was requested, and returns a context
// that ends with it.
func NewLease(ctx context.Context, now Clock, sent, d time.Duration) (*Lease, context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	l := &Lease{now: now, cancel: cancel, until: sent + d}
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
func (l *Lease) look() {
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

// Alive reports whether a request may start now.
func (l *Lease) Alive() bool {
	l.mu.Lock()
	alive, under := !l.over && l.now() < l.until, l.inFlight
	l.mu.Unlock()
	return alive && (under == nil || under.Alive())
}

// SetParent allows requests only while another lease is alive as well: that on the host, among all
// crawls of a cluster.
func (l *Lease) SetParent(other *Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inFlight = other
}

// OnDelay makes the lease call report whenever the delay between requests becomes longer than ever
// before in the lease.
func (l *Lease) OnDelay(report func(d time.Duration)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.onDelay = report
}

// addDelay records that the next request starts at least d after the last one.
func (l *Lease) addDelay(d time.Duration) {
	l.mu.Lock()
	report, under := l.onDelay, l.inFlight
	if d <= l.delay {
		report = nil
	}
	l.delay = max(l.delay, d)
	l.mu.Unlock()
	if report != nil {
		report(d)
	}
	if under != nil {
		under.addDelay(d)
	}
}

// Renew prolongs the lease to d after sent. A lease that has ended stays so, and a lease never
// becomes shorter.
func (l *Lease) Renew(sent, d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if l.over || now >= l.until || sent+d <= l.until {
		return
	}
	l.until = sent + d
	l.timer.Reset(l.until - now)
}

// End ends the lease now, because the visit is lost or done.
func (l *Lease) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Stop()
	}
	l.over = true
	l.cancel(errLease)
}
