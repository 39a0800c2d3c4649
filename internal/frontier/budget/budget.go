// Package budget shares --max-pages and --max-bytes among the frontiers of a crawl.
package budget

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/frontier/times"
	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/nats-io/nats.go/jetstream"
)

// ExpiredTime is how long the URLs of a visit that expired count against the page budget: its
// fetcher may still tell of them.
const ExpiredTime = 2 * times.OwnerLease

// budgetKey is the record in the crawl's bucket that holds how many pages each shard has
// reserved of --max-pages.
const budgetKey = "budget"

// Budget hands out page slots. With a limit, shards reserve slots in blocks from one record by
// compare-and-set, so that the sum never exceeds the limit however many frontiers there are. A
// shard always has reserved at least what it uses: pages stored, and URLs of visits that may yet be
// stored. What a shard has reserved stays so when it is handed over or its owner dies, until its
// next owner says what it uses.
type Budget struct {
	Log func(msg string, args ...any)
	// Callers hold their shard's lock, so the record is asked for and written by another
	// goroutine; tests need not.
	Async bool

	// Held while reserved slots are changed in the record, which may take long; taken before mu.
	record sync.Mutex

	mu       sync.Mutex // guards the rest; never held while the network is waited for
	asking   bool       // somebody is about to reserve slots
	askedAt  time.Time
	gen      int // of the limits
	Ctx      context.Context
	Kv       jetstream.KeyValue
	Limit    int64          // pages; 0: none
	MaxBytes int64          // body bytes; 0: none
	shares   map[int]*share // of the shards of this process
	others   int64          // body bytes read by other frontiers' shards, as of a moment ago
}

// share is what one shard of this process uses and has reserved.
type share struct {
	valid      func() bool // may this process still speak for the shard; nil: yes
	Used       int64
	taken      int64 // since used was told
	bytes      int64
	Reserved   int64 // as in the record, if settled
	settled    bool
	reportedAt time.Time // what it uses, though perhaps in vain

	// After an unclean take-over what the last owner had reserved and does not show as used may be
	// in visits under way, whose pages are told of later. Their slots are kept for a while.
	inherits     bool // ghosts are to be read from the record
	expired      int64
	expiredUntil time.Time
}

// need is how many slots the shard must have reserved.
func (sh *share) need(now time.Time) int64 {
	if now.Before(sh.expiredUntil) {
		return sh.Used + sh.taken + sh.expired
	}
	return sh.Used + sh.taken
}

// inherit takes over what the last owner had reserved.
func (sh *share) inherit(reserved int64) {
	if sh.inherits {
		sh.expired, sh.inherits = max(reserved-sh.Used, 0), false
	}
}

func (sh *share) ours() bool { return sh.valid == nil || sh.valid() }

type budgetRecord struct {
	Reserved map[int]int64 `json:"reserved"`
	// Body bytes read, while there is a limit for them.
	Bytes map[int]int64 `json:"bytes,omitempty"`
}

const (
	budgetBlock   = 256
	budgetTimeout = time.Second
	budgetEvery   = 2 * time.Second
	// budgetLow is how few free slots have more reserved before they are wanted, and
	// budgetAhead how often.
	budgetLow   = budgetBlock / 2
	budgetAhead = 100 * time.Millisecond
)

// Open gives the budget its record; before, there is room for nothing that is limited.
func (b *Budget) Open(ctx context.Context, kv jetstream.KeyValue) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Ctx, b.Kv = ctx, kv
}

// Join adds a shard that this process has taken, once all that is in its log is applied: before, it
// uses more than it knows. valid says as long as this process may speak for it; unclean that visits
// which it does not know may yet tell of pages.
func (b *Budget) Join(shard int, used, bytes int64, valid func() bool, unclean bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	sh := b.Share(shard)
	*sh = share{valid: valid, Used: used, bytes: bytes}
	if unclean {
		sh.inherits, sh.expiredUntil = true, time.Now().Add(ExpiredTime)
	}
}

