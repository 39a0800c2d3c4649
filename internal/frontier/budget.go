package frontier

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go/jetstream"
)

// budgetKey is the record in the crawl's bucket that holds how many pages each shard has reserved of --max-pages.
const budgetKey = "budget"

// budget hands out page slots. With a limit, shards reserve slots in blocks from one record by compare-and-set, so the
// sum never exceeds the limit however many frontiers there are; a shard that cannot use its slots gives them back.
type budget struct {
	ctx context.Context
	kv  jetstream.KeyValue
	log func(msg string, args ...any)

	mu    sync.Mutex // guards the rest
	limit int64      // 0: none
	free  map[int]int64
}

type budgetRecord struct {
	Reserved map[int]int64 `json:"reserved"`
}

const budgetBlock = 256

// take reserves up to n page slots for a visit of shard and returns how many there are.
func (b *budget) take(shard, n int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.limit <= 0 {
		return n
	}
	if b.free[shard] < int64(n) {
		got, err := b.reserve(shard, int64(n)-b.free[shard])
		if err != nil {
			b.log("the page budget cannot be read: no visit is granted until it can", "error", err)
			return 0
		}
		b.free[shard] += got
	}
	n = int(min(int64(n), b.free[shard]))
	b.free[shard] -= int64(n)
	return n
}

// giveBack returns slots a visit did not use.
func (b *budget) giveBack(shard int, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.limit > 0 && n > 0 {
		b.free[shard] += n
	}
}

// reserve moves slots from the record to a shard: at least want if there are as many, a block if there are plenty.
func (b *budget) reserve(shard int, want int64) (int64, error) {
	var got int64
	err := b.update(func(r *budgetRecord) bool {
		left := b.limit
		for _, n := range r.Reserved {
			left -= n
		}
		got = max(min(left, max(want, min(budgetBlock, left/8))), 0)
		r.Reserved[shard] += got
		return got > 0
	})
	return got, err
}

// settle sets what a shard has reserved to what it has used, when it begins (nothing is outstanding then) or when it has
// no work for the slots it holds.
func (b *budget) settle(shard int, used int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.limit <= 0 {
		return nil
	}
	b.free[shard] = 0
	return b.update(func(r *budgetRecord) bool {
		if r.Reserved[shard] == used {
			return false
		}
		r.Reserved[shard] = used
		return true
	})
}

// idle is the number of slots a shard holds and does not use.
func (b *budget) idle(shard int) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.free[shard]
}

func (b *budget) setLimit(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limit = n
}

// update applies f to the record by compare-and-set until it holds or f has nothing to change.
func (b *budget) update(f func(*budgetRecord) bool) error {
	for {
		var rec budgetRecord
		var rev uint64
		e, err := b.kv.Get(b.ctx, budgetKey)
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
			_, err = b.kv.Create(b.ctx, budgetKey, v)
		} else {
			_, err = b.kv.Update(b.ctx, budgetKey, v, rev)
		}
		if err == nil {
			return nil
		}
		var api *jetstream.APIError
		if !errors.Is(err, jetstream.ErrKeyExists) && !(errors.As(err, &api) && api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence) {
			return fmt.Errorf("page budget: %w", err)
		}
		if b.ctx.Err() != nil {
			return b.ctx.Err()
		}
	}
}
