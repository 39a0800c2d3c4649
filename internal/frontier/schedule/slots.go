package schedule

import (
	"net/netip"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fair"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
)

// A stranger with many slow hosts could occupy all slots of the fetchers. So slots are divided
// among parties (design §8.3), by the domain of a host and by its address. Within its share, which
// is a quarter, a party always gets a slot. Beyond that there are two limits:
//
//   - The level: with as many slots for each party, or as many as it has hosts that are visited or
//     due, all slots are used. Hosts that are visited now count, because most are due again a
//     moment after their visit; their slots are not given away meanwhile.
//   - The parties beyond their share leave one share to those within theirs, as long as hosts of
//     such parties are visited or due soon. So a host that is found just now need not wait until a
//     slow visit ends.
//
// A crawl of one party, or of a few large ones, uses all slots. A third division is by pace:
// domains whose visits lately were mostly waits for slow servers come last. Together they get what
// the hosts of all other domains do not need, and at least one share.

const (
	// SlotsShare determines a party's share: all slots divided by this.
	SlotsShare = 4
	// slotsNow is how soon a host is due that counts as if it were due.
	slotsNow = 2 * time.Second
	// slotsSoon is how soon a host is due for which a share is left free.
	slotsSoon = time.Minute
	// slotsAlone is how long nobody else was seen when a party gets all slots. A crawl begins with
	// hosts that are found one after the other, and a slow visit that has begun is not interrupted.
	slotsAlone = 5 * time.Second
	// the minimum interval of looking for such hosts
	slotsTick = 100 * time.Millisecond
	// And at most one part of this many of the time is spent on it
	slotsCost = 50
	// PassedOverAgain is the interval at which hosts that were passed over are looked at again.
	PassedOverAgain = 250 * time.Millisecond
	// fetcherGone is how long a fetcher is remembered. If it has not asked for visits for so long,
	// it has ended, or all its slots are in use and therefore counted.
	fetcherGone = time.Minute
	// maxFetchers is how many fetchers are remembered.
	maxFetchers = 10_000
)

// What a slow visit is, and a slow domain.
const (
	// slowVisit is the least cost of a slow visit: its time beyond the delays that it had to keep.
	// It is also more than half of that time.
	slowVisit = 5 * time.Second
	// slowDomain is the cost of slow visits, in seconds, from which a domain is slow.
	slowDomain = 10
	// slowHalf is the time after which these seconds count half.
	slowHalf = 5 * time.Minute
)

// kind is by what hosts are divided.
type kind uint8

const (
	byNothing kind = iota
	byDomain
	byBlock
	byPace
	kinds
)

// party is one of those among whom slots are divided: one of the parties by domain or by block, or
// all slow domains. The zero party is nobody.
type party struct {
	kind kind
	who  fair.Party
	// It is the domain of hosts whose address is unknown, in place of their block.
	unplaced bool
}

var slowOnes = party{kind: byPace}

// parties are those to which a host belongs; some may be nobody.
type parties [3]party

// Slots divides the slots of all fetchers among the hosts of all shards of a process. It is safe
// for concurrent use. A nil one has no limits.
type Slots struct {
	mu       sync.Mutex // guards what follows
	total    int        // outstanding visits
	visits   map[*hosts.Visit]parties
	inUse    map[party]int
	unplaced int        // visits to hosts at unknown addresses
	costs    fair.Usage // of slow visits, in seconds, by domain
	fetchers map[string]offer
	offered  int // slots of all fetchers
	capacity int // at the last grant
	wants    map[int]wants
	limits   [kinds]limit
	othersAt [kinds]time.Time // when parties within their share were seen last
	// When the limits are to be computed again, and for which capacity they were.
	limitsAt  time.Time
	limitsFor int
}

// offer is how many slots a fetcher has, and when it said so.
type offer struct {
	slots int
	at    time.Time
}

// wants is which slots the hosts of a shard need.
type wants struct {
	// How many hosts of each party are visited, due, or due in a moment; 0: some are due soon.
	by                map[party]int
	fastNow, fastSoon int // of hosts of domains that are not slow
}

// limit is what parties beyond their share may have.
type limit struct {
	most   int  // slots of one party
	others bool // parties within their share need slots now or soon
}

// NewSlots makes the slots of a process.
func NewSlots() *Slots {
	return &Slots{
		visits: map[*hosts.Visit]parties{}, inUse: map[party]int{}, costs: fair.Usage{Half: slowHalf},
		fetchers: map[string]offer{}, wants: map[int]wants{},
	}
}

// Offer notes that a fetcher has so many slots for the visits of this process; 0: it did not say.
func (x *Slots) Offer(fetcher string, slots int, now time.Time) {
	if x == nil || slots <= 0 {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if _, known := x.fetchers[fetcher]; !known && len(x.fetchers) >= maxFetchers {
		return
	}
	x.fetchers[fetcher] = offer{slots, now}
	x.offered = 0
	for name, o := range x.fetchers {
		if now.Sub(o.at) > fetcherGone {
			delete(x.fetchers, name)
			continue
		}
		x.offered += o.slots
	}
}

// Take counts a visit that begins.
func (x *Slots) Take(v *hosts.Visit, now time.Time) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if _, counted := x.visits[v]; !counted {
		x.count(v, x.partiesOf(v.Host, now), +1)
	}
}

