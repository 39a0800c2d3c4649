package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// bucketBytes is the room a bucket reserves.
const bucketBytes = 8 << 20

// Record says who holds a shard. It is kept as JSON under the shard's key and has no TTL.
type Record struct {
	Epoch      uint64 `json:"epoch"`                // grows with every take-over
	Owner      string `json:"owner"`                // unique per data directory
	Clean      bool   `json:"clean"`                // the owner let go of it in order; nobody holds it now
	Checkpoint string `json:"checkpoint,omitempty"` // name of the last checkpoint
	Previous   string `json:"previous,omitempty"`   // name of the one before it
}

// OpenBucket opens a key-value bucket of at most 8 MiB that keeps one value a key, and creates it when missing.
// replicas 0 means what Options.Replicas said.
func (c *Conn) OpenBucket(ctx context.Context, name string, replicas int) (kv jetstream.KeyValue, err error) {
	if replicas == 0 {
		replicas = c.replicas
	}
	err = c.api(ctx, func(ctx context.Context) (err error) {
		kv, err = c.JS.KeyValue(ctx, name)
		if !errors.Is(err, jetstream.ErrBucketNotFound) {
			return err
		}
		kv, err = c.JS.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: name, History: 1, MaxBytes: bucketBytes, Storage: jetstream.FileStorage, Replicas: replicas,
		})
		if errors.Is(err, jetstream.ErrBucketExists) { // another process was quicker
			kv, err = c.JS.KeyValue(ctx, name)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("bucket %s: %w", name, err)
	}
	return kv, nil
}

// readRecord returns the record under key and its revision; revision 0 when there is none.
func readRecord(ctx context.Context, kv jetstream.KeyValue, key string) (r Record, revision uint64, err error) {
	e, err := kv.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return r, 0, nil
	}
	if err != nil {
		return r, 0, fmt.Errorf("read %s: %w", key, err)
	}
	if err := json.Unmarshal(e.Value(), &r); err != nil {
		return r, 0, fmt.Errorf("record %s of bucket %s: %w", key, kv.Bucket(), err)
	}
	return r, e.Revision(), nil
}

// writeRecord replaces the record under key if its revision is still the given one, and returns the new revision.
func writeRecord(ctx context.Context, kv jetstream.KeyValue, key string, r Record, revision uint64) (uint64, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return 0, err
	}
	if revision == 0 {
		return kv.Create(ctx, key, b)
	}
	return kv.Update(ctx, key, b, revision)
}

// changedMeanwhile reports whether a write was refused because the revision is no longer the latest.
func changedMeanwhile(err error) bool {
	var api *jetstream.APIError
	return errors.Is(err, jetstream.ErrKeyExists) ||
		errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == 10164)
}

// WatchOwners calls changed with all records under prefix (as in "frontier" for frontier.0, frontier.1, …), by key: once
// at the start, then whenever one differs; renewals, which change nothing, are not told. Each call gets a map of its
// own. It returns nil when ctx ends, and otherwise goes on for ever.
func WatchOwners(ctx context.Context, kv jetstream.KeyValue, prefix string, changed func(map[string]Record)) error {
	keys := strings.TrimSuffix(prefix, ".") + ".>"
	b := backoff{least: 100 * time.Millisecond, most: 2 * time.Second}
	for ctx.Err() == nil {
		w, err := kv.Watch(ctx, keys)
		if err == nil {
			watchOnce(ctx, w, changed)
			_ = w.Stop()
			b.reset()
		}
		_ = b.wait(ctx, nil)
	}
	return nil
}

func watchOnce(ctx context.Context, w jetstream.KeyWatcher, changed func(map[string]Record)) {
	records := map[string]Record{}
	started := false
	for {
		var e jetstream.KeyValueEntry
		var ok bool
		select {
		case <-ctx.Done():
			return
		case e, ok = <-w.Updates():
		}
		if !ok {
			return
		}
		switch {
		case e == nil: // all there were
			started = true
			changed(maps.Clone(records))
			continue
		case e.Operation() != jetstream.KeyValuePut:
			if _, had := records[e.Key()]; !had {
				continue
			}
			delete(records, e.Key())
		default:
			var r Record
			if json.Unmarshal(e.Value(), &r) != nil || records[e.Key()] == r {
				continue
			}
			records[e.Key()] = r
		}
		if started {
			changed(maps.Clone(records))
		}
	}
}
