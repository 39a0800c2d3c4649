package hosts

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/curtsy/curtsy/internal/frontier/store"
)

// This file has the indexes of evicted hosts (evict.go), and loads hosts by them.

// evictedIndex has the records of evicted hosts in the file, and finds the hosts that have work.
type evictedIndex struct {
	file    *store.File
	timed   bool // BucketEvicted may have entries
	waiting bool // BucketWaiting may have entries
}

// evictedKey is the key of a host in BucketEvicted that is evicted until then (Unix ms).
func evictedKey(until int64, id store.HostID) []byte {
	return id.Append(binary.BigEndian.AppendUint64(make([]byte, 0, 12), uint64(max(until, 0))))
}

// put writes the record of a host that leaves memory, and its entry in the index of its kind.
func (x *evictedIndex) put(h *Host, until time.Time) error {
	var err error
	if h.Evicted {
		err = x.dropTime(h)
	} else {
		err = x.file.Drop(store.BucketHosts, h.ID.Append(nil))
	}
	if err != nil {
		return err
	}
	if h.isNew() {
		if err := x.putWaiting(h); err != nil {
			return err
		}
		return x.file.Put(store.BucketBlocks, store.RecordKey(h.ID), appendNew(make([]byte, 0, 32+len(h.Name)), h))
	}
	h.until = 0
	if !h.older {
		h.paces = x.file.Meta.Paces
	}
	if !until.IsZero() {
		h.until, x.timed = until.UnixMilli(), true
		v := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(max(h.Queued, 0))), uint64(max(h.again(), 0)))
		if err := x.file.Put(store.BucketEvicted, evictedKey(h.until, h.ID), v); err != nil {
			return err
		}
	}
	return x.file.Put(store.BucketBlocks, store.RecordKey(h.ID), appendEvicted(nil, h))
}

// putWaiting writes the entry of a new host in BucketWaiting: one with work has one.
func (x *evictedIndex) putWaiting(h *Host) error {
	id := h.ID.Append(nil)
	if h.Queued == 0 {
		return x.file.Drop(store.BucketWaiting, id)
	}
	if x.waiting = true; x.file.Tx.Bucket(store.BucketWaiting).Get(id) != nil {
		return nil
	}
	return x.file.Put(store.BucketWaiting, id, []byte{})
}

// drop removes the record of a host that is evicted no more, and its entries in both indexes.
func (x *evictedIndex) drop(h *Host) error {
	if err := x.file.Drop(store.BucketBlocks, store.RecordKey(h.ID)); err != nil {
		return err
	}
	if err := x.dropTime(h); err != nil {
		return err
	}
	h.until = 0
	return x.file.Drop(store.BucketWaiting, h.ID.Append(nil))
}

// dropTime removes the entry of a host in BucketEvicted.
func (x *evictedIndex) dropTime(h *Host) error {
	if h.until == 0 {
		return nil
	}
	return x.file.Drop(store.BucketEvicted, evictedKey(h.until, h.ID))
}

// first returns the evicted host whose work is due first, and when; 0: there is none.
func (x *evictedIndex) first() (id store.HostID, until time.Time, err error) {
	if !x.timed {
		return 0, until, nil
	}
	b := x.file.Tx.Bucket(store.BucketEvicted)
	if b == nil {
		return 0, until, nil // an older file, opened for reading
	}
	k, _ := b.Cursor().First()
	if k == nil {
		x.timed = false
		return 0, until, nil
	}
	r, err := decodeEvictedHost(k, nil)
	return r.ID, r.Until, err
}

// firstWaiting returns the new host with work that was found first; 0: there is none.
func (x *evictedIndex) firstWaiting() store.HostID {
	if !x.waiting {
		return 0
	}
	k, _ := x.file.Tx.Bucket(store.BucketWaiting).Cursor().First()
	if k == nil {
		x.waiting = false
		return 0
	}
	return store.KeyHost(k)
}

