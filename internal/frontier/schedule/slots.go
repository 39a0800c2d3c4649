package schedule

import (
	"container/heap"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/frontier/hosts"
)

// A domain with many slow hosts could take all the visits that fetchers have hands for. So once it
// has a quarter of them, it gets none that hosts of other domains are about to want. A crawl of one
// domain, or of few, is as fast as ever: hands that nobody else will want soon are its own.

const (
	SlotsShare = 4           // a domain's share is one in so many
	slotsSoon  = time.Minute // hands are kept for hosts that are due so soon
	// how often hosts are looked through for those, at most
	slotsTick       = 100 * time.Millisecond
	slotsCost       = 50                     // and never for more than so small a part of the time
	PassedOverAgain = 250 * time.Millisecond // how long a host that was passed over is left out
)

// Slots counts the outstanding visits of a process' shards by registered domain. It is safe for
// concurrent use. A nil one counts nothing.
type Slots struct {
	mu    sync.Mutex
	total int
	by    map[string]int
	soon  map[int]map[string]int // shard → registered domain → hosts due soon
}

// NewSlots makes the count of the hands of a process.
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

// Expect notes how many hosts of each domain are due soon in a shard; nil when it is closed.
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

// mayHave reports whether a host of d may have one of free hands. It may if d has less than its
// share, or if more are free than hosts of other domains, which have less than theirs, will want
// soon.
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

// lookSoon notes which hosts are due soon, now and then.
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

// passOver takes a due host out of the schedule for a moment: others have the hands.
func (s *Visits) passOver(h *hosts.Host, now time.Time) {
	heap.Remove(&s.ledger.Due, h.At)
	if len(s.passedOver) == 0 {
		s.passedOverAt = now
	}
	s.passedOver = append(s.passedOver, h)
}

// unpark puts the hosts that were passed over into the schedule again.
func (s *Visits) unpark(now time.Time) {
	if len(s.passedOver) == 0 || now.Sub(s.passedOverAt) < PassedOverAgain {
		return
	}
	list := s.passedOver
	s.passedOver = nil
	for _, h := range list {
		if s.ledger.ByID[h.ID] == h {
			s.ledger.MarkDirty(h) // it may have to rest
		}
	}
}
