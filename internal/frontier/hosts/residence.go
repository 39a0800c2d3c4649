package hosts

import (
	"encoding/json"
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/canon"
)

// This file finds hosts, in memory or in the file. Which of them stay in memory: evict.go.

// HostNamed returns the host of that name, or nil when none is known.
func (s *Eviction) HostNamed(name canon.Host) (*Host, error) {
	if h := s.Hosts[name]; h != nil {
		return h, nil
	}
	if was := s.lately.find(name); was != nil {
		return s.loadHost(was.id, was.domain)
	}
	id := hostNumber(s.file.Tx, name)
	if id == 0 {
		return nil, nil
	}
	return s.HostWith(id)
}

// Evicted returns the id of the host of that name if it is known and not in memory; otherwise 0. In
// very rare cases it is the id of another host: the caller must compare whole URLs, and use nothing
// else of the host.
func (s *Eviction) Evicted(name canon.Host) store.HostID {
	if s.Hosts[name] != nil {
		return 0
	}
	if id := s.numbers.find(name); id != 0 {
		return id
	}
	id := hostNumber(s.file.Tx, name)
	if id != 0 {
		s.numbers.keep(name, id)
	}
	return id
}

// hostNumber is the id of a host in a file, 0 when it has none.
func hostNumber(tx *bolt.Tx, name canon.Host) store.HostID {
	b := tx.Bucket(store.BucketNames)
	if b == nil {
		return 0 // a shard without a file
	}
	if v := b.Get([]byte(name)); len(v) == 4 {
		return store.KeyHost(v)
	}
	return 0
}

// HostWith returns the host with that id, or nil. An evicted host is in memory until the next
// commit.
func (s *Eviction) HostWith(id store.HostID) (*Host, error) {
	if h := s.ByID[id]; h != nil {
		return h, nil
	}
	return s.loadHost(id, nil)
}

// loadHost loads a host that is not in memory. The domain is nil if the caller does not know it.
func (s *Eviction) loadHost(id store.HostID, d *Domain) (*Host, error) {
	h, err := readHost(s.file.Tx, id)
	if h == nil || err != nil {
		return nil, err
	}
	if h.Domain = d; d == nil {
		if h.Domain, err = s.domains.DomainOf(h.Name); err != nil {
			return nil, err
		}
	}
	untouched := h.Untouched()
	if !h.Evicted && untouched { // a host of an older file, which is evicted soon
		h.Fresh = true
		s.resident++
	}
	s.remember(h)
	if !untouched && s.file.Tx.Writable() {
		if !h.Evicted { // of an older file as well
			s.places.Unschedule(h)
		}
		s.hooks.Loaded(h, time.Now())
	}
	return h, nil
}

// Peek returns a host for reading, or nil. A host that is not in memory is read but not loaded.
func (s *Eviction) Peek(id store.HostID) (*Host, error) {
	if h := s.ByID[id]; h != nil {
		return h, nil
	}
	return readHost(s.file.Tx, id)
}

// readHost reads a host's record.
func readHost(tx *bolt.Tx, id store.HostID) (*Host, error) {
	if v := tx.Bucket(store.BucketBlocks).Get(store.RecordKey(id)); v != nil {
		return decodeRecord(id, v)
	}
	v := tx.Bucket(store.BucketHosts).Get(id.Append(nil))
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
func (s *Eviction) remember(h *Host) {
	h.belongTo(s)
	s.Hosts[h.Name], s.ByID[h.ID] = h, h
	if h.Domain != nil {
		h.Domain.refs++
	}
	s.loaded = append(s.loaded, h)
}

// add puts a host into memory that is not known yet.
func (s *Eviction) add(h *Host) {
	if !h.Closed {
		h.Fresh = true
		s.resident++
	}
	s.remember(h)
	s.MarkDirty(h)
}

// forget removes a host from memory after its record was written.
func (s *Eviction) forget(h *Host) {
	s.places.Due.Remove(h)
	s.pin(h, false)
	delete(s.Hosts, h.Name)
	delete(s.ByID, h.ID)
	s.keepLately(h)
	s.numbers.keep(h.Name, h.ID)
	s.domains.letGo(h.Domain)
}

// LoadHosts reads the records of resident hosts of a file just opened into memory, up to the
// limits. It counts the hosts of each domain if the file is from a version that did not.
func (s *Eviction) LoadHosts() error {
	s.index.waiting, s.index.timed = true, true // until the buckets are found to be empty
	err := LoadHosts(s.file.Tx, func(h *Host) error {
		if !s.file.Meta.Counted {
			if err := s.domains.countHost(h); err != nil {
				return err
			}
		}
		if h.Untouched() {
			if h.Queued == 0 || s.resident >= MaxResident {
				s.ToEvict = append(s.ToEvict, h.ID)
				return nil
			}
			h.Fresh = true
			s.resident++
		} else if s.residentVisited() >= maxVisited() && !s.mustStay(h) {
			s.ToEvict = append(s.ToEvict, h.ID)
			return nil
		}
		var err error
		if h.Domain, err = s.domains.DomainOf(h.Name); err != nil {
			return err
		}
		s.remember(h)
		s.pin(h, !h.Fresh && s.mustStay(h))
		return nil
	})
	s.loaded = s.loaded[:0]
	if !s.file.Meta.Counted {
		s.file.Meta.DomainsCounted()
	}
	return err
}
