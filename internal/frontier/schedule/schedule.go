package schedule

import (
	"container/heap"
	"time"

	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/polite"
)

// Ready says whether h has work, and from when on its origins let it be done. The host's own Due
// comes on top. A host that the operator has paused has none.
func (s *Visits) Ready(h *hosts.Host, now time.Time) (from time.Time, ok bool) {
	if s.polite.Paused(h) {
		return from, false
	}
	if len(h.Aux) > 0 {
		h.Few = s.sitemaps.FewWait(h)
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
		if u := polite.From(o, now); u.After(t) {
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

// Schedule puts every misplaced host where it belongs. It runs once when an event, a tick or a
// grant is done (guarded), and before anybody reads the schedule. A host that has left memory
// meanwhile is not in the schedule any more.
func (s *Visits) Schedule(now time.Time) {
	for _, h := range s.ledger.TakeUnscheduled() {
		s.Reschedule(h, now)
	}
}

// Reschedule puts h where it belongs now. Who changes a host calls touch or misplace instead, which
// cost less.
func (s *Visits) Reschedule(h *hosts.Host, now time.Time) {
	s.reschedule(h, now)
	if h.At == 0 {
		hosts.Signal(s.Notify)
	}
}

// reschedule is Reschedule without a signal to whoever grants visits.
func (s *Visits) reschedule(h *hosts.Host, now time.Time) {
	from, ok := s.Ready(h, now)
	if !ok || h.Visit != nil {
		if h.At >= 0 {
			heap.Remove(&s.ledger.Due, h.At)
		}
		return
	}
	h.When = h.Due
	if from.After(h.When) {
		h.When = from
	}
	if t := s.polite.DelayedUntil(h); t.After(h.When) {
		h.When = t
	}
	if h.At < 0 {
		heap.Push(&s.ledger.Due, h)
	} else {
		heap.Fix(&s.ledger.Due, h.At)
	}
}

// NextDue is when this shard may have something to grant; zero when it cannot tell of anything.
func (s *Visits) NextDue(now time.Time) time.Time {
	if !s.ledger.Phase.Active() || s.ledger.Judge.Spec.Paused || !s.ledger.Valid() {
		return time.Time{} // nothing can be granted now, due or not
	}
	s.Schedule(now)
	t := s.urls.Later
	if len(s.passedOver) > 0 && (t.IsZero() || t.After(s.passedOverAt.Add(PassedOverAgain))) {
		t = s.passedOverAt.Add(PassedOverAgain)
	}
	if len(s.ledger.Due) > 0 && (t.IsZero() || s.ledger.Due[0].When.Before(t)) {
		t = s.ledger.Due[0].When
		if t.IsZero() {
			t = time.Unix(0, 1)
		}
	}
	if loaded := s.ledger.NextEvicted(); len(s.passedOver) < hosts.MaxResident && !loaded.IsZero() && (t.IsZero() || loaded.Before(t)) {
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
	return t
}