// Share returns what is known of a shard. The caller holds mu.
func (b *Budget) Share(shard int) *share {
	if b.shares == nil {
		b.shares = map[int]*share{}
	}
	if b.shares[shard] == nil {
		b.shares[shard] = &share{}
	}
	return b.shares[shard]
}

// Use tells how many page slots a shard uses now, and how many bytes it has read in
// all. It never waits.
func (b *Budget) Use(shard int, used, bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	sh := b.Share(shard)
	sh.Used, sh.taken, sh.bytes = used, 0, bytes
}

// Take returns for how many of n more pages there is room, and reserves it. The caller tells with
// use what it makes of it. When slots must be reserved in the record first, others do that: there
// is room a moment later (see pending).
func (b *Budget) Take(shard, n int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bytesSpent() {
		return 0
	}
	if b.Limit <= 0 {
		return n
	}
	sh, now := b.Share(shard), time.Now()
	free := func() int64 {
		if !sh.settled {
			return 0
		}
		return max(sh.Reserved-sh.need(now), 0)
	}
	if free() < int64(n) {
		b.ask(shard, int64(n), now)
	} else if b.Async && free() < int64(n)+budgetLow && now.Sub(b.askedAt) >= budgetAhead {
		b.ask(shard, int64(n), now)
	}
	k := min(int64(n), free())
	sh.taken += k
	return int(k)
}

// Pending reports that slots are being reserved.
func (b *Budget) Pending() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.asking
}

// ask has room reserved for want more pages of a shard, unless that is being done.
// The caller holds mu.
func (b *Budget) ask(shard int, want int64, now time.Time) {
	if b.asking {
		return
	}
	b.asking, b.askedAt = true, now
	do := func() {
		b.record.Lock()
		err := b.reserve(shard, want)
		b.record.Unlock()
		b.mu.Lock()
		b.asking = false
		b.mu.Unlock()
		if err != nil && !errors.Is(err, context.Canceled) { // that is the crawl's end
			b.Log("the page budget cannot be read: no page is granted until it can", "error", err)
		}
	}
	if b.Async {
		go do()
		return
	}
	b.mu.Unlock()
	do()
	b.mu.Lock()
}

// bytesSpent reports that as many bytes were read as may be. What visits under way will read is not
// known: the limit ends the crawl soon after it is reached. The caller holds mu.
func (b *Budget) bytesSpent() bool {
	if b.MaxBytes <= 0 {
		return false
	}
	sum := b.others
	for _, sh := range b.shares {
		sum += sh.bytes
	}
	return sum >= b.MaxBytes
}

// MayRead reports whether more may be read. A page that is asked for again needs
// no slot: it has one.
func (b *Budget) MayRead() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.bytesSpent()
}

