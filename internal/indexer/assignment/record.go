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

// Record is where a shard's pages are, kept in the crawl's bucket. It is the truth: a page store
// that it does not name does not count. Only who owns the shard (indexer.<shard>) writes it, and
// every write is a compare-and-set.
type Record struct {
	// Of the indexer that has the pages, or had them when they were parked.
	Instance string `json:"instance"`
	Store    string `json:"store"` // identity of the page store
	// Refill says that the store was begun empty because the one before is lost, and the frontier
	// is not yet told.
	Refill bool `json:"refill,omitempty"`
	// Fresh says that the shard had no home when this store was begun. In a new crawl it had no
	// pages either; but when NATS has lost the record there may be a file of before, and who finds
	// it then has its pages crawled again.
	Fresh bool `json:"fresh,omitempty"`
	// HandedOver is set while the shard moves: Instance has stopped writing the store, and a copy
	// of it is in the object store.
	HandedOver *HandedOver `json:"parked,omitempty"`
	// Moved lists the stores this one was copied from, last first: whoever still has the file of
	// one may remove it.
	Moved []string `json:"moved,omitempty"`
}

// HandedOver says where the copy is, what must be in it, and whom it is for.
type HandedOver struct {
	To      string `json:"to"` // instance
	Object  string `json:"object"`
	Size    int64  `json:"size"` // of the file
	Pages   int64  `json:"pages"`
	LastSeq uint64 `json:"last_seq"` // of the change journal
}

// movedMost is how many stores Moved lists: an indexer that was away for more moves than that has
// its old file reported, not removed.
const movedMost = 16

// movedTo is the record once the parked copy is the store of another instance.
func (h Record) movedTo(instance, store string) Record {
	moved := append([]string{h.Store}, h.Moved...)
	return Record{Instance: instance, Store: store, Refill: h.Refill, Fresh: h.Fresh, Moved: moved[:min(len(moved), movedMost)]}
}

// superseded reports whether all that is in a store has moved on to the one the record names.
func (h Record) superseded(store string) bool { return slices.Contains(h.Moved, store) }

// errChanged: the record is not what we took it for.
var errChanged = errors.New("the shard's assignment was changed by another process")

// Read returns a shard's home; revision 0 when it has none yet. What it returns may be old by the
// time a server needs to follow another; write notices.
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

// Instances says of each shard which indexer has its pages; "" where none has yet.
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

// write replaces the record that has this revision, 0 for none, and returns the new one. After
// errChanged nothing is written; after another error it may have been.
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

// readFresh returns the record as it is, not as some server remembers it: what is done next to
// files cannot be undone. It writes it back to know.
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
