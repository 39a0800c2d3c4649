// Package backoff spaces tries at something that fails for a while. (pkg/queue has one of its own,
// with chance in it, since no pkg package imports ours.)
package backoff

import (
	"context"
	"time"
)

// Delay is the wait between two tries: Least at first, twice as long after each try, and
// never longer than Most.
type Delay struct {
	Least, Most time.Duration
	last        time.Duration // what Next returned last; 0: nothing since Reset
}

// Next returns how long to wait before the next try.
func (d *Delay) Next() time.Duration {
	d.last = min(max(2*d.last, d.Least), d.Most)
	return d.last
}

// Reset makes Next begin at Least again, because a try succeeded.
func (d *Delay) Reset() { d.last = 0 }

// Sleep waits as long as Next says, or until ctx ends, and returns ctx's error in that case.
func (d *Delay) Sleep(ctx context.Context) error { return Sleep(ctx, d.Next()) }

// Sleep waits for d or until ctx ends, and returns ctx's error if that came first.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
