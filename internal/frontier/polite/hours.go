package polite

import (
	"time"

	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/mirror"
)

// OpenFrom is when the hours of the crawl permit requests, now or later. If they never do, which
// the settings do not permit, it is a day later.
func (s *Polite) OpenFrom(now time.Time) time.Time {
	if t := s.ledger.Judge.Hours.OfCrawl().Next(now); !t.IsZero() {
		return t
	}
	return now.Add(LongestDelay)
}

// Open reports whether the hours of the crawl permit requests now.
func (s *Polite) Open(now time.Time) bool { return s.ledger.Judge.Hours.OfCrawl().Open(now) }

// HostFrom is the first time, t or later, at which the own hours of h permit requests. The zero
// time stands for any time before now. If the hours of h and of the crawl have nothing in common,
// they are looked at again after a day. Hours of the crawl alone do not count here: they are the
// same for all hosts, and Visits.MayGrant asks for them.
func (s *Polite) HostFrom(h *hosts.Host, t, now time.Time) time.Time {
	own := s.ledger.Judge.Hours.Own(string(h.Name))
	if own == nil {
		return t
	}
	from := mirror.Latest(t, now)
	switch next := own.Next(from); {
	case next.IsZero():
		return now.Add(LongestDelay)
	case next.Equal(from):
		return t
	default:
		return next
	}
}

// Closed says why nothing may be requested of h now because of its hours, and until when; "" means
// that its hours permit requests.
func (s *Polite) Closed(h *hosts.Host, now time.Time) (why string, until time.Time) {
	of := s.ledger.Judge.Hours.Of(string(h.Name))
	if of.Open(now) {
		return "", until
	}
	if until = of.Next(now); until.IsZero() {
		return "its hours never permit requests: " + of.String(), now.Add(LongestDelay)
	}
	return "requests are sent to it only " + of.String(), until
}
