package polite

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
)

// DelayedUntil is when a host that sleeps, or was just woken, may be visited. After an unclean
// start it counts as visited then.
func (s *Polite) DelayedUntil(h *hosts.Host) (t time.Time) {
	if s.ledger.Meta.DelayedUntil == 0 || !h.Fresh && !h.Evicted {
		return t
	}
	return time.UnixMilli(s.ledger.Meta.DelayedUntil).Add(s.DelayOf(h).D)
}

// The limits of politeness (design §6).
const (
	minPublicDelay = time.Second      // for hosts the operator has not called his own
	CrawlDelayCap  = 10 * time.Minute // above it a host is held and reported, never hurried
	// Whatever somebody writes into a robots.txt, we look again after a day.
	LongestDelay = 24 * time.Hour
	// The first adaptive delay, when the ordinary one is shorter than half of it.
	backoffStart = time.Second
	backoffMax   = 10 * time.Minute
	// A visit holds as many URLs as fit in this at the host's delay.
	VisitSpan    = 10 * time.Second
	MaxVisitURLs = 64
)

// spacing is a delay and what it comes from, for `curtsy hosts`.
type spacing struct {
	D      time.Duration
	Source string
}

// baseDelay is the configured delay as it holds for h: never under a second unless the host is the
// operator's own, a seed's, or known to be private.
func (s *Polite) baseDelay(h *hosts.Host) time.Duration {
	d := s.ledger.Judge.Spec.Delay
	if d < minPublicDelay && !s.ledger.Judge.Hurries(h.Name) && !h.Private {
		d = minPublicDelay
	}
	return d
}

// DelayOf is the spacing of requests to h: the largest of all that is asked for.
func (s *Polite) DelayOf(h *hosts.Host) spacing {
	sp := spacing{s.baseDelay(h), "configured"}
	if sp.D != s.ledger.Judge.Spec.Delay {
		sp.Source = "default"
	}
	for i := range h.Origins {
		o := &h.Origins[i]
		if o.HasDelay && o.Copy == crawl.RobotsParsed && o.CrawlDelay > sp.D {
			sp = spacing{min(o.CrawlDelay, LongestDelay), "crawl-delay"}
		}
	}
	if d := s.ledger.Judge.Spec.Hosts[h.Name].Delay; d > sp.D {
		sp = spacing{d, "operator"}
	}
	if h.Backoff > 0 {
		d := max(2*s.baseDelay(h), backoffStart)
		for i := 1; i < h.Backoff && d < backoffMax; i++ {
			d *= 2
		}
		if d = min(d, backoffMax); d > sp.D {
			sp = spacing{d, "backoff"}
		}
	}
	return sp
}

// Paused reports that the operator wants nothing to be asked of h.
func (s *Polite) Paused(h *hosts.Host) bool { return s.ledger.Judge.Spec.Hosts[h.Name].Paused }

// Slowed has h wait for a delay that the operator has set since its last visit ended, for it alone
// or for all hosts.
func (s *Polite) Slowed(h *hosts.Host, now time.Time) {
	spec := &s.ledger.Judge.Spec
	if h.Last.IsZero() || h.Delay >= max(spec.Delay, spec.Hosts[h.Name].Delay) {
		return
	}
	if t := now.Add(s.DelayOf(h).D); h.Due.Before(t) {
		h.Due, h.DueReason = t, ""
		s.ledger.MarkDirty(h)
	}
}

// Lengthened has h wait for a delay that a robots.txt of another host brought since the last visit
// ended. That visit did not know of it, and the next one may be carried out by another fetcher.
func (s *Polite) Lengthened(h *hosts.Host, now time.Time) {
	d := s.DelayOf(h).D
	if h.Last.IsZero() || h.Delay >= d {
		return
	}
	if t := now.Add(d); h.Due.Before(t) {
		h.Due, h.DueReason = t, ""
		s.ledger.MarkDirty(h)
	}
}

// GrantDelay is what a visit is told. While the address of a host is not known and may turn out
// private, the fetcher, who sees the address it dials, decides whether the least delay of
// public hosts applies.
func (s *Polite) GrantDelay(h *hosts.Host) time.Duration {
	if h.Fetched > 0 || h.Private || !s.ledger.Judge.Spec.AllowPrivate {
		return s.DelayOf(h).D
	}
	known := h.Private
	h.Private = true
	d := s.DelayOf(h).D
	h.Private = known
	return d
}

// BackOff adapts to what a visit met: doubled, once, as soon as it tells of overload or a time-out;
// eased by one step at the end of a visit without.
func (s *Polite) BackOff(h *hosts.Host, o *crawl.Outcome) {
	switch trouble := o.Overloads > 0 || o.Timeouts > 0; {
	case trouble && !h.Reported.Trouble:
		h.Backoff = min(h.Backoff+1, 12)
		h.Reported.Trouble = true
	case !trouble && !o.Partial && h.Backoff > 0:
		h.Backoff--
	}
}

// RetryIn is how long a URL waits after its nth failed attempt, n from 1: 5 s and 20 s at the
// ordinary delay, less where the operator hurries his own host.
func (s *Polite) RetryIn(h *hosts.Host, n int) time.Duration {
	d := min(max(5*s.baseDelay(h), time.Second), 5*time.Second)
	for ; n > 1; n-- {
		d *= 4
	}
	return d
}

// RespondedIn keeps a smoothed figure of how long a request takes, for the ETA.
func (s *Polite) RespondedIn(h *hosts.Host, o *crawl.Outcome) {
	var sum time.Duration
	n := 0
	for i := range o.Results {
		if o.Results[i].Took > 0 {
			sum += o.Results[i].Took
			n++
		}
	}
	if n == 0 {
		return
	}
	if d := sum / time.Duration(n); h.Response == 0 {
		h.Response = d
	} else {
		h.Response += (d - h.Response) / 4
	}
}
