package hosts

import (
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Visit is an outstanding visit. Grants are not logged: after an unclean take-over the new owner
// waits until every older visit has ended or its lease has expired.
type Visit struct {
	ID    crawl.VisitID
	Host  *Host
	URLs  int
	List  []InVisit
	Since time.Time // when this process granted it
	Until time.Time

	Queued int // number of its URLs that were queued when it was granted
}

// InVisit is a URL of an outstanding visit that is still Queued.
type InVisit struct {
	URL   canon.URL
	Order uint64
}

// Add adds a queued URL to a visit that is being made.
func (v *Visit) Add(u canon.URL, order uint64) {
	v.List = append(v.List, InVisit{URL: u, Order: order})
}

// Filled notes that the visit has all its URLs, and how many, those fetched again included.
func (v *Visit) Filled(urls int) { v.URLs, v.Queued = urls, len(v.List) }

// Remove takes a URL out of the visit because it is not in the queue any more, and reports whether
// it was in the visit.
func (v *Visit) Remove(order uint64) bool {
	i := slices.IndexFunc(v.List, func(u InVisit) bool { return u.Order == order })
	if i < 0 {
		return false
	}
	v.List = slices.Delete(v.List, i, i+1)
	return true
}

// Renew prolongs the lease of the visit.
func (v *Visit) Renew(until time.Time) { v.Until = until }

// BeginVisit makes v the outstanding visit of h, which has been visited from now on. Visits are not
// stored: after a crash the new owner waits until this one must be over.
func (h *Host) BeginVisit(v *Visit) {
	h.Visit = v
	h.memory.Meet(h)
}

// ResumeVisit makes v the outstanding visit of h, which began under the shard's last owner.
func (h *Host) ResumeVisit(v *Visit) {
	h.Visit = v
	h.memory.places.Unschedule(h)
}

// WaitForSlot keeps h in memory and out of the schedule, because others need the slots.
func (h *Host) WaitForSlot() { h.Waits = true }

// TrySlot ends this; the caller places h in the schedule.
func (h *Host) TrySlot() { h.Waits = false }

// EndVisit notes that h has no visit any more, and has it placed in the schedule again.
func (h *Host) EndVisit() {
	h.Visit = nil
	h.memory.places.Unschedule(h)
}
