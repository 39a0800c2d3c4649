package shard

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
)

// A page may name ten thousand URLs of its host at no cost to its owner. So the number of known
// URLs of a host that were never fetched is limited, in proportion to what its delay permits us to
// fetch. Links beyond the limit are only counted. URLs to which several pages link are found again
// in time.

const (
	// waitingSpan is how long fetching all queued URLs may take at the host's delay. The resulting
	// number of URLs is kept between WaitingLeast and waitingMost.
	waitingSpan = 7 * 24 * time.Hour
	// WaitingLeast is how many URLs of a host may be queued at least, however slow it is.
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

// TooManyWait reports that no more URLs of h with that class may be recorded.
func (s *Links) TooManyWait(h *hosts.Host, class crawl.Class) bool {
	n := h.Refused
	if class == crawl.Queued {
		n = h.Queued
	}
	return n >= WaitingLeast && n >= s.MaxWaiting(h)
}

// leaveOut counts a link that is not recorded.
func (s *Links) leaveOut(o *offer) {
	o.Left = true
	if o.Host.LinkLeftOut() {
		s.ledger.Log.Warn("too many URLs of a host are queued: further links to it are not recorded", "host", o.Host.Name, "queued", o.Host.Queued,
			"refused", o.Host.Refused, "limit", s.MaxWaiting(o.Host))
	}
	s.ledger.Metrics.LeftOut.WithLabelValues("waiting").Inc()
}

// leaveOutHash counts a link that is not recorded because of its hash.
func (s *Links) leaveOutHash(o *offer) {
	o.Left = true
	if o.Host.LinkLeftOut() {
		s.ledger.Log.Warn("a site has chosen URLs with the same hash: further ones are not recorded", "host", o.Host.Name, "url", o.URL)
	}
	s.ledger.Metrics.LeftOut.WithLabelValues("hash").Inc()
}
