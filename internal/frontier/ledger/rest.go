package ledger

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
// BucketResting, in the order of when that is, and is woken for it. One that is named while it
// rests is in memory until the next commit, as any that sleeps.

// maxMet is how many hosts that were visited a shard keeps in memory before those rest that could
// go on at once, which are woken again when a fetcher is free for them. From MaxAwake on those rest
// that could not go on.
func maxMet() int { return 4 * MaxAwake }

const (
	// restAfter is how long a host has nothing to do before it rests for that alone.
	restAfter = 20 * time.Second
	// restMost is how long a host rests that has something to do. What is kept of its times is
	// looked at then, should the clock have been wrong.
	restMost = 6 * time.Hour
)

// met is how many hosts are in memory that were visited, and may rest some time.
func (s *Ledger) met() int { return len(s.ByID) - s.awake - s.staying }

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
	until, may := s.restsUntil(h, now)
	if s.stay(h, !may && h.Visit == nil); may {
		met, idle := s.met(), until.IsZero() || until.After(now.Add(restAfter))
		if met > maxMet() || idle && met > MaxAwake {
			return s.rest(h, until)
		}
		if idle && !h.idle {
			h.idle = true
			s.idle = append(s.idle, h)
		}
	}
	return s.keep(h)
}

// restIdle has hosts rest that had nothing to do when there was room for them, while there is none.
func (s *Ledger) restIdle(now time.Time) error {
	n := 0
	for ; n < len(s.idle) && s.met() > MaxAwake; n++ {
		h := s.idle[n]
		if h.idle = false; s.ByID[h.ID] == h {
			if err := s.settle(h, now); err != nil {
				return err
			}
		}
	}
	s.idle = slices.Delete(s.idle, 0, n)
	if len(s.idle) > MaxAwake+2*len(s.ByID) {
		s.idle = slices.DeleteFunc(s.idle, func(h *Host) bool { return s.ByID[h.ID] != h })
	}
	return nil
}

// stay notes whether a host that was visited has to be in memory whatever there is room for.
func (s *Ledger) stay(h *Host, stays bool) {
	if stays == h.stays {
		return
	}
	if h.stays = stays; stays {
		s.staying++
	} else {
		s.staying--
	}
}

