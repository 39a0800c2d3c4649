package shard

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
)

// A page may name ten thousand URLs of its host, and fetching it costs its owner nothing. So the
// URLs that are known of a host and were never fetched are bounded, in proportion to what its delay
// lets us fetch. Links past that are counted, not remembered: what is linked from more than one
// page is found again, by and by.

const (
	// waitingSpan is how long fetching all that waits may take at the host's delay; WaitingLeast
	// and waitingMost bound what follows.
	waitingSpan = 7 * 24 * time.Hour
	// WaitingLeast is how many URLs of a host may wait at least, however slow it is.
	WaitingLeast = 100_000
	waitingMost  = 5_000_000
)

// MaxWaiting is how many URLs of h may be queued, and how many more may be known although they are
// refused.
func (s *Links) MaxWaiting(h *hosts.Host) int64 {
	d := s.polite.DelayOf(h).D
	if d <= 0 {
		return waitingMost
	}
	return min(max(int64(waitingSpan/d), WaitingLeast), waitingMost)
}

// TooManyWait reports that no more URLs of that class can be remembered of h.
func (s *Links) TooManyWait(h *hosts.Host, class crawl.Class) bool {
	n := h.Refused
	if class == crawl.Queued {
		n = h.Queued
	}
	return n >= WaitingLeast && n >= s.MaxWaiting(h)
}

// LeaveOut counts a link that is not remembered.
func (s *Links) LeaveOut(o *hosts.Link) {
	o.LeaveOut()
	if o.Host.LeftOut++; o.Host.LeftOut == 1 {
		s.ledger.Log.Warn("too many URLs of a host are queued: further links to it are not recorded", "host", o.Host.Name, "queued", o.Host.Queued,
			"refused", o.Host.Refused, "limit", s.MaxWaiting(o.Host))
	}
	s.ledger.Metrics.LeftOut.WithLabelValues("waiting").Inc()
	s.ledger.MarkDirty(o.Host)
}
