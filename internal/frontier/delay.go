package frontier

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// The limits of politeness (design §6).
const (
	minPublicDelay = time.Second      // for hosts the operator has not called his own
	crawlDelayCap  = 10 * time.Minute // above it a host is held and reported, never hurried
	longestDelay   = 24 * time.Hour   // whatever somebody writes into a robots.txt, we look again after a day
	backoffStart   = time.Second      // the first adaptive delay, when the ordinary one is shorter than half of it
	backoffMax     = 10 * time.Minute
	visitSpan      = 10 * time.Second // a visit holds as many URLs as fit in this at the host's delay
	maxVisitURLs   = 64
)

// spacing is a delay and what it comes from, for `curtsy hosts`.
type spacing struct {
	d      time.Duration
	source string
}

// baseDelay is the configured delay as it holds for h: never under a second unless the host is the operator's own, a
// seed's, or known to be private.
func (s *shard) baseDelay(h *host) time.Duration {
	d := s.j.spec.Delay
	if d < minPublicDelay && !s.j.hurry[h.Name] && !h.Private {
		d = minPublicDelay
	}
	return d
}

// delayOf is the spacing of requests to h: the largest of all that is asked for.
func (s *shard) delayOf(h *host) spacing {
	sp := spacing{s.baseDelay(h), "configured"}
	if sp.d != s.j.spec.Delay {
		sp.source = "default"
	}
	for i := range h.Origins {
		o := &h.Origins[i]
		if o.HasDelay && o.Copy == crawl.RobotsParsed && o.CrawlDelay > sp.d {
			sp = spacing{min(o.CrawlDelay, longestDelay), "crawl-delay"}
		}
	}
	if h.Backoff > 0 {
		d := max(2*s.baseDelay(h), backoffStart)
		for i := 1; i < h.Backoff && d < backoffMax; i++ {
			d *= 2
		}
		if d = min(d, backoffMax); d > sp.d {
			sp = spacing{d, "backoff"}
		}
	}
	return sp
}

// grantDelay is what a visit is told. While the address of a host is not known and may turn out private, the fetcher, who
// sees the address it dials, decides whether the least delay of public hosts applies.
func (s *shard) grantDelay(h *host) time.Duration {
	if h.Fetched > 0 || h.Private || !s.j.spec.AllowPrivate {
		return s.delayOf(h).d
	}
	known := h.Private
	h.Private = true
	d := s.delayOf(h).d
	h.Private = known
	return d
}

// backOff adapts to what a visit met: doubled for overload and timeouts, eased by one step for a visit without.
func (s *shard) backOff(h *host, o *crawl.Outcome) {
	switch {
	case o.Overloads > 0 || o.Timeouts > 0:
		h.Backoff = min(h.Backoff+1, 12)
	case h.Backoff > 0:
		h.Backoff--
	}
}

// retryIn is how long a URL waits after its nth failed attempt, n from 1: 5 s and 20 s at the ordinary delay, less where
// the operator hurries his own host.
func (s *shard) retryIn(h *host, n int) time.Duration {
	d := min(max(5*s.baseDelay(h), time.Second), 5*time.Second)
	for ; n > 1; n-- {
		d *= 4
	}
	return d
}

// respondedIn keeps a smoothed figure of how long a request takes, for the ETA.
func (s *shard) respondedIn(h *host, o *crawl.Outcome) {
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
