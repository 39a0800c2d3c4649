package hosts

import (
	"encoding/binary"
	"fmt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/judge"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Host names cost the owner of a domain nothing, because one DNS wildcard record answers for all of
// them. The number of accepted names of a registered domain is therefore limited, in proportion to
// its stored pages. A name beyond the limit is closed: its URLs are refused (reason hosts), and
// queued when the limit has grown. The number of closed names is limited as well; links to further
// names are only counted. Each shard counts this for the names whose hash belongs to it.

const (
	// MinDomainHosts is the least number of names of one domain that a shard accepts, however small
	// its share of the limit is, because names are distributed to shards by chance.
	MinDomainHosts = 16
	// ClosedPerHost is how many closed names a shard remembers for each name that it may accept.
	ClosedPerHost = 10
	// ClosedURLs is how many URLs of a closed name are remembered.
	ClosedURLs = 100
	// NewHostsPage is how many new names of one domain a page may add at once, and NewHostsEvent
	// how many a message may add, which is a visit or a part of one. Further names are closed. A
	// few of them are opened whenever a visit to the domain ends.
	NewHostsPage, NewHostsEvent = 200, 500
	// OpenedAtOnce is how many closed names are opened at the end of a visit.
	OpenedAtOnce = 64
)

// Domain is what a shard counts for one registered domain. It is in memory while one of its hosts
// is, or was lately.
type Domain struct {
	Name    string
	Hosts   int64 // accepted names
	Stored  int64 // pages stored of them
	Closed  int64 // names beyond the limit
	LeftOut int64 // links to further names, and to further URLs of closed names

	refs  int // hosts in memory and in the cache of lately evicted hosts
	dirty bool
	// The last page that named the domain, and the number of new names on that page; likewise for
	// the last event.
	page    uint64
	onPage  int
	event   uint64
	inEvent int
}

func (d *Domain) append(b []byte) []byte {
	for _, n := range []int64{d.Hosts, d.Stored, d.Closed, d.LeftOut} {
		b = binary.AppendUvarint(b, uint64(max(n, 0)))
	}
	return b
}

func (d *Domain) decode(v []byte) error {
	s := store.Scanner{B: v}
	for _, n := range []*int64{&d.Hosts, &d.Stored, &d.Closed, &d.LeftOut} {
		*n = int64(s.Uint())
	}
	if s.Bad {
		return fmt.Errorf("domain %s: %w", d.Name, store.ErrRecord)
	}
	return nil
}

// DomainOf returns the registered domain of a host.
func (s *Ledger) DomainOf(name canon.Host) (*Domain, error) {
	reg := name.Registered()
	if d := s.Domains[reg]; d != nil {
		return d, nil
	}
	// A copy, because a substring would keep the whole message in memory
	d := &Domain{Name: string([]byte(reg))}
	if b := s.Tx.Bucket(store.BucketDomains); b != nil {
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

// DomainChanged marks the counts of a domain as different from its record.
func (s *Ledger) DomainChanged(d *Domain) {
	if !d.dirty {
		d.dirty = true
		s.Changed()
		s.dirtyDomains = append(s.dirtyDomains, d)
	}
}

// letGo notes that a host was removed from memory.
func (s *Ledger) letGo(d *Domain) {
	if d == nil {
		return
	}
	if d.refs--; d.refs == 0 {
		s.looseDomains = append(s.looseDomains, d)
	}
}

// saveDomains writes changed counts and removes the domains from memory that no host there needs.
func (s *Ledger) saveDomains() error {
	for _, d := range s.dirtyDomains {
		d.dirty = false
		if err := s.Put(store.BucketDomains, []byte(d.Name), d.append(make([]byte, 0, 8))); err != nil {
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

// MaxHosts is how many names of one domain are accepted, in addition to one for each of its stored
// pages.
func MaxHosts(j *judge.Judge) int64 {
	if j.Spec.MaxHosts > 0 {
		return j.Spec.MaxHosts
	}
	return crawl.DefaultMaxHosts
}

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
		h.Fresh = true
		s.resident++
	}
	s.DomainChanged(d)
	s.remember(h)
	s.MarkDirty(h)
	return h, nil
}

// BringsNames reports whether one more new name of d may be accepted from the page and the event
// that are being read, each by its number. How many they brought is not stored: a replay begins to
// count anew.
func (d *Domain) BringsNames(page, event uint64) bool {
	if d.page != page {
		d.page, d.onPage = page, 0
	}
	if d.event != event {
		d.event, d.inEvent = event, 0
	}
	return d.onPage < NewHostsPage && d.inEvent < NewHostsEvent
}

// BroughtName counts a name that was accepted.
func (d *Domain) BroughtName() {
	d.onPage++
	d.inEvent++
}

// LeaveNameOut counts a link to a name of d that is not recorded.
func (s *Ledger) LeaveNameOut(d *Domain) {
	d.LeftOut++
	s.DomainChanged(d)
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

// ClosedKey is the key of a closed name of d.
func ClosedKey(d *Domain, id store.HostID) []byte {
	return id.Append(append([]byte(d.Name), 0))
}

// HostsDetail explains a closed name.
func (s *Ledger) HostsDetail(d *Domain) string {
	return fmt.Sprintf("more hosts of %s than are accepted (%d, and one more for each stored page, in all shards; this shard has %d): "+
		"it is accepted when more pages of the domain are stored, or with a larger --max-hosts-per-domain", d.Name, MaxHosts(&s.Judge), d.Hosts)
}

// countDomains counts a host of a file from a version that did not count them. It limits the number
// of domains in memory.
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

// domainsCounted is the maximum number of domains in memory while those of an older file are
// counted.
const domainsCounted = 10_000
