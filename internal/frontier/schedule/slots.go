package schedule

import (
	"container/heap"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/frontier/hosts"
)

// A domain with many slow hosts could occupy all slots of the fetchers. So once it uses a quarter
// of them, it gets no slot that hosts of other domains are about to need. A crawl of one domain, or
// of a few, stays as fast as before, because it may use all slots that nobody else will need soon.

const (
	SlotsShare = 4           // a domain's share is one part of this many
	slotsSoon  = time.Minute // slots are reserved for hosts that are due this soon
	// the minimum interval of looking for such hosts
	slotsTick = 100 * time.Millisecond
	// And at most one part of this many of the time is spent on it
	slotsCost       = 50
	PassedOverAgain = 250 * time.Millisecond // how long a host that was passed over is left out
)

// Slots counts the outstanding visits of a process's shards by registered domain. It is safe for
// concurrent use. A nil one counts nothing.
type Slots struct {
	mu    sync.Mutex
	total int
	by    map[string]int
	soon  map[int]map[string]int // shard → registered domain → hosts due soon
}

// NewSlots makes the count for a process.
func NewSlots() *Slots { return &Slots{by: map[string]int{}, soon: map[int]map[string]int{}} }

// Count adds n visits to hosts of d.
func (x *Slots) Count(d *hosts.Domain, n int) {
	if x == nil || d == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.total += n
	if x.by[d.Name] += n; x.by[d.Name] <= 0 {
		delete(x.by, d.Name)
	}
}

// Expect notes how many hosts of each domain are due soon in a shard; nil when the shard is closed.
func (x *Slots) Expect(shard int, soon map[string]int) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if soon == nil {
		delete(x.soon, shard)
		return
	}
	x.soon[shard] = soon
}

// mayHave reports whether a host of d may use one of the free slots. It may if d uses less than its
// share, or if more slots are free than will soon be needed by hosts of domains that use less than
// theirs.
func (x *Slots) mayHave(d *hosts.Domain, free int) bool {
	if x == nil || d == nil {
		return true
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	share := max((x.total+free)/SlotsShare, 1)
	if x.by[d.Name] < share {
		return true
	}
	for _, soon := range x.soon {
		for name, n := range soon {
			if name != d.Name && x.by[name] < share {
				free -= n
			}
		}
	}
	return free > 0
}

// lookSoon counts the hosts that are due soon, at intervals.
func (s *Visits) lookSoon(now time.Time) {
	if s.AllSlots == nil || now.Before(s.lookSoonAt) {
		return
	}
	began := time.Now()
	defer func() { s.lookSoonAt = now.Add(max(slotsTick, slotsCost*time.Since(began))) }()
	soon := map[string]int{}
	for _, h := range s.ledger.Due {
		if h.Domain != nil && h.When.Sub(now) < slotsSoon {
			soon[h.Domain.Name]++
		}
	}
	s.AllSlots.Expect(s.ledger.ID, soon)
}

// passOver removes a due host from the schedule for a moment, in favour of other domains.
func (s *Visits) passOver(h *hosts.Host, now time.Time) {
	heap.Remove(&s.ledger.Due, h.At)
	if len(s.passedOver) == 0 {
		s.passedOverAt = now
	}
	s.passedOver = append(s.passedOver, h)
}

// unpark adds the hosts that were passed over to the schedule again.
func (s *Visits) unpark(now time.Time) {
	if len(s.passedOver) == 0 || now.Sub(s.passedOverAt) < PassedOverAgain {
		return
	}
	list := s.passedOver
	s.passedOver = nil
	for _, h := range list {
		if s.ledger.ByID[h.ID] == h {
			s.ledger.MarkDirty(h) // it may have to be evicted
		}
	}
}