// Release counts a visit that has ended, if it was counted.
func (x *Slots) Release(v *hosts.Visit) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if ps, counted := x.visits[v]; counted {
		x.count(v, ps, -1)
		delete(x.visits, v)
	}
}

// Moved counts a visit at the address where its host was found.
func (x *Slots) Moved(v *hosts.Visit, now time.Time) {
	if x == nil || v == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if ps, counted := x.visits[v]; counted {
		x.count(v, ps, -1)
		x.count(v, x.partiesOf(v.Host, now), +1)
	}
}

// Cost charges the domain of a host with what a visit has cost others, if the visit was slow. took
// is how long it lasted, and delays how long it had to wait between its requests.
func (x *Slots) Cost(h *hosts.Host, took, delays time.Duration, now time.Time) {
	cost := took - delays
	if x == nil || h.Domain == nil || cost < slowVisit || 2*cost <= took {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.costs.Charge(now, cost.Seconds(), fair.Registered(h.Domain.Name))
}

// Forget notes that a shard was closed.
func (x *Slots) Forget(shard int) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.wants, shard)
}

// expect notes which slots the hosts of a shard need: those with visits, and those to be visited at
// a time.
func (x *Slots) expect(shard int, visited map[crawl.VisitID]*hosts.Visit, due hosts.Schedule, waiting map[party][]*hosts.Host, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	w := wants{by: make(map[party]int, len(x.wants[shard].by))}
	for _, v := range visited {
		w.add(x.partiesOf(v.Host, now), true)
	}
	for _, h := range due {
		if wait := h.When.Sub(now); wait < slotsSoon {
			w.add(x.partiesOf(h, now), wait < slotsNow)
		}
	}
	for _, list := range waiting {
		for _, h := range list {
			w.add(x.partiesOf(h, now), true)
		}
	}
	x.wants[shard] = w
}

