package dashboard

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
)

// mobileRobotsView is what mobilerobots.html shows.
type mobileRobotsView struct {
	Filter      string
	Rows        []agentRow
	Hosts       int64 // that name servers, and that the filter lets through
	First, Next string
}

// agentRow is a server that the robots.txt of a host names.
type agentRow struct {
	Host string
	crawl.AgentInfo
	More int // of the host that are not listed; with its last
}

// agentsOfHost is how many servers of one host are listed.
const agentsOfHost = 10

func mobileRobots(ctx context.Context, c *asker.Crawl, r *request) (any, error) {
	q := crawl.HostsQuery{Filter: r.field("q"), Has: "agents"}
	q.After, q.Limit = r.URL.Query().Get("after"), perPage
	page, err := questions.HostsPage.Ask(ctx, c, q)
	v := mobileRobotsView{Filter: q.Filter, Hosts: page.Matched}
	if err != nil && !errors.Is(err, ask.ErrIncomplete) {
		return nil, listProblem(err, q.After, q.Filter)
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
		some, more := cut(h.AgentServers, agentsOfHost)
		for i, a := range some {
			row := agentRow{Host: h.Host, AgentInfo: a}
			if i == len(some)-1 {
				row.More = more
			}
			v.Rows = append(v.Rows, row)
		}
		return nil
	})
	slices.SortStableFunc(v.Rows, func(a, b agentRow) int {
		return cmp.Or(slices.Index(names, a.Host)-slices.Index(names, b.Host), a.Line-b.Line)
	})
	return v, cmp.Or(err, asked)
}
