package polite

import (
	"time"

	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/pkg/robots"
)

// Retry says how long to wait between attempts at one kind of request. A Retry-After that asks for
// more always counts; the caller takes the longer of the two.
type Retry struct {
	First  time.Duration // after the first failure
	Factor time.Duration // after each further failure in a row the wait is so many times as long
	Most   time.Duration // but never longer than this
	Tries  int           // failures in a row after which the caller gives up; 0: it never does
}

// After is the wait after the nth failure in a row, n from 1.
func (r Retry) After(n int) time.Duration {
	d := r.First
	for ; n > 1 && d < r.Most; n-- {
		d *= r.Factor
	}
	return min(d, r.Most)
}

// UpTo is r with another longest wait.
func (r Retry) UpTo(most time.Duration) Retry {
	r.Most = most
	return r
}

// This table has every retry of the frontier, with two exceptions. The retries of URLs depend on
// the delay of their host (RetryIn). The sequences of the Remote Update Protocol are bounded by
// package rup.
var (
	// RetryRobots is robots.txt. Package robots counts the failures (robots.History) and says in
	// the end that there are no rules.
	RetryRobots = Retry{First: robots.FirstRetry, Factor: 2, Most: robots.MaxRetry}
	// RetryCopy is a page with a stored copy. Most is the longest interval of re-crawl.
	RetryCopy = Retry{First: 5 * time.Minute, Factor: 4}
	// RetryRUP is a site's RUP server.
	RetryRUP = Retry{First: time.Hour, Factor: 2, Most: 24 * time.Hour}
	// RetryDispatch is a server of mobile robots that could not be reached, or had no room.
	RetryDispatch = Retry{First: time.Hour, Factor: 2, Most: 24 * time.Hour}
	// RetryVerify is a page that is compared with what a mobile robot brought.
	RetryVerify = Retry{First: 10 * time.Minute, Factor: 2, Most: time.Hour, Tries: 3}
	// RetryWebSub is a hub.
	RetryWebSub = Retry{First: 2 * time.Hour, Factor: 2, Most: 32 * time.Hour, Tries: 5}
)

// The number of failures in a row after which a sitemap, or a feed, is left alone for long. Until
// then both wait as a URL of their host does.
const (
	SitemapTries = 3
	FeedTries    = 8
)

// retryURL is how a URL of h is retried: 5 s and 20 s after the first two failures at the ordinary
// delay, less where the operator hurries his own host.
func (s *Polite) retryURL(h *hosts.Host) Retry {
	return Retry{First: min(max(5*s.baseDelay(h, h.Private), time.Second), 5*time.Second), Factor: 4, Most: 24 * time.Hour, Tries: hosts.MaxAttempts}
}

// RetryIn is how long a URL of h waits after its nth failed attempt, n from 1.
func (s *Polite) RetryIn(h *hosts.Host, n int) time.Duration { return s.retryURL(h).After(n) }

// backedOff is the delay between requests to a host after so many doublings, because of overload.
func (s *Polite) backedOff(h *hosts.Host, private bool) time.Duration {
	return Retry{First: max(2*s.baseDelay(h, private), backoffStart), Factor: 2, Most: backoffMax}.After(h.Backoff)
}