// unsure reports whether the fetcher is to look at the address of h before it visits it: it is not
// known, a share of the slots is used by visits to hosts at unknown addresses already, and not all
// visits are to one domain.
func (x *Slots) unsure(h *hosts.Host) bool {
	if x == nil || h.Domain == nil || h.KnownBlock().IsValid() {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.unplaced < max(x.capacity/SlotsShare, 1) {
		return false
	}
	own := party{kind: byDomain, who: fair.Registered(h.Domain.Name)}
	for p := range x.inUse {
		if p.kind == byDomain && p != own {
			return true
		}
	}
	return false
}

// beyond returns the party, if there is one, that has too many slots for h to get one of the free
// ones. free is how many a fetcher offers.
func (x *Slots) beyond(h *hosts.Host, free int, now time.Time) party {
	if x == nil {
		return party{}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	// Older fetchers do not say how many slots they have, and busy ones may have asked long ago.
	x.capacity = max(x.offered, x.total+free)
	share := max(x.capacity/SlotsShare, 1)
	for _, p := range x.partiesOf(h, now) {
		used := x.inUse[p]
		if p.kind == byNothing || used < share {
			continue
		}
		x.setLimits(share, now)
		l := x.limits[p.kind]
		all, others := x.beyondShare(p.kind, share)
		if others || l.others || x.othersAt[p.kind].IsZero() {
			x.othersAt[p.kind] = now
		}
		if used >= max(l.most, share) || now.Sub(x.othersAt[p.kind]) < slotsAlone && all >= x.capacity-share {
			return p
		}
	}
	return party{}
}

// The functions below are called with mu locked, those of wants without.

func (x *Slots) count(v *hosts.Visit, ps parties, n int) {
	x.total += n
	x.visits[v] = ps
	if ps[1].unplaced {
		x.unplaced += n
	}
	for _, p := range ps {
		if p.kind == byNothing {
			continue
		}
		if x.inUse[p] += n; x.inUse[p] <= 0 {
			delete(x.inUse, p)
		}
	}
}

// partiesOf returns the parties of a host. As long as its address is unknown, its domain is its
// party by block, too. Only the domain makes a host slow: the sites at a shared address would
// otherwise pay for their neighbours.
func (x *Slots) partiesOf(h *hosts.Host, now time.Time) (ps parties) {
	if h.Domain == nil {
		return ps
	}
	domain := fair.Registered(h.Domain.Name)
	ps[0], ps[1] = party{kind: byDomain, who: domain}, party{kind: byBlock, who: domain, unplaced: true}
	if b := h.KnownBlock(); b.IsValid() {
		ps[1] = party{kind: byBlock, who: fair.BlockOf(b)}
	}
	if x.costs.Of(now, domain) >= slowDomain {
		ps[2] = slowOnes
	}
	return ps
}

func (w *wants) add(ps parties, now bool) {
	n := 0
	if now {
		n = 1
	}
	for _, p := range ps[:2] {
		if p.kind != byNothing {
			w.by[p] += n
		}
	}
	if ps[2] != slowOnes {
		w.fastNow += n
		w.fastSoon++
	}
}

// beyondShare returns how many slots the parties of a kind have that have at least one share, and
// whether others have some.
func (x *Slots) beyondShare(k kind, share int) (used int, others bool) {
	for p, n := range x.inUse {
		switch {
		case p.kind != k:
		case n < share:
			others = true
		case !p.unplaced:
			used += n
		}
	}
	if k == byBlock {
		used += x.unplaced // all of them may be there
	}
	return used, others
}

// setLimits computes the limits, at intervals.
func (x *Slots) setLimits(share int, now time.Time) {
	if x.limitsFor == x.capacity && now.Before(x.limitsAt) {
		return
	}
	began := time.Now()
	defer func() { x.limitsAt, x.limitsFor = now.Add(max(slotsTick, slotsCost*time.Since(began))), x.capacity }()
	all := map[party]int{}
	fastNow, fastSoon := 0, 0
	for _, w := range x.wants {
		for p, n := range w.by {
			all[p] += n
		}
		fastNow, fastSoon = fastNow+w.fastNow, fastSoon+w.fastSoon
	}
	var need [kinds][]int // how many parties need at least so many slots
	for k := range need {
		need[k], x.limits[k] = make([]int, x.capacity+1), limit{}
	}
	for p, n := range all {
		need[p.kind][min(n, x.capacity)]++
		if x.inUse[p] < share {
			x.limits[p.kind].others = true
		}
	}
	for k := range need {
		x.limits[k].most = level(need[k])
	}
	x.limits[byPace] = limit{most: x.capacity - fastNow, others: fastSoon > 0}
}

// level returns how many slots each party may have so that all parties together have all slots at
// most. need[n] is how many parties need n slots, and the last one how many need all, or more.
func level(need []int) int {
	capacity := len(need) - 1
	for n := capacity - 1; n >= 0; n-- {
		need[n] += need[n+1] // now: at least n
	}
	used := 0
	for n := 1; n <= capacity; n++ {
		if used += need[n]; used > capacity {
			return n - 1
		}
	}
	return capacity
}

// lookSoon counts the hosts that are due soon, at intervals.
func (s *Visits) lookSoon(now time.Time) {
	if s.AllSlots == nil || now.Before(s.lookSoonAt) {
		return
	}
	began := time.Now()
	s.AllSlots.expect(s.ledger.ID, s.Outstanding, s.ledger.Due, s.waiting, now)
	s.lookSoonAt = now.Add(max(slotsTick, slotsCost*time.Since(began)))
}

// Reported takes from an outcome of a visit to h what concerns its slot. v is nil if the visit is
// not outstanding.
func (s *Visits) Reported(h *hosts.Host, v *hosts.Visit, o *crawl.Outcome, now time.Time) {
	if b, err := netip.ParseAddr(o.Block); err == nil && h.FoundAt(b) {
		s.AllSlots.Moved(v, now)
	}
	if v != nil && !o.Partial {
		s.AllSlots.Cost(h, now.Sub(v.Since), time.Duration(o.Requests)*o.Delay, now)
	}
}

// passOver takes a due host out of the schedule until its party may have more slots. Some hosts of
// each party wait in memory. Further ones are postponed, so that they may be evicted, and return
// little by little.
func (s *Visits) passOver(h *hosts.Host, p party, now time.Time) {
	if list := s.waiting[p]; len(list) < max(s.AllSlots.Capacity(), hosts.MaxResident/8) && s.nWaiting < hosts.MaxResident {
		s.ledger.Due.Remove(h)
		h.WaitForSlot()
		s.waiting[p], s.nWaiting = append(list, h), s.nWaiting+1
		return
	}
	at := now.Add(postponeLeast)
	if last := s.postponed[p]; !last.Before(at) {
		at = last.Add(postponeStep)
	}
	s.postponed[p] = at
	h.DelayUntil(at, h.DueReason)
	s.reschedule(h, now)
}

const (
	// postponeLeast is the least time for which a host is postponed.
	postponeLeast = time.Second
	// postponeStep is the time between two hosts of a party that were postponed.
	postponeStep = 20 * time.Millisecond
)

// takeWaiting returns up to n hosts of each party to the schedule whose party may have more slots.
func (s *Visits) takeWaiting(n int, now time.Time) {
	for p, list := range s.waiting {
		for i := 0; i < n && len(list) > 0; i++ {
			h := list[0]
			known := s.ledger.ByID[h.ID] == h
			if known && s.AllSlots.beyond(h, n, now) == p {
				break
			}
			list[0], list = nil, list[1:]
			s.nWaiting--
			if h.TrySlot(); known {
				s.reschedule(h, now)
			}
		}
		if s.waiting[p] = list; len(list) == 0 {
			delete(s.waiting, p)
		}
	}
	for p, at := range s.postponed {
		if at.Before(now) {
			delete(s.postponed, p)
		}
	}
}

// Capacity is how many slots all fetchers have, as far as it is known.
func (x *Slots) Capacity() int {
	if x == nil {
		return 0
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.capacity
}
