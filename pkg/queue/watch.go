package queue

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// watchQuiet is how long a watch may bring nothing before it is begun anew. Everything that is
	// watched here is rewritten every few seconds while all is well. A watch of nats.go survives
	// most of what happens to its server, but takes 10 to 20 s to notice, and goes on from a
	// sequence: for a bucket that lost its tail, or was made anew, it would stay silent.
	watchQuiet = 5 * time.Second
	// watchBegin bounds the wait for the answer to one request, whose server may go down. nats.go
	// waits as long as the context lasts, if that has an end.
	watchBegin = 3 * time.Second
	// watchDrain bounds the wait for a watch to end.
	watchDrain = time.Second
)

// WatchKeys follows keys until ctx ends, by one watch after another. begin is called as each watch
// starts, then each with every entry, the latest of every key first, and with nil when those are
// through. A watch that brings nothing for quiet is replaced by a new one, so none stays dead; that
// costs one consumer, made and deleted. Both functions run in one goroutine.
func WatchKeys(ctx context.Context, kv jetstream.KeyValue, keys string, quiet time.Duration, begin func(), each func(jetstream.KeyValueEntry)) {
	b := backoff{least: 100 * time.Millisecond, most: 2 * time.Second}
	for ctx.Err() == nil {
		begin()
		if watchOnce(ctx, kv, keys, quiet, each) {
			b.reset()
		}
		_ = b.wait(ctx, nil)
	}
}

// watchOnce is one watch. It reports whether it brought anything.
func watchOnce(ctx context.Context, kv jetstream.KeyValue, keys string, quiet time.Duration, each func(jetstream.KeyValueEntry)) (some bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	begin := time.AfterFunc(watchBegin, cancel)
	w, err := kv.Watch(ctx, keys)
	begin.Stop()
	if err != nil {
		return false
	}
	defer drainWatch(w)
	// nats.go ends the subscription then; Stop would wait for the consumer to be deleted
	defer cancel()
	t := time.NewTimer(quiet)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return some
		case <-t.C:
			return some
		case e, ok := <-w.Updates():
			if !ok {
				return some
			}
			some = true
			t.Reset(quiet)
			each(e)
		}
	}
}

// drainWatch takes what the watch still holds, so that its goroutine does not wait
// for a reader for ever.
func drainWatch(w jetstream.KeyWatcher) {
	t := time.NewTimer(watchDrain)
	defer t.Stop()
	for {
		select {
		case _, ok := <-w.Updates():
			if !ok {
				return
			}
		case <-t.C:
			return
		}
	}
}
