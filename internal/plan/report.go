package plan

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/control"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier"
	"github.com/curtsy/curtsy/internal/siterules"
	"github.com/curtsy/curtsy/pkg/canon"
)

// The values of Report.PagesAre.
const (
	PagesAll     = "all"      // links are not followed, so there are no others
	PagesAtLeast = "at-least" // links of pages may lead to more
	PagesUnknown = "unknown"  // there is no sitemap: only the seeds are known
)

// Report is a plan: what a crawl would do. Its keys are a contract, like those of other answers.
type Report struct {
	Scope string `json:"scope"` // in words
	// Pages is the number of pages that would be requested. PagesAre says what this number is:
	// PagesAll, PagesAtLeast or PagesUnknown.
	Pages    int64  `json:"pages"`
	PagesAre string `json:"pages_are"`
	// Requests is the number of all requests: for pages, robots.txt, sitemaps and data.txt.
	Requests int64 `json:"requests"`
	// Rendering: scripts of pages would be run. What they request is not in Requests, because it is
	// known only when the pages are there.
	Rendering bool `json:"rendering,omitempty"`
	// ShortestS is the least time that the requests take, in seconds, with the delays of the hosts
	// and with responses as fast as those to the plan. Longest is the host that takes longest.
	ShortestS float64 `json:"shortest_s"`
	Longest   string  `json:"longest,omitempty"`
	// Limit is the limit of the spec that would end the crawl early: max-pages. Pages, Requests and
	// ShortestS are then counted up to it.
	Limit string `json:"limit,omitempty"`
	// WrongType counts pages whose names suggest a type that is not kept. They would probably be
	// refused after one request each.
	WrongType int64 `json:"wrong_type"`

	Datasets int64    `json:"datasets"` // announced in data.txt files
	Titles   []string `json:"titles"`   // of the first of them

	Refused  int64     `json:"refused"`  // URLs that would not be requested
	Refusals []Refusal `json:"refusals"` // why, most first; at most MaxRefusals
	More     int64     `json:"more"`     // URLs refused for reasons that are not listed
	// Waiting counts URLs of hosts whose robots.txt cannot be fetched, or whose delay is too long
	// for us. None of them would be requested as long as that is so.
	Waiting int64 `json:"waiting"`

	Hosts []Host  `json:"hosts"`         // those with most pages first
	Cut   string  `json:"cut,omitempty"` // why the plan ended early; "": it did not
	TookS float64 `json:"took_s"`        // how long the plan took

	groups map[Refusal]int64
	hosts  map[string]*Host
	named  int64 // pages and refused URLs, without the seeds
	seeds  map[canon.URL]bool
}

// Refusal is a reason for which URLs would not be requested.
type Refusal struct {
	Reason string `json:"reason"`         // crawl.Reason
	Host   string `json:"host,omitempty"` // the host of the robots.txt, or of the URLs
	Line   int    `json:"line,omitempty"` // of its robots.txt
	Rule   string `json:"rule,omitempty"` // the rule in robots.txt, or what else decided
	URLs   int64  `json:"urls"`
}

// MaxRefusals is how many refusals a report lists, and MaxTitles how many titles of datasets.
const (
	MaxRefusals = 200
	MaxTitles   = 20
)

// maxGroups is how many different refusals are counted separately.
const maxGroups = 20_000

// Host is the plan for one host.
type Host struct {
	Host  string `json:"host"`
	Pages int64  `json:"pages"` // that would be requested
	// Redirected counts URLs with meaningless parameters (Clean-param), which count as the URL
	// without them.
	Redirected int64 `json:"redirected,omitempty"`
	Refused    int64 `json:"refused"`
	Waiting    int64 `json:"waiting"` // see Report.Waiting
	// Read counts the requests that the plan has sent. The crawl would send them too.
	Read int64 `json:"read"`
	// DelayS is the delay between requests, and DelaySource its origin, as in crawl.HostInfo.
	DelayS      float64 `json:"delay_s"`
	DelaySource string  `json:"delay_source"`
	// The mean over the requests of the plan; 0 means not measured.
	ResponseS float64 `json:"response_s"`
	ShortestS float64 `json:"shortest_s"` // for its pages and the requests of the plan
	Robots    string  `json:"robots"`     // parsed, unavailable, unreachable, …
	Reason    string  `json:"reason,omitempty"`
	MirrorOf  string  `json:"mirror_of,omitempty"`
	Sitemaps  int     `json:"sitemaps"` // read; the count ends at 100
	// Unread lists sitemaps that could not be read, and files that are no sitemaps, with the
	// reason.
	Unread []crawl.SitemapInfo `json:"unread,omitempty"`
}

func newReport(spec crawl.Spec, cut string) *Report {
	r := &Report{
		Scope: control.Words(spec), Titles: []string{}, Refusals: []Refusal{}, Hosts: []Host{}, Cut: cut,
		groups: map[Refusal]int64{}, hosts: map[string]*Host{}, seeds: map[canon.URL]bool{},
	}
	sites, err := siterules.Of(&spec)
	r.Rendering = spec.Render != "" && spec.Render != crawl.RenderNever || err == nil && sites.Renders()
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

// count adds a URL to the report.
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

// measured is the number of hosts, those with most pages, whose response times are read.
const measured = 1000

// largest sorts the hosts by their number of pages and returns the first of them.
func (r *Report) largest() []Host {
	for _, h := range r.hosts {
		r.Hosts = append(r.Hosts, *h)
	}
	slices.SortFunc(r.Hosts, func(a, b Host) int {
		return cmp.Or(cmp.Compare(b.Pages, a.Pages), cmp.Compare(b.Read, a.Read), strings.Compare(a.Host, b.Host))
	})
	return r.Hosts[:min(len(r.Hosts), measured)]
}

// response is the mean response time.
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
