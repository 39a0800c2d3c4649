package hosts

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// Hosts that were never visited are kept on disk, except for the first of them, which are visited
// next. A host that an event names is loaded until the next commit. Memory is therefore needed only
// for hosts that are being visited or soon will be, however many are known. The file evict.go does
// the same for hosts that were visited.

// MaxResident is the maximum number of hosts in memory that were never visited. When half of them
// have been visited, others are loaded. Tests reduce it.
var MaxResident = 1024

// maxResident is the current limit. It does not count hosts that the operator has paused, so that
// they leave space for hosts that may be visited.
func (s *Ledger) maxResident() int { return MaxResident + s.Judge.Paused }

// Untouched reports that appendSleeper can hold everything known of h: no request was ever sent to
// it, and none is wanted.
func (h *Host) Untouched() bool {
	if h.Visit != nil || len(h.Aux) > 0 || !h.Due.IsZero() || h.DueReason != "" || h.Delay != 0 || h.Backoff != 0 || h.Private ||
		h.Response != 0 || !h.Last.IsZero() || h.Fetched != 0 || h.Stored != 0 || h.Failed != 0 || h.Later != 0 || h.Sitemaps != 0 || h.SitemapsDue != 0 ||
		h.LeftOut != 0 || h.Timeline != 0 {
		return false
	}
	for i := range h.Origins {
		o := &h.Origins[i]
		if o.Again != 0 || o.History != (robots.History{}) || o.Copy != 0 ||
			o.Digest != nil || o.Status != 0 || o.Reason != "" || o.PendingOn != "" || !o.Visit.IsZero() || !o.SitemapsAsked.IsZero() ||
			o.Data != 0 || !o.DataDue.IsZero() || !o.RUPDue.IsZero() || o.Mirror != nil || o.Moved != 0 || o.Twin {
			return false
		}
	}
	return true
}

// appendSleeper encodes an untouched host: flags, name, counts and origins.
func (h *Host) appendSleeper(b []byte) []byte {
	var flags byte
	if h.Closed {
		flags = sleeperClosed
	}
	b = AppendText(append(b, flags), string(h.Name))
	b = binary.AppendUvarint(b, uint64(h.Queued))
	b = binary.AppendUvarint(b, uint64(max(h.Refused, 0)))
	for i := range h.Origins {
		o := &h.Origins[i]
		b = AppendText(b, o.Origin.Scheme)
		b = binary.AppendUvarint(b, uint64(o.Origin.Port))
		b = binary.AppendUvarint(b, uint64(o.Ready))
		b = binary.AppendUvarint(b, uint64(o.Led))
	}
	return b
}

func decodeSleeper(id HostID, v []byte) (*Host, error) {
	h := &Host{}
	return h, h.decodeSleeper(id, v)
}

// decodeSleeper reads an evicted host's record into h, which need not be empty.
func (h *Host) decodeSleeper(id HostID, v []byte) error {
	if len(v) < 2 {
		return fmt.Errorf("host %d: %w", id, ErrRecord)
	}
	s := Scanner{B: v[1:]}
	*h = Host{ID: id, Closed: v[0]&sleeperClosed != 0, Name: canon.Host(s.Text()), At: -1, Evicted: true, Origins: h.Origins[:0]}
	if v[0]&sleeperVisited != 0 && !s.Bad {
		return h.decodeEvicted(s.B)
	}
	h.Queued, h.Refused = int64(s.Uint()), int64(s.Uint())
	for len(s.B) > 0 && !s.Bad {
		o := canon.Origin{Scheme: "http", Host: h.Name}
		if string(s.Text()) == "https" {
			o.Scheme = "https"
		}
		o.Port = int(s.Uint())
		h.Origins = append(h.Origins, Origin{Origin: o, Ready: int64(s.Uint()), Led: int64(s.Uint())})
	}
	if s.Bad {
		return fmt.Errorf("host %d: %w", id, ErrRecord)
	}
	return nil
}

// HostNamed returns the host of that name, or nil when none is known.
func (s *Ledger) HostNamed(name canon.Host) (*Host, error) {
	if h := s.Hosts[name]; h != nil {
		return h, nil
	}
	if was := s.lately.find(name); was != nil {
		return s.loadHost(was.id, was.domain)
	}
	id := hostNumber(s.Tx, name)
	if id == 0 {
		return nil, nil
	}
	return s.HostWith(id)
}

