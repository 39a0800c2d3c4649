package hosts

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/times"
)

// When many hosts are known, visited hosts are evicted from memory: hosts that have no work now or
// soon, and, when very many hosts have work at once, also hosts that could be visited. Their
// records are stored together with those of hosts that were never visited. An evicted host with
// work has an entry in BucketEvicted, ordered by the time when its work is due, and is loaded at
// that time. A host that an event names meanwhile is loaded until the next commit.

// At most maxVisited visited hosts stay in memory. Beyond that, hosts are evicted even if they
// could be visited at once; they are loaded again when a fetcher has a free slot. Beyond
// MaxResident, only hosts that cannot be visited now are evicted.
func maxVisited() int { return 4 * MaxResident }

const (
	// evictAfter is how long a host has no work before it is evicted for that reason alone.
	evictAfter = 20 * time.Second
	// evictMost is the longest time for which a host with work is evicted. Its times are checked
	// then, in case the clock was wrong.
	evictMost = 6 * time.Hour
)

// residentVisited is the number of hosts in memory that were visited and may be evicted.
func (s *Ledger) residentVisited() int { return len(s.ByID) - s.resident - s.staying }

// settle decides where a changed host is kept, and writes its record: as an evicted host or as a
// resident one.
func (s *Ledger) settle(h *Host, now time.Time) error {
	if h.Fresh && !h.Untouched() {
		s.Meet(h)
	}
	if h.until == 0 && (h.Fresh || h.Untouched()) {
		if s.sleepy(h) {
			return s.sleep(h, true)
		}
		return s.keep(h)
	}
	until, may := s.evictableUntil(h, now)
	if s.pin(h, !may && h.Visit == nil); may {
		met, idle := s.residentVisited(), until.IsZero() || until.After(now.Add(evictAfter))
		if met > maxVisited() || idle && met > MaxResident {
			return s.evict(h, until)
		}
		if idle && !h.idle {
			h.idle = true
			s.idle = append(s.idle, h)
		}
	}
	return s.keep(h)
}

// evictIdle evicts hosts without work that stayed because memory was free, while too many hosts are
// in memory.
func (s *Ledger) evictIdle(now time.Time) error {
	n := 0
	for ; n < len(s.idle) && s.residentVisited() > MaxResident; n++ {
		h := s.idle[n]
		if h.idle = false; s.ByID[h.ID] == h {
			if err := s.settle(h, now); err != nil {
				return err
			}
		}
	}
	s.idle = slices.Delete(s.idle, 0, n)
	if len(s.idle) > MaxResident+2*len(s.ByID) {
		s.idle = slices.DeleteFunc(s.idle, func(h *Host) bool { return s.ByID[h.ID] != h })
	}
	return nil
}

// pin notes whether a visited host must stay in memory, however many hosts there are.
func (s *Ledger) pin(h *Host, pinned bool) {
	if pinned == h.pinned {
		return
	}
	if h.pinned = pinned; pinned {
		s.staying++
	} else {
		s.staying--
	}
}

// evictableUntil reports whether a visited host need not be in memory, and until when. The zero
// time means until an event names it. The host's position in the schedule must be up to date.
func (s *Ledger) evictableUntil(h *Host, now time.Time) (until time.Time, may bool) {
	if s.restless(h) || s.hooks.Uses(h) {
		return until, false
	}
	if h.At >= 0 {
		if until = h.When; until.Before(now) {
			until = now
		}
	} else if h.Queued > 0 || s.Judge.Spec.Refreshes() && h.again() > 0 {
		return until, false // it waits for something other than a time
	}
	if at := s.SitemapsDue(h); !at.IsZero() {
		// A host that was loaded for its sitemaps, but was not asked for them, is not loaded again
		// at once.
		if soon := now.Add(10 * time.Minute); at.Before(soon) {
			at = soon
		}
		if until.IsZero() || at.Before(until) {
			until = at
		}
	}
	if most := now.Add(evictMost); until.After(most) {
		until = most
	}
	return until, true
}

// restless reports that something keeps a host in memory that no time ends.
func (s *Ledger) restless(h *Host) bool {
	return !h.plain() || h.Later > 0 || h.SitemapsDue > 0 || h.DueReason == DueAddress || h.Queued > 0 && s.Judge.Spec.MaxPagesPerHost > 0 ||
		s.Judge.Spec.Hosts[h.Name].Paused
}

// again is the number of the host's URLs that will be fetched again some time.
func (h *Host) again() (n int64) {
	for i := range h.Origins {
		n += h.Origins[i].Again
	}
	return n
}

