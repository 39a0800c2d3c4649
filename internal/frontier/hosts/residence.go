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
func (s *Ledger) HostWith(id store.HostID) (*Host, error) {
	if h := s.ByID[id]; h != nil {
		return h, nil
	}
	return s.loadHost(id, nil)
}

// loadHost loads a host that is not in memory. The domain is nil if the caller does not know it.
func (s *Ledger) loadHost(id store.HostID, d *Domain) (*Host, error) {
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

// Peek returns a host for reading, or nil. A host that is not in memory is read but not loaded.
func (s *Ledger) Peek(id store.HostID) (*Host, error) {
	if h := s.ByID[id]; h != nil {
		return h, nil
	}
	return readHost(s.Tx, id)
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
func (s *Ledger) remember(h *Host) {
	h.belongTo(s)
	s.Hosts[h.Name], s.ByID[h.ID] = h, h
	if h.Domain != nil {
		h.Domain.refs++
	}
	s.loaded = append(s.loaded, h)
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
