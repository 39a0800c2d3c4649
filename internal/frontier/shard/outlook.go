package shard

import (
	"cmp"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/store"
)

// outlook is an estimate of the remaining work of the shard.
func (s *Account) outlook(sum *hosts.Summary, now time.Time) *crawl.Outlook {
	o := sum.Outlook
	o.Steps = slices.Clone(o.Steps)
	rate, span := s.ledger.Requests.AtWork(now)
	o.Requests, o.SpanS = rate, span.Seconds()
	// The summary may be older; its hosts have gone on since then.
	if o.Last != nil {
		last := *o.Last
		last.LeftS = max(last.LeftS-now.Sub(sum.At).Seconds(), 0)
		o.Last = &last
	}
	return &o
}

// summarise goes over all hosts, but not every time. With many hosts an earlier summary is reused
// for a while if it found work. That there is no work is always determined anew.
func (s *Account) summarise(now time.Time) *hosts.Summary {
	if m := &s.ledger.Summary; m.DueSoon > 0 && now.Sub(m.At) < 20*m.Cost {
		return m
	}
	began := time.Now()
	m := hosts.Summary{At: now}
	if s.passes.Passing() {
		m.DueSoon++ // the passes will add more
	}
	for ref := range s.mirrors.Settling {
		if s.mirrors.Resolving(ref) {
			m.DueSoon++
		}
	}
	evicted := s.ledger.Meta.Counts.Queued // all of their queued URLs are due
	for _, h := range s.ledger.Hosts {
		evicted -= h.Queued
		aux := int64(0)
		if len(h.Aux) > 0 && !h.Due.After(s.patientUntil(now)) {
			aux = s.polite.AuxDueBy(h, s.patientUntil(now), now, s.patience())
			m.DueSoon += aux
		}
		if next, n := s.recrawl.AgainOf(h); n > 0 {
			if m.Again == 0 || next.Before(m.Next) {
				m.Next = next
			}
			m.Again += n
		}
		if h.Queued == 0 {
			s.foresee(&m.Outlook, h, aux, now)
			continue
		}
		postponed, reason, until := s.Postponed(h, now)
		if postponed {
			m.Postponed = append(m.Postponed, crawl.PostponedHost{Host: string(h.Name), Queued: h.Queued, Reason: reason, Until: until})
			continue
		}
		m.DueSoon += h.Queued
		s.foresee(&m.Outlook, h, aux, now)
	}
	evicted -= s.resting(&m, now)
	slices.SortFunc(m.Postponed, func(a, b crawl.PostponedHost) int {
		return cmp.Or(cmp.Compare(b.Queued, a.Queued), cmp.Compare(a.Host, b.Host))
	})
	m.Postponed = m.Postponed[:min(len(m.Postponed), maxPostponed)]
	m.DueSoon += max(evicted, 0) + s.sitemaps.DueBy(s.patientUntil(now))
	m.Outlook.Left += float64(max(evicted, 0))
	m.Cost = time.Since(began)
	return s.ledger.Summarised(m)
}

// resting adds the evicted hosts with work to the summary, and returns how many URLs they have
// queued. Hosts that are evicted for longer than a crawl waits are reported as postponed.
func (s *Account) resting(m *hosts.Summary, now time.Time) (queued int64) {
	limit := s.patientUntil(now)
	var postponed []hosts.EvictedHost
	first := func() {
		slices.SortFunc(postponed, func(a, b hosts.EvictedHost) int {
			return cmp.Or(cmp.Compare(b.Queued, a.Queued), cmp.Compare(a.ID, b.ID))
		})
		postponed = postponed[:min(len(postponed), maxPostponed)]
	}
	err := s.ledger.EachEvicted(func(r hosts.EvictedHost) {
		queued += r.Queued
		if s.ledger.Judge.Spec.Refreshes() && r.Again > 0 {
			if m.Again += r.Again; m.Next.IsZero() || r.Until.Before(m.Next) {
				m.Next = r.Until
			}
		}
		switch {
		case r.Queued == 0:
		case !r.Until.After(limit) || s.closedEvicted(r.ID, now):
			m.DueSoon += r.Queued
			m.Outlook.Left += float64(r.Queued)
		default:
			if postponed = append(postponed, r); len(postponed) > 4*maxPostponed {
				first()
			}
		}
	})
	first()
	for _, r := range postponed {
		h, e := s.ledger.Peek(r.ID)
		if e != nil || h == nil {
			err = cmp.Or(err, e, store.ErrRecord)
			continue
		}
		_, reason, _ := s.Postponed(h, now)
		m.Postponed = append(m.Postponed, crawl.PostponedHost{Host: string(h.Name), Queued: r.Queued, Reason: reason, Until: r.Until})
	}
	if err != nil {
		s.ledger.Log.Error("evicted hosts cannot be read", "error", s.ledger.Blame(err))
	}
	return queued
}

// closedEvicted reports that an evicted host is not in memory because of its own hours, so that its
// site does not postpone it.
func (s *Account) closedEvicted(id store.HostID, now time.Time) bool {
	if !s.ledger.Judge.Hours.HasOwn() {
		return false
	}
	h, err := s.ledger.Peek(id)
	if err != nil || h == nil {
		return false
	}
	why, until := s.polite.Closed(h, now)
	return why != "" && !h.Due.After(until)
}

// foresee adds a host's work to the outlook: one delay for each request. It does not estimate how
// many more URLs will be found. In crawls of real sites every such estimate that we tried was
// farther from the result than none (design.md §9.2). While a host finds URLs faster than it
// finishes them, only a minimum is stated.
func (s *Account) foresee(o *crawl.Outlook, h *hosts.Host, aux int64, now time.Time) {
	queued := h.Queued
	if n := s.ledger.Judge.MaxPages(h.Name); n > 0 {
		queued = min(queued, max(n-h.Stored, 0)) // the other URLs are refused without a request
	}
	left := queued + aux
	if left == 0 || s.polite.Paused(h) { // the operator does not say until when
		return
	}
	// For a host that was not visited yet: the delay that its visit will have, because its address
	// may be private.
	delay := s.polite.GrantDelay(h)
	for i := range h.Origins {
		if o := &h.Origins[i]; o.Ready > 0 {
			if state, _ := polite.State(o, now); state == crawl.RobotsUnknown {
				left++ // its robots.txt is requested first
			}
			if now.After(o.DataDue) && !o.Mirror.Mirrored() {
				left++ // and its data.txt
			}
		}
	}
	// No delay is needed after the last response. The first request may have to wait for a delay,
	// in a running visit as well as between two visits.
	wait := max(h.Due.Sub(now), s.ledger.Phase.RemainingDelay(now), s.polite.HostFrom(h, now, now).Sub(now), 0) - delay
	seconds := o.AddHost(float64(left), wait, delay+h.Response)
	if h.Grows() {
		o.GrowingS = max(o.GrowingS, seconds)
	}
	if o.Last == nil || seconds > o.Last.LeftS {
		o.Last = &crawl.Bottleneck{
			Kind: crawl.WaitsHost, Host: string(h.Name), Queued: h.Queued, DelayS: delay.Seconds(), LeftS: seconds,
		}
	}
}
