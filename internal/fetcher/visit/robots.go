package visit

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// RobotsPath is where an origin's rules are, and what needs no leave by them.
const RobotsPath = "/robots.txt"

// leaveFunc says why a URL may not be asked for, or nothing. Without ok the visit is over.
type leaveFunc func(canon.URL) (why string, ok bool)

// site is what a visit may do on one origin of its host.
type site struct {
	origin canon.Origin
	rules  *ruleset // what robots.txt says; nil while closed
	closed bool     // nothing may be fetched now: its URLs are returned
	// Why we may not ask for its robots.txt, if so: its URLs are refused for that.
	bar   wire.Failure
	until time.Time // how long that holds
	probe bool      // /data.txt is to be asked for
	// What all that follows from, its text left out unless somebody wants it; nil:
	// nothing came of asking.
	fact *crawl.Robots
	// What is said of the use of its pages apart from robots.txt; nil: nothing, or nobody asks.
	rights *rightsFiles
}

// site returns what may be done on an origin, asking for its robots.txt if that is not known or no
// longer fresh. nil means that the visit is over.
func (v *Visit) site(o canon.Origin) *site {
	i := slices.IndexFunc(v.sites, func(s *site) bool { return s.origin == o })
	if i >= 0 && time.Now().Before(v.sites[i].until) {
		return v.sites[i]
	}
	s := v.enter(o)
	switch {
	case s == nil || !v.readAparts(s):
		return nil
	case i >= 0:
		s.probe = v.sites[i].probe
		v.sites[i] = s
	default:
		s.probe = v.toProbe(o)
		v.sites = append(v.sites, s)
	}
	return s
}

// enter makes a site of what the frontier knows, or of what the origin answers.
func (v *Visit) enter(o canon.Origin) *site {
	known := &crawl.Robots{Origin: o}
	for i := range v.job.Robots {
		if v.job.Robots[i].Origin == o {
			known = &v.job.Robots[i]
		}
	}
	fresh := known.Fresh - time.Since(v.began)
	switch {
	case known.State == crawl.RobotsPending:
		return &site{origin: o, fact: known, closed: true, until: v.began.Add(time.Hour)}
	case known.State != crawl.RobotsUnknown && fresh > 0 && !v.refreshed[o]:
		s := v.known(known)
		if s != nil {
			s.until = v.began.Add(known.Fresh)
			return s
		}
		// Its text could not be had: then we ask the origin again.
		known = &crawl.Robots{Origin: o}
	}
	return v.refresh(known)
}

// known makes a site of facts; nil when the rules are wanted and cannot be had.
func (v *Visit) known(r *crawl.Robots) *site {
	s := &site{origin: r.Origin, fact: r}
	switch r.State {
	case crawl.RobotsParsed:
		if s.rules = v.rules(r); s.rules == nil {
			return nil
		}
		v.heed(s.rules)
	case crawl.RobotsUnavailable:
		s.rules = allowAll
	default:
		s.closed = true
	}
	return s
}

// heed keeps to the Crawl-delay of rules in hand.
func (v *Visit) heed(rules *ruleset) {
	if d, ok := rules.CrawlDelay(); ok {
		v.addDelay(d, "crawl-delay")
		if d > wire.MaxCrawlDelay {
			v.end(fmt.Sprintf("robots.txt asks for %v between requests; with more than %v the host is not visited", d, wire.MaxCrawlDelay))
		}
	}
}

// rules returns the rules of a robots.txt: from the cache, from its text, or from the text
// its shard's owner has.
func (v *Visit) rules(r *crawl.Robots) *ruleset {
	key := rulesKey{string(r.Digest), r.Origin, v.cfg.spec.Agent}
	if len(r.Digest) > 0 {
		if rules := v.deps.rules.get(key); rules != nil {
			return rules
		}
	}
	body, err := v.text(r)
	if err != nil {
		v.log.Debug("robots.txt is not available; requesting it from its origin", "origin", r.Origin.String(), "err", err)
		return nil
	}
	file := robots.Parse(body)
	rules := newRuleset(file, v.cfg.spec.Agent, r.Origin)
	if len(r.Digest) > 0 {
		v.deps.rules.put(key, rules, len(body))
	}
	return rules
}

