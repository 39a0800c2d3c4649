package hosts

import (
	"cmp"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/frontier/judge"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Memory holds the hosts that are being visited or soon will be, however many are known. All others
// are evicted: their records lie together in the file, and an index has those with work. One rule
// decides for every host, whenever its record is to be written (settle): a host leaves if it may
// leave, and if too many hosts of its kind are in memory.
//
// There are two kinds, which have limits of their own so that neither displaces the other:
//
//   - New hosts were never visited. They may leave at any time. At most maxResident stay, the first
//     that were found. BucketWaiting has the others with work, in the order in which they were
//     found, and they are loaded when half of those in memory have been visited.
//   - Visited hosts may leave unless something keeps them that no time ends (mustStay). Beyond
//     MaxResident those leave that have no work now or soon, beyond maxVisited all. BucketEvicted
//     has those with work, ordered by the time when it is due, and they are loaded then.
//
// A host that an event names is loaded until the next commit, of either kind. After a crash the
// file has each host where the last commit left it: in memory (BucketHosts) or evicted, never both.

// Eviction has the hosts of a shard that are in memory, loads others, and decides which of them
// leave. It is guarded by Mu of the file.
type Eviction struct {
	// Hosts and ByID have the hosts in memory.
	Hosts map[canon.Host]*Host
	ByID  map[store.HostID]*Host
	// ToEvict are hosts of an older file that are still to be evicted (EvictSome).
	ToEvict []store.HostID

	file    *store.File
	domains *Domains
	places  *Places
	judge   *judge.Judge // the settings of the shard
	hooks   Hooks

	dirty    []*Host // hosts that differ from their records
	loaded   []*Host // hosts loaded since the last commit
	resident int     // number of hosts in memory that were never visited
	staying  int     // number of hosts in memory that were visited and must not be evicted
	// Evictable hosts that stay because memory is free; some may have been evicted since
	idle  []*Host
	index evictedIndex
	// Hosts that were evicted lately, and numbers of more of them (lately.go)
	lately  lately
	numbers numbers
	cleans  cleanFiles
}

// MaxResident is the limit from which the others follow. Tests reduce it.
var MaxResident = 1024

// maxResident is the maximum number of new hosts in memory. It does not count hosts that the
// operator has paused, so that they leave space for hosts that may be visited.
func (s *Eviction) maxResident() int { return MaxResident + s.judge.Paused }

// maxVisited is the number of visited hosts beyond which even hosts leave that could be visited at
// once. They are loaded again when a fetcher has a free slot.
func maxVisited() int { return 4 * MaxResident }

const (
	// evictAfter is how long a host has no work before it is evicted for that reason alone.
	evictAfter = 20 * time.Second
	// evictMost is the longest time for which a host with work is evicted. Its times are checked
	// then, in case the clock was wrong.
	evictMost = 6 * time.Hour
)

// residentVisited is the number of hosts in memory that were visited and may be evicted.
func (s *Eviction) residentVisited() int { return len(s.ByID) - s.resident - s.staying }

// Meet notes that a host no longer counts as never visited.
func (s *Eviction) Meet(h *Host) {
	if h.Fresh {
		h.Fresh = false
		s.resident--
	}
}

// PutAway writes changed hosts and evicts those that need not stay in memory. No caller may keep a
// pointer to a host across it, unless the host has a visit, auxiliary requests or a mirror record.
func (s *Eviction) PutAway() error {
	now := time.Now()
	s.hooks.Schedule(now) // the schedule determines how long a host may be evicted
	// Descending ids: of the new hosts, the last ones are evicted first.
	slices.SortFunc(s.dirty, func(a, b *Host) int { return cmp.Compare(b.ID, a.ID) })
	for _, h := range s.dirty {
		h.dirty = false
		if err := s.settle(h, now); err != nil {
			return err
		}
	}
	if err := s.evictIdle(now); err != nil {
		return err
	}
	s.dirty = s.dirty[:0]
	for _, h := range s.loaded {
		if s.ByID[h.ID] != h {
			continue
		}
		var err error
		switch {
		case h.Evicted && (h.Untouched() || h.plain() && !s.hooks.Uses(h)):
			s.forget(h) // nothing was changed
		case h.Evicted:
			err = s.keep(h)
		case s.leavesNew(h): // a host of an older file
			err = s.evict(h, time.Time{})
		}
		if err != nil {
			return err
		}
	}
	s.loaded = s.loaded[:0]
	s.hooks.Schedule(now) // otherwise s.places.misplaced would keep evicted hosts in memory
	return nil
}

// settle decides whether a changed host stays in memory, and writes its record.
func (s *Eviction) settle(h *Host, now time.Time) error {
	if h.Fresh && !h.Untouched() {
		s.Meet(h)
	}
	if until, leaves := s.leaves(h, now); leaves {
		return s.evict(h, until)
	}
	return s.keep(h)
}

// leaves is the rule: whether h leaves memory now, and until when if it was visited.
func (s *Eviction) leaves(h *Host, now time.Time) (until time.Time, leaves bool) {
	if h.isNew() {
		return until, s.leavesNew(h)
	}
	until, may := s.evictableUntil(h, now)
	if s.pin(h, !may && h.Visit == nil); !may {
		return until, false
	}
	n, idle := s.residentVisited(), until.IsZero() || until.After(now.Add(evictAfter))
	if n > maxVisited() || idle && n > MaxResident {
		return until, true
	}
	if idle && !h.idle {
		h.idle = true
		s.idle = append(s.idle, h)
	}
	return until, false
}

// isNew reports that h counts as a host that was never visited.
func (h *Host) isNew() bool { return h.until == 0 && (h.Fresh || h.Untouched()) }

// leavesNew reports that a host leaves memory that was never visited.
func (s *Eviction) leavesNew(h *Host) bool {
	return h.Untouched() && (h.Evicted || h.Closed || h.Fresh && (h.Queued == 0 || s.resident > s.maxResident()))
}

// evictIdle evicts hosts without work that stayed because memory was free, while too many hosts are
// in memory.
func (s *Eviction) evictIdle(now time.Time) error {
	n := 0
	for ; n < len(s.idle) && s.residentVisited() > MaxResident; n++ {
		h := s.idle[n]
		if h.idle = false; s.ByID[h.ID] == h {
			if err := s.settle(h, now); err != nil {
				return err
			}
		}
	}
	s.idle = slices.Delete(s.idle, 0, n)
	if len(s.idle) > MaxResident+2*len(s.ByID) {
		s.idle = slices.DeleteFunc(s.idle, func(h *Host) bool { return s.ByID[h.ID] != h })
	}
	return nil
}

// pin notes whether a visited host must stay in memory, however many hosts there are.
func (s *Eviction) pin(h *Host, pinned bool) {
	if pinned == h.pinned {
		return
	}
	if h.pinned = pinned; pinned {
		s.staying++
	} else {
		s.staying--
	}
}

// evictableUntil reports whether a visited host need not be in memory, and until when. The zero
// time means until an event names it. The host's position in the schedule must be up to date.
func (s *Eviction) evictableUntil(h *Host, now time.Time) (until time.Time, may bool) {
	if s.mustStay(h) || s.hooks.Uses(h) {
		return until, false
	}
	if h.At >= 0 {
		if until = h.When; until.Before(now) {
			until = now
		}
	} else if h.Queued > 0 || s.judge.Spec.Refreshes() && h.again() > 0 {
		return until, false // it waits for something other than a time
	}
	if at := sitemapsDue(s.judge, h); !at.IsZero() {
		// A host that was loaded for its sitemaps, but was not asked for them, is not loaded again
		// at once.
		if soon := now.Add(10 * time.Minute); at.Before(soon) {
			at = soon
		}
		if until.IsZero() || at.Before(until) {
			until = at
		}
	}
	if most := now.Add(evictMost); until.After(most) {
		until = most
	}
	return until, true
}

// mustStay reports that something keeps a host in memory that no time ends.
func (s *Eviction) mustStay(h *Host) bool {
	return !h.plain() || h.Waits || h.Later > 0 || h.SitemapsDue > 0 || h.DueReason == DueAddress || h.Queued > 0 && s.judge.LimitsPages() ||
		s.judge.Spec.Hosts[h.Name].Paused
}

// again is the number of the host's URLs that will be fetched again some time.
func (h *Host) again() (n int64) {
	for i := range h.Origins {
		n += h.Origins[i].Again
	}
	return n
}

// Slower reports that the operator may have slowed h down while it was not in memory.
func (s *Eviction) Slower(h *Host) bool { return h.paces != s.file.Meta.Paces }

// evict removes a host from memory, until a time if it was visited. The zero time means that no
// work is due then.
func (s *Eviction) evict(h *Host, until time.Time) error {
	if s.file.Tx.Writable() { // otherwise it was only read, and its record is in the file
		if err := s.index.put(h, until); err != nil {
			return err
		}
	}
	s.Meet(h)
	s.forget(h)
	return nil
}

// keep writes a host that stays in memory.
func (s *Eviction) keep(h *Host) error {
	if h.Evicted {
		h.Evicted = false
		if err := s.index.drop(h); err != nil {
			return err
		}
	}
	return h.save(s.file.Tx)
}

// EvictSome is a pass that evicts hosts of an older file, in which all hosts were resident.
func (s *Eviction) EvictSome(now time.Time) (more bool, err error) {
	for n := 0; n < store.PassStretch && len(s.ToEvict) > 0; n++ {
		id := s.ToEvict[len(s.ToEvict)-1]
		s.ToEvict = s.ToEvict[:len(s.ToEvict)-1]
		if h := s.ByID[id]; h != nil {
			s.MarkDirty(h) // in use: PutAway decides
			continue
		}
		h, err := readHost(s.file.Tx, id)
		if err != nil {
			return false, err
		}
		if h == nil || h.Evicted {
			continue
		}
		var until time.Time
		if !h.Untouched() {
			if s.mustStay(h) {
				if _, err = s.HostWith(id); err != nil {
					return false, err
				}
				continue
			}
			// Whether it was slowed down since its last visit is unknown. It gets its position in
			// the schedule when it is loaded.
			if h.older, h.paces = true, ^uint64(0); h.Queued > 0 || h.again() > 0 {
				until = now
			}
		}
		s.Hosts[h.Name], s.ByID[id] = h, h
		if err := s.evict(h, until); err != nil {
			return false, err
		}
	}
	return len(s.ToEvict) > 0, nil
}
