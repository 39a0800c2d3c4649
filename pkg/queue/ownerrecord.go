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

// Record describes who owns a shard. It is stored as JSON under the key of the shard and has no
// TTL.
type Record struct {
	Epoch uint64 `json:"epoch"` // increases with every take-over
	Owner string `json:"owner"` // unique per data directory
	// the owner released the shard in order; nobody owns it now
	Clean      bool   `json:"clean"`
	Checkpoint string `json:"checkpoint,omitempty"` // name of the last checkpoint
	Previous   string `json:"previous,omitempty"`   // name of the one before it
}

// readRecord returns the record under key and its revision. The revision is 0 if there is no
// record.
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

// writeRecord replaces the record under key if the given revision is still the latest, and returns
// the new revision.
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

// ChangedMeanwhile reports whether a write to a bucket was refused because the revision to replace
// is no longer the latest.
func ChangedMeanwhile(err error) bool {
	var api *jetstream.APIError
	return errors.Is(err, jetstream.ErrKeyExists) ||
		errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == 10164)
}

// WatchOwners calls changed with all records under prefix (as in "frontier" for frontier.0,
// frontier.1, …), by key: once at the start, then whenever a record changes. A renewal does not
// change the record. Each call gets a map of its own. WatchOwners continues whatever happens to the
// broker, and returns nil when ctx ends.
func WatchOwners(ctx context.Context, kv jetstream.KeyValue, prefix string, changed func(map[string]Record)) error {
	m := &recordList{changed: changed}
	WatchKeys(ctx, kv, strings.TrimSuffix(prefix, ".")+".>", watchQuiet, m.begin, m.entry)
	return nil
}

// recordList is the state of one call of WatchOwners.
type recordList struct {
	changed   func(map[string]Record)
	records   map[string]Record // of the current watch
	complete  bool              // the watch has delivered all existing records
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
		// Epochs only increase. A smaller one comes from a server that lags behind.
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
