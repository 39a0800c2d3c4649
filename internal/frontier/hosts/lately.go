package hosts

import (
	"hash/maphash"

	"github.com/curtsy/curtsy/pkg/canon"
)

// A link to another host names one that is mostly not in memory. Which number it has and which
// domain it is of stand in two more places of the file, in the order of names, so that each link
// would have pages looked at that nothing else is on. So both are kept of the hosts that left
// memory lately. They need no care: a host's number never changes and is given to no other, a
// domain in memory is what its record will be, and whatever else there is of a host is read from
// its record as before. After a transaction that failed the file is opened anew, with a new Ledger.

// LatelyFor is how many hosts are kept for each that may be awake: 8,192 of a shard, with their
// domains 227 bytes each where names are short, 1.9 MB, and 530 where they are as long as may be.
const LatelyFor = 8

// latelyWays is how many places there are for each hash of a name.
const latelyWays = 4

var latelySeed = maphash.MakeSeed()

// lately is the hosts that left memory lately. It compares whole names: what it says is certain.
type lately struct{ slots []latelySlot }

type latelySlot struct {
	name   canon.Host // "": nobody's
	id     HostID
	domain *Domain // in memory as long as it stands here
}

// set returns the places where a host of that name may be, and which of them a newcomer takes.
func (l *lately) set(name canon.Host) (set []latelySlot, next int) {
	h := maphash.String(latelySeed, string(name))
	at := h % uint64(len(l.slots)/latelyWays) * latelyWays
	return l.slots[at : at+latelyWays], int(h>>40) % latelyWays
}

// find returns what is kept of a host, or nil.
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

// keepLately keeps of a host that leaves memory what finds it again.
func (s *Ledger) keepLately(h *Host) {
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
	s.letGo(set[next].domain)
	set[next] = latelySlot{h.Name, h.ID, h.Domain}
}