// text is the text of a robots.txt, or what its shard's owner has under its digest.
func (v *Visit) text(r *crawl.Robots) ([]byte, error) {
	switch sum := sha256.Sum256(r.Body); {
	case len(r.Digest) == 0 && len(r.Body) == 0:
		return nil, errors.New("the text is missing") // an empty one has a digest, too
	case len(r.Digest) == 0 || bytes.Equal(r.Digest, sum[:]):
		return r.Body, nil
	}
	return v.sink.RobotsText(v.session.Waiting, v.job.Shard, r.Digest)
}

// RobotsOrigin is an origin as package robots has it.
func RobotsOrigin(o canon.Origin) robots.Origin {
	return robots.Origin{Scheme: o.Scheme, Host: strings.Trim(string(o.Host), "[]"), Port: o.Port}
}

// refresh asks an origin for its robots.txt, tells its shard's owner what came back, and returns
// what may be done on it. The owner knows before anything is asked for that relies on it. nil means
// that the visit is over.
func (v *Visit) refresh(old *crawl.Robots) *site {
	o := old.Origin
	start, err := o.URL(RobotsPath)
	if err != nil {
		// Cannot be: it came from a canonical URL.
		return &site{origin: o, closed: true, until: v.began.Add(time.Hour)}
	}
	var conditions http.Header
	var oldRules *ruleset
	if len(old.Digest) > 0 && (old.ETag != "" || old.LastModified != "") {
		if oldRules = v.rules(old); oldRules != nil { // else a 304 would be of no use
			conditions = conditional(old.ETag, old.LastModified)
		}
	}
	fact, fail := v.fetchRobots(start, 0, conditions, nil)
	switch {
	case fail.Unsent:
		return nil
	case fail.Barred: // no fact about the site
		return &site{origin: o, bar: fail, until: v.began.Add(time.Hour)}
	}
	v.deps.metrics.robots.WithLabelValues(fact.State.String()).Inc()
	fact.Origin = o
	rules := v.learn(&fact, old, oldRules)
	if v.refreshed == nil {
		v.refreshed = make(map[canon.Origin]bool)
	}
	v.refreshed[o] = true
	if !v.publishFact(fact) {
		return nil
	}
	s := &site{origin: o, rules: rules, closed: rules == nil, until: time.Now().Add(fact.Fresh), fact: &fact}
	switch {
	case !v.wantsText(o):
		fact.Body = nil
	case fact.Renewed:
		fact.Body = old.Body
	}
	if fact.State == crawl.RobotsUnreachable || fact.State == crawl.RobotsPending {
		s.until = v.began.Add(time.Hour) // not asked again in this visit
		// A copy under 24 h old stays in use when asking again fails; a server that says "too
		// much" is left alone.
		if old.Age+time.Since(v.began) < robots.MaxAge && !overloaded(fact.Status) && fact.State == crawl.RobotsUnreachable &&
			(old.State == crawl.RobotsParsed || old.State == crawl.RobotsUnavailable) {
			if again := v.known(old); again != nil {
				again.until = v.began.Add(robots.MaxAge - old.Age)
				return again
			}
		}
	}
	return s
}

// learn completes a fact and returns the rules that follow from it; nil when
// nothing may be fetched.
func (v *Visit) learn(fact, old *crawl.Robots, oldRules *ruleset) *ruleset {
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
			rules = v.rules(fact)
		}
		fact.CrawlDelay, fact.HasCrawlDelay = rules.CrawlDelay()
		v.heed(rules)
	case crawl.RobotsUnavailable:
		rules = allowAll
	}
	return rules
}

