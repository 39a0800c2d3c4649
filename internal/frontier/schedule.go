package frontier

import (
	"container/heap"
	"time"
)

// schedule orders the hosts that have something to do and no visit by when they may be visited.
type schedule []*host

func (q schedule) Len() int           { return len(q) }
func (q schedule) Less(i, j int) bool { return q[i].when.Before(q[j].when) }
func (q schedule) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].at, q[j].at = i, j
}

// Push is for container/heap.
func (q *schedule) Push(x any) {
	h := x.(*host)
	h.at = len(*q)
	*q = append(*q, h)
}

// Pop is for container/heap.
func (q *schedule) Pop() any {
	old := *q
	h := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	h.at = -1
	return h
}

// ready says whether h has work, and from when on its origins let it be done. The host's own Due comes on top.
func (s *shard) ready(h *host, now time.Time) (from time.Time, ok bool) {
	for i := range h.errands {
		if t := h.errandFrom(&h.errands[i], now); !ok || t.Before(from) {
			from, ok = t, true
		}
		if from.IsZero() {
			return from, true
		}
	}
	for i := range h.Origins {
		o := &h.Origins[i]
		t, work := s.againFrom(h, i)
		if o.Ready > 0 {
			t, work = time.Time{}, true
		}
		if !work {
			continue
		}
		if u := o.from(now); u.After(t) {
			t = u
		}
		if !ok || t.Before(from) {
			from, ok = t, true
		}
	}
	if o := h.slow(); o != nil && from.Before(o.from(now)) {
		from = o.from(now)
	}
	return from, ok
}

// reschedule puts h where it belongs after anything about it changed: its work, its visit, its times.
func (s *shard) reschedule(h *host, now time.Time) {
	from, ok := s.ready(h, now)
	if !ok || h.visit != nil {
		if h.at >= 0 {
			heap.Remove(&s.due, h.at)
		}
		return
	}
	h.when = h.Due
	if from.After(h.when) {
		h.when = from
	}
	if h.at < 0 {
		heap.Push(&s.due, h)
	} else {
		heap.Fix(&s.due, h.at)
	}
	if s.due[0] == h {
		signal(s.notify)
	}
}

// nextDue is when this shard may have something to grant; zero when it cannot tell of anything.
func (s *shard) nextDue() time.Time {
	t := s.later
	if len(s.due) > 0 && (t.IsZero() || s.due[0].when.Before(t)) {
		t = s.due[0].when
		if t.IsZero() {
			t = time.Unix(0, 1)
		}
	}
	if t.IsZero() || s.broken != nil || s.frozen || s.j.spec.Paused || !s.valid() {
		return time.Time{} // nothing can be granted now, due or not
	}
	for _, after := range []time.Time{s.quiet, s.spent} {
		if t.Before(after) {
			t = after
		}
	}
	return t
}
