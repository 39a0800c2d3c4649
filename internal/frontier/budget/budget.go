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

// ExpiredTime is how long the URLs of an expired visit count against the page budget, because its
// fetcher may still report them.
const ExpiredTime = 2 * times.OwnerLease

// budgetKey is the key in the crawl's bucket of the record that says how many pages of --max-pages
// each shard has reserved.
const budgetKey = "budget"

// Budget distributes pages of --max-pages ("page slots"). With a limit, shards reserve slots in
// blocks from one record by compare-and-set, so that the sum never exceeds the limit, however many
// frontiers there are. A shard has always reserved at least what it uses: stored pages, and URLs of
// visits that may still be stored. Reservations survive a hand-over or the death of an owner, until
// the next owner reports what the shard uses.
//
// The zero Budget has no limit. Its methods may be called concurrently.
type Budget struct {
	Log func(msg string, args ...any) // required with a limit
	// Callers have locked their shard, so another goroutine reads and writes the record; tests need
	// not do this.
	Async bool
	// All fetchers end with this process, so that a shard which was left in order has no visits of
	// earlier owners.
	Embedded bool

	// record is locked while reserved slots are changed in the record, which may take long; taken
	// before mu.
	record sync.Mutex

	mu       sync.Mutex // guards the rest; never locked during network access
	asking   bool       // slots are about to be reserved
	askedAt  time.Time
	gen      int // changes with the limits
	ctx      context.Context
	kv       jetstream.KeyValue
	limit    int64          // 0: no limit
	maxBytes int64          // body bytes; 0: no limit
	shares   map[int]*share // of the shards of this process
	others   int64          // body bytes read by other frontiers' shards, as reported last
}

// share is what one shard of this process uses and has reserved.
type share struct {
	valid      func() bool // reports whether this process owns the shard; nil: yes
	used       int64
	taken      int64 // since used was reported
	bytes      int64
	reserved   int64 // as in the record, if settled
	settled    bool
	reportedAt time.Time // when its use was last reported, or the attempt was made

	// Slots that the last owner had reserved but not used may belong to visits that are unknown
	// here, whose pages are reported later: its own after an unclean take-over, otherwise those of
	// an owner before it, for which it kept them. They are kept for a while.
	inherits     bool  // expired is to be computed from the record
	expired      int64 // of these slots, those for which no page was reported yet
	expiredUntil time.Time
}

// need is the number of slots that the shard must have reserved.
func (sh *share) need(now time.Time) int64 {
	if now.Before(sh.expiredUntil) {
		return sh.used + sh.taken + sh.expired
	}
	return sh.used + sh.taken
}

// inherit keeps the slots that the last owner had reserved but not used.
func (sh *share) inherit(reserved int64) {
	if sh.inherits {
		sh.expired, sh.inherits = max(reserved-sh.used, 0), false
	}
}

// use sets what the shard uses. What it uses beyond what was taken are pages of visits that are
// unknown here, and each of them has one of the slots that are kept. If that slot remained kept,
// the page would count twice: more slots would be reserved than the limit has, and they would be
// granted as soon as none is kept any more.
func (sh *share) use(used int64) {
	if late := used - sh.used - sh.taken; late > 0 {
		sh.expired = max(sh.expired-late, 0)
	}
	sh.used, sh.taken = used, 0
}

func (sh *share) ours() bool { return sh.valid == nil || sh.valid() }

type budgetRecord struct {
	Reserved map[int]int64 `json:"reserved"`
	// Body bytes read, if they are limited.
	Bytes map[int]int64 `json:"bytes,omitempty"`
}

const (
	budgetBlock   = 256
	budgetTimeout = time.Second
	budgetEvery   = 2 * time.Second
	// If fewer than budgetLow slots are free, more are reserved in advance, at most every
	// budgetAhead.
	budgetLow   = budgetBlock / 2
	budgetAhead = 100 * time.Millisecond
)

// Open gives the budget its record. Before that, nothing that is limited is granted.
func (b *Budget) Open(ctx context.Context, kv jetstream.KeyValue) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ctx, b.kv = ctx, kv
}

// Join adds a shard that this process has acquired, after its whole log was applied; before that,
// the known use would be too low. valid reports whether this process still owns the shard. unclean
// says that visits of the last owner may still report pages that are not in the state of the shard.
func (b *Budget) Join(shard int, used, bytes int64, valid func() bool, unclean bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	sh := b.share(shard)
	*sh = share{valid: valid, used: used, bytes: bytes}
	if unclean || !b.Embedded {
		sh.inherits, sh.expiredUntil = true, time.Now().Add(ExpiredTime)
	}
}

// Slots are how many page slots a shard uses, as reported last, and how many it has reserved.
func (b *Budget) Slots(shard int) (used, reserved int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	sh := b.share(shard)
	return sh.used, sh.reserved
}

// share returns the share of a shard. The caller has locked mu.
func (b *Budget) share(shard int) *share {
	if b.shares == nil {
		b.shares = map[int]*share{}
	}
	if b.shares[shard] == nil {
		b.shares[shard] = &share{}
	}
	return b.shares[shard]
}

