package shard

import (
	"fmt"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/judge"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Explain returns everything known of a URL of this shard, and computes what would be decided about
// it now.
func (s *Account) Explain(raw string, u canon.URL, now time.Time) (crawl.Explanation, error) {
	d := s.ledger.Judge.Scope.Decide(u)
	x := crawl.Explanation{URL: raw, Canonical: string(u), InScope: d.In, ScopeRule: d.Rule, State: "unknown"}
	if d.In {
		if why, trapped := judge.Trapped(u); trapped {
			x.State, x.Reason, x.Detail = crawl.Refused.String(), string(crawl.ReasonTrap), why
		}
	}
	h, err := s.ledger.HostNamed(u.Host())
	if err != nil {
		return x, err
	}
	if h == nil {
		s.explainLeftOut(&x, nil, u)
		s.explainForgotten(&x, u)
		return x, nil
	}
	for i := range h.Origins {
		if o := &h.Origins[i]; o.Origin == u.Origin() {
			s.explainRobots(&x, h, o, u, now)
		}
	}
	k, v := s.urls.Lookup(h, u)
	if v == nil {
		s.explainLeftOut(&x, h, u)
		s.explainForgotten(&x, u)
		return x, nil
	}
	r, err := urls.DecodeRecord(k, v)
	if err != nil {
		return x, err
	}
	s.passes.Foresee(h, &r)
	x.Seen, x.Depth, x.Attempts, x.Status = true, &r.Depth, r.Attempts, r.Status
	if r.FoundOn != "" {
		f := string(r.FoundOn)
		x.FoundOn = &f
	}
	after, by, err := s.history.TakenIn(r.Order)
	if err != nil {
		return x, err
	}
	if fetched := time.UnixMilli(r.FetchedAt).UTC(); r.FetchedAt > 0 && fetched.After(after) && (by.IsZero() || fetched.Before(by)) {
		by = fetched
	}
	x.FoundAfter, x.FoundBy = known(after), known(by)
	x.State, x.Reason, x.Detail = r.Class.String(), string(r.Reason), r.Detail
	if r.FetchedAt > 0 {
		at := time.UnixMilli(r.FetchedAt).UTC()
		x.FetchedAt = &at
	}
	if !r.Visit.IsZero() {
		x.Visit = r.Visit.String()
	}
	if r.Class == crawl.Redirected {
		x.Location = r.Detail
	}
	if r.Class == crawl.Refused {
		s.explainRefused(&x, h, &r)
	}
	x.NoIndex = r.Reason == crawl.ReasonNoindex
	if r.Class == crawl.Stored {
		ok := !r.NoSnippet
		x.SnippetAllowed = &ok
		x.Rendering, x.RenderNote = r.Rendering.String(), r.RenderNote
	}
	if x.Robot, err = s.dispatches.Explain(h, &r); err != nil {
		return x, err
	}
	if r.Class == crawl.Queued {
		s.explainQueued(&x, h, &r, now)
		if err := s.explainAwaited(&x, h, &r, now); err != nil {
			return x, err
		}
	}
	s.explainAgain(&x, h, &r)
	s.explainForgotten(&x, u) // whether or not the pass has reached it
	return x, nil
}

// known returns a pointer to t, or nil for the zero time.
func known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// explainAgain adds when a URL that is done will be fetched again, and the results of earlier
// repetitions.
func (s *Account) explainAgain(x *crawl.Explanation, h *hosts.Host, r *urls.Record) {
	switch {
	case r.Class != crawl.Stored:
	case r.Gone:
		x.Detail = "the last fetch found it gone (" + r.Detail + "); its copy is removed if the next fetch finds the same"
	case r.Detail != "":
		x.Detail = "the stored copy is kept; the last fetch: " + r.Detail
	case r.Asked > 0:
		x.Detail = fmt.Sprintf("fetched again %d times, changed %d times", r.Asked, r.Changed)
	}
	if r.Next > 0 && s.ledger.Judge.Spec.Refreshes() {
		due := time.Unix(r.Next, 0).UTC()
		if due.Before(h.Due) {
			due = h.Due.UTC()
		}
		x.NextDue = &due
	}
}

// explainRefused adds why a URL is refused now. The record has the detail of the time when it was
// refused, with another line of the site rules perhaps.
func (s *Account) explainRefused(x *crawl.Explanation, h *hosts.Host, r *urls.Record) {
	switch r.Reason {
	case crawl.ReasonHosts:
		x.Detail = s.ledger.HostsDetail(h.Domain)
	case crawl.ReasonScope, crawl.ReasonDepth, crawl.ReasonHostLimit:
		if v := s.urls.Decide(r, h); v.Reason == r.Reason {
			x.Detail = v.Detail
		}
	}
}

// explainLeftOut adds why a URL in scope may be unknown although links lead to it. h is nil if its
// host is unknown.
func (s *Account) explainLeftOut(x *crawl.Explanation, h *hosts.Host, u canon.URL) {
	if !x.InScope || x.State != "unknown" {
		return
	}
	d, err := s.ledger.DomainOf(u.Host())
	switch {
	case err == nil && d.LeftOut > 0 && (h == nil || h.Closed):
		x.State, x.Reason = crawl.Refused.String(), string(crawl.ReasonHosts)
		x.Detail = fmt.Sprintf("%s; %d links to further hosts were not recorded", s.ledger.HostsDetail(d), d.LeftOut)
	case h != nil && h.LeftOut > 0:
		x.Detail = fmt.Sprintf("%d links to this host were not recorded, because at least %d of its URLs were queued", h.LeftOut, s.links.MaxWaiting(h))
	}
}

// explainForgotten adds who removed u, and how to undo that.
func (s *Account) explainForgotten(x *crawl.Explanation, u canon.URL) {
	entry := s.ledger.Judge.ForgottenBy(u)
	if entry == "" {
		return
	}
	x.State, x.Reason = crawl.Refused.String(), string(crawl.ReasonForgotten)
	x.Detail = fmt.Sprintf("removed by `curtsy forget %[1]s`; to allow it again, type: curtsy forget --undo %[1]s", entry)
	x.NextDue, x.SnippetAllowed = nil, nil
}

func (s *Account) explainQueued(x *crawl.Explanation, h *hosts.Host, r *urls.Record, now time.Time) {
	state, why, next := s.hostState(h, now)
	switch {
	case r.Waiting():
		due := r.Due.UTC()
		x.NextDue = &due
		x.Detail = fmt.Sprintf("attempt %d of %d failed (%s); waiting for the next attempt", r.Attempts, hosts.MaxAttempts, r.Reason)
	case state == "visiting":
		x.Detail = "its host is being visited now"
	case next != nil:
		due := next.UTC()
		x.NextDue = &due
	}
	if why != "" && x.Detail == "" {
		x.Detail = "host " + state + ": " + why
	}
}

// explainAwaited adds that a queued URL waits for a mobile robot, which may bring its page.
func (s *Account) explainAwaited(x *crawl.Explanation, h *hosts.Host, r *urls.Record, now time.Time) error {
	server, err := s.dispatches.Awaited(h, int(r.Origin), now)
	if server != "" && (x.Detail == "" || !r.Waiting()) {
		x.Detail = "waiting for a mobile robot, which was sent to " + server
	}
	return err
}

func (s *Account) explainRobots(x *crawl.Explanation, h *hosts.Host, o *hosts.Origin, u canon.URL, now time.Time) {
	info := info(o, now)
	er := &crawl.ExplainRobots{State: info.State, FetchedAt: info.FetchedAt, Status: info.Status}
	x.Robots = er
	f := s.ledger.RobotsFile(h, o)
	state, _ := polite.State(o, now)
	switch state {
	case crawl.RobotsParsed:
		rules := f.Rules(s.ledger.Judge.Spec.Agent, hosts.RobotsOrigin(o.Origin))
		v := rules.Match(u.PathQuery())
		er.Allowed, er.Line, er.Rule = v.Allowed, v.Line, v.Rule
		er.Usage, er.Licenses = usageOf(f, rules, o, u)
	case crawl.RobotsUnavailable:
		er.Allowed = true
	default:
		er.Rule = o.Reason
	}
	if target, ok := f.AgentServer(u.Path()); ok {
		x.AgentServer = &target
	}
}

// IsInFlight reports whether u is in an outstanding visit.
func (s *Account) IsInFlight(u canon.URL) bool {
	h := s.ledger.Hosts[u.Host()] // a host with a visit is in memory
	if h == nil || h.Visit == nil {
		return false
	}
	for _, v := range h.Visit.List {
		if v.URL == u {
			return true
		}
	}
	return false
}
