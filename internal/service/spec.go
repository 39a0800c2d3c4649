package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/nats-io/nats.go/jetstream"
)

// specKey is where the spec stands in the crawl's bucket.
const specKey = "spec"

// ErrNoSpec says that the bucket has no spec: nobody has created the crawl yet.
var ErrNoSpec = errors.New("there is no such crawl yet")

const (
	// patience is how long a command waits for a cluster that does not answer: a leader is elected within seconds, also
	// that of a bucket created a moment ago.
	patience = 15 * time.Second
	tryAgain = 500 * time.Millisecond
)

// patiently calls f until it is answered, ctx ends or patience does.
func patiently(ctx context.Context, f func() error) error {
	for end := time.Now().Add(patience); ; {
		err := f()
		if !queue.Unanswered(err) || ctx.Err() != nil || time.Now().After(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(tryAgain):
		}
	}
}

// ReadSpec is the spec as it is now.
func ReadSpec(ctx context.Context, kv jetstream.KeyValue) (spec crawl.Spec, err error) {
	err = patiently(ctx, func() (err error) {
		spec, _, err = readSpec(ctx, kv)
		return err
	})
	return spec, err
}

func readSpec(ctx context.Context, kv jetstream.KeyValue) (spec crawl.Spec, revision uint64, err error) {
	e, err := kv.Get(ctx, specKey)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return spec, 0, ErrNoSpec
	}
	if err != nil {
		return spec, 0, fmt.Errorf("read the crawl's spec: %w", err)
	}
	if err := json.Unmarshal(e.Value(), &spec); err != nil {
		return spec, 0, fmt.Errorf("read the crawl's spec: %w", err)
	}
	return spec, e.Revision(), nil
}

// ChangeSpec replaces the spec by what change makes of it and returns the new one. With no crawl yet, change gets nil. It is
// called again when someone else was faster. An error of change is returned as it is, and nothing is changed.
func ChangeSpec(ctx context.Context, kv jetstream.KeyValue, change func(old *crawl.Spec) (crawl.Spec, error)) (next crawl.Spec, err error) {
	err = patiently(ctx, func() (err error) {
		next, err = changeSpec(ctx, kv, change)
		return err
	})
	return next, err
}

func changeSpec(ctx context.Context, kv jetstream.KeyValue, change func(old *crawl.Spec) (crawl.Spec, error)) (crawl.Spec, error) {
	for {
		spec, revision, err := readSpec(ctx, kv)
		old := &spec
		if errors.Is(err, ErrNoSpec) {
			old = nil
		} else if err != nil {
			return spec, err
		}
		next, err := change(old)
		if err != nil {
			return spec, err
		}
		value, err := json.Marshal(next)
		if err != nil {
			return spec, err
		}
		if old == nil {
			_, err = kv.Create(ctx, specKey, value)
		} else {
			_, err = kv.Update(ctx, specKey, value, revision)
		}
		var api *jetstream.APIError
		switch {
		case err == nil:
			return next, nil
		case errors.Is(err, jetstream.ErrKeyExists),
			errors.As(err, &api) && api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence:
			continue
		default:
			return spec, fmt.Errorf("write the crawl's spec: %w", err)
		}
	}
}

// WatchSpec calls each with the spec whenever it has become another than the one known, until ctx ends; then it returns
// nil. A watch that breaks off is begun again.
func WatchSpec(ctx context.Context, kv jetstream.KeyValue, known crawl.Spec, each func(crawl.Spec)) error {
	last, err := json.Marshal(known)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		last, err = watchSpec(ctx, kv, last, each)
		if err != nil && !queue.Unanswered(err) && ctx.Err() == nil {
			return fmt.Errorf("watch the crawl's spec: %w", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(tryAgain):
		}
	}
	return nil
}

// watchSpec is one watch. It returns the spec last seen.
func watchSpec(ctx context.Context, kv jetstream.KeyValue, last []byte, each func(crawl.Spec)) ([]byte, error) {
	w, err := kv.Watch(ctx, specKey, jetstream.IgnoreDeletes())
	if err != nil {
		return last, err
	}
	defer func() { _ = w.Stop() }() // the watcher goes with the connection anyway
	for {
		select {
		case <-ctx.Done():
			return last, nil
		case e, open := <-w.Updates():
			if !open {
				return last, nil
			}
			if e == nil || bytes.Equal(e.Value(), last) { // nil: the marker between what was there and what is new
				continue
			}
			last = e.Value()
			var spec crawl.Spec
			if err := json.Unmarshal(e.Value(), &spec); err != nil {
				return last, err
			}
			each(spec)
		}
	}
}

// AwaitSpec is the spec as soon as there is one and the broker tells it. While there is none it says so in the log, now and
// then.
func AwaitSpec(ctx context.Context, kv jetstream.KeyValue, name string, log *slog.Logger) (crawl.Spec, error) {
	said := time.Time{}
	for {
		spec, _, err := readSpec(ctx, kv)
		silent := queue.Unanswered(err)
		if !errors.Is(err, ErrNoSpec) && !silent {
			return spec, err
		}
		if time.Since(said) > time.Minute {
			if silent {
				log.Warn("NATS does not tell of the crawl yet, trying again", "crawl", name, "err", err)
			} else {
				log.Info("waiting for the crawl to be created", "crawl", name, "hint", "curtsy seed --nats URL --crawl "+name+" https://example.org/")
			}
			said = time.Now()
		}
		select {
		case <-ctx.Done():
			return spec, ctx.Err()
		case <-time.After(tryAgain):
		}
	}
}
