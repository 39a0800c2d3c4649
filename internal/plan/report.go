package plan

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/control"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier"
	"github.com/curtsy/curtsy/pkg/canon"
)

// What Report.PagesAre says.
const (
	PagesAll     = "all"      // links are not followed: there will be no others
	PagesAtLeast = "at-least" // links of pages may lead to more
	PagesUnknown = "unknown"  // no sitemap names any: only the seeds are known
)

// Report is a plan: what a crawl would do. Its keys are a contract, as those of other answers.
type Report struct {
	Scope string `json:"scope"` // in words
	// Pages that would be asked for, and what that number is: PagesAll, PagesAtLeast, PagesUnknown.
	Pages    int64  `json:"pages"`
	PagesAre string `json:"pages_are"`
	// Requests in all: the pages, robots.txt, sitemaps and data.txt.
	Requests int64 `json:"requests"`
	// ShortestS is how long that takes at least, in seconds, at the hosts' delays and with the
	// answers as fast as those to the plan's own requests; Longest is the host that takes longest.
	ShortestS float64 `json:"shortest_s"`
	Longest   string  `json:"longest,omitempty"`
	// Limit is the limit of the spec that would end the crawl before that: max-pages; Pages,
	// Requests and ShortestS are then those up to it.
	Limit string `json:"limit,omitempty"`
	// WrongType of the pages have names of types that are not kept: they would most likely be
	// refused after one request each.
	WrongType int64 `json:"wrong_type"`

	Datasets int64    `json:"datasets"` // announced in data.txt files
	Titles   []string `json:"titles"`   // of the first of them

	Refused  int64     `json:"refused"`  // URLs that would not be asked for
	Refusals []Refusal `json:"refusals"` // why, most first; at most MaxRefusals
	More     int64     `json:"more"`     // URLs refused for reasons that are not listed
	// Waiting are URLs of hosts whose robots.txt cannot be had, or that want longer delays than we
	// wait: nothing of them would be asked for while that is so.
	Waiting int64 `json:"waiting"`

	Hosts []Host  `json:"hosts"`         // those with most pages first
	Cut   string  `json:"cut,omitempty"` // why the plan ended before all was read; "": it did not
	TookS float64 `json:"took_s"`        // what making it took

	groups map[Refusal]int64
	hosts  map[string]*Host
	named  int64 // pages, and URLs refused, beside the seeds
	seeds  map[canon.URL]bool
}

// Refusal is one reason for which URLs would not be asked for.
type Refusal struct {
	Reason string `json:"reason"`         // crawl.Reason
	Host   string `json:"host,omitempty"` // whose robots.txt has the rule, or is concerned
	Line   int    `json:"line,omitempty"` // of its robots.txt
	Rule   string `json:"rule,omitempty"` // as it stands there, or what else decided
	URLs   int64  `json:"urls"`
}

// MaxRefusals is how many refusals a report lists, and MaxTitles how many titles of datasets.
const (
	MaxRefusals = 200
	MaxTitles   = 20
)

// maxGroups bounds the refusals that are told apart while they are counted.
const maxGroups = 20_000

// Host is what is planned for one host.
type Host struct {
	Host  string `json:"host"`
	Pages int64  `json:"pages"` // that would be asked for
	// Redirected are URLs without parameters that mean nothing (Clean-param).
	Redirected int64 `json:"redirected,omitempty"`
	Refused    int64 `json:"refused"`
	Waiting    int64 `json:"waiting"` // see Report.Waiting
	// Read are requests that the plan has sent, and that the crawl would send too.
	Read int64 `json:"read"`
	// The delay between requests, and what it comes from, as in crawl.HostInfo.
	DelayS      float64 `json:"delay_s"`
	DelaySource string  `json:"delay_source"`
	ResponseS   float64 `json:"response_s"` // the mean of the plan's own requests; 0: not measured
	ShortestS   float64 `json:"shortest_s"` // for its pages and what was read
	Robots      string  `json:"robots"`     // parsed, unavailable, unreachable, …
	Reason      string  `json:"reason,omitempty"`
	MirrorOf    string  `json:"mirror_of,omitempty"`
	Sitemaps    int     `json:"sitemaps"` // read; the count ends at 100
	// Unread are sitemaps that could not be read, or are none, with the reason.
	Unread []crawl.SitemapInfo `json:"unread,omitempty"`
}

