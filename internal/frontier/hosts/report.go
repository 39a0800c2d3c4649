package hosts

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// BeginReport begins to take in an outcome of a visit. It returns false if nothing of it may be
// added to the sums of h: its end was applied before, or a newer visit has reported since, and then
// nobody knows how much of this one was added before that.
func (h *Host) BeginReport(id crawl.VisitID) bool {
	switch c := id.Compare(h.Last); {
	case c > 0:
		h.Last, h.Reported = id, Reported{Open: true}
		h.changed()
		return true
	case c < 0:
		return false
	}
	return h.Reported.Open
}

// AddReport adds what an outcome has more than the outcomes of the same visit before it: requests
// and bytes, to the sums of h and of the shard. It returns how many more requests were sent.
// Outcomes contain sums, so one that is applied twice, or too late, adds nothing.
func (h *Host) AddReport(o *crawl.Outcome) (sent int64) {
	sent = max(int64(o.Requests-h.Reported.Requests), 0)
	h.memory.file.Meta.Counts.AddSent(sent, max(o.Bytes-h.Reported.Bytes, 0))
	h.Fetched += sent
	h.Reported.Requests = max(o.Requests, h.Reported.Requests)
	h.Reported.Bytes = max(o.Bytes, h.Reported.Bytes)
	h.changed()
	return sent
}

// VisitedWith notes how a visit found h: whether the address dialled last was private, and which
// delay was in force at the end.
func (h *Host) VisitedWith(private bool, delay time.Duration) {
	h.Private, h.Delay = private, delay
	h.changed()
}

// EndReport notes that the end of the newest visit is applied: outcomes of it that still come add
// nothing.
func (h *Host) EndReport() {
	h.Reported = Reported{}
	h.changed()
}
