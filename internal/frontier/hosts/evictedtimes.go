package hosts

import (
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/times"
)

// ShiftEvicted shifts the stored times of evicted hosts after the clock was set by that much. Hosts
// in memory are not affected by a change of the clock.
func (s *Eviction) ShiftEvicted(by time.Duration) error {
	if err := s.PutAway(); err != nil {
		return err
	}
	s.file.Changed()
	return SeeEvicted(s.file.Tx, times.ShiftBy(by))
}

// LoadOverdue loads hosts that are evicted for longer than evictMost, because the clock was wrong
// when they were evicted.
func (s *Eviction) LoadOverdue(now time.Time) error {
	ids, err := s.index.after(now.Add(evictMost))
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := s.loadEvicted(id); err != nil {
			return err
		}
	}
	return nil
}

// SeeEvicted shows the times of evicted hosts to see.
func SeeEvicted(tx *bolt.Tx, see times.See) error {
	index, blocks := tx.Bucket(store.BucketEvicted), tx.Bucket(store.BucketBlocks)
	if index == nil || blocks == nil {
		return nil // a file from a version that evicted no hosts
	}
	for from := store.HostID(0); ; {
		var hosts []*Host
		var was []int64
		c := blocks.Cursor()
		k, v := store.NextRecord(c, store.RecordKey(from))
		for ; k != nil && len(hosts) < store.PassStretch; k, v = store.NextRecord(c, nil) {
			if len(v) == 0 || v[0]&evictedVisited == 0 {
				continue
			}
			h, err := decodeRecord(store.KeyHost(k), v)
			if err != nil {
				return err
			}
			hosts, was = append(hosts, h), append(was, h.until)
		}
		if k != nil {
			from = store.KeyHost(k)
		}
		for i, h := range hosts { // bbolt forbids changing a bucket under its own cursor
			if seeEvicted(h, see) {
				if err := moveEvicted(blocks, index, h, was[i]); err != nil {
					return err
				}
			}
		}
		if k == nil {
			return nil
		}
	}
}

// seeEvicted shows all times of an evicted host, and reports whether any was changed.
func seeEvicted(h *Host, see times.See) (changed bool) {
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
func moveEvicted(blocks, index *bolt.Bucket, h *Host, was int64) error {
	if err := blocks.Put(store.RecordKey(h.ID), appendEvicted(nil, h)); err != nil || h.until == was {
		return err
	}
	key := evictedKey(was, h.ID)
	v := slices.Clone(index.Get(key))
	if err := index.Delete(key); err != nil {
		return err
	}
	return index.Put(evictedKey(h.until, h.ID), v)
}
