package wire

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/simnet"
)

// bubble is a clock that follows a synctest bubble's time, plus however long the
// machine was suspended.
type bubble struct {
	start     time.Time
	suspended time.Duration
}

func (b *bubble) now() time.Duration { return time.Since(b.start) + b.suspended }

func TestLeaseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bubble{start: time.Now()}
		sent := b.now()
		time.Sleep(3 * time.Second) // the grant arrived late
		l, ctx := NewLease(t.Context(), b.now, sent, 10*time.Second)
		time.Sleep(7*time.Second - 1)
		if !l.Alive() || ctx.Err() != nil {
			t.Error("the lease ended early")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if l.Alive() || !errors.Is(context.Cause(ctx), errLease) {
			t.Errorf("10 s after asking: alive %v, context %v", l.Alive(), context.Cause(ctx))
		}
		l.Renew(b.now(), time.Hour)
		if l.Alive() {
			t.Error("a lease that was over came back")
		}
	})
}

func TestLeaseRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bubble{start: time.Now()}
		l, ctx := NewLease(t.Context(), b.now, b.now(), 10*time.Second)
		for range 5 {
			time.Sleep(6 * time.Second)
			sent := b.now()
			time.Sleep(time.Second)
			l.Renew(sent, 10*time.Second)
		}
		// Renewed last a second ago, counted from asking.
		time.Sleep(9*time.Second - 1)
		if !l.Alive() || ctx.Err() != nil {
			t.Error("the lease ended early")
		}
		l.Renew(b.now()-9*time.Second, 5*time.Second) // this would shorten it
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if l.Alive() || ctx.Err() == nil {
			t.Error("the lease outlived its time")
		}
	})
}

// The timers of a suspended machine stop, its leases do not.
func TestLeaseInSuspend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bubble{start: time.Now()}
		l, ctx := NewLease(t.Context(), b.now, b.now(), 10*time.Second)
		defer l.End()
		time.Sleep(time.Second)
		b.suspended = time.Minute
		if l.Alive() {
			t.Error("alive after a minute's sleep")
		}
		if ctx.Err() != nil {
			t.Error("the timer cannot know yet")
		}
		l.Renew(b.now(), 10*time.Second)
		if l.Alive() {
			t.Error("renewed after it had run out")
		}
		time.Sleep(9 * time.Second)
		synctest.Wait()
		if ctx.Err() == nil {
			t.Error("the timer did not end the context")
		}
	})
}

func TestLeaseOverOnArrival(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		b := &bubble{start: time.Now()}
		l, ctx := NewLease(t.Context(), b.now, b.now()-10*time.Second, 10*time.Second)
		if l.Alive() || ctx.Err() == nil {
			t.Error("a lease that had run out on arrival is alive")
		}
		l.End() // this must not panic
	})
}