// restsUntil reports whether a host that was visited need not be in memory, and until when; zero:
// until it is named. Its place in the schedule is the right one.
func (s *Ledger) restsUntil(h *Host, now time.Time) (until time.Time, may bool) {
	if s.restless(h) || s.Holds(h) {
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
	if most := now.Add(restMost); until.After(most) {
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

// restingKey is where a host stands that rests until then (Unix ms).
func restingKey(until int64, id HostID) []byte {
	return id.Append(binary.BigEndian.AppendUint64(make([]byte, 0, 12), uint64(max(until, 0))))
}

// rest takes a host that was visited out of memory. Until is zero for one that has nothing to do.
func (s *Ledger) rest(h *Host, until time.Time) error {
	var err error
	if h.Asleep {
		err = s.dropResting(h)
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
		h.until, s.resting = until.UnixMilli(), true
		v := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(max(h.Queued, 0))), uint64(max(h.again(), 0)))
		if err := s.Put(BucketResting, restingKey(h.until, h.ID), v); err != nil {
			return err
		}
	}
	if err := s.Put(bucketBlocks, sleeperKey(h.ID), h.appendRested(nil)); err != nil {
		return err
	}
	s.forget(h)
	return nil
}

func (s *Ledger) dropResting(h *Host) error {
	if h.until == 0 {
		return nil
	}
	return s.Drop(BucketResting, restingKey(h.until, h.ID))
}

// firstResting is the first host that rests with something to do, and until when; 0: there is none.
func firstResting(tx *bolt.Tx) (id HostID, until time.Time, err error) {
	b := tx.Bucket(BucketResting)
	if b == nil {
		return 0, until, nil // an older file, opened for reading
	}
	k, _ := b.Cursor().First()
	if k == nil {
		return 0, until, nil
	}
	r, err := decodeResting(k, nil)
	return r.ID, r.Until, err
}

// Resting is a host that rests and has something to do.
type Resting struct {
	ID     HostID
	Until  time.Time // then it is woken
	Queued int64
	Again  int64 // URLs that are to be asked for again some time
}

func decodeResting(k, v []byte) (r Resting, err error) {
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

// EachResting shows the hosts that rest and have something to do, those first whose time comes
// first. Those that are in memory for the moment are not among them.
func (s *Ledger) EachResting(each func(Resting)) error {
	b := s.Tx.Bucket(BucketResting)
	if b == nil {
		return nil
	}
	return b.ForEach(func(k, v []byte) error {
		r, err := decodeResting(k, v)
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

// NextResting is when the rest of a host is over that rests with work, zero when there is none.
func (s *Ledger) NextResting() (until time.Time) {
	if s.resting {
		_, until, _ = firstResting(s.Tx) // what is wrong with it Wake says
	}
	return until
}

// wakeRested brings hosts into memory whose rest is over, or nearly, while there is room.
func (s *Ledger) wakeRested(now time.Time) error {
	for s.met() < maxMet() {
		if woken, err := s.wakeFirst(now.Add(restAfter / 2)); err != nil || !woken {
			return err
		}
	}
	return nil
}

// WakeDue brings a host into memory whose rest is over, whatever there is room for: somebody is
// free to visit it, and nothing else is due. It reports whether there was one.
func (s *Ledger) WakeDue(now time.Time) (woken bool, err error) { return s.wakeFirst(now) }

// wakeFirst wakes the host whose rest is over first, if it is by then.
func (s *Ledger) wakeFirst(by time.Time) (woken bool, err error) {
	if !s.resting {
		return false, nil
	}
	id, until, err := firstResting(s.Tx)
	if err != nil {
		return false, err
	}
	if s.resting = id != 0; id == 0 || until.After(by) {
		return false, nil
	}
	return true, s.wakeRestedHost(id)
}

func (s *Ledger) wakeRestedHost(id HostID) error {
	h, err := s.HostWith(id)
	if err == nil && (h == nil || !h.Asleep) {
		err = fmt.Errorf("evicted host %d: %w", id, ErrRecord)
	}
	if err == nil {
		err = s.unsleep(h)
	}
	if err != nil {
		return err
	}
	h.Asleep = false
	s.Touch(h)
	return nil
}

// ShiftResting moves what hosts at rest keep of time to a clock that was set by so much. Those in
// memory go by the time that has passed.
func (s *Ledger) ShiftResting(by time.Duration) error {
	if err := s.PutAway(); err != nil {
		return err
	}
	s.Changes++
	return SeeResting(s.Tx, times.ShiftBy(by))
}

// WakeTooLong brings those hosts into memory that rest for longer than any does, because the clock
// was wrong when they began to.
func (s *Ledger) WakeTooLong(now time.Time) error {
	b := s.Tx.Bucket(BucketResting)
	var ids []HostID
	c := b.Cursor()
	for k, _ := c.Seek(restingKey(now.Add(restMost).UnixMilli()+1, 0)); k != nil; k, _ = c.Next() {
		r, err := decodeResting(k, nil)
		if err != nil {
			return err
		}
		ids = append(ids, r.ID)
	}
	for _, id := range ids {
		if err := s.wakeRestedHost(id); err != nil {
			return err
		}
	}
	return nil
}

// SeeResting walks the times of hosts at rest.
func SeeResting(tx *bolt.Tx, see times.See) error {
	resting, blocks := tx.Bucket(BucketResting), tx.Bucket(bucketBlocks)
	if resting == nil || blocks == nil {
		return nil // a file from before there were any
	}
	for from := HostID(0); ; {
		var hosts []*Host
		var was []int64
		c := blocks.Cursor()
		k, v := nextSleeper(c, sleeperKey(from))
		for ; k != nil && len(hosts) < PassStretch; k, v = nextSleeper(c, nil) {
			if len(v) == 0 || v[0]&sleeperMet == 0 {
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
				if err := h.moveResting(blocks, resting, was[i]); err != nil {
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

// moveResting writes a host at rest whose times were changed; was is until when it rested.
func (h *Host) moveResting(blocks, resting *bolt.Bucket, was int64) error {
	if err := blocks.Put(sleeperKey(h.ID), h.appendRested(nil)); err != nil || h.until == was {
		return err
	}
	key := restingKey(was, h.ID)
	v := slices.Clone(resting.Get(key))
	if err := resting.Delete(key); err != nil {
		return err
	}
	return resting.Put(restingKey(h.until, h.ID), v)
}
