package hosts

import (
	"fmt"

	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/canon"
)

// NewHost adds a host that is not known yet.
func (s *Ledger) NewHost(name canon.Host, closed bool) (*Host, error) {
	d, err := s.DomainOf(name)
	if err != nil {
		return nil, err
	}
	h := &Host{ID: s.Meta.NewHost(), Name: canon.Host(string([]byte(name))), Closed: closed, At: -1, Domain: d}
	if err := s.Put(store.BucketNames, []byte(h.Name), h.ID.Append(nil)); err != nil {
		return nil, err
	}
	if closed {
		d.Closed++
		s.Meta.AddClosed(+1)
		if err := s.Put(store.BucketClosed, ClosedKey(d, h.ID), []byte{}); err != nil {
			return nil, err
		}
	} else {
		d.Hosts++
	}
	s.DomainChanged(d)
	s.add(h)
	return h, nil
}

// OpenHost accepts a closed name of a domain. The caller decides about its URLs anew.
func (s *Ledger) OpenHost(h *Host) error {
	d := h.Domain
	if err := s.Drop(store.BucketClosed, ClosedKey(d, h.ID)); err != nil {
		return err
	}
	h.Closed = false
	d.Closed--
	d.Hosts++
	s.Meta.AddClosed(-1)
	s.DomainChanged(d)
	s.MarkDirty(h)
	return nil
}

// HostsDetail explains a closed name.
func (s *Ledger) HostsDetail(d *Domain) string {
	return fmt.Sprintf("more hosts of %s than are accepted (%d, and one more for each stored page, in all shards; this shard has %d): "+
		"it is accepted when more pages of the domain are stored, or with a larger --max-hosts-per-domain", d.Name, MaxHosts(&s.Judge), d.Hosts)
}
