// Package semaphore bounds how many questions a web server works on at once, and how many may wait
// for that.
package semaphore

import (
	"context"
	"errors"
	"time"
)

// ErrBusy says that there is no room for one more question, or that its turn did not come in time.
var ErrBusy = errors.New("too many questions at the same time")

// Semaphore lets questions take turns. It may be used by many goroutines.
type Semaphore struct {
	places chan struct{} // holds a token for each question, waiting ones included
	slots  chan struct{} // holds a token for each question worked on
	within time.Duration
}

// New lets atOnce questions be worked on at the same time while queue more may wait. No question
// takes longer than within, waiting included.
func New(atOnce, queue int, within time.Duration) *Semaphore {
	return &Semaphore{places: make(chan struct{}, atOnce+queue), slots: make(chan struct{}, atOnce), within: within}
}

// Waiting is how many questions there are now, those worked on included.
func (t *Semaphore) Waiting() int { return len(t.places) }

// Do calls do when its turn has come, with a context that ends in time, and returns its error. It
// returns ErrBusy at once when there is no room, and when the time was over before the turn came.
func (t *Semaphore) Do(ctx context.Context, do func(context.Context) error) error {
	select {
	case t.places <- struct{}{}:
	default:
		return ErrBusy
	}
	defer func() { <-t.places }()
	ctx, cancel := context.WithTimeout(ctx, t.within)
	defer cancel()
	select {
	case t.slots <- struct{}{}:
	case <-ctx.Done():
		return ErrBusy
	}
	defer func() { <-t.slots }()
	if ctx.Err() != nil { // both came at once
		return ErrBusy
	}
	return do(ctx)
}