// SitemapsDue is when an origin of h is to be asked for its sitemaps again, with re-crawl. The zero
// time means never.
func (s *Ledger) SitemapsDue(h *Host) (t time.Time) {
	if !s.Judge.Spec.Refreshes() || !s.Judge.ReadsSitemaps() || h.Queued == 0 && h.Stored == 0 {
		return t
	}
	for i := range h.Origins {
		o := &h.Origins[i]
		if o.SitemapsAsked.IsZero() || o.Copy != crawl.RobotsParsed && o.Copy != crawl.RobotsUnavailable {
			continue
		}
		if at := s.SitemapsNext(o); t.IsZero() || at.Before(t) {
			t = at
		}
	}
	return t
}

// SitemapsNext is when an origin that was asked for its sitemaps is asked again, if it is: when the
// next round begins, or without rounds after SitemapsAgain.
func (s *Ledger) SitemapsNext(o *Origin) time.Time {
	if next, rounds := s.Judge.Spec.NextRound(o.SitemapsAsked); rounds {
		return next
	}
	return o.SitemapsAsked.Add(SitemapsAgain)
}

// SitemapsAgain is the interval after which an origin is asked for its sitemaps again, with
// re-crawl.
const SitemapsAgain = 24 * time.Hour

// Slower reports that the operator may have slowed h down while it was not in memory.
func (s *Ledger) Slower(h *Host) bool { return h.paces != s.Meta.Paces }

// evictedKey is the key of a host in BucketEvicted that is evicted until then (Unix ms).
func evictedKey(until int64, id HostID) []byte {
	return id.Append(binary.BigEndian.AppendUint64(make([]byte, 0, 12), uint64(max(until, 0))))
}

// evict removes a visited host from memory. The zero time means that it has no work.
func (s *Ledger) evict(h *Host, until time.Time) error {
	var err error
	if h.Evicted {
		err = s.dropEvicted(h)
	} else {
		err = s.Drop(BucketHosts, h.ID.Append(nil))
	}
	if err != nil {
		return err
	}
	h.until = 0
	if !h.older {
		h.paces = s.Meta.Paces
	}
	if !until.IsZero() {
		h.until, s.evicting = until.UnixMilli(), true
		v := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(max(h.Queued, 0))), uint64(max(h.again(), 0)))
		if err := s.Put(BucketEvicted, evictedKey(h.until, h.ID), v); err != nil {
			return err
		}
	}
	if err := s.Put(bucketBlocks, sleeperKey(h.ID), h.appendEvicted(nil)); err != nil {
		return err
	}
	s.forget(h)
	return nil
}

func (s *Ledger) dropEvicted(h *Host) error {
	if h.until == 0 {
		return nil
	}
	return s.Drop(BucketEvicted, evictedKey(h.until, h.ID))
}

// firstEvicted returns the evicted host whose work is due first, and when; 0: there is none.
func firstEvicted(tx *bolt.Tx) (id HostID, until time.Time, err error) {
	b := tx.Bucket(BucketEvicted)
	if b == nil {
		return 0, until, nil // an older file, opened for reading
	}
	k, _ := b.Cursor().First()
	if k == nil {
		return 0, until, nil
	}
	r, err := decodeEvictedHost(k, nil)
	return r.ID, r.Until, err
}

// EvictedHost is an evicted host with work.
type EvictedHost struct {
	ID     HostID
	Until  time.Time // it is loaded then
	Queued int64
	Again  int64 // URLs that will be fetched again some time
}

func decodeEvictedHost(k, v []byte) (r EvictedHost, err error) {
	if len(k) != 12 {
		return r, fmt.Errorf("evicted host %x: %w", k, ErrRecord)
	}
	r.Until, r.ID = time.UnixMilli(int64(binary.BigEndian.Uint64(k))), KeyHost(k[8:])
	if v != nil {
		c := Scanner{B: v}
		if r.Queued, r.Again = int64(c.Uint()), int64(c.Uint()); c.Bad {
			err = fmt.Errorf("evicted host %d: %w", r.ID, ErrRecord)
		}
	}
	return r, err
}

// EachEvicted calls each for the evicted hosts with work, in the order of their times. Hosts that
// are in memory at the moment are left out.
func (s *Ledger) EachEvicted(each func(EvictedHost)) error {
	b := s.Tx.Bucket(BucketEvicted)
	if b == nil {
		return nil
	}
	return b.ForEach(func(k, v []byte) error {
		r, err := decodeEvictedHost(k, v)
		if err == nil && s.ByID[r.ID] == nil {
			each(r)
		}
		return err
	})
}

// Peek returns a host for reading, or nil. A host that is not in memory is read but not loaded.
func (s *Ledger) Peek(id HostID) (*Host, error) {
	if h := s.ByID[id]; h != nil {
		return h, nil
	}
	return readHost(s.Tx, id)
}

// NextEvicted is when the first evicted host with work is due. The zero time means that there is
// none.
func (s *Ledger) NextEvicted() (until time.Time) {
	if s.evicting {
		_, until, _ = firstEvicted(s.Tx) // Load reports errors in it
	}
	return until
}