// after returns the hosts that are evicted until a later time.
func (x *evictedIndex) after(t time.Time) (ids []store.HostID, err error) {
	c := x.file.Tx.Bucket(store.BucketEvicted).Cursor()
	for k, _ := c.Seek(evictedKey(t.UnixMilli()+1, 0)); k != nil; k, _ = c.Next() {
		r, err := decodeEvictedHost(k, nil)
		if err != nil {
			return nil, err
		}
		ids = append(ids, r.ID)
	}
	return ids, nil
}

// EvictedHost is an evicted host with work.
type EvictedHost struct {
	ID     store.HostID
	Until  time.Time // it is loaded then
	Queued int64
	Again  int64 // URLs that will be fetched again some time
}

func decodeEvictedHost(k, v []byte) (r EvictedHost, err error) {
	if len(k) != 12 {
		return r, fmt.Errorf("evicted host %x: %w", k, store.ErrRecord)
	}
	r.Until, r.ID = time.UnixMilli(int64(binary.BigEndian.Uint64(k))), store.KeyHost(k[8:])
	if v != nil {
		c := store.Scanner{B: v}
		if r.Queued, r.Again = int64(c.Uint()), int64(c.Uint()); c.Bad {
			err = fmt.Errorf("evicted host %d: %w", r.ID, store.ErrRecord)
		}
	}
	return r, err
}

// EachEvicted calls each for the evicted hosts with work, in the order of their times. Hosts that
// are in memory at the moment are left out.
func (s *Eviction) EachEvicted(each func(EvictedHost)) error {
	b := s.file.Tx.Bucket(store.BucketEvicted)
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

// NextEvicted is when the first evicted host with work is due. The zero time means that there is
// none.
func (s *Eviction) NextEvicted() (until time.Time) {
	_, until, _ = s.index.first() // Load reports errors in it
	return until
}

// Load loads evicted hosts with work while memory is free: visited hosts that are due, or nearly,
// and new hosts in the order in which they were found.
func (s *Eviction) Load(now time.Time) error {
	for s.residentVisited() < maxVisited() {
		if loaded, err := s.loadFirst(now.Add(evictAfter / 2)); err != nil {
			return err
		} else if !loaded {
			break
		}
	}
	if s.resident > s.maxResident()-MaxResident/2 {
		return nil
	}
	for s.resident < s.maxResident() {
		id := s.index.firstWaiting()
		if id == 0 {
			return nil
		}
		h, err := s.HostWith(id)
		if err == nil && h == nil {
			err = fmt.Errorf("host %d: %w", id, store.ErrRecord)
		}
		if err == nil {
			err = s.stay(h)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// LoadDue loads a host that is due, even if memory is full. It is called when a fetcher is free and
// no host in memory is due. It reports whether there was one.
func (s *Eviction) LoadDue(now time.Time) (loaded bool, err error) { return s.loadFirst(now) }

// loadFirst loads the evicted host that is due first, if it is due by then.
func (s *Eviction) loadFirst(by time.Time) (loaded bool, err error) {
	id, until, err := s.index.first()
	if err != nil || id == 0 || until.After(by) {
		return false, err
	}
	return true, s.loadEvicted(id)
}

// loadEvicted loads a host that has an entry in BucketEvicted.
func (s *Eviction) loadEvicted(id store.HostID) error {
	h, err := s.HostWith(id)
	if err == nil && (h == nil || !h.Evicted) {
		err = fmt.Errorf("evicted host %d: %w", id, store.ErrRecord)
	}
	if err != nil {
		return err
	}
	return s.stay(h)
}

// stay makes a host that was loaded stay in memory beyond the next commit.
func (s *Eviction) stay(h *Host) error {
	if h.until == 0 && h.Untouched() && !h.Fresh {
		h.Fresh = true
		s.resident++
	}
	if err := s.index.drop(h); err != nil {
		return err
	}
	h.Evicted = false
	s.MarkDirty(h)
	return nil
}
