package dashboard

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/pkg/canon"
)

// mobileRobotsView is what mobilerobots.html shows.
type mobileRobotsView struct {
	Filter      string
	Sends       bool                // the crawl sends robots
	Sent        *crawl.MobileRobots // by the whole crawl; nil: none was, or it is not known
	Rows        []robotRow
	Hosts       int64 // that name servers, and that the filter lets through
	First, Next string
}

// robotRow is a server that the robots.txt of a site names for a path, and what came of it.
type robotRow struct {
	Host   string
	Site   string // its origin, unless that is https with its usual port
	Path   string
	Server string // "none" if there is none
	Line   int    // of the robots.txt; 0: it no longer names the server
	State  string // in words
	Why    string
	// Last is the last robot; nil: none was sent. Instead is how many requests it made unnecessary.
	Last    *crawl.DispatchInfo
	Instead int64
	More    int // of the host that are not listed; with its last row
}

// Dropped reports whether the server is not used, because of what it sent.
func (r robotRow) Dropped() bool { return r.Last != nil && r.Last.DroppedUntil != nil }

// robotsOfHost is how many rows of one host are in the list of all hosts.
const robotsOfHost = 10

func mobileRobots(ctx context.Context, c *asker.Crawl, r *request) (any, error) {
	q := crawl.HostsQuery{Filter: r.field("q"), Has: "agents"}
	q.After, q.Limit = r.URL.Query().Get("after"), perPage
	page, err := questions.HostsPage.Ask(ctx, c, q)
	v := mobileRobotsView{Filter: q.Filter, Hosts: page.Matched, Sends: c.Spec.SendsRobots()}
	if err != nil && !errors.Is(err, ask.ErrIncomplete) {
		return nil, listProblem(err, q.After, q.Filter)
	}
	if st, err := c.Status(ctx); err == nil {
		v.Sent = st.MobileRobots
	}
	if q.After != "" {
		v.First = addressWith(r, "after", "")
	}
	if page.Next != "" {
		v.Next = addressWith(r, "after", page.Next)
	}
	var names []string
	for _, h := range page.Rows {
		names = append(names, h.Host)
	}
	if len(names) == 0 {
		return v, err
	}
	asked := c.HostsNamed(ctx, names, func(h crawl.HostInfo) error {
		some, more := cut(robotRows(h, &c.Spec), robotsOfHost)
		if len(some) > 0 {
			some[len(some)-1].More = more
		}
		v.Rows = append(v.Rows, some...)
		return nil
	})
	slices.SortStableFunc(v.Rows, func(a, b robotRow) int {
		return slices.Index(names, a.Host) - slices.Index(names, b.Host)
	})
	return v, cmp.Or(err, asked)
}

// robotRows are the rows of a host: first those for which robots are sent, then the other lines of
// its robots.txt.
func robotRows(h crawl.HostInfo, spec *crawl.Spec) (rows []robotRow) {
	shown := map[crawl.AgentInfo]bool{}
	for _, d := range h.Dispatches {
		row := robotRow{Host: h.Host, Path: d.Path, Server: d.Server, Line: d.Line, State: cmp.Or(robotStates[d.State], text(d.State, 40)), Why: d.Reason}
		if d.Origin != "https://"+h.Host {
			row.Site = d.Origin
		}
		if d.At != nil || d.Sent > 0 || d.DroppedUntil != nil {
			row.Last, row.Instead = &d, d.Pages+d.Unchanged
		}
		rows = append(rows, row)
		shown[crawl.AgentInfo{Target: d.Server, Line: d.Line}] = true
	}
	lines := slices.Clone(h.AgentServers)
	slices.SortStableFunc(lines, func(a, b crawl.AgentInfo) int { return a.Line - b.Line })
	for _, a := range lines {
		u, ok := crawl.AgentServerURL(a.Target)
		if ok && shown[crawl.AgentInfo{Target: crawl.AgentAddress(u), Line: a.Line}] {
			continue
		}
		row := robotRow{Host: h.Host, Path: a.Path, Server: a.Target, Line: a.Line, State: "not used"}
		switch {
		case a.Target == "none":
			row.State = "no robots"
		case !ok:
			row.Why = "the address begins with neither atp:// nor atps://"
		case !spec.SendsRobots():
		case !spec.MayUseServer(canon.Host(h.Host), u):
			row.Why = "its domain is another one; to use it: --mobile-robots-server " + strings.TrimPrefix(strings.TrimPrefix(crawl.AgentAddress(u), "atps://"), "atp://")
		default:
			row.Why = "another line is for these paths, or they are outside of the crawl"
		}
		rows = append(rows, row)
	}
	return rows
}

// robotStates are the states of dispatches for people.
var robotStates = map[string]string{
	"waiting": "none was sent yet", "queued": "is being sent", "running": "is out", "verifying": "back, its pages are being compared",
	"done": "back", "cut": "ended early", "failed": "could not be sent", "refused": "was refused",
}
