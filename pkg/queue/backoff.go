package queue

import (
	"context"
	"math/rand/v2"
	"time"
)

// backoff determines the delays between attempts. The delay doubles from least to most. Each actual
// delay is a random time between half of it and all of it.
type backoff struct {
	least, most time.Duration
	next        time.Duration
}

func (b *backoff) reset() { b.next = 0 }

// wait sleeps for the next delay. It returns early when wake is closed, which may be nil. It
// returns the error of ctx once ctx has ended.
func (b *backoff) wait(ctx context.Context, wake <-chan struct{}) error {
	b.next = min(max(2*b.next, b.least), b.most)
	t := time.NewTimer(b.next/2 + rand.N(b.next/2+1))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-wake:
	case <-t.C:
	}
	return ctx.Err()
}
