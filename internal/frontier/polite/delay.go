package polite

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
)

// DelayedUntil is when an evicted host, or one that was just loaded, may be visited after an
// unclean start: it counts as visited when the start was complete.
func (s *Polite) DelayedUntil(h *hosts.Host) (t time.Time) {
	if s.ledger.Meta.DelayedUntil == 0 || !h.Fresh && !h.Evicted {
		return t
	}
	return time.UnixMilli(s.ledger.Meta.DelayedUntil).Add(s.DelayOf(h).D)
}

// The limits of politeness (design.md §6).
const (
	minPublicDelay = time.Second // for hosts that the operator has not declared their own
	// Beyond this a host is postponed and reported, never visited sooner
	CrawlDelayCap = 10 * time.Minute
	// Whatever a robots.txt requests, we look again after a day.
	LongestDelay = 24 * time.Hour
	// The first adaptive delay, when the ordinary one is shorter than half of it.
	backoffStart = time.Second
	backoffMax   = 10 * time.Minute
	maxBackoff   = 12 // doublings that are counted: that many have to be taken back
	// A visit has as many URLs as can be fetched in VisitSpan with the host's delay.
	VisitSpan    = 10 * time.Second
	MaxVisitURLs = 64
)

// spacing is a delay and its source, for `curtsy hosts`.
type spacing struct {
	D      time.Duration
	Source string
}

// baseDelay is the configured delay as it applies to h: at least a second, unless the host is the
// operator's own, a seed's, or known to be private.
func (s *Polite) baseDelay(h *hosts.Host, private bool) time.Duration {
	d := s.ledger.Judge.Spec.Delay
	if d < minPublicDelay && !s.ledger.Judge.Hurries(h.Name) && !private {
		d = minPublicDelay
	}
	return d
}

// DelayOf is the delay between requests to h: the longest of all that apply.
func (s *Polite) DelayOf(h *hosts.Host) spacing { return s.delayOf(h, h.Private) }

// delayOf is DelayOf as if the address of h were private, or public.
func (s *Polite) delayOf(h *hosts.Host, private bool) spacing {
	sp := spacing{s.baseDelay(h, private), "configured"}
	if sp.D != s.ledger.Judge.Spec.Delay {
		sp.Source = "default"
	}
	for i := range h.Origins {
		o := &h.Origins[i]
		if o.HasDelay && o.Copy == crawl.RobotsParsed && o.CrawlDelay > sp.D {
			sp = spacing{min(o.CrawlDelay, LongestDelay), "crawl-delay"}
		}
	}
	if d := s.ledger.Judge.Sites.Delay(h.Name); d > sp.D {
		sp = spacing{d, "site-rules"}
	}
	if d := s.ledger.Judge.Spec.Hosts[h.Name].Delay; d > sp.D {
		sp = spacing{d, "operator"}
	}
	if h.Backoff > 0 {
		if d := s.backedOff(h, private); d > sp.D {
			sp = spacing{d, "backoff"}
		}
	}
	return sp
}

// Paused reports that the operator has paused h.
func (s *Polite) Paused(h *hosts.Host) bool { return s.ledger.Judge.Spec.Hosts[h.Name].Paused }

// Slowed makes h wait for a delay that the operator has set since its last visit ended, for this
// host, in site rules or for all hosts.
func (s *Polite) Slowed(h *hosts.Host, now time.Time) {
	if h.Last.IsZero() || h.Delay >= s.ledger.Judge.LeastDelay(h.Name) {
		return
	}
	h.DelayUntil(now.Add(s.DelayOf(h).D), "")
}

// Lengthened makes h wait for a delay that a robots.txt has set since the last visit ended, read in
// a visit to another host. The last visit did not know of it, and the next one may run in another
// fetcher.
func (s *Polite) Lengthened(h *hosts.Host, now time.Time) {
	d := s.DelayOf(h).D
	if h.Last.IsZero() || h.Delay >= d {
		return
	}
	h.DelayUntil(now.Add(d), "")
}

// GrantDelay is the delay that a visit contains. While it is unknown whether the host's address is
// private, the fetcher, which sees the address, decides whether the minimum delay of public hosts
// applies.
func (s *Polite) GrantDelay(h *hosts.Host) time.Duration {
	if h.Fetched > 0 || h.Private || !s.ledger.Judge.Spec.AllowPrivate {
		return s.DelayOf(h).D
	}
	return s.delayOf(h, true).D
}

// BackOff adapts the delay to the result of a visit: it is doubled, once a visit, as soon as the
// visit reports overload or a time-out, and reduced by one step at the end of a visit without.
func (s *Polite) BackOff(h *hosts.Host, o *crawl.Outcome) {
	if o.Overloads > 0 || o.Timeouts > 0 {
		h.SlowDown(maxBackoff)
	} else if !o.Partial {
		h.SpeedUp()
	}
}

// RespondedIn updates the smoothed time of a request, for estimates.
func (s *Polite) RespondedIn(h *hosts.Host, o *crawl.Outcome) {
	var sum time.Duration
	n := 0
	for i := range o.Results {
		if o.Results[i].Took > 0 {
			sum += o.Results[i].Took
			n++
		}
	}
	if n > 0 {
		h.AnsweredIn(sum / time.Duration(n))
	}
}
