package web

import (
	"context"
	"errors"
	"time"
)

// ErrBusy reports that no further question can wait, or that one waited for too long.
var ErrBusy = errors.New("too many questions at the same time")

// Semaphore bounds how many questions are answered at the same time, and how many may wait for
// that. It may be used by many goroutines.
type Semaphore struct {
	places chan struct{} // holds a token for each question, waiting ones included
	slots  chan struct{} // holds a token for each question that is being answered
	within time.Duration
}

// NewSemaphore lets atOnce questions be answered at the same time while queue more may wait. No
// question takes longer than within, waiting included.
func NewSemaphore(atOnce, queue int, within time.Duration) *Semaphore {
	return &Semaphore{places: make(chan struct{}, atOnce+queue), slots: make(chan struct{}, atOnce), within: within}
}

// Waiting is how many questions there are now, those included that are being answered.
func (t *Semaphore) Waiting() int { return len(t.places) }

// Do calls do as soon as a slot is free, with a context that ends in time, and returns its error.
// It returns ErrBusy at once if no further question can wait, and if no slot was free in time.
func (t *Semaphore) Do(ctx context.Context, do func(context.Context) error) error {
	return t.DoUntil(ctx, t.End(), do)
}

// End is when a question that arrives now must have been answered.
func (t *Semaphore) End() time.Time { return time.Now().Add(t.within) }

// DoUntil is Do for one of several steps of a question. They share the end of that question, so
// that a question of two steps takes no longer than others.
func (t *Semaphore) DoUntil(ctx context.Context, end time.Time, do func(context.Context) error) error {
	select {
	case t.places <- struct{}{}:
	default:
		return ErrBusy
	}
	defer func() { <-t.places }()
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	select {
	case t.slots <- struct{}{}:
	case <-ctx.Done():
		return ErrBusy
	}
	defer func() { <-t.slots }()
	if ctx.Err() != nil { // both happened at the same time
		return ErrBusy
	}
	return do(ctx)
}
