package hosts

import (
	"encoding/binary"
	"fmt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/judge"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Names cost their owner nothing: one DNS record with a wildcard answers for all of them. So the
// names of a registered domain that are taken in are bounded, in proportion to the pages stored of
// it. A name past the bound is closed: its URLs are refused (reason hosts), and queued when the
// bound has grown. Closed names are bounded as well; links to further ones are only counted. All
// this is counted for each shard of its own, which holds the names whose hash falls to it.

const (
	// MinDomainHosts is the least number of names of one domain that a shard takes in, however
	// small its part of the limit is: names fall to shards by chance.
	MinDomainHosts = 16
	// ClosedPerHost is how many closed names a shard remembers for each name it may take in.
	ClosedPerHost = 10
	// ClosedURLs is how many URLs are remembered of a closed name.
	ClosedURLs = 100
	// NewHostsPage is how many new names of one domain a page may bring at once, NewHostsEvent a
	// message, which is a visit or a part of one. More are closed, and let in a few at a time while
	// visits to the domain end.
	NewHostsPage, NewHostsEvent = 200, 500
	// OpenedAtOnce is how many closed names a visit's end lets in.
	OpenedAtOnce = 64
)

// Domain is what a shard counts of one registered domain. It is in memory while one of its hosts
// is, or was lately.
type Domain struct {
	Name    string
	Hosts   int64 // names taken in
	Stored  int64 // pages stored of them
	Closed  int64 // names past the limit
	LeftOut int64 // links to further names, and to further URLs of closed ones

	refs    int // hosts in memory, and those that were lately
	dirty   bool
	Page    uint64 // the page last looked at, and new names it brought; likewise the event
	OnPage  int
	Event   uint64
	InEvent int
}

func (d *Domain) append(b []byte) []byte {
	for _, n := range []int64{d.Hosts, d.Stored, d.Closed, d.LeftOut} {
		b = binary.AppendUvarint(b, uint64(max(n, 0)))
	}
	return b
}

func (d *Domain) decode(v []byte) error {
	s := Scanner{B: v}
	for _, n := range []*int64{&d.Hosts, &d.Stored, &d.Closed, &d.LeftOut} {
		*n = int64(s.Uint())
	}
	if s.Bad {
		return fmt.Errorf("domain %s: %w", d.Name, ErrRecord)
	}
	return nil
}

// DomainOf returns the registered domain of a host.
func (s *Ledger) DomainOf(name canon.Host) (*Domain, error) {
	reg := name.Registered()
	if d := s.Domains[reg]; d != nil {
		return d, nil
	}
	d := &Domain{Name: string([]byte(reg))} // not a piece of a message
	if b := s.Tx.Bucket(BucketDomains); b != nil {
		if v := b.Get([]byte(reg)); v != nil {
			if err := d.decode(v); err != nil {
				return nil, err
			}
		}
	}
	s.Domains[d.Name] = d
	s.looseDomains = append(s.looseDomains, d)
	return d, nil
}

// DomainChanged marks what is counted of a domain as different from its record.
func (s *Ledger) DomainChanged(d *Domain) {
	if !d.dirty {
		d.dirty = true
		s.Changes++
		s.dirtyDomains = append(s.dirtyDomains, d)
	}
}

// letGo notes that a host has left memory.
func (s *Ledger) letGo(d *Domain) {
	if d == nil {
		return
	}
	if d.refs--; d.refs == 0 {
		s.looseDomains = append(s.looseDomains, d)
	}
}

// saveDomains writes what was counted and drops the domains that no host in memory needs.
func (s *Ledger) saveDomains() error {
	for _, d := range s.dirtyDomains {
		d.dirty = false
		if err := s.Put(BucketDomains, []byte(d.Name), d.append(make([]byte, 0, 8))); err != nil {
			return err
		}
	}
	s.dirtyDomains = s.dirtyDomains[:0]
	for _, d := range s.looseDomains {
		if d.refs == 0 && s.Domains[d.Name] == d {
			delete(s.Domains, d.Name)
		}
	}
	s.looseDomains = s.looseDomains[:0]
	return nil
}

// MaxHosts is how many names of one domain are taken in beside one for each page stored of it.
func MaxHosts(j *judge.Judge) int64 {
	if j.Spec.MaxHosts > 0 {
		return j.Spec.MaxHosts
	}
	return crawl.DefaultMaxHosts
}

// NewHost makes a host that is not known yet.
func (s *Ledger) NewHost(name canon.Host, closed bool) (*Host, error) {
	d, err := s.DomainOf(name)
	if err != nil {
		return nil, err
	}
	s.Meta.NextHost++
	h := &Host{ID: HostID(s.Meta.NextHost), Name: canon.Host(string([]byte(name))), Closed: closed, At: -1, Domain: d}
	if err := s.Put(bucketNames, []byte(h.Name), h.ID.Append(nil)); err != nil {
		return nil, err
	}
	if closed {
		d.Closed++
		s.Meta.Closed++
		if err := s.Put(BucketClosed, ClosedKey(d, h.ID), []byte{}); err != nil {
			return nil, err
		}
	} else {
		d.Hosts++
		h.Fresh = true
		s.resident++
	}
	s.DomainChanged(d)
	s.remember(h)
	s.MarkDirty(h)
	return h, nil
}

// ClosedKey is the key of a name of d that was not taken in.
func ClosedKey(d *Domain, id HostID) []byte {
	return id.Append(append([]byte(d.Name), 0))
}

// HostsDetail explains a closed name.
func (s *Ledger) HostsDetail(d *Domain) string {
	return fmt.Sprintf("more hosts of %s than are accepted (%d, and one more for each stored page, in all shards; this shard has %d): "+
		"it is accepted when more pages of the domain are stored, or with a larger --max-hosts-per-domain", d.Name, MaxHosts(&s.Judge), d.Hosts)
}

// countDomains counts the hosts of a file from before they were counted. Few domains are
// in memory at a time.
func (s *Ledger) countDomains(h *Host) error {
	d, err := s.DomainOf(h.Name)
	if err != nil {
		return err
	}
	d.Hosts++
	d.Stored += h.Stored
	s.DomainChanged(d)
	if len(s.Domains) > domainsCounted {
		return s.saveDomains()
	}
	return nil
}

// domainsCounted bounds the domains in memory while those of an older file are counted.
const domainsCounted = 10_000
