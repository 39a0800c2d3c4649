package schedule

import (
	"time"

	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/store"
)

// Ready reports whether h has work, and from when on its origins and its own hours permit it. The
// host's own Due may be later. A host that the operator has paused has no work.
func (s *Visits) Ready(h *hosts.Host, now time.Time) (from time.Time, ok bool) {
	if from, ok = s.work(h, now); ok {
		from = s.polite.HostFrom(h, from, now)
	}
	return from, ok
}

// work is Ready whatever the hours of h are.
func (s *Visits) work(h *hosts.Host, now time.Time) (from time.Time, ok bool) {
	if s.polite.Paused(h) {
		return from, false
	}
	if len(h.Aux) > 0 {
		h.ReadSitemapsBelow(s.sitemaps.FewWait(h))
	}
	for i := range h.Aux {
		if t := s.polite.AuxFrom(h, &h.Aux[i], now); !ok || t.Before(from) {
			from, ok = t, true
		}
		if from.IsZero() {
			return from, true
		}
	}
	for i := range h.Origins {
		o := &h.Origins[i]
		t, work := s.recrawl.DueFrom(h, i)
		if o.Ready > 0 && !s.urls.Full(h) {
			t, work = time.Time{}, true
		}
		if !work {
			continue
		}
		if u := polite.PagesFrom(o, now); u.After(t) {
			t = u
		}
		if !ok || t.Before(from) {
			from, ok = t, true
		}
	}
	if o := polite.SlowOrigin(h); o != nil && from.Before(polite.From(o, now)) {
		from = polite.From(o, now)
	}
	return from, ok
}

// Schedule updates the position of every misplaced host. It runs once at the end of an event, a
// tick or a grant (Ledger.Guarded), and before anybody reads the schedule. Hosts that were evicted
// meanwhile are no longer in the schedule.
func (s *Visits) Schedule(now time.Time) {
	for _, h := range s.ledger.TakeUnscheduled() {
		s.Reschedule(h, now)
	}
}

// Reschedule updates the position of h at once. Code that changes a host calls MarkDirty or
// Unschedule instead, which cost less.
func (s *Visits) Reschedule(h *hosts.Host, now time.Time) {
	s.reschedule(h, now)
	if h.At == 0 {
		store.Signal(s.Notify)
	}
}

// reschedule is Reschedule without a signal to the goroutine that grants visits.
func (s *Visits) reschedule(h *hosts.Host, now time.Time) {
	from, ok := s.Ready(h, now)
	if !ok || h.Visit != nil || h.Waits {
		s.ledger.Due.Remove(h)
		return
	}
	when := h.Due
	for _, t := range [...]time.Time{from, s.polite.DelayedUntil(h)} {
		if t.After(when) {
			when = t
		}
	}
	s.ledger.Due.Place(h, s.polite.HostFrom(h, when, now))
}

// NextDue is when this shard may have something to grant; zero when nothing is known to become due.
func (s *Visits) NextDue(now time.Time) time.Time {
	if !s.ledger.Phase.Active() || s.ledger.Judge.Spec.Paused || !s.ledger.Valid() {
		return time.Time{} // nothing can be granted now, due or not
	}
	s.Schedule(now)
	t := s.urls.Later
	if again := now.Add(PassedOverAgain); s.nWaiting > 0 && (t.IsZero() || t.After(again)) {
		t = again
	}
	if len(s.ledger.Due) > 0 && (t.IsZero() || s.ledger.Due[0].When.Before(t)) {
		t = s.ledger.Due[0].When
		if t.IsZero() {
			t = time.Unix(0, 1)
		}
	}
	if loaded := s.ledger.NextEvicted(); !loaded.IsZero() && (t.IsZero() || loaded.Before(t)) {
		t = loaded
	}
	if t.IsZero() {
		return t
	}
	for _, after := range []time.Time{s.ledger.Phase.Until, s.ledger.Spent} {
		if t.Before(after) {
			t = after
		}
	}
	if open := s.polite.OpenFrom(now); t.Before(open) && open.After(now) {
		t = open
	}
	return t
}
