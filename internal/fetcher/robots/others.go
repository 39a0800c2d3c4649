package robots

import (
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// Auxiliary requests that are answered from a robots.txt of this host: the one that another origin
// redirects its own to (Redirected), and what an origin says about its main mirror (Claim).

// RequiresCredentials says for people why a page or a rule that is only served with credentials is
// not used to decide about another host.
const RequiresCredentials = "its site requires credentials: pages fetched with credentials are not compared with other hosts"

// Redirected requests the robots.txt of another origin, which a redirect leads to this host. That
// is a request to this host like any other: this host's own robots.txt is read first and obeyed
// (formats §7). Only that file itself needs no permission. ok is false if nothing was learnt.
func (s *Sites) Redirected(aux *crawl.AuxRequest) (fact crawl.Robots, ok bool) {
	var permit func(canon.URL) Permission
	switch {
	case aux.URL.Host() == aux.Origin.Host:
		// A redirect led away and back. Where a host keeps its own rules is its own affair.
	case s.HasCredentials(aux.URL.Origin()):
		// A stranger could infer from our requests what the file contains.
		return crawl.Robots{Origin: aux.Origin, State: crawl.RobotsUnreachable, Reason: "redirected to " + string(aux.URL) + ": " + RequiresCredentials}, true
	case aux.URL.PathQuery() == Path:
		return s.shared(aux)
	default:
		permit = s.Ask
	}
	fact, fail := s.fetch(aux.URL, aux.Hop, nil, permit)
	switch {
	case fail.Unsent:
		return fact, false
	case fail.Barred:
		// There may be rules that we are not allowed to read.
		fact.State, fact.Reason = crawl.RobotsUnreachable, fail.String()
	}
	s.Requests.Metrics.Robots.WithLabelValues(fact.State.String()).Inc()
	fact.Origin = aux.Origin
	if fact.State == crawl.RobotsParsed {
		rules := s.rules(&fact)
		fact.CrawlDelay, fact.HasCrawlDelay = rules.CrawlDelay()
	}
	return fact, true
}

// shared answers for an origin whose robots.txt is that of an origin of this host. It uses the copy
// that is in use here, which is requested only if this host's own visits would request it.
func (s *Sites) shared(aux *crawl.AuxRequest) (fact crawl.Robots, ok bool) {
	site := s.Of(aux.URL.Origin())
	switch {
	case site == nil:
		return fact, false
	case site.Bar.Barred:
		return crawl.Robots{Origin: aux.Origin, State: crawl.RobotsUnreachable, Reason: site.Bar.String()}, true
	case site.fact == nil || site.fact.State == crawl.RobotsPending && site.fact.Location == "":
		return fact, false // only its frontier knows where that leads
	}
	fact = *site.fact
	fact.Origin, fact.Renewed, fact.ETag, fact.LastModified, fact.ProbeData = aux.Origin, false, "", "", false
	if known := slices.ContainsFunc(s.Job.Robots, func(r crawl.Robots) bool { return r.Origin == site.Origin }); known && !s.refreshed[site.Origin] {
		fact.Age, fact.Fresh = fact.Age+time.Since(s.Began), fact.Fresh-time.Since(s.Began)
	}
	// An old copy may be in use, because a request for a new one failed.
	fact.Fresh = max(fact.Fresh, robots.MinFresh)
	switch fact.State {
	case crawl.RobotsPending:
		fact.Redirects += aux.Hop
	case crawl.RobotsParsed:
		body, err := s.text(site.fact)
		if err != nil {
			s.Requests.Log.Debug("robots.txt is not available", "origin", site.Origin.String(), "err", err)
			return fact, false
		}
		fact.Body = body
		rules := s.rules(&fact)
		fact.CrawlDelay, fact.HasCrawlDelay = rules.CrawlDelay()
	}
	return fact, true
}

// Claim returns which main mirror an origin's robots.txt names (formats §2.4). It uses the rules
// as any request to the origin would. ok is false if they are not known yet.
func (s *Sites) Claim(o canon.Origin) (c crawl.Claim, ok bool) {
	site := s.Of(o)
	switch {
	case site == nil || site.fact != nil && site.fact.State == crawl.RobotsPending:
		return c, false // another host is asked for it
	case site.Bar.Barred:
		return crawl.Claim{Reason: site.Bar.String()}, true
	case site.Closed:
		return crawl.Claim{Reason: site.whyClosed()}, true
	case site.fact.State != crawl.RobotsParsed:
		return crawl.Claim{Kind: crawl.ClaimNone}, true
	}
	text, err := s.text(site.fact)
	if err != nil {
		return crawl.Claim{Reason: "its robots.txt is not available: " + err.Error()}, true
	}
	sum := robots.Digest(text)
	c = crawl.Claim{Kind: crawl.ClaimNone, Digest: sum[:]}
	switch stated := robots.Parse(text).Claim(Origin(o)); stated.Kind {
	case robots.ClaimSelf:
		c.Kind = crawl.ClaimSelf
	case robots.ClaimTarget:
		if u, err := canon.FromParts(stated.Target.Scheme, canon.Host(stated.Target.Host), stated.Target.Port, "/"); err == nil {
			c.Kind, c.Target = crawl.ClaimTarget, u.Origin()
		}
	}
	return c, true
}