// fetchRobots asks for a robots.txt, following redirects as long as they stay on this host, and
// returns what that amounts to (formats §1.1). The fact's origin and Crawl-delay are left to the
// caller. hops were followed before.
//
// Where a host keeps its own robots.txt needs no leave. That of another host's does: leave then
// says why a URL may not be asked for, and that leaves the origin unreachable, since there may be
// rules that we were not let read.
func (v *Visit) fetchRobots(u canon.URL, redirects int, conditions http.Header, leave leaveFunc) (crawl.Robots, wire.Failure) {
	var closed string // why leave was not given
	over := false
	t := Trail{At: u, Redirects: redirects, Most: robots.MaxRedirects}
	t.May = func(u canon.URL) bool {
		if leave == nil || u.PathQuery() == RobotsPath {
			return true
		}
		why, ok := leave(u)
		closed, over = why, !ok
		return ok && why == ""
	}
	t.Ask = func(u canon.URL, moved bool) (wire.Answer, error) {
		if moved {
			conditions = nil
		}
		defer v.asking(crawl.RequestRobots)()
		return v.ask(u, conditions, func(status int, _ http.Header) wire.Wanted {
			if 200 <= status && status <= 299 {
				// Parse wants to see that there is more
				return wire.Wanted{Limit: robots.MaxBytes + 2}
			}
			return wire.Wanted{}
		})
	}
	a, end, err := t.Follow(v.job.Host)
	switch {
	case over:
		return crawl.Robots{}, wire.Failure{Unsent: true}
	case end == TrailBarred:
		return crawl.Robots{State: crawl.RobotsUnreachable, Redirects: t.Redirects, Reason: "redirected to " + string(t.At) + ", which this crawler must not fetch: " + closed}, wire.Failure{}
	}
	fact := crawl.Robots{Status: a.Status, Redirects: t.Redirects}
	if end == TrailLeft {
		fact.State, fact.Location, fact.Redirects = crawl.RobotsPending, string(t.Next), t.Redirects+1
		fact.Reason = "redirected to " + string(t.Next.Host())
		return fact, wire.Failure{}
	}
	var details []robots.Detail
	if conditions != nil {
		details = append(details, robots.CopyStored)
	}
	if end == TrailLost {
		details = append(details, robots.RedirectLost)
	}
	if err != nil {
		fail := v.failureOf(err)
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
		// Not what fits of it, but what came before we had enough of its encoding: the last line
		// may be half a line.
		details = append(details, robots.BodyCut)
		fact.Reason = wire.ErrWireLimit.Error()
	}
	v.readRobots(&fact, &a, robots.StateOf(a.Status, details...))
	return fact, wire.Failure{}
}

// readRobots completes a fact from the last answer, which leaves the origin in a state.
func (v *Visit) readRobots(fact *crawl.Robots, a *wire.Answer, state robots.State) {
	switch state {
	case robots.Parsed:
		fact.State = crawl.RobotsParsed
		fact.Renewed = a.Status == http.StatusNotModified
		if !fact.Renewed {
			fact.Body = bytes.Clone(robotsBody(a.Body))
			digest := sha256.Sum256(fact.Body)
			fact.Digest = digest[:]
		}
		if fact.Redirects == 0 {
			fact.ETag, fact.LastModified = headerText(a.Header, "Etag"), headerText(a.Header, "Last-Modified")
		}
		fact.Fresh = robots.FreshFor(a.Header, a.At)
	case robots.Unavailable:
		fact.State = crawl.RobotsUnavailable
		fact.Fresh = robots.FreshFor(a.Header, a.At)
	default:
		fact.State = crawl.RobotsUnreachable
		if overloaded(a.Status) {
			fact.RetryAfter = v.overload(*a)
		}
	}
	if fact.Reason == "" && fact.State != crawl.RobotsParsed {
		fact.Reason = statusText(a)
	}
}

// robotsBody cuts a body at the size limit, before the line that crosses it: whoever parses it
// later must not take half a line for a whole one.
func robotsBody(b []byte) []byte {
	if len(b) <= robots.MaxBytes {
		return b
	}
	marked := bytes.HasPrefix(b, []byte("\xFE\xFF")) || bytes.HasPrefix(b, []byte("\xFF\xFE"))
	// Else the mark is false, and Parse takes the file for what it is.
	if marked && bytes.IndexByte(b[:robots.MaxBytes], 0) >= 0 {
		// Where the low byte of a character stands: second in big endian (FE FF), else first.
		low := int(b[0] & 1)
		for i := robots.MaxBytes - 2; i > 0; i -= 2 {
			if c := b[i+1-low]; b[i+low] == 0 && (c == '\n' || c == '\r') {
				return b[:i+2]
			}
		}
		return nil
	}
	crosses := b[robots.MaxBytes] != '\n' && b[robots.MaxBytes] != '\r'
	b = b[:robots.MaxBytes]
	if crosses {
		b = b[:bytes.LastIndexAny(b, "\n\r")+1]
	}
	return b
}

// headerText is a header value that is short enough to keep.
func headerText(h http.Header, key string) string {
	if s := h.Get(key); len(s) <= 1024 {
		return s
	}
	return ""
}
