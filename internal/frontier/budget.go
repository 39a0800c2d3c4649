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
// pages stored, and URLs of visits that may yet be stored. What a shard has reserved stays so when it is handed over or its
// owner dies, until its next owner says what it uses.
type budget struct {
	log func(msg string, args ...any)

	mu       sync.Mutex // guards the rest
	ctx      context.Context
	kv       jetstream.KeyValue
	limit    int64          // pages; 0: none
	maxBytes int64          // body bytes; 0: none
	shares   map[int]*share // of the shards of this process
	others   int64          // body bytes read by other frontiers' shards, as of a moment ago
}

// share is what one shard of this process uses and has reserved.
type share struct {
	valid    func() bool // may this process still speak for the shard; nil: yes
	used     int64
	bytes    int64
	reserved int64 // as in the record, if settled
	settled  bool

	// After an unclean take-over what the last owner had reserved and does not show as used may be in visits under way, whose
	// pages are told of later. Their slots are kept for a while.
	inherits    bool // ghosts are to be read from the record
	ghosts      int64
	ghostsUntil time.Time
}

// need is how many slots the shard must have reserved.
func (sh *share) need(now time.Time) int64 {
	if now.Before(sh.ghostsUntil) {
		return sh.used + sh.ghosts
	}
	return sh.used
}

func (sh *share) ours() bool { return sh.valid == nil || sh.valid() }

type budgetRecord struct {
	Reserved map[int]int64 `json:"reserved"`
	Bytes    map[int]int64 `json:"bytes,omitempty"` // body bytes read, while there is a limit for them
}

const (
	budgetBlock   = 256
	budgetTimeout = time.Second // callers hold their shard's lock meanwhile, and leases are 10 s
	budgetEvery   = 2 * time.Second
)

// open gives the budget its record; before, there is room for nothing that is limited.
func (b *budget) open(ctx context.Context, kv jetstream.KeyValue) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ctx, b.kv = ctx, kv
}

// join adds a shard that this process has taken, once all that is in its log is applied: before, it uses more than it
// knows. valid says as long as this process may speak for it; unclean that visits which it does not know may yet tell of
// pages.
func (b *budget) join(shard int, used, bytes int64, valid func() bool, unclean bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	sh := b.share(shard)
	*sh = share{valid: valid, used: used, bytes: bytes}
	if unclean {
		sh.inherits, sh.ghostsUntil = true, time.Now().Add(ghostTime)
	}
}

// share returns what is known of a shard. The caller holds mu.
func (b *budget) share(shard int) *share {
	if b.shares == nil {
		b.shares = map[int]*share{}
	}
	if b.shares[shard] == nil {
		b.shares[shard] = &share{}
	}
	return b.shares[shard]
}

// use tells how many page slots a shard uses now, and how many bytes it has read in all. It never waits.
func (b *budget) use(shard int, used, bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	sh := b.share(shard)
	sh.used, sh.bytes = used, bytes
}

// take returns for how many of n more pages there is room, and reserves it. The caller tells with use what it makes of it.
func (b *budget) take(shard, n int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bytesSpent() {
		return 0
	}
	if b.limit <= 0 {
		return n
	}
	sh, now := b.share(shard), time.Now()
	if !sh.settled || sh.reserved-sh.need(now) < int64(n) {
		if err := b.reserve(shard, int64(n), now); err != nil {
			b.log("the page budget cannot be read: no page is granted until it can", "error", err)
			return 0
		}
	}
	return int(max(min(int64(n), sh.reserved-sh.need(now)), 0))
}

// bytesSpent reports that as many bytes were read as may be. What visits under way will read is not known: the limit ends the
// crawl soon after it is reached. The caller holds mu.
func (b *budget) bytesSpent() bool {
	if b.maxBytes <= 0 {
		return false
	}
	sum := b.others
	for _, sh := range b.shares {
		sum += sh.bytes
	}
	return sum >= b.maxBytes
}

// mayRead reports whether more may be read. A page that is asked for again needs no slot: it has one.
func (b *budget) mayRead() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.bytesSpent()
}

// reserve sets what the shards of this process have reserved to what they use, and reserves room for want more pages for
// one of them: a block if there are plenty, less if there are not.
func (b *budget) reserve(shard int, want int64, now time.Time) error {
	var mine map[int]int64
	err := b.update(func(r *budgetRecord) bool {
		mine = map[int]int64{}
		left := b.limit
		for id, sh := range b.shares {
			if !sh.ours() {
				continue
			}
			if sh.inherits {
				sh.ghosts, sh.inherits = max(r.Reserved[id]-sh.used, 0), false
			}
			mine[id] = sh.need(now)
			left -= mine[id]
		}
		for id, n := range r.Reserved {
			if _, ours := mine[id]; !ours {
				left -= n
			}
		}
		mine[shard] += max(min(left, max(want, min(budgetBlock, left/8))), 0)
		changed := false
		for id, n := range mine {
			changed = changed || r.Reserved[id] != n
			r.Reserved[id] = n
		}
		return changed
	})
	if err != nil {
		return err
	}
	for id, sh := range b.shares {
		sh.reserved, sh.settled = mine[id], false
		_, sh.settled = mine[id]
	}
	return nil
}

// giveBack lets go of what a shard has reserved and does not use, for the shards of other frontiers.
func (b *budget) giveBack(shard int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	sh := b.shares[shard]
	if sh == nil || b.limit <= 0 || !sh.settled || !sh.ours() {
		return
	}
	need := sh.need(time.Now())
	if sh.reserved <= need {
		return
	}
	err := b.update(func(r *budgetRecord) bool {
		r.Reserved[shard] = need
		return true
	})
	if err != nil {
		b.log("page slots not given back yet", "shard", shard, "error", err)
		return
	}
	sh.reserved = need
}

// forget drops a shard that is no longer this process's.
func (b *budget) forget(shard int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.shares, shard)
}

// idle is the number of slots a shard has reserved and does not use.
func (b *budget) idle(shard int) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	sh := b.share(shard)
	return sh.reserved - sh.used
}

// setLimit changes the limits. What is used already counts against them from the next take on.
func (b *budget) setLimit(pages, bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limit, b.maxBytes = pages, bytes
	for _, sh := range b.shares {
		sh.settled, sh.reserved = false, 0
	}
}

// tellBytes keeps other frontiers informed of the bytes read here, and this one of theirs, while bytes are limited. It
// returns when ctx ends.
func (b *budget) tellBytes(ctx context.Context) error {
	t := time.NewTicker(budgetEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
		b.mu.Lock()
		if b.maxBytes > 0 {
			if err := b.exchangeBytes(); err != nil && ctx.Err() == nil {
				b.log("the bytes read by other frontiers are not known at the moment", "error", err)
			}
		}
		b.mu.Unlock()
	}
}

func (b *budget) exchangeBytes() error {
	return b.update(func(r *budgetRecord) bool {
		if r.Bytes == nil {
			r.Bytes = map[int]int64{}
		}
		changed := false
		for id, sh := range b.shares {
			if sh.ours() && sh.bytes > r.Bytes[id] {
				r.Bytes[id], changed = sh.bytes, true
			}
		}
		b.others = 0
		for id, n := range r.Bytes {
			if b.shares[id] == nil {
				b.others += n
			}
		}
		return changed
	})
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
