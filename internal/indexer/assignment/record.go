package assignment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/curtsy/curtsy/internal/backoff"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/queue"
)

// Record says where the pages of a shard are. It is in the bucket of the crawl, and it is the
// truth: a page store that it does not name does not count. Only the owner of the shard
// (indexer.<shard>) writes it, each time by compare-and-set.
type Record struct {
	// The indexer that has the pages, or had them when they were copied.
	Instance string `json:"instance"`
	Store    string `json:"store"` // identity of the page store
	// Refill means that the store was begun empty because the previous one is lost, and that the
	// frontier does not know yet.
	Refill bool `json:"refill,omitempty"`
	// Fresh means that the shard had no primary when this store was begun. In a new crawl it had no
	// pages either. If NATS has lost the record, there may be an older file, and its finder then
	// has its pages crawled again.
	Fresh bool `json:"fresh,omitempty"`
	// HandedOver is set while the shard moves: Instance has stopped writing the store, and a copy
	// of it is in the object store.
	HandedOver *HandedOver `json:"parked,omitempty"`
	// Moved lists the stores whose contents have moved to this one, the last one first. An indexer
	// that still has the file of such a store may remove it.
	Moved []string `json:"moved,omitempty"`
}

// HandedOver is where the copy of a store is, what it must contain, and for which indexer it is.
type HandedOver struct {
	To      string `json:"to"` // instance
	Object  string `json:"object"`
	Size    int64  `json:"size"` // of the file
	Pages   int64  `json:"pages"`
	LastSeq uint64 `json:"last_seq"` // of the change feed
}

// movedMost is how many stores Moved lists. The old file of an indexer that was away for more moves
// is reported, not removed.
const movedMost = 16

// movedTo returns the record once the copy is the store of another instance.
func (h Record) movedTo(instance, store string) Record {
	moved := append([]string{h.Store}, h.Moved...)
	return Record{Instance: instance, Store: store, Refill: h.Refill, Fresh: h.Fresh, Moved: moved[:min(len(moved), movedMost)]}
}

// superseded reports whether everything in a store has moved to the store that the record names.
func (h Record) superseded(store string) bool { return slices.Contains(h.Moved, store) }

// errChanged means that the record is not what we assumed.
var errChanged = errors.New("the shard's assignment was changed by another process")

// Read returns the record of a shard. revision is 0 if there is none yet. The record may be out of
// date if the NATS server that answers lags behind another one. write then fails with errChanged.
func Read(ctx context.Context, kv jetstream.KeyValue, shard int) (h Record, revision uint64, err error) {
	e, err := kv.Get(ctx, crawl.AssignmentKey(shard))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return h, 0, nil
	}
	if err == nil {
		if err = json.Unmarshal(e.Value(), &h); err == nil {
			return h, e.Revision(), nil
		}
	}
	return h, 0, fmt.Errorf("read %s: %w", crawl.AssignmentKey(shard), err)
}

// Instances returns for each shard which indexer has its pages, "" if there is none yet.
func Instances(ctx context.Context, kv jetstream.KeyValue, shards int) ([]string, error) {
	all := make([]string, shards)
	for i := range all {
		h, _, err := Read(ctx, kv, i)
		if err != nil {
			return nil, fmt.Errorf("assignment of shard %d: %w", i, err)
		}
		all[i] = h.Instance
	}
	return all, nil
}

// write replaces the record with this revision (0 for none) and returns the new one. After
// errChanged nothing is written. After another error it may have been written.
func write(ctx context.Context, kv jetstream.KeyValue, shard int, h Record, revision uint64) (uint64, error) {
	value, err := json.Marshal(h)
	if err != nil {
		return 0, err
	}
	var next uint64
	if revision == 0 {
		next, err = kv.Create(ctx, crawl.AssignmentKey(shard), value)
	} else {
		next, err = kv.Update(ctx, crawl.AssignmentKey(shard), value, revision)
	}
	if queue.ChangedMeanwhile(err) {
		return 0, fmt.Errorf("write %s: %w: %w", crawl.AssignmentKey(shard), errChanged, err)
	}
	if err != nil {
		return 0, fmt.Errorf("write %s: %w", crawl.AssignmentKey(shard), err)
	}
	return next, nil
}

// readFresh returns the current record, not an old one of some server, because the next step
// changes files and cannot be undone. It writes the record back to be sure.
func readFresh(ctx context.Context, kv jetstream.KeyValue, shard int) (h Record, revision uint64, err error) {
	for range 5 {
		h, revision, err = Read(ctx, kv, shard)
		if err != nil || revision == 0 {
			return h, revision, err
		}
		revision, err = write(ctx, kv, shard, h, revision)
		if !errors.Is(err, errChanged) {
			return h, revision, err
		}
		if backoff.Sleep(ctx, publishAgain) != nil {
			return h, 0, ctx.Err()
		}
	}
	return h, 0, err
}
