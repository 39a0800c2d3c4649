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
		return x, nil
	}
	for i := range h.Origins {
		if o := &h.Origins[i]; o.Origin == u.Origin() {
			s.explainRobots(&x, h, o, u, now)
		}
	}
	k, v := s.lookup(h, u)
	if v == nil {
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
	return x, nil
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
