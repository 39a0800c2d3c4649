package hosts

import (
	"container/heap"
	"time"
)

// Schedule orders the hosts that have work and no visit by the time when they may be visited.
type Schedule []*Host

// Len is for container/heap.
func (q Schedule) Len() int { return len(q) }

// Less is for container/heap.
func (q Schedule) Less(i, j int) bool { return q[i].When.Before(q[j].When) }

// Swap is for container/heap.
func (q Schedule) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].At, q[j].At = i, j
}

// Push is for container/heap.
func (q *Schedule) Push(x any) {
	h := x.(*Host)
	h.At = len(*q)
	*q = append(*q, h)
}

// Pop is for container/heap.
func (q *Schedule) Pop() any {
	old := *q
	h := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	h.At = -1
	return h
}

// Place puts h into the schedule at a time, or moves it there.
func (q *Schedule) Place(h *Host, when time.Time) {
	h.When = when
	if h.At < 0 {
		heap.Push(q, h)
	} else {
		heap.Fix(q, h.At)
	}
}

// Remove takes h out of the schedule, if it is there.
func (q *Schedule) Remove(h *Host) {
	if h.At >= 0 {
		heap.Remove(q, h.At)
	}
}

// Places are the positions of a shard's hosts in the schedule. Positions that may be wrong are
// corrected when the event, tick or grant is done that changed something. They are guarded by Mu of
// the file.
type Places struct {
	// Due has the hosts that may be visited some time, and when.
	Due Schedule

	// Hosts whose position in Due must be updated; some may have been evicted since
	misplaced []*Host
}

// Unschedule notes that the position of h in the schedule may be wrong, because its work, its visit
// or one of its times has changed. Order (schedule.Visits.Schedule) corrects the position.
func (s *Places) Unschedule(h *Host) {
	if !h.misplaced {
		h.misplaced = true
		s.misplaced = append(s.misplaced, h)
	}
}

// take returns the hosts that Unschedule named, and counts them as scheduled. The slice is good
// until the next call of Unschedule.
func (s *Places) take() []*Host {
	all := s.misplaced
	s.misplaced = s.misplaced[:0]
	for _, h := range all {
		h.misplaced = false
	}
	return all
}