// loadEvicted loads hosts that are due, or nearly, while memory is free.
func (s *Ledger) loadEvicted(now time.Time) error {
	for s.residentVisited() < maxVisited() {
		if loaded, err := s.loadFirst(now.Add(evictAfter / 2)); err != nil || !loaded {
			return err
		}
	}
	return nil
}

// LoadDue loads a host that is due, even if memory is full. It is called when a fetcher is free and
// no host in memory is due. It reports whether there was one.
func (s *Ledger) LoadDue(now time.Time) (loaded bool, err error) { return s.loadFirst(now) }

// loadFirst loads the evicted host that is due first, if it is due by then.
func (s *Ledger) loadFirst(by time.Time) (loaded bool, err error) {
	if !s.evicting {
		return false, nil
	}
	id, until, err := firstEvicted(s.Tx)
	if err != nil {
		return false, err
	}
	if s.evicting = id != 0; id == 0 || until.After(by) {
		return false, nil
	}
	return true, s.loadEvictedHost(id)
}

func (s *Ledger) loadEvictedHost(id HostID) error {
	h, err := s.HostWith(id)
	if err == nil && (h == nil || !h.Evicted) {
		err = fmt.Errorf("evicted host %d: %w", id, ErrRecord)
	}
	if err == nil {
		err = s.unsleep(h)
	}
	if err != nil {
		return err
	}
	h.Evicted = false
	s.MarkDirty(h)
	return nil
}

// ShiftEvicted shifts the stored times of evicted hosts after the clock was set by that much. Hosts
// in memory are not affected by a change of the clock.
func (s *Ledger) ShiftEvicted(by time.Duration) error {
	if err := s.PutAway(); err != nil {
		return err
	}
	s.Changes++
	return SeeEvicted(s.Tx, times.ShiftBy(by))
}

// LoadOverdue loads hosts that are evicted for longer than evictMost, because the clock was wrong
// when they were evicted.
func (s *Ledger) LoadOverdue(now time.Time) error {
	b := s.Tx.Bucket(BucketEvicted)
	var ids []HostID
	c := b.Cursor()
	for k, _ := c.Seek(evictedKey(now.Add(evictMost).UnixMilli()+1, 0)); k != nil; k, _ = c.Next() {
		r, err := decodeEvictedHost(k, nil)
		if err != nil {
			return err
		}
		ids = append(ids, r.ID)
	}
	for _, id := range ids {
		if err := s.loadEvictedHost(id); err != nil {
			return err
		}
	}
	return nil
}

// SeeEvicted shows the times of evicted hosts to see.
func SeeEvicted(tx *bolt.Tx, see times.See) error {
	resting, blocks := tx.Bucket(BucketEvicted), tx.Bucket(bucketBlocks)
	if resting == nil || blocks == nil {
		return nil // a file from a version that evicted no hosts
	}
	for from := HostID(0); ; {
		var hosts []*Host
		var was []int64
		c := blocks.Cursor()
		k, v := nextSleeper(c, sleeperKey(from))
		for ; k != nil && len(hosts) < PassStretch; k, v = nextSleeper(c, nil) {
			if len(v) == 0 || v[0]&sleeperVisited == 0 {
				continue
			}
			h, err := decodeSleeper(KeyHost(k), v)
			if err != nil {
				return err
			}
			hosts, was = append(hosts, h), append(was, h.until)
		}
		if k != nil {
			from = KeyHost(k)
		}
		for i, h := range hosts { // bbolt forbids changing a bucket under its own cursor
			if h.see(see) {
				if err := h.moveEvicted(blocks, resting, was[i]); err != nil {
					return err
				}
			}
		}
		if k == nil {
			return nil
		}
	}
}

// see shows all times of an evicted host, and reports whether any was changed.
func (h *Host) see(see times.See) (changed bool) {
	note := func(at *time.Time, kind times.Kind) {
		was := *at
		see(at, kind)
		changed = changed || !was.Equal(*at)
	}
	h.Times(note)
	if h.until != 0 {
		until := time.UnixMilli(h.until)
		note(&until, times.Waits)
		h.until = max(until.UnixMilli(), 1)
	}
	return changed
}

// moveEvicted writes an evicted host whose times were changed. was is the time until which it was
// evicted before.
func (h *Host) moveEvicted(blocks, resting *bolt.Bucket, was int64) error {
	if err := blocks.Put(sleeperKey(h.ID), h.appendEvicted(nil)); err != nil || h.until == was {
		return err
	}
	key := evictedKey(was, h.ID)
	v := slices.Clone(resting.Get(key))
	if err := resting.Delete(key); err != nil {
		return err
	}
	return resting.Put(evictedKey(h.until, h.ID), v)
}
