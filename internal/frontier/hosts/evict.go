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

// Hosts that were visited rest on disk when many are known: those that have nothing to do or not
// soon, and when very many have something to do at once, those whose turn is over. A host at rest
// lies where those lie that were never visited. One with something to do has an entry in
// BucketEvicted, in the order of when that is, and is woken for it. One that is named while it
// rests is in memory until the next commit, as any that sleeps.

// maxVisited is how many hosts that were visited a shard keeps in memory before those rest that
// could go on at once, which are woken again when a fetcher is free for them. From MaxResident on
// those rest that could not go on.
func maxVisited() int { return 4 * MaxResident }

const (
	// evictAfter is how long a host has nothing to do before it rests for that alone.
	evictAfter = 20 * time.Second
	// evictMost is how long a host rests that has something to do. What is kept of its times is
	// looked at then, should the clock have been wrong.
	evictMost = 6 * time.Hour
)

// residentVisited is how many hosts are in memory that were visited, and may rest some time.
func (s *Ledger) residentVisited() int { return len(s.ByID) - s.resident - s.staying }

// settle writes a host in memory whose record is to be written: as one that sleeps or rests, or as
// one that is awake.
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

// evictIdle has hosts rest that had nothing to do when there was room for them, while there is
// none.
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

// pin notes whether a host that was visited has to be in memory whatever there is room for.
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

// evictableUntil reports whether a host that was visited need not be in memory, and until when;
// zero: until it is named. Its place in the schedule is the right one.
func (s *Ledger) evictableUntil(h *Host, now time.Time) (until time.Time, may bool) {
	if s.restless(h) || s.hooks.Uses(h) {
		return until, false
	}
	if h.At >= 0 {
		if until = h.When; until.Before(now) {
			until = now
		}
	} else if h.Queued > 0 || s.Judge.Spec.Refreshes() && h.again() > 0 {
		return until, false // it waits for something else than a time
	}
	if at := s.SitemapsDue(h); !at.IsZero() {
		// Whoever was not asked when he was woken for it is not woken for it at once again.
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

// restless reports that something keeps a host awake that no time ends.
func (s *Ledger) restless(h *Host) bool {
	return !h.plain() || h.Later > 0 || h.SitemapsDue > 0 || h.DueReason == DueAddress || h.Queued > 0 && s.Judge.Spec.MaxPagesPerHost > 0 ||
		s.Judge.Spec.Hosts[h.Name].Paused
}

// again is how many URLs of a host are to be asked for again some time.
func (h *Host) again() (n int64) {
	for i := range h.Origins {
		n += h.Origins[i].Again
	}
	return n
}

// SitemapsDue is when an origin of h is to be asked for its sitemaps again, with re-crawl; zero:
// never.
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

// SitemapsNext is when an origin that was asked for its sitemaps is asked again, if anything is:
// when the next round begins, or without rounds after SitemapsAgain.
func (s *Ledger) SitemapsNext(o *Origin) time.Time {
	if next, rounds := s.Judge.Spec.NextRound(o.SitemapsAsked); rounds {
		return next
	}
	return o.SitemapsAsked.Add(SitemapsAgain)
}

// SitemapsAgain is how long after its sitemaps were asked for an origin is asked again, with
// re-crawl.
const SitemapsAgain = 24 * time.Hour

// Slower reports that the operator may have slowed h down while it was not in memory.
func (s *Ledger) Slower(h *Host) bool { return h.paces != s.Meta.Paces }

// evictedKey is where a host stands that rests until then (Unix ms).
func evictedKey(until int64, id HostID) []byte {
	return id.Append(binary.BigEndian.AppendUint64(make([]byte, 0, 12), uint64(max(until, 0))))
}

// evict takes a host that was visited out of memory. Until is zero for one that has nothing to do.
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

// firstEvicted is the first host that rests with something to do, and until when; 0: there is none.
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

// EvictedHost is a host that rests and has something to do.
type EvictedHost struct {
	ID     HostID
	Until  time.Time // then it is woken
	Queued int64
	Again  int64 // URLs that are to be asked for again some time
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

// EachEvicted shows the hosts that rest and have something to do, those first whose time comes
// first. Those that are in memory for the moment are not among them.
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

// Peek returns a host for reading, in memory or not, or nil. It is not taken into memory.
func (s *Ledger) Peek(id HostID) (*Host, error) {
	if h := s.ByID[id]; h != nil {
		return h, nil
	}
	return readHost(s.Tx, id)
}

// NextEvicted is when the rest of a host is over that rests with work, zero when there is none.
func (s *Ledger) NextEvicted() (until time.Time) {
	if s.evicting {
		_, until, _ = firstEvicted(s.Tx) // what is wrong with it Wake says
	}
	return until
}

// loadEvicted brings hosts into memory whose rest is over, or nearly, while there is room.
func (s *Ledger) loadEvicted(now time.Time) error {
	for s.residentVisited() < maxVisited() {
		if loaded, err := s.loadFirst(now.Add(evictAfter / 2)); err != nil || !loaded {
			return err
		}
	}
	return nil
}

// LoadDue brings a host into memory whose rest is over, whatever there is room for: somebody is
// free to visit it, and nothing else is due. It reports whether there was one.
func (s *Ledger) LoadDue(now time.Time) (loaded bool, err error) { return s.loadFirst(now) }

// loadFirst wakes the host whose rest is over first, if it is by then.
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

// ShiftEvicted moves what hosts at rest keep of time to a clock that was set by so much. Those in
// memory go by the time that has passed.
func (s *Ledger) ShiftEvicted(by time.Duration) error {
	if err := s.PutAway(); err != nil {
		return err
	}
	s.Changes++
	return SeeEvicted(s.Tx, times.ShiftBy(by))
}

// LoadOverdue brings those hosts into memory that rest for longer than any does, because the clock
// was wrong when they began to.
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

// SeeEvicted walks the times of hosts at rest.
func SeeEvicted(tx *bolt.Tx, see times.See) error {
	resting, blocks := tx.Bucket(BucketEvicted), tx.Bucket(bucketBlocks)
	if resting == nil || blocks == nil {
		return nil // a file from before there were any
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

// see shows all times of a host at rest, and reports whether any was changed.
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

// moveEvicted writes a host at rest whose times were changed; was is until when it rested.
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
