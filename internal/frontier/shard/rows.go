package shard

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/polite"
)

// HostRow is the row of h in a long list of hosts. It reads nothing but h, because it is made for
// every host whenever somebody requests a page of the list.
func (s *Account) HostRow(h *hosts.Host, now time.Time) crawl.HostRow {
	sp := s.polite.DelayOf(h)
	row := crawl.HostRow{
		Host: string(h.Name), DelayS: sp.D.Seconds(), DelaySource: sp.Source, Queued: h.Queued, Fetched: h.Fetched, Stored: h.Stored,
		Failed: h.Failed, Sitemaps: h.Sitemaps, Shard: s.ledger.ID,
	}
	if h.DueReason != "" && h.Due.After(now) {
		row.DelaySource = h.DueReason
	}
	mirrors := 0
	for i := range h.Origins {
		o := &h.Origins[i]
		if polite.Slow(o) {
			row.DelayS, row.DelaySource = o.CrawlDelay.Seconds(), "crawl-delay"
		}
		row.Robots = row.Robots || o.Copy == crawl.RobotsParsed
		row.Agents = row.Agents || o.Agents
		row.Usage = row.Usage || o.Uses
		row.DataTxt = row.DataTxt || o.Data == crawl.ProbeRead
		row.Updates = row.Updates || s.rupsites.Sites[o.Origin] != nil
		if m := o.Mirror; m.Mirrored() {
			if mirrors++; row.MirrorOf == "" || m.Main.Host != h.Name {
				row.MirrorOf = m.Main.String()
			}
		}
	}
	if mirrors < len(h.Origins) {
		row.MirrorOf = "" // some origin is no mirror
	}
	row.State, row.Reason, row.NextDue = s.hostState(h, now)
	return row
}

// HostFilter selects the hosts that a query asks for.
type HostFilter struct {
	q       crawl.HostsQuery
	pattern bool // q.Filter is a pattern
}

// maxFilter limits the length of a filter, because no host has a longer name.
const maxFilter = 255

// NewHostFilter checks a query. Its errors name a correct form.
func NewHostFilter(q crawl.HostsQuery) (*HostFilter, error) {
	q.Filter, q.Reason = strings.ToLower(q.Filter), strings.ToLower(q.Reason)
	f := &HostFilter{q, strings.ContainsAny(q.Filter, "*?[")}
	if _, err := path.Match(q.Filter, ""); f.pattern && err != nil {
		return nil, fmt.Errorf("the filter %q is not a pattern: use for example *.example.org, or a part of a name", q.Filter)
	}
	if len(q.Filter) > maxFilter || len(q.Reason) > maxFilter {
		return nil, fmt.Errorf("the filter has more than %d characters, so it matches no host", maxFilter)
	}
	if q.State != "" && !slices.Contains(crawl.HostStates, q.State) {
		return nil, fmt.Errorf("the host state %q is unknown: use %s", q.State, strings.Join(crawl.HostStates, ", "))
	}
	if q.Has != "" && !slices.Contains(crawl.HostHas, q.Has) {
		return nil, fmt.Errorf("the host feature %q is unknown: use %s", q.Has, strings.Join(crawl.HostHas, ", "))
	}
	return f, nil
}

// Named reports whether a host may be selected, considering its name only.
func (f *HostFilter) Named(h *hosts.Host) bool {
	if f.pattern {
		ok, err := path.Match(f.q.Filter, string(h.Name))
		return ok && err == nil
	}
	return strings.Contains(string(h.Name), f.q.Filter)
}

// But reports whether a row is selected if its state is ignored; State considers only the state.
func (f *HostFilter) But(r *crawl.HostRow) bool {
	has := true
	switch f.q.Has {
	case "robots":
		has = r.Robots
	case "data":
		has = r.DataTxt
	case "agents":
		has = r.Agents
	case "updates":
		has = r.Updates
	case "sitemaps":
		has = r.Sitemaps > 0
	case "mirror":
		has = r.MirrorOf != ""
	case "usage":
		has = r.Usage
	}
	return has && (f.q.Reason == "" || strings.Contains(strings.ToLower(r.Reason), f.q.Reason))
}

// State reports whether a row has the requested state.
func (f *HostFilter) State(r *crawl.HostRow) bool { return f.q.State == "" || r.State == f.q.State }
