package frontier

import (
	"fmt"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// robotsFile is the parsed copy of an origin's robots.txt, or one that allows all when there is none.
func (s *shard) robotsFile(h *host, o *origin) *robots.File {
	if o.Copy != crawl.RobotsParsed {
		return new(robots.File)
	}
	return robots.Parse(robotsCopy(s.tx, h.ID, o.Origin))
}

// explain says all that is known of a URL of this shard, and computes what would be decided about it.
func (s *shard) explain(raw string, u canon.URL, now time.Time) (crawl.Explanation, error) {
	d := s.j.scope.Decide(u)
	x := crawl.Explanation{URL: raw, Canonical: string(u), InScope: d.In, ScopeRule: d.Rule, State: "unknown"}
	if d.In {
		if why, trapped := trapped(u); trapped {
			x.State, x.Reason, x.Detail = crawl.Refused.String(), string(crawl.ReasonTrap), why
		}
	}
	h := s.hosts[u.Host()]
	if h == nil {
		s.explainForgotten(&x, u)
		return x, nil
	}
	for i := range h.Origins {
		if o := &h.Origins[i]; o.Origin == u.Origin() {
			s.explainRobots(&x, h, o, u, now)
		}
	}
	k, v := s.lookup(h, u)
	if v == nil {
		s.explainForgotten(&x, u)
		return x, nil
	}
	r, err := decodeRecord(k, v)
	if err != nil {
		return x, err
	}
	x.Seen, x.Depth, x.Attempts, x.Status = true, &r.Depth, r.Attempts, r.Status
	if r.FoundOn != "" {
		f := string(r.FoundOn)
		x.FoundOn = &f
	}
	x.State, x.Reason, x.Detail = r.Class.String(), string(r.Reason), r.Detail
	if !r.Visit.IsZero() {
		x.Visit = r.Visit.String()
	}
	if r.Class == crawl.Redirected {
		x.Location = r.Detail
	}
	x.NoIndex = r.Reason == crawl.ReasonNoindex
	if r.Class == crawl.Stored {
		ok := !r.NoSnippet
		x.SnippetAllowed = &ok
	}
	if r.Class == crawl.Queued {
		s.explainQueued(&x, h, &r, now)
	}
	s.explainAgain(&x, h, &r)
	s.explainForgotten(&x, u) // whether or not the pass has been there
	return x, nil
}

// explainAgain says when a URL that is done is asked for again, and what came of that so far.
func (s *shard) explainAgain(x *crawl.Explanation, h *host, r *record) {
	switch {
	case r.Class != crawl.Stored:
	case r.Gone:
		x.Detail = "gone when it was asked for last (" + r.Detail + "); its copy is removed if that is seen once more"
	case r.Detail != "":
		x.Detail = "the copy is kept; asked again: " + r.Detail
	case r.Asked > 0:
		x.Detail = fmt.Sprintf("asked for again %d times, changed %d times", r.Asked, r.Changed)
	}
	if r.Next > 0 && s.j.spec.Recrawl {
		due := time.Unix(r.Next, 0).UTC()
		if due.Before(h.Due) {
			due = h.Due.UTC()
		}
		x.NextDue = &due
	}
}

// explainForgotten says who took u out, and how to undo that.
func (s *shard) explainForgotten(x *crawl.Explanation, u canon.URL) {
	entry := s.j.forgottenBy(u)
	if entry == "" {
		return
	}
	x.State, x.Reason = crawl.Refused.String(), string(crawl.ReasonForgotten)
	x.Detail = fmt.Sprintf("taken out by `curtsy forget %[1]s`; `curtsy forget --undo %[1]s` lets it in again", entry)
	x.NextDue, x.SnippetAllowed = nil, nil
}

func (s *shard) explainQueued(x *crawl.Explanation, h *host, r *record, now time.Time) {
	state, why, next := s.hostState(h, now)
	switch {
	case !r.Due.IsZero():
		due := r.Due.UTC()
		x.NextDue = &due
		x.Detail = fmt.Sprintf("attempt %d of %d failed (%s); waits for the next", r.Attempts, maxAttempts, r.Reason)
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

func (s *shard) explainRobots(x *crawl.Explanation, h *host, o *origin, u canon.URL, now time.Time) {
	info := o.info(now)
	er := &crawl.ExplainRobots{State: info.State, FetchedAt: info.FetchedAt, Status: info.Status}
	x.Robots = er
	f := s.robotsFile(h, o)
	state, _ := o.state(now)
	switch state {
	case crawl.RobotsParsed:
		v := f.Rules(s.j.spec.Agent, robotsOrigin(o.Origin)).Match(u.PathQuery())
		er.Allowed, er.Line, er.Rule = v.Allowed, v.Line, v.Rule
	case crawl.RobotsUnavailable:
		er.Allowed = true
	default:
		er.Rule = o.Reason
	}
	if target, ok := f.AgentServer(u.Path()); ok {
		x.AgentServer = &target
	}
}

func robotsOrigin(o canon.Origin) robots.Origin {
	return robots.Origin{Scheme: o.Scheme, Host: strings.Trim(string(o.Host), "[]"), Port: o.Port}
}