// reserve sets what the shards of this process have reserved to what they use, and reserves room
// for want more pages for one of them: a block if there are plenty, less if there are not. The
// caller holds record, and not mu: while the record is written a shard may use no more than both
// the old and the new one give it.
func (b *Budget) reserve(shard int, want int64) error {
	var mine map[int]int64
	var gen int
	err := b.update(func(r *budgetRecord) bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		gen = b.gen
		mine = map[int]int64{}
		left, now := b.Limit, time.Now()
		for id, sh := range b.shares {
			if !sh.ours() {
				continue
			}
			sh.inherit(r.Reserved[id])
			mine[id] = sh.need(now)
			left -= mine[id]
		}
		for id, n := range r.Reserved {
			if _, ours := mine[id]; !ours {
				left -= n
			}
		}
		if _, ours := mine[shard]; ours {
			mine[shard] += max(min(left, max(want, min(budgetBlock, left/8))), 0)
		}
		changed := false
		for id, n := range mine {
			changed = changed || r.Reserved[id] != n
			r.Reserved[id] = n
			b.shares[id].Reserved = min(b.shares[id].Reserved, n)
		}
		return changed
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, sh := range b.shares {
		n, known := mine[id]
		sh.settled = err == nil && known && gen == b.gen && !sh.inherits
		if sh.settled {
			sh.Reserved = n
		}
	}
	return err
}

// GiveBack lets go of what a shard has reserved and does not use, for the shards of other
// frontiers, and says what it uses where the record may say something else. It does not wait.
func (b *Budget) GiveBack(shard int) {
	b.mu.Lock()
	sh := b.shares[shard]
	now := time.Now()
	idle := sh != nil && b.Limit > 0 && sh.ours() && (!sh.settled && now.Sub(sh.reportedAt) >= budgetEvery || sh.settled && sh.Reserved > sh.need(now))
	if !idle || b.asking {
		b.mu.Unlock()
		return
	}
	b.asking, sh.reportedAt = b.Async, now
	b.mu.Unlock()
	if b.Async {
		go func() {
			b.GiveBackNow(shard)
			b.mu.Lock()
			b.asking = false
			b.mu.Unlock()
		}()
		return
	}
	b.GiveBackNow(shard)
}

// GiveBackNow is GiveBack, and returns when it is done.
func (b *Budget) GiveBackNow(shard int) {
	b.record.Lock()
	defer b.record.Unlock()
	var need int64
	var gen int
	told := false
	err := b.update(func(r *budgetRecord) bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		sh, now := b.shares[shard], time.Now()
		if told = sh != nil && b.Limit > 0 && sh.ours(); !told {
			return false
		}
		gen = b.gen
		sh.inherit(r.Reserved[shard])
		need = sh.need(now)
		sh.Reserved = min(sh.Reserved, need)
		if r.Reserved[shard] == need {
			return false // perhaps by a writing of ours that was not answered
		}
		r.Reserved[shard] = need
		return true
	})
	b.mu.Lock()
	if sh := b.shares[shard]; sh != nil && (told || err != nil) {
		// After an error what the record says is not known.
		if sh.settled = err == nil && gen == b.gen; sh.settled {
			sh.Reserved = need
		}
	}
	b.mu.Unlock()
	if err != nil && !errors.Is(err, context.Canceled) { // that is the crawl's end
		b.Log("page slots could not be released yet", "shard", shard, "error", err)
	}
}

// Forget drops a shard that is no longer this process's.
func (b *Budget) Forget(shard int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.shares, shard)
}

// SetLimit changes the limits. What is used already counts against them from the next take on.
func (b *Budget) SetLimit(pages, bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gen++
	b.Limit, b.MaxBytes = pages, bytes
	for _, sh := range b.shares {
		sh.settled, sh.Reserved = false, 0
	}
}

// ReportBytes keeps other frontiers informed of the bytes read here, and this one of theirs, while
// bytes are limited. It returns when ctx ends.
func (b *Budget) ReportBytes(ctx context.Context) error {
	t := time.NewTicker(budgetEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
		b.mu.Lock()
		limited := b.MaxBytes > 0
		b.mu.Unlock()
		if !limited {
			continue
		}
		if err := b.ExchangeBytes(); err != nil && ctx.Err() == nil {
			b.Log("the number of bytes read by other frontiers is unknown at the moment", "error", err)
		}
	}
}

// ExchangeBytes writes and reads how many bytes were read. It takes the lock, but not while the
// network is waited for.
func (b *Budget) ExchangeBytes() error {
	return b.update(func(r *budgetRecord) bool {
		b.mu.Lock()
		defer b.mu.Unlock()
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

// update applies f to the record by compare-and-set until it holds or f has nothing to change. The
// caller does not hold mu.
func (b *Budget) update(f func(*budgetRecord) bool) error {
	b.mu.Lock()
	ctx, kv := b.Ctx, b.Kv
	b.mu.Unlock()
	if kv == nil {
		return errors.New("page budget: not connected yet")
	}
	ctx, cancel := context.WithTimeout(ctx, budgetTimeout)
	defer cancel()
	for {
		var rec budgetRecord
		var rev uint64
		e, err := kv.Get(ctx, budgetKey)
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
			_, err = kv.Create(ctx, budgetKey, v)
		} else {
			_, err = kv.Update(ctx, budgetKey, v, rev)
		}
		if err == nil {
			return nil
		}
		if !queue.ChangedMeanwhile(err) {
			return fmt.Errorf("page budget: %w", err)
		}
	}
}
