package hosts

import (
	"hash/maphash"

	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Most links to other hosts name a host that is not in memory. Its number and its domain are stored
// in two other places of the file, in the order of names, so each link would read two pages that
// are needed for nothing else. This file therefore caches both for hosts that were evicted lately.
// The cache needs no invalidation: a host's number never changes and is never reused, a domain in
// memory is always current, and everything else about a host is still read from its record. After a
// failed transaction the file is opened again with a new Ledger.

// LatelyFor is the number of cached hosts for each host that may be resident: 8,192 per shard. Each
// takes 227 bytes with its domain if names are short, 1.9 MB in all, and 530 if they have the
// maximum length.
const LatelyFor = 8

// latelyWays is the number of slots for each hash of a name.
const latelyWays = 4

var latelySeed = maphash.MakeSeed()

// lately caches hosts that were evicted lately. It compares whole names, so a hit is certain.
type lately struct{ slots []latelySlot }

type latelySlot struct {
	name   canon.Host // "": the slot is free
	id     store.HostID
	domain *Domain // stays in memory as long as the slot refers to it
}

// set returns the slots where a host of that name may be, and the one to reuse if all are taken.
func (l *lately) set(name canon.Host) (set []latelySlot, next int) {
	h := maphash.String(latelySeed, string(name))
	at := h % uint64(len(l.slots)/latelyWays) * latelyWays
	return l.slots[at : at+latelyWays], int(h>>40) % latelyWays
}

// find returns the entry of a host, or nil.
func (l *lately) find(name canon.Host) *latelySlot {
	if l.slots == nil {
		return nil
	}
	set, _ := l.set(name)
	for i := range set {
		if set[i].name == name {
			return &set[i]
		}
	}
	return nil
}

// keepLately adds a host that is being evicted to the cache.
func (s *Eviction) keepLately(h *Host) {
	if h.Domain == nil || s.lately.find(h.Name) != nil {
		return
	}
	if s.lately.slots == nil {
		s.lately.slots = make([]latelySlot, LatelyFor*max(MaxResident, latelyWays))
	}
	set, next := s.lately.set(h.Name)
	for i := range set {
		if set[i].name == "" {
			next = i
		}
	}
	h.Domain.refs++
	s.domains.letGo(set[next].domain)
	set[next] = latelySlot{h.Name, h.ID, h.Domain}
}

// A link to a known URL of an evicted host needs the host's number only, and nothing else of it.
// The numbers of many more hosts than lately.go has are cached here, without their names.

// numbersFor is the number of slots for each host that may be resident: 32,768 per shard, which
// take 256 KiB.
const numbersFor = 32

// numbers caches the numbers of hosts. It compares only hashes of names, so a hit is not quite
// certain: one wrong name in four billion has the hash of the right one.
type numbers struct{ slots []numberSlot }

type numberSlot struct {
	tag uint32       // of the host's name
	id  store.HostID // 0: the slot is free
}

// slot returns the only slot where the host of that name may be, and the tag of the name.
func (n *numbers) slot(name canon.Host) (*numberSlot, uint32) {
	if n.slots == nil {
		n.slots = make([]numberSlot, numbersFor*max(MaxResident, 1))
	}
	h := maphash.String(latelySeed, string(name))
	return &n.slots[h%uint64(len(n.slots))], uint32(h >> 32)
}

// find returns the number that the host of that name most probably has; 0: it is not known here.
func (n *numbers) find(name canon.Host) store.HostID {
	if slot, tag := n.slot(name); slot.tag == tag {
		return slot.id
	}
	return 0
}

// keep remembers the number of a host, in the place of another one.
func (n *numbers) keep(name canon.Host, id store.HostID) {
	slot, tag := n.slot(name)
	*slot = numberSlot{tag, id}
}