func newReport(spec crawl.Spec, cut string) *Report {
	r := &Report{
		Scope: control.Words(spec), Titles: []string{}, Refusals: []Refusal{}, Hosts: []Host{}, Cut: cut,
		groups: map[Refusal]int64{}, hosts: map[string]*Host{}, seeds: map[canon.URL]bool{},
	}
	for _, s := range spec.Seeds {
		r.seeds[canon.URL(s)] = true
	}
	return r
}

func (r *Report) host(name string) *Host {
	h := r.hosts[name]
	if h == nil {
		h = &Host{Host: name}
		r.hosts[name] = h
	}
	return h
}

// count takes in what became of a URL.
func (r *Report) count(u frontier.URLState) error {
	h := r.host(u.URL.Host().String())
	if !r.seeds[u.URL] {
		r.named++
	}
	switch {
	case u.Reason == crawl.ReasonPlanned:
		h.Pages++
		if u.Detail != "" {
			r.WrongType++
		}
		return nil
	case u.Class == crawl.Queued:
		h.Waiting++
		return nil
	case u.Class == crawl.Redirected:
		h.Redirected++
		return nil
	}
	h.Refused++
	r.Refused++
	g := Refusal{Reason: string(u.Reason), Host: h.Host, Line: u.Line, Rule: u.Detail}
	switch u.Reason {
	case crawl.ReasonRobots, crawl.ReasonUsage:
	case crawl.ReasonMirror:
		if main, err := canon.Parse(u.Detail); err == nil { // its own address there
			g.Rule = "it is a mirror of " + main.Origin().String()
		}
	case crawl.ReasonTrap, crawl.ReasonDepth, crawl.ReasonAddress:
		g.Line = 0
	default:
		g.Line, g.Rule = 0, ""
	}
	if _, known := r.groups[g]; !known && len(r.groups) >= maxGroups {
		r.More++
		return nil
	}
	r.groups[g]++
	return nil
}

func (r *Report) addHost(i crawl.HostInfo) error {
	h := r.hosts[i.Host]
	if h == nil {
		if i.Fetched == 0 {
			return nil
		}
		h = r.host(i.Host) // a sitemap of it was read, and it has no pages
	}
	h.Read, h.DelayS, h.DelaySource = i.Fetched, i.DelayS, i.DelaySource
	if i.Robot != nil {
		h.Robots, h.Reason = i.Robot.State, i.Robot.Reason
	}
	h.Reason = cmp.Or(i.Reason, h.Reason)
	if i.MirrorOf != nil {
		h.MirrorOf = *i.MirrorOf
	}
	for _, s := range i.Sitemaps {
		switch {
		case s.ReadAt != nil:
			h.Sitemaps++
		case s.Status == 404 || s.Status == 410: // there is none
		default:
			h.Unread = append(h.Unread, s)
		}
	}
	return nil
}

func (r *Report) addDataset(d crawl.DatasetInfo) error {
	if r.Datasets++; len(r.Titles) < MaxTitles {
		r.Titles = append(r.Titles, cmp.Or(d.Title, d.Name, d.ID))
	}
	return nil
}

// measured is of how many hosts, those with most pages, the plan's own requests are looked at.
const measured = 1000

// largest puts the hosts in order, those with most pages first, and returns the first of them.
func (r *Report) largest() []Host {
	for _, h := range r.hosts {
		r.Hosts = append(r.Hosts, *h)
	}
	slices.SortFunc(r.Hosts, func(a, b Host) int {
		return cmp.Or(cmp.Compare(b.Pages, a.Pages), cmp.Compare(b.Read, a.Read), strings.Compare(a.Host, b.Host))
	})
	return r.Hosts[:min(len(r.Hosts), measured)]
}

// response is the mean time that answers took.
func response(requests []crawl.Request) float64 {
	var sum time.Duration
	n := 0
	for i := range requests {
		if q := &requests[i]; !q.Unsent && !q.Cut && q.End.After(q.Start) {
			sum, n = sum+q.End.Sub(q.Start), n+1
		}
	}
	if n == 0 {
		return 0
	}
	return (sum / time.Duration(n)).Seconds()
}