// hostNumber is the id of a host in a file, 0 when it has none.
func hostNumber(tx *bolt.Tx, name canon.Host) HostID {
	b := tx.Bucket(bucketNames)
	if b == nil {
		return 0 // a shard without a file
	}
	if v := b.Get([]byte(name)); len(v) == 4 {
		return KeyHost(v)
	}
	return 0
}

// HostWith returns the host with that id, or nil. An evicted host is in memory until the next
// commit.
func (s *Ledger) HostWith(id HostID) (*Host, error) {
	if h := s.ByID[id]; h != nil {
		return h, nil
	}
	return s.loadHost(id, nil)
}

// loadHost loads a host that is not in memory. The domain is nil if the caller does not know it.
func (s *Ledger) loadHost(id HostID, d *Domain) (*Host, error) {
	h, err := readHost(s.Tx, id)
	if h == nil || err != nil {
		return nil, err
	}
	if h.Domain = d; d == nil {
		if h.Domain, err = s.DomainOf(h.Name); err != nil {
			return nil, err
		}
	}
	untouched := h.Untouched()
	if !h.Evicted && untouched { // a host of an older file, which is evicted soon
		h.Fresh = true
		s.resident++
	}
	s.remember(h)
	if !untouched && s.Tx.Writable() {
		if !h.Evicted { // of an older file as well
			s.Unschedule(h)
		}
		s.hooks.Loaded(h, time.Now())
	}
	return h, nil
}

// readHost reads a host's record.
func readHost(tx *bolt.Tx, id HostID) (*Host, error) {
	if v := tx.Bucket(bucketBlocks).Get(sleeperKey(id)); v != nil {
		return decodeSleeper(id, v)
	}
	v := tx.Bucket(BucketHosts).Get(id.Append(nil))
	if v == nil {
		return nil, nil
	}
	h := &Host{At: -1}
	if err := json.Unmarshal(v, h); err != nil {
		return nil, fmt.Errorf("host %d: %w", id, err)
	}
	return h, nil
}

// remember puts a host into the maps of hosts in memory.
func (s *Ledger) remember(h *Host) {
	h.belongTo(s)
	s.Hosts[h.Name], s.ByID[h.ID] = h, h
	if h.Domain != nil {
		h.Domain.refs++
	}
	s.loaded = append(s.loaded, h)
}

// Meet notes that a host no longer counts as never visited.
func (s *Ledger) Meet(h *Host) {
	if h.Fresh {
		h.Fresh = false
		s.resident--
	}
}

// sleepy reports that a host that was never visited need not be in memory.
func (s *Ledger) sleepy(h *Host) bool {
	return h.Untouched() && (h.Evicted || h.Closed || h.Fresh && (h.Queued == 0 || s.resident > s.maxResident()))
}

// PutAway writes changed hosts and evicts those that need not stay in memory. No caller may keep a
// pointer to a host across it, unless the host has a visit, auxiliary requests or a mirror record.
func (s *Ledger) PutAway() error {
	now := time.Now()
	s.hooks.Schedule(now) // the schedule determines how long a host may be evicted
	// Descending ids: of the hosts that were never visited, the last ones are evicted first.
	slices.SortFunc(s.dirty, func(a, b *Host) int { return cmp.Compare(b.ID, a.ID) })
	for _, h := range s.dirty {
		h.dirty = false
		if err := s.settle(h, now); err != nil {
			return err
		}
	}
	if err := s.evictIdle(now); err != nil {
		return err
	}
	s.dirty = s.dirty[:0]
	for _, h := range s.loaded {
		if s.ByID[h.ID] != h {
			continue
		}
		var err error
		switch {
		case s.sleepy(h):
			err = s.sleep(h, !h.Evicted)
		case h.Evicted && !h.Untouched() && h.plain() && !s.hooks.Uses(h):
			s.forget(h) // nothing was changed
		case h.Evicted:
			err = s.keep(h)
		}
		if err != nil {
			return err
		}
	}
	s.loaded = s.loaded[:0]
	s.hooks.Schedule(now) // otherwise s.Misplaced would keep evicted hosts in memory
	return nil
}

