package hosts

import (
	"encoding/binary"
	"fmt"
	"net/netip"

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
	block netip.Addr // where the last visited host was; only in memory
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

// Domains are the registered domains of a shard. Those that are needed are in memory, and their
// counts are written with the next commit. They are guarded by Mu of the file.
type Domains struct {
	// Loaded has the domains in memory by their names.
	Loaded map[string]*Domain

	file  *store.File
	dirty []*Domain // domains that differ from their records
	loose []*Domain // domains that may no longer be needed in memory
}

// DomainOf returns the registered domain of a host.
func (s *Domains) DomainOf(name canon.Host) (*Domain, error) {
	reg := name.Registered()
	if d := s.Loaded[reg]; d != nil {
		return d, nil
	}
	// A copy, because a substring would keep the whole message in memory
	d := &Domain{Name: string([]byte(reg))}
	if b := s.file.Tx.Bucket(store.BucketDomains); b != nil {
		if v := b.Get([]byte(reg)); v != nil {
			if err := d.decode(v); err != nil {
				return nil, err
			}
		}
	}
	s.Loaded[d.Name] = d
	s.loose = append(s.loose, d)
	return d, nil
}

// DomainChanged marks the counts of a domain as different from its record.
func (s *Domains) DomainChanged(d *Domain) {
	if !d.dirty {
		d.dirty = true
		s.file.Changed()
		s.dirty = append(s.dirty, d)
	}
}

// letGo notes that a host was removed from memory.
func (s *Domains) letGo(d *Domain) {
	if d == nil {
		return
	}
	if d.refs--; d.refs == 0 {
		s.loose = append(s.loose, d)
	}
}

// save writes changed counts and removes the domains from memory that no host there needs.
func (s *Domains) save() error {
	for _, d := range s.dirty {
		d.dirty = false
		if err := s.file.Put(store.BucketDomains, []byte(d.Name), d.append(make([]byte, 0, 8))); err != nil {
			return err
		}
	}
	s.dirty = s.dirty[:0]
	for _, d := range s.loose {
		if d.refs == 0 && s.Loaded[d.Name] == d {
			delete(s.Loaded, d.Name)
		}
	}
	s.loose = s.loose[:0]
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
func (s *Domains) LeaveNameOut(d *Domain) {
	d.LeftOut++
	s.DomainChanged(d)
}

// ClosedKey is the key of a closed name of d.
func ClosedKey(d *Domain, id store.HostID) []byte {
	return id.Append(append([]byte(d.Name), 0))
}

// countHost counts a host of a file from a version that did not count them. It limits the number
// of domains in memory.
func (s *Domains) countHost(h *Host) error {
	d, err := s.DomainOf(h.Name)
	if err != nil {
		return err
	}
	d.Hosts++
	d.Stored += h.Stored
	s.DomainChanged(d)
	if len(s.Loaded) > domainsCounted {
		return s.save()
	}
	return nil
}

// domainsCounted is the maximum number of domains in memory while those of an older file are
// counted.
const domainsCounted = 10_000