// Use reports how many page slots a shard uses now, and how many bytes it has read in total. It
// never blocks.
func (b *Budget) Use(shard int, used, bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	sh := b.share(shard)
	sh.use(used)
	sh.bytes = bytes
}

// Take returns how many of n more pages are permitted, and counts them as used. The caller reports
// with Use what becomes of them. If slots must be reserved in the record first, that is done in the
// background, and they are available a moment later (see Pending).
func (b *Budget) Take(shard, n int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bytesSpent() {
		return 0
	}
	if b.limit <= 0 {
		return n
	}
	sh, now := b.share(shard), time.Now()
	free := func() int64 {
		if !sh.settled {
			return 0
		}
		return max(sh.reserved-sh.need(now), 0)
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

// Limit is how many pages the crawl may store; 0: any number.
func (b *Budget) Limit() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(b.limit, 0)
}

// Pending reports that slots are being reserved.
func (b *Budget) Pending() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.asking
}

// ask starts to reserve slots for want more pages of a shard, unless that is being done. The caller
// has locked mu.
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
		if err != nil && !errors.Is(err, context.Canceled) { // canceled: the crawl has ended
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

// bytesSpent reports that the limit of bytes is reached. What running visits will read is unknown,
// so the crawl ends soon after the limit is reached. The caller has locked mu.
func (b *Budget) bytesSpent() bool {
	if b.maxBytes <= 0 {
		return false
	}
	sum := b.others
	for _, sh := range b.shares {
		sum += sh.bytes
	}
	return sum >= b.maxBytes
}

// MayRead reports whether more bytes may be read. A page that is fetched again needs no slot,
// because it has one.
func (b *Budget) MayRead() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.bytesSpent()
}

// reserve sets what the shards of this process have reserved to what they use, and reserves slots
// for want more pages of one of them: a block if many are free, fewer otherwise. The caller has
// locked record, but not mu: while the record is written, a shard may use no more than both the old
// and the new record permit.
func (b *Budget) reserve(shard int, want int64) error {
	var mine map[int]int64
	var gen int
	err := b.update(func(r *budgetRecord) bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		gen = b.gen
		mine = map[int]int64{}
		left, now := b.limit, time.Now()
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
			b.shares[id].reserved = min(b.shares[id].reserved, n)
		}
		return changed
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, sh := range b.shares {
		n, known := mine[id]
		sh.settled = err == nil && known && gen == b.gen && !sh.inherits
		if sh.settled {
			sh.reserved = n
		}
	}
	return err
}

// GiveBack releases slots that a shard has reserved but does not use, for other frontiers, and
// corrects the record if it may be wrong. It does not block.
func (b *Budget) GiveBack(shard int) {
	b.mu.Lock()
	sh := b.shares[shard]
	now := time.Now()
	idle := sh != nil && b.limit > 0 && sh.ours() && (!sh.settled && now.Sub(sh.reportedAt) >= budgetEvery || sh.settled && sh.reserved > sh.need(now))
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

// GiveBackNow is GiveBack, but returns when it is done.
func (b *Budget) GiveBackNow(shard int) {
	b.record.Lock()
	defer b.record.Unlock()
	var need int64
	var gen int
	reported := false
	err := b.update(func(r *budgetRecord) bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		sh, now := b.shares[shard], time.Now()
		if reported = sh != nil && b.limit > 0 && sh.ours(); !reported {
			return false
		}
		gen = b.gen
		sh.inherit(r.Reserved[shard])
		need = sh.need(now)
		sh.reserved = min(sh.reserved, need)
		if r.Reserved[shard] == need {
			return false // perhaps our own earlier write, whose answer was lost
		}
		r.Reserved[shard] = need
		return true
	})
	b.mu.Lock()
	if sh := b.shares[shard]; sh != nil && (reported || err != nil) {
		// After an error the contents of the record are unknown.
		if sh.settled = err == nil && gen == b.gen; sh.settled {
			sh.reserved = need
		}
	}
	b.mu.Unlock()
	if err != nil && !errors.Is(err, context.Canceled) { // canceled: the crawl has ended
		b.Log("page slots could not be released yet", "shard", shard, "error", err)
	}
}

// Forget removes a shard that no longer belongs to this process.
func (b *Budget) Forget(shard int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.shares, shard)
}

// SetLimit changes the limits. What is used already counts against them from the next Take on.
func (b *Budget) SetLimit(pages, bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gen++
	b.limit, b.maxBytes = pages, bytes
	for _, sh := range b.shares {
		sh.settled, sh.reserved = false, 0
	}
}

// ReportBytes exchanges the numbers of bytes read with other frontiers while bytes are limited. It
// returns when ctx ends.
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
		limited := b.maxBytes > 0
		b.mu.Unlock()
		if !limited {
			continue
		}
		if err := b.ExchangeBytes(); err != nil && ctx.Err() == nil {
			b.Log("the number of bytes read by other frontiers is unknown at the moment", "error", err)
		}
	}
}

// ExchangeBytes writes and reads how many bytes were read. It takes the lock, but not during
// network access.
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

// update applies f to the record by compare-and-set until it succeeds or f has nothing to change.
// The caller has not locked mu.
func (b *Budget) update(f func(*budgetRecord) bool) error {
	b.mu.Lock()
	ctx, kv := b.ctx, b.kv
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