// keep writes a host that stays in memory.
func (s *Ledger) keep(h *Host) error {
	if h.Evicted {
		h.Evicted = false
		if err := s.unsleep(h); err != nil {
			return err
		}
	}
	return h.save(s.Tx)
}

func (s *Ledger) unsleep(h *Host) error {
	if err := s.Drop(bucketBlocks, sleeperKey(h.ID)); err != nil {
		return err
	}
	if err := s.dropEvicted(h); err != nil {
		return err
	}
	h.until = 0
	return s.Drop(BucketWaiting, h.ID.Append(nil))
}

// sleep evicts a host that was never visited. With write, its record is written first.
func (s *Ledger) sleep(h *Host, write bool) error {
	id := h.ID.Append(nil)
	if write && s.Tx.Writable() {
		if !h.Evicted {
			if err := s.Drop(BucketHosts, id); err != nil {
				return err
			}
		}
		if err := s.Put(bucketBlocks, sleeperKey(h.ID), h.appendSleeper(make([]byte, 0, 32+len(h.Name)))); err != nil {
			return err
		}
		var err error
		if h.Queued > 0 && s.Tx.Bucket(BucketWaiting).Get(id) == nil {
			err = s.Put(BucketWaiting, id, []byte{})
		} else if h.Queued == 0 {
			err = s.Drop(BucketWaiting, id)
		}
		if err != nil {
			return err
		}
	}
	s.sleepers = s.sleepers || h.Queued > 0
	s.Meet(h)
	s.forget(h)
	return nil
}

// forget removes a host from memory after its record was written.
func (s *Ledger) forget(h *Host) {
	s.Due.Remove(h)
	s.pin(h, false)
	delete(s.Hosts, h.Name)
	delete(s.ByID, h.ID)
	s.keepLately(h)
	s.letGo(h.Domain)
}

// Load loads evicted hosts with work while memory is free: visited hosts whose time has come, and
// hosts that were never visited in the order in which they were found.
func (s *Ledger) Load(now time.Time) error {
	if err := s.loadEvicted(now); err != nil {
		return err
	}
	if !s.sleepers || s.resident > s.maxResident()-MaxResident/2 {
		return nil
	}
	for s.resident < s.maxResident() {
		k, _ := s.Tx.Bucket(BucketWaiting).Cursor().First()
		if k == nil {
			s.sleepers = false
			return nil
		}
		id := KeyHost(k)
		h, err := s.HostWith(id)
		if err == nil && h == nil {
			err = fmt.Errorf("host %d: %w", id, ErrRecord)
		}
		if err == nil {
			err = s.unsleep(h)
		}
		if err != nil {
			return err
		}
		h.Evicted = false
		if h.Untouched() {
			h.Fresh = true
			s.resident++
		}
		s.MarkDirty(h)
	}
	return nil
}

// ToSleepSome is a pass that evicts hosts of an older file, in which all hosts were resident.
func (s *Ledger) ToSleepSome(now time.Time) (more bool, err error) {
	for n := 0; n < PassStretch && len(s.ToSleep) > 0; n++ {
		id := s.ToSleep[len(s.ToSleep)-1]
		s.ToSleep = s.ToSleep[:len(s.ToSleep)-1]
		if h := s.ByID[id]; h != nil {
			s.MarkDirty(h) // in use: PutAway decides
			continue
		}
		h, err := readHost(s.Tx, id)
		if err != nil {
			return false, err
		}
		if h == nil || h.Evicted {
			continue
		}
		if !h.Untouched() {
			if s.restless(h) {
				_, err = s.HostWith(id) // it stays in memory
			} else if s.Hosts[h.Name], s.ByID[id], h.older, h.paces = h, h, true, ^uint64(0); h.Queued > 0 || h.again() > 0 {
				// It gets its position in the schedule when it is loaded at that time
				err = s.evict(h, now)
			} else {
				err = s.evict(h, time.Time{})
			}
			if err != nil {
				return false, err
			}
			continue
		}
		s.Hosts[h.Name], s.ByID[id] = h, h
		if err := s.sleep(h, true); err != nil {
			return false, err
		}
	}
	return len(s.ToSleep) > 0, nil
}
