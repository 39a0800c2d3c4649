package urls

import (
	"cmp"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/store"
)

// DueFrom is the earliest time at which a URL of the i-th origin of h may be fetched again. ok is
// false when none will be.
func (s *Recrawl) DueFrom(h *hosts.Host, i int) (t time.Time, ok bool) {
	o := &h.Origins[i]
	if o.Again == 0 || !s.ledger.Judge.Spec.Refreshes() {
		return t, false
	}
	if o.AgainDue == 0 && s.ledger.Phase.MayRead() {
		s.urls.EachPace(h, i, func(_ Pace, next int64, _ uint64) bool {
			if o.AgainDue == 0 || next < o.AgainDue {
				o.FoundAgainDue(next)
			}
			return false
		})
	}
	return time.Unix(o.AgainDue, 0), true
}

// AgainOf is how many URLs of h will be fetched again, and the earliest time for the first of them.
func (s *Recrawl) AgainOf(h *hosts.Host) (first time.Time, n int64) {
	for i := range h.Origins {
		t, ok := s.DueFrom(h, i)
		if !ok {
			continue
		}
		if n == 0 || t.Before(first) {
			first = t
		}
		n += h.Origins[i].Again
	}
	if first.Before(h.Due) {
		first = h.Due
	}
	return first, n
}

// Due reports whether the next visit to h may fetch pages again.
func (s *Recrawl) Due(h *hosts.Host, now time.Time) bool {
	if o := polite.SlowOrigin(h); s.polite.AuxQuota(h, now) || o != nil && polite.From(o, now).After(now) {
		return false
	}
	for i := range h.Origins {
		if t, ok := s.DueFrom(h, i); ok && !t.After(now) && !polite.PagesFrom(&h.Origins[i], now).After(now) {
			if s.ledger.Budget.MayRead() {
				return true
			}
			s.ledger.NoPagesUntil(now.Add(polite.SpentPause))
			return false
		}
	}
	return false
}

// Candidate is a URL that is due to be fetched again.
type Candidate struct {
	origin int
	order  uint64
	value  float64
}

// DueAgain returns up to n URLs of h that are due to be fetched again, the most valuable first.
func (s *Recrawl) DueAgain(h *hosts.Host, n int, now time.Time) (all []Candidate) {
	for i := range h.Origins {
		if t, ok := s.DueFrom(h, i); !ok || t.After(now) || polite.PagesFrom(&h.Origins[i], now).After(now) {
			continue
		}
		taken, of := 0, Pace(0)
		s.urls.EachPace(h, i, func(p Pace, next int64, order uint64) bool {
			if p != of {
				taken, of = 0, p
			}
			over := now.Unix() - next
			if over < 0 || taken >= n {
				return false
			}
			all = append(all, Candidate{i, order, p.Value(over + int64(s.clamped(p)/time.Second))})
			taken++
			return true
		})
	}
	slices.SortFunc(all, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(a.order, b.order))
	})
	return all[:min(n, len(all))]
}

// PickAgain adds URLs that are due to be fetched again to a visit to h, until it has limit URLs.
func (s *Recrawl) PickAgain(h *hosts.Host, due []Candidate, limit int, now time.Time, g *crawl.Visit, used *[hosts.MaxOrigins]bool, bytes *int) error {
	records := s.ledger.Records()
	for _, d := range due[:min(len(due), max(limit-len(g.URLs), 0))] {
		key := store.URLKey(make([]byte, 0, 12), h.ID, d.order)
		r, err := DecodeRecord(key, records.Get(key))
		if err != nil {
			return err
		}
		if t := s.vouched(h, &r); t > now.Unix() && s.urls.IsStored(&r) && s.Wanted(&r) {
			if err := s.urls.PlanAt(h, &r, t, r.Pace); err != nil {
				return err
			}
			if err := s.urls.PutURL(key, &r); err != nil {
				return err
			}
			continue
		}
		if !s.urls.IsStored(&r) || !s.Wanted(&r) {
			if err := s.queueAgain(h, key, &r); err != nil {
				return err
			}
			continue
		}
		if *bytes += len(r.URL) + len(r.FoundOn) + len(r.ETag) + 64; *bytes > polite.MaxVisitBytes && len(g.URLs) > 0 {
			break
		}
		used[d.origin] = true
		g.URLs = append(g.URLs, crawl.VisitURL{
			URL: r.URL, FoundOn: r.FoundOn, Depth: r.Depth, Redirects: r.Redirects, Attempts: max(r.Attempts-1, 0),
			ETag: r.ETag, LastModified: r.LastModified(), Keep: !r.Gone,
		})
	}
	return nil
}

// queueAgain queues a URL that is due to be fetched again but has no stored copy, like any URL that
// is to be fetched. If it is no longer wanted, its plan is removed.
func (s *Recrawl) queueAgain(h *hosts.Host, key []byte, r *Record) error {
	var err error
	if s.Wanted(r) {
		err = s.urls.Refetch(h, r)
	} else {
		err = s.urls.Unplan(h, r)
	}
	if err != nil {
		return err
	}
	return s.urls.PutURL(key, r)
}
