package queue

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// watchQuiet is how long a watch may deliver nothing before it is replaced. All keys watched
	// here are rewritten every few seconds in normal operation. A watch of nats.go survives most
	// failures of its server, but notices them only after 10 to 20 s, and continues from a sequence
	// number. If a bucket lost its last messages or was created again, such a watch would stay
	// silent.
	watchQuiet = 5 * time.Second
	// watchBegin limits the wait for the answer to one request, because its server may go down.
	// nats.go waits until the context ends, if the context has a deadline.
	watchBegin = 3 * time.Second
	// watchDrain limits the wait for a watch to end.
	watchDrain = time.Second
)

// WatchKeys watches keys until ctx ends, with one watch after another. It calls begin when a watch
// starts. It then calls each with every entry: first the latest entry of every key, then nil, then
// each change. A watch that delivers nothing for quiet is replaced by a new one, so no watch stays
// dead; that creates and deletes one consumer. Both functions are called in one goroutine.
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

// watchOnce runs one watch. It reports whether the watch delivered anything.
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
	// This makes nats.go end the subscription. Stop would wait until the consumer is deleted.
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

// drainWatch takes the remaining entries of the watch, so that the goroutine of the watch does not
// wait for ever for a reader.
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
