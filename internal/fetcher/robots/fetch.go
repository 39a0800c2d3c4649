package robots

import (
	"bytes"
	"crypto/sha256"
	"net/http"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/answer"
	"github.com/curtsy/curtsy/internal/fetcher/requests"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// refresh requests an origin's robots.txt, publishes what was learnt, and returns what may be done
// on the origin. The owner of the shard has it before any request relies on it. refresh returns nil
// if the visit is over.
func (s *Sites) refresh(old *crawl.Robots) *Site {
	o := old.Origin
	start, err := o.URL(Path)
	if err != nil {
		// This cannot happen: the origin is that of a canonical URL.
		return &Site{Origin: o, Closed: true, until: s.Began.Add(time.Hour)}
	}
	var conditions http.Header
	var oldRules *ruleset
	if len(old.Digest) > 0 && (old.ETag != "" || old.LastModified != "") {
		if oldRules = s.rules(old); oldRules != nil { // without them a 304 would be of no use
			conditions = answer.Conditional(old.ETag, old.LastModified)
		}
	}
	fact, fail := s.fetch(start, 0, conditions, nil)
	switch {
	case fail.Unsent:
		return nil
	case fail.Barred: // that is no fact about the site
		return &Site{Origin: o, Bar: fail, until: s.Began.Add(time.Hour)}
	}
	s.Requests.Metrics.Robots.WithLabelValues(fact.State.String()).Inc()
	fact.Origin = o
	rules := s.learn(&fact, old, oldRules)
	if s.refreshed == nil {
		s.refreshed = make(map[canon.Origin]bool)
	}
	s.refreshed[o] = true
	if !s.Publish(fact) {
		return nil
	}
	site := &Site{Origin: o, rules: rules, Closed: rules == nil, until: time.Now().Add(fact.Fresh), fact: &fact}
	switch {
	case !s.NeedsText(o):
		fact.Body = nil
	case fact.Renewed:
		fact.Body = old.Body
	}
	if fact.State == crawl.RobotsUnreachable || fact.State == crawl.RobotsPending {
		site.until = s.Began.Add(time.Hour) // it is not requested again in this visit
		// A copy that is less than 24 hours old stays in use if a request for a new one fails. A
		// server that says "too much" is left alone.
		if old.Age+time.Since(s.Began) < robots.MaxAge && !answer.Overloaded(fact.Status) && fact.State == crawl.RobotsUnreachable &&
			(old.State == crawl.RobotsParsed || old.State == crawl.RobotsUnavailable) {
			if again := s.known(old); again != nil {
				again.until = s.Began.Add(robots.MaxAge - old.Age)
				return again
			}
		}
	}
	return site
}

// learn completes a fact and returns the rules that follow from it. They are nil if nothing may be
// requested.
func (s *Sites) learn(fact, old *crawl.Robots, oldRules *ruleset) *ruleset {
	var rules *ruleset
	switch fact.State {
	case crawl.RobotsParsed:
		if fact.Renewed {
			rules = oldRules
			fact.Digest = old.Digest
			if fact.ETag == "" {
				fact.ETag = old.ETag
			}
			if fact.LastModified == "" {
				fact.LastModified = old.LastModified
			}
		} else {
			rules = s.rules(fact)
		}
		fact.CrawlDelay, fact.HasCrawlDelay = rules.CrawlDelay()
		s.keepDelay(rules)
	case crawl.RobotsUnavailable:
		rules = allowAll
	}
	return rules
}

// fetch requests a robots.txt, follows redirects as long as they stay on this host, and returns
// what that amounts to (formats §7). redirects were followed before. The caller sets the fact's
// origin and Crawl-delay.
//
// A host may keep its own robots.txt wherever it likes. The robots.txt of another host is requested
// under this host's rules: permit says whether a URL may be requested. If it may not, the origin is
// unreachable, because there may be rules that we were not allowed to read.
func (s *Sites) fetch(u canon.URL, redirects int, conditions http.Header, permit func(canon.URL) Permission) (crawl.Robots, wire.Failure) {
	var refused Permission
	t := requests.Trail{At: u, Redirects: redirects, Most: robots.MaxRedirects}
	t.May = func(u canon.URL) bool {
		if permit == nil || u.PathQuery() == Path {
			return true
		}
		refused = permit(u)
		return refused.OK()
	}
	t.Ask = func(u canon.URL, moved bool) (wire.Answer, error) {
		if moved {
			conditions = nil
		}
		defer s.Requests.For(crawl.RequestRobots)()
		return s.Requests.Get(u, conditions, func(status int, _ http.Header) wire.Wanted {
			if 200 <= status && status <= 299 {
				// Parse sees by the additional bytes that there is more.
				return wire.Wanted{Limit: robots.MaxBytes + 2}
			}
			return wire.Wanted{}
		})
	}
	a, end, err := t.Follow(s.Job.Host)
	switch {
	case refused.Over:
		return crawl.Robots{}, wire.Failure{Unsent: true}
	case end == requests.TrailBarred:
		return crawl.Robots{State: crawl.RobotsUnreachable, Redirects: t.Redirects, Reason: "redirected to " + string(t.At) + ", which this crawler must not fetch: " + refused.Text}, wire.Failure{}
	}
	fact := crawl.Robots{Status: a.Status, Redirects: t.Redirects}
	if end == requests.TrailLeft {
		fact.State, fact.Location, fact.Redirects = crawl.RobotsPending, string(t.Next), t.Redirects+1
		fact.Reason = "redirected to " + string(t.Next.Host())
		return fact, wire.Failure{}
	}
	var details []robots.Detail
	if conditions != nil {
		details = append(details, robots.CopyStored)
	}
	if end == requests.TrailLost {
		details = append(details, robots.RedirectLost)
	}
	if err != nil {
		fail := s.Requests.FailureOf(err)
		fact.Reason = fail.String()
		if fail.Unsent || fail.Barred && t.Redirects == 0 {
			return fact, fail
		}
		details = append(details, robots.BodyCut)
		if fail.Barred {
			details = append(details, robots.RedirectRefused)
		}
	}
	if a.Truncated && len(a.Body) <= robots.MaxBytes {
		// The limit of the encoded bytes ended it, so the last line may be half a line.
		details = append(details, robots.BodyCut)
		fact.Reason = wire.ErrWireLimit.Error()
	}
	s.read(&fact, &a, robots.StateOf(a.Status, details...))
	return fact, wire.Failure{}
}

// read completes a fact from the last answer, which leaves the origin in a state.
func (s *Sites) read(fact *crawl.Robots, a *wire.Answer, state robots.State) {
	switch state {
	case robots.Parsed:
		fact.State = crawl.RobotsParsed
		fact.Renewed = a.Status == http.StatusNotModified
		if !fact.Renewed {
			fact.Body = bytes.Clone(cutBody(a.Body))
			digest := sha256.Sum256(fact.Body)
			fact.Digest = digest[:]
		}
		if fact.Redirects == 0 {
			fact.ETag, fact.LastModified = answer.Short(a.Header, "Etag"), answer.Short(a.Header, "Last-Modified")
		}
		fact.Fresh = robots.FreshFor(a.Header, a.At)
	case robots.Unavailable:
		fact.State = crawl.RobotsUnavailable
		fact.Fresh = robots.FreshFor(a.Header, a.At)
	default:
		fact.State = crawl.RobotsUnreachable
		if answer.Overloaded(a.Status) {
			fact.RetryAfter = s.Requests.Overload(a)
		}
	}
	if fact.Reason == "" && fact.State != crawl.RobotsParsed {
		fact.Reason = answer.StatusText(a)
	}
}
