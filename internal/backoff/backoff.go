// Package backoff waits between the tries of something that fails for a while. (pkg/queue has its
// own, with random waits, because no package of pkg imports packages of internal.)
package backoff

import (
	"context"
	"time"
)

// Delay is the wait between two tries: Least at first, twice as long after each try, and
// never longer than Most.
type Delay struct {
	Least, Most time.Duration
	last        time.Duration // what Next returned last; 0: Next was not called since Reset
}

// Next returns how long to wait before the next try.
func (d *Delay) Next() time.Duration {
	d.last = min(max(2*d.last, d.Least), d.Most)
	return d.last
}

// Reset makes Next begin at Least again, because a try succeeded.
func (d *Delay) Reset() { d.last = 0 }

// Sleep waits as long as Next returns. If ctx ends first, it returns ctx's error.
func (d *Delay) Sleep(ctx context.Context) error { return Sleep(ctx, d.Next()) }

// Sleep waits for d. If ctx ends first, it returns ctx's error.
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
