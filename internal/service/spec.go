package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/nats-io/nats.go/jetstream"
)

// specKey is the key of the spec in the bucket of the crawl.
const specKey = "spec"

// ErrNoSpec says that the bucket has no spec, because nobody has created the crawl yet.
var ErrNoSpec = errors.New("the crawl does not exist yet")

const (
	// patience is how long a command waits for a cluster that does not answer. A cluster elects a
	// leader within seconds, also for a bucket that was just created.
	patience = 15 * time.Second
	tryAgain = 500 * time.Millisecond
)

// lookAgain is how often a watch checks whether its bucket was deleted and created again.
const lookAgain = 10 * time.Second

// patiently calls f until there is an answer, patience has run out or ctx ends.
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

// ReadSpec returns the present spec.
func ReadSpec(ctx context.Context, kv jetstream.KeyValue) (spec crawl.Spec, err error) {
	err = patiently(ctx, func() (err error) {
		spec, _, err = readSpec(ctx, kv)
		return err
	})
	return spec, err
}

func readSpec(ctx context.Context, kv jetstream.KeyValue) (spec crawl.Spec, e jetstream.KeyValueEntry, err error) {
	e, err = kv.Get(ctx, specKey)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return spec, nil, ErrNoSpec
	}
	if err == nil {
		err = json.Unmarshal(e.Value(), &spec)
	}
	if err != nil {
		return spec, nil, fmt.Errorf("read the crawl's spec: %w", err)
	}
	return spec, e, nil
}

// written is the JSON of a spec that replaces another. It keeps the fields of the old one that this
// version does not know. They are from a newer version, and may be what protects a host from
// requests.
func written(next crawl.Spec, old []byte) ([]byte, error) {
	value, err := json.Marshal(next)
	if err != nil {
		return nil, err
	}
	var was, is map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(old, &was), json.Unmarshal(value, &is)); err != nil {
		return nil, err
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[crawl.Spec]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		delete(was, name)
	}
	if len(was) == 0 {
		return value, nil
	}
	maps.Copy(is, was)
	return json.Marshal(is)
}

// ChangeSpec replaces the spec by what change returns, and returns the new one. change gets nil if
// there is no crawl yet. It is called again if somebody else changes the spec at the same time. If
// it fails, nothing is changed and its error is returned as it is.
func ChangeSpec(ctx context.Context, kv jetstream.KeyValue, change func(old *crawl.Spec) (crawl.Spec, error)) (next crawl.Spec, err error) {
	err = patiently(ctx, func() (err error) {
		next, err = changeSpec(ctx, kv, change)
		return err
	})
	return next, err
}

func changeSpec(ctx context.Context, kv jetstream.KeyValue, change func(old *crawl.Spec) (crawl.Spec, error)) (crawl.Spec, error) {
	for {
		spec, e, err := readSpec(ctx, kv)
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
		var value []byte
		if old == nil {
			value, err = json.Marshal(next)
		} else {
			value, err = written(next, e.Value())
		}
		if err != nil {
			return spec, err
		}
		if old == nil {
			_, err = kv.Create(ctx, specKey, value)
		} else {
			_, err = kv.Update(ctx, specKey, value, e.Revision())
		}
		switch {
		case err == nil:
			return next, nil
		case queue.ChangedMeanwhile(err):
			continue
		default:
			return spec, fmt.Errorf("write the crawl's spec: %w", err)
		}
	}
}

// WatchSpec calls each with the spec whenever it differs from the last known one, until ctx ends;
// then it returns nil. It starts a broken watch again, also after the bucket was deleted and
// created again.
func WatchSpec(ctx context.Context, kv jetstream.KeyValue, known crawl.Spec, each func(crawl.Spec)) error {
	last, err := json.Marshal(known)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		last, err = watchSpec(ctx, kv, last, each)
		if err != nil && !queue.Unanswered(err) && !bucketGone(err) && ctx.Err() == nil {
			return fmt.Errorf("watch the crawl's spec: %w", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(tryAgain):
		}
	}
	return nil
}

// watchSpec is one watch. It returns the last spec that it saw.
func watchSpec(ctx context.Context, kv jetstream.KeyValue, last []byte, each func(crawl.Spec)) ([]byte, error) {
	made, err := bucketMade(ctx, kv)
	if err != nil {
		return last, err
	}
	look := time.NewTicker(lookAgain)
	defer look.Stop()
	w, err := kv.Watch(ctx, specKey, jetstream.IgnoreDeletes())
	if err != nil {
		return last, err
	}
	defer func() { _ = w.Stop() }() // the watcher ends with the connection anyway
	for {
		select {
		case <-ctx.Done():
			return last, nil
		case <-look.C:
			// A new bucket numbers its messages from 1. A watch of the old one would wait for ever
			// for higher numbers.
			if now, err := bucketMade(ctx, kv); err == nil && !now.Equal(made) {
				return last, nil
			}
		case e, open := <-w.Updates():
			if !open {
				return last, nil
			}
			// nil marks the end of the existing values
			if e == nil || bytes.Equal(e.Value(), last) {
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

// AwaitSpec waits until there is a spec and the broker returns it. Meanwhile it logs what it waits
// for, once a minute.
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
				log.Warn("the settings of the crawl cannot be read from NATS yet; trying again", "crawl", name, "err", err)
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

// bucketMade returns when the bucket was created.
func bucketMade(ctx context.Context, kv jetstream.KeyValue) (time.Time, error) {
	st, err := kv.Status(ctx)
	if err != nil {
		return time.Time{}, err
	}
	b, ok := st.(*jetstream.KeyValueBucketStatus)
	if !ok {
		return time.Time{}, fmt.Errorf("bucket %s: its status is a %T", kv.Bucket(), st)
	}
	return b.StreamInfo().Created, nil
}

// bucketGone reports whether an error says that the bucket does not exist.
func bucketGone(err error) bool {
	return errors.Is(err, jetstream.ErrBucketNotFound) || errors.Is(err, jetstream.ErrStreamNotFound)
}
