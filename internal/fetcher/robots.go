package fetcher

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
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// site is what a visit may do on one origin of its host.
type site struct {
	origin canon.Origin
	rules  *ruleset      // what robots.txt says; nil while closed
	closed bool          // nothing may be fetched now: its URLs are returned
	bar    failure       // why we may not ask for its robots.txt, if so: its URLs are refused for that
	until  time.Time     // how long that holds
	probe  bool          // /data.txt is to be asked for
	fact   *crawl.Robots // what all that follows from, its text left out unless somebody wants it; nil: nothing came of asking
}

// site returns what may be done on an origin, asking for its robots.txt if that is not known or no longer fresh. nil
// means that the visit is over.
func (v *visit) site(o canon.Origin) *site {
	i := slices.IndexFunc(v.sites, func(s *site) bool { return s.origin == o })
	if i >= 0 && time.Now().Before(v.sites[i].until) {
		return v.sites[i]
	}
	s := v.enter(o)
	switch {
	case s == nil:
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
func (v *visit) enter(o canon.Origin) *site {
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
func (v *visit) known(r *crawl.Robots) *site {
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
func (v *visit) heed(rules *ruleset) {
	if d, ok := rules.CrawlDelay(); ok {
		v.hold.owed = max(v.hold.owed, d)
		if d > maxCrawlDelay {
			v.end(fmt.Sprintf("robots.txt asks for %v between requests; longer than %v is held, not hurried", d, maxCrawlDelay))
		}
	}
}

// rules returns the rules of a robots.txt: from the cache, from its text, or from the text its shard's owner has.
func (v *visit) rules(r *crawl.Robots) *ruleset {
	key := rulesKey{string(r.Digest), r.Origin, v.cfg.spec.Agent}
	if len(r.Digest) > 0 {
		if rules := v.f.rules.get(key); rules != nil {
			return rules
		}
	}
	body, err := v.text(r)
	if err != nil {
		v.log.Debug("robots.txt not handed out, asking its origin", "origin", r.Origin.String(), "err", err)
		return nil
	}
	file := robots.Parse(body)
	rules := &ruleset{Rules: file.Rules(v.cfg.spec.Agent, robotsOrigin(r.Origin))}
	if len(file.CleanParams) > 0 {
		rules.file = file
	}
	if len(r.Digest) > 0 {
		v.f.rules.put(key, rules, len(body))
	}
	return rules
}

// text is the text of a robots.txt, or what its shard's owner has under its digest.
func (v *visit) text(r *crawl.Robots) ([]byte, error) {
	switch sum := sha256.Sum256(r.Body); {
	case len(r.Digest) == 0 && len(r.Body) == 0:
		return nil, errors.New("left out") // an empty one has a digest, too
	case len(r.Digest) == 0 || bytes.Equal(r.Digest, sum[:]):
		return r.Body, nil
	}
	return v.f.askRobots(v.hold.waiting, v.job.Shard, r.Digest)
}

func robotsOrigin(o canon.Origin) robots.Origin {
	return robots.Origin{Scheme: o.Scheme, Host: strings.Trim(string(o.Host), "[]"), Port: o.Port}
}

// refresh asks an origin for its robots.txt, tells its shard's owner what came back, and returns what may be done on it.
// The owner knows before anything is asked for that relies on it. nil means that the visit is over.
func (v *visit) refresh(old *crawl.Robots) *site {
	o := old.Origin
	start, err := o.URL("/robots.txt")
	if err != nil {
		return &site{origin: o, closed: true, until: v.began.Add(time.Hour)} // cannot be: it came from a canonical URL
	}
	var conditions http.Header
	var oldRules *ruleset
	if len(old.Digest) > 0 && (old.ETag != "" || old.LastModified != "") {
		if oldRules = v.rules(old); oldRules != nil { // else a 304 would be of no use
			conditions = conditional(old.ETag, old.LastModified)
		}
	}
	fact, fail := v.fetchRobots(start, 0, conditions)
	switch {
	case fail.unsent:
		return nil
	case fail.barred: // no fact about the site
		return &site{origin: o, bar: fail, until: v.began.Add(time.Hour)}
	}
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
	case !v.wantsClaim(o):
		fact.Body = nil
	case fact.Renewed:
		fact.Body = old.Body
	}
	if fact.State == crawl.RobotsUnreachable || fact.State == crawl.RobotsPending {
		s.until = v.began.Add(time.Hour) // not asked again in this visit
		// A copy under 24 h old stays in use when asking again fails; a server that says "too much" is left alone.
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

// learn completes a fact and returns the rules that follow from it; nil when nothing may be fetched.
func (v *visit) learn(fact, old *crawl.Robots, oldRules *ruleset) *ruleset {
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

// fetchRobots asks for a robots.txt, following redirects as long as they stay on this host, and returns what that
// amounts to (§1.1). The fact's origin and Crawl-delay are left to the caller. hops were followed before.
//
// Nothing asks robots.txt for permission here: a robots.txt is exempt, wherever a redirect has moved it (RFC 9309 §2.3.1.2),
// and Errand.URL *is* the robots.txt of Errand.Origin.
func (v *visit) fetchRobots(u canon.URL, hops int, conditions http.Header) (crawl.Robots, failure) {
	seen := []canon.URL{u}
	for {
		a, err := v.ask(u, conditions, func(status int, _ http.Header) wanted {
			if 200 <= status && status <= 299 {
				return wanted{limit: robots.MaxBytes + 2} // Parse wants to see that there is more
			}
			return wanted{}
		})
		fact := crawl.Robots{Status: a.status, Answered: a.status != 0, Hops: hops}
		var details []robots.Detail
		if conditions != nil {
			details = append(details, robots.CopyStored)
		}
		if err != nil {
			fail := v.hold.failureOf(err)
			fact.Reason = fail.String()
			if fail.unsent || fail.barred && hops == 0 {
				return fact, fail
			}
			details = append(details, robots.BodyCut)
			if fail.barred {
				details = append(details, robots.RedirectRefused)
			}
		}
		if a.truncated && len(a.body) <= robots.MaxBytes {
			// Not what fits of it, but what came before we had enough of its encoding: the last line may be half a line.
			details = append(details, robots.BodyCut)
			fact.Reason = errWireLimit.Error()
		}
		var next canon.URL
		if a.status >= 300 && a.status <= 399 && a.status != http.StatusNotModified {
			next, err = canon.NewBase(u).Join(a.header.Get("Location"))
			if a.header.Get("Location") == "" || err != nil || hops+1 > robots.MaxRedirects || slices.Contains(seen, next) {
				details = append(details, robots.RedirectLost)
			}
		}
		switch robots.StateOf(a.status, details...) {
		case robots.Redirect:
			hops++
			if next.Host() != v.job.Host {
				fact.State, fact.Location, fact.Hops = crawl.RobotsPending, string(next), hops
				fact.Reason = "redirected to " + string(next.Host())
				return fact, failure{}
			}
			u, conditions = next, nil // what was stored under the other URL says nothing of this one
			seen = append(seen, u)
			continue
		case robots.Parsed:
			fact.State = crawl.RobotsParsed
			fact.Renewed = a.status == http.StatusNotModified
			if !fact.Renewed {
				fact.Body = bytes.Clone(robotsBody(a.body))
				digest := sha256.Sum256(fact.Body)
				fact.Digest = digest[:]
			}
			if hops == 0 {
				fact.ETag, fact.LastModified = headerText(a.header, "Etag"), headerText(a.header, "Last-Modified")
			}
			fact.Fresh = robots.FreshFor(a.header, a.at)
		case robots.Unavailable:
			fact.State = crawl.RobotsUnavailable
			fact.Fresh = robots.FreshFor(a.header, a.at)
		default:
			fact.State = crawl.RobotsUnreachable
			if overloaded(a.status) {
				fact.RetryAfter = v.overload(a)
			}
		}
		if fact.Reason == "" && fact.State != crawl.RobotsParsed {
			fact.Reason = fmt.Sprintf("HTTP %d", a.status)
		}
		return fact, failure{}
	}
}

// robotsBody cuts a body at the size limit, before the line that crosses it: whoever parses it later must not take half
// a line for a whole one.
func robotsBody(b []byte) []byte {
	if len(b) <= robots.MaxBytes {
		return b
	}
	if bytes.HasPrefix(b, []byte("\xFE\xFF")) || bytes.HasPrefix(b, []byte("\xFF\xFE")) {
		low := int(b[0] & 1) // where the low byte of a character stands: second in big endian (FE FF), else first
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
