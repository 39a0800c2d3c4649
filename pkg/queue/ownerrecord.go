package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// Record says who holds a shard. It is kept as JSON under the shard's key and has no TTL.
type Record struct {
	Epoch uint64 `json:"epoch"` // grows with every take-over
	Owner string `json:"owner"` // unique per data directory
	// the owner released it in order; nobody holds it now
	Clean      bool   `json:"clean"`
	Checkpoint string `json:"checkpoint,omitempty"` // name of the last checkpoint
	Previous   string `json:"previous,omitempty"`   // name of the one before it
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

// writeRecord replaces the record under key if its revision is still the given one, and
// returns the new revision.
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

// ChangedMeanwhile reports whether a write to a bucket was refused because the revision that it was
// to replace is no longer the latest.
func ChangedMeanwhile(err error) bool {
	var api *jetstream.APIError
	return errors.Is(err, jetstream.ErrKeyExists) ||
		errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == 10164)
}

// WatchOwners calls changed with all records under prefix (as in "frontier" for frontier.0,
// frontier.1, …), by key: once at the start, then whenever one changes. Renewals change nothing and
// are not told. Each call gets a map of its own. It returns nil when ctx ends, and otherwise goes
// on whatever happens to the broker.
func WatchOwners(ctx context.Context, kv jetstream.KeyValue, prefix string, changed func(map[string]Record)) error {
	m := &recordList{changed: changed}
	WatchKeys(ctx, kv, strings.TrimSuffix(prefix, ".")+".>", watchQuiet, m.begin, m.entry)
	return nil
}

// recordList is what one call of WatchOwners knows.
type recordList struct {
	changed   func(map[string]Record)
	records   map[string]Record // of the watch there is
	complete  bool              // all there were have come
	announced map[string]Record // nil before the first call of changed
}

func (m *recordList) begin() {
	m.records, m.complete = map[string]Record{}, false
}

func (m *recordList) entry(e jetstream.KeyValueEntry) {
	switch {
	case e == nil:
		m.complete = true
	case e.Operation() != jetstream.KeyValuePut:
		delete(m.records, e.Key())
	default:
		var r Record
		if json.Unmarshal(e.Value(), &r) != nil {
			return
		}
		// Epochs only grow. A smaller one is the old answer of a server that lags behind.
		if old, known := m.announced[e.Key()]; known && r.Epoch < old.Epoch {
			r = old
		}
		m.records[e.Key()] = r
	}
	if m.complete && (m.announced == nil || !maps.Equal(m.announced, m.records)) {
		m.announced = maps.Clone(m.records)
		m.changed(maps.Clone(m.records))
	}
}
