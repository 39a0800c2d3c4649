package frontier

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// budgetKey is the record in the crawl's bucket that holds how many pages each shard has reserved of --max-pages.
const budgetKey = "budget"

// budget hands out page slots. With a limit, shards reserve slots in blocks from one record by compare-and-set, so that
// the sum never exceeds the limit however many frontiers there are. A shard always has reserved at least what it uses:
// pages stored, and URLs of visits that may yet be stored.
type budget struct {
	log func(msg string, args ...any)

	mu       sync.Mutex // guards the rest
	ctx      context.Context
	kv       jetstream.KeyValue
	limit    int64 // pages; 0: none
	maxBytes int64 // body bytes; 0: none
	used     map[int]int64
	bytes    map[int]int64
	reserved map[int]int64 // as in the record, for the shards of this process; absent: not settled yet
}

type budgetRecord struct {
	Reserved map[int]int64 `json:"reserved"`
}

const (
	budgetBlock   = 256
	budgetTimeout = time.Second // callers hold their shard's lock meanwhile, and leases are 10 s
)

// open gives the budget its record; before, there is room for nothing that is limited.
func (b *budget) open(ctx context.Context, kv jetstream.KeyValue) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ctx, b.kv = ctx, kv
}

// use tells how many page slots a shard uses now, and how many bytes it has read in all. It never waits.
func (b *budget) use(shard int, used, bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used == nil {
		b.used, b.reserved, b.bytes = map[int]int64{}, map[int]int64{}, map[int]int64{}
	}
	b.used[shard], b.bytes[shard] = used, bytes
}

// take returns for how many of n more pages there is room, and reserves it. The caller tells with use what it makes of it.
func (b *budget) take(shard, n int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.maxBytes > 0 {
		// What visits under way will read is not known: the limit ends the crawl soon after it is reached. Other frontiers'
		// bytes are not counted here.
		var sum int64
		for _, n := range b.bytes {
			sum += n
		}
		if sum >= b.maxBytes {
			return 0
		}
	}
	if b.limit <= 0 {
		return n
	}
	room := func() int64 { return b.reserved[shard] - b.used[shard] }
	if _, settled := b.reserved[shard]; !settled || room() < int64(n) {
		if err := b.reserve(shard, int64(n)); err != nil {
			b.log("the page budget cannot be read: no page is granted until it can", "error", err)
			return 0
		}
	}
	return int(max(min(int64(n), room()), 0))
}

// reserve sets what the shards of this process have reserved to what they use, and reserves room for want more pages for
// one of them: a block if there are plenty, less if there are not.
func (b *budget) reserve(shard int, want int64) error {
	var mine map[int]int64
	err := b.update(func(r *budgetRecord) bool {
		mine = map[int]int64{}
		left := b.limit
		for id, n := range r.Reserved {
			if _, ours := b.used[id]; !ours {
				left -= n
			}
		}
		for id, n := range b.used {
			mine[id] = n
			left -= n
		}
		mine[shard] += max(min(left, max(want, min(budgetBlock, left/8))), 0)
		changed := false
		for id, n := range mine {
			changed = changed || r.Reserved[id] != n
			r.Reserved[id] = n
		}
		return changed
	})
	if err == nil {
		b.reserved = mine
	}
	return err
}

// giveBack lets go of what a shard has reserved and does not use, for the shards of other frontiers.
func (b *budget) giveBack(shard int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.limit <= 0 || b.reserved[shard] <= b.used[shard] {
		return
	}
	err := b.update(func(r *budgetRecord) bool {
		r.Reserved[shard] = b.used[shard]
		return true
	})
	if err != nil {
		b.log("page slots not given back yet", "shard", shard, "error", err)
		return
	}
	b.reserved[shard] = b.used[shard]
}

// idle is the number of slots a shard has reserved and does not use.
func (b *budget) idle(shard int) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.reserved[shard] - b.used[shard]
}

// setLimit changes the limits. What is used already counts against them from the next take on.
func (b *budget) setLimit(pages, bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limit, b.maxBytes = pages, bytes
	clear(b.reserved)
}

// update applies f to the record by compare-and-set until it holds or f has nothing to change.
func (b *budget) update(f func(*budgetRecord) bool) error {
	if b.kv == nil {
		return errors.New("page budget: not connected yet")
	}
	ctx, cancel := context.WithTimeout(b.ctx, budgetTimeout)
	defer cancel()
	for {
		var rec budgetRecord
		var rev uint64
		e, err := b.kv.Get(ctx, budgetKey)
		switch {
		case err == nil:
			rev = e.Revision()
			if err := json.Unmarshal(e.Value(), &rec); err != nil {
				return fmt.Errorf("page budget: %w", err)
			}
		case !errors.Is(err, jetstream.ErrKeyNotFound):
			return fmt.Errorf("page budget: %w", err)
		}
		if rec.Reserved == nil {
			rec.Reserved = map[int]int64{}
		}
		if !f(&rec) {
			return nil
		}
		v, err := json.Marshal(rec)
		if err != nil {
			return err
		}
		if rev == 0 {
			_, err = b.kv.Create(ctx, budgetKey, v)
		} else {
			_, err = b.kv.Update(ctx, budgetKey, v, rev)
		}
		if err == nil {
			return nil
		}
		var api *jetstream.APIError
		if !errors.Is(err, jetstream.ErrKeyExists) && !(errors.As(err, &api) && api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence) {
			return fmt.Errorf("page budget: %w", err)
		}
	}
}
