package plan

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/engine"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simnet/broker"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/simweb/requestlog"
	"github.com/curtsy/curtsy/pkg/canon"
)

const token = "curtsy"

// listed are pages of a host as a sitemap lists them.
func listed(urls []string) *simweb.Answer {
	var b strings.Builder
	b.WriteString(`<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
	for _, u := range urls {
		fmt.Fprintf(&b, "<url><loc>%s</loc></url>\n", u)
	}
	b.WriteString("</urlset>")
	return &simweb.Answer{ContentType: "application/xml", Body: b.String()}
}

// planWeb is a web and the network that it is on.
type planWeb struct {
	*simweb.Server
	network *simnet.Net
}

// open opens an engine on the network, with a server that does not listen.
func (w *planWeb) open(t *testing.T) func(context.Context, engine.Options) (*engine.Engine, error) {
	return func(ctx context.Context, o engine.Options) (*engine.Engine, error) {
		o.Server, o.Fetcher.Dial = broker.Start(t), w.network.Dial
		return engine.Open(ctx, o)
	}
}

// sitemapWeb is a web whose sitemaps list all pages of h0000 and h0001, and some that robots.txt
// forbids. h0001 has the longer delay.
func sitemapWeb(t *testing.T) (*planWeb, crawl.Spec) {
	t.Helper()
	network := simnet.New(simnet.Options{Latency: time.Millisecond})
	web, err := simweb.Start(simweb.Config{Listen: network.Listen, Seed: 5, Hosts: 3, PagesPerHost: 30, Behaviors: map[int]simweb.Behavior{
		0: {Robots: simweb.RobotsSubtree, CrawlDelay: 20 * time.Millisecond, Features: []simweb.Feature{simweb.FeatureDataYAML}},
		1: {Robots: simweb.RobotsSubtree, CrawlDelay: 50 * time.Millisecond},
		2: {Robots: simweb.RobotsSubtree, CrawlDelay: 20 * time.Millisecond},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { web.Close() })
	first := web.PageURLs("h0000.sim.test")
	for i := range 7 {
		first = append(first, fmt.Sprintf("http://h0000.sim.test/private/p%d.html", i))
	}
	// URLs out of scope, in a trap, of a type that is not kept, listed twice, and on a host that
	// this sitemap may not list.
	first = append(first, "http://elsewhere.example/", "http://h0000.sim.test"+strings.Repeat("/a", 30), "http://h0000.sim.test/photo.png", first[1])
	first = append(first, web.PageURLs("h0002.sim.test")[1:3]...)
	web.Override("http://h0000.sim.test/sitemap.xml", listed(first))
	web.Override("http://h0000.sim.test/photo.png", &simweb.Answer{ContentType: "image/png", Body: "PNG"})
	web.Override("http://h0001.sim.test/sitemap.xml", listed(append(web.PageURLs("h0001.sim.test"), "http://h0001.sim.test/private/x.html")))
	spec := crawl.Spec{
		Name: "planned", Shards: 2, Scope: "domain", MaxDepth: -1, HoldMax: 3 * time.Second, Agent: token, Contact: "test@example.org",
		SiteFiles: crawl.SiteFiles{DataJSON: true}, AllowPrivate: true, Resolve: []string{web.Resolve()}, Sitemaps: true, NoLinks: true,
		Seeds: []string{"http://h0000.sim.test/", "http://h0001.sim.test/"},
	}
	return &planWeb{web, network}, spec
}

func seedsOf(spec crawl.Spec) (urls []canon.URL) {
	for _, s := range spec.Seeds {
		urls = append(urls, canon.URL(s))
	}
	return urls
}

func planOf(t *testing.T, web *planWeb, spec crawl.Spec, change func(*Options)) *Report {
	t.Helper()
	o := Options{Spec: spec, Seeds: seedsOf(spec), Dir: t.TempDir(), Open: web.open(t)}
	if change != nil {
		change(&o)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := Make(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// crawled runs the crawl to its end.
func crawled(t *testing.T, web *planWeb, spec crawl.Spec) crawl.Status {
	t.Helper()
	e, err := web.open(t)(t.Context(), engine.Options{Dir: t.TempDir(), Seeds: seedsOf(spec), Plan: func(*crawl.Spec) (crawl.Spec, error) { return spec, nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var end crawl.Status
	err = e.Run(ctx, func(ctx context.Context, _ crawl.Status) error {
		for ctx.Err() == nil {
			if st, done, err := asker.Done(ctx, e.Crawl().Queue, spec); err == nil && done {
				end = st
				return nil
			}
			time.Sleep(20 * time.Millisecond)
		}
		return ctx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	return end
}

// asked counts the requests of a log by host, and checks that they were polite.
func asked(t *testing.T, web *planWeb) map[string]int64 {
	t.Helper()
	for _, v := range requestlog.Check(web.Log(), requestlog.CheckOptions{Token: token}) {
		t.Error(v)
	}
	n := map[string]int64{}
	for _, q := range web.Log() {
		n[q.Host]++
	}
	return n
}

// TestPlanIsTrue makes a plan, which requests no page, and then runs the crawl. The pages, the
// refusals, the requests to each host and their duration at the delays of the hosts are as planned.
func TestPlanIsTrue(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		web, spec := sitemapWeb(t)
		r := planOf(t, web, spec, nil)
		read := asked(t, web)
		for _, q := range web.Log() {
			if !q.Robots && q.Path != "/sitemap.xml" && !strings.HasSuffix(q.Path, "/data.txt") && q.Path != "/data.json" {
				t.Errorf("the plan asked for %s%s", q.Host, q.Path)
			}
		}
		web.ResetLog()
		st := crawled(t, web, spec)
		truth := asked(t, web)

		if got, want := r.Pages, st.Discovered-st.ByReason["robots"]-st.ByReason["trap"]; got != want || r.PagesAre != PagesAll || got != 61 {
			t.Errorf("%d pages (%s) planned, %d asked for: %+v", got, r.PagesAre, want, st)
		}
		if want := st.ByReason["robots"] + st.ByReason["trap"]; r.Refused != want || want != 9 {
			t.Errorf("%d planned to be refused, %d were, want 9: %+v", r.Refused, want, st.ByReason)
		}
		if r.WrongType != st.ByReason["type"] || r.WrongType != 1 {
			t.Errorf("%d planned of a type not kept, %d were", r.WrongType, st.ByReason["type"])
		}
		if r.Datasets < 1 || len(r.Titles) == 0 {
			t.Errorf("%d datasets announced, titles %q", r.Datasets, r.Titles)
		}
		if r.Scope != "h0000.sim.test, h0001.sim.test and all other hosts of sim.test; links of pages are not followed, only what seeds and sitemaps name, and redirects" {
			t.Errorf("scope %q", r.Scope)
		}
		var sum int64
		var longest string // includes response times, which depend on the load of the machine
		var most float64
		for _, h := range r.Hosts {
			if h.ShortestS > most {
				longest, most = h.Host, h.ShortestS
			}
			if h.Read != read[h.Host] {
				t.Errorf("%s: %d requests read, the web saw %d", h.Host, h.Read, read[h.Host])
			}
			if got := h.Read + h.Pages; got != truth[h.Host] {
				t.Errorf("%s: %d requests planned, the web saw %d", h.Host, got, truth[h.Host])
			}
			sum += truth[h.Host]
			// Without response times.
			bound, planned := float64(truth[h.Host]-1)*web.CrawlDelay(h.Host, token).Seconds(), h.ShortestS-float64(h.Read+h.Pages)*h.ResponseS
			if math.Abs(planned-bound) > 0.2*bound || h.DelaySource != "crawl-delay" {
				t.Errorf("%s: %.3f s planned apart from the answers (delay %s), the delays alone are %.3f s", h.Host, planned, h.DelaySource, bound)
			}
		}
		if r.Requests != sum || r.Longest != longest || r.ShortestS != most || most < 1.5 {
			t.Errorf("%d requests planned, %d sent; %.3f s for %s, want %.3f s for %s", r.Requests, sum, r.ShortestS, r.Longest, most, longest)
		}
		first := r.Refusals[0]
		if first.Reason != "robots" || first.Host != "h0000.sim.test" || first.URLs != 7 || first.Line == 0 || !strings.Contains(first.Rule, "/private") {
			t.Errorf("most are refused by %+v, want the 7 of a line of robots.txt", first)
		}
	})
}

// A plan reads no links, so it knows less than the crawl will find, and says so.
func TestPlanSaysWhatItsPagesAre(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		web, spec := sitemapWeb(t)
		for _, tt := range []struct {
			change func(*crawl.Spec)
			are    string
			pages  int64
		}{
			{func(s *crawl.Spec) { s.NoLinks = false }, PagesAtLeast, 61},
			{func(s *crawl.Spec) { s.Scope = "page" }, PagesAll, 2},
			{func(s *crawl.Spec) { s.NoLinks, s.Sitemaps = false, false }, PagesUnknown, 2},
			{func(s *crawl.Spec) { s.MaxPagesPerHost = 10 }, PagesAll, 20},
		} {
			changed := spec
			tt.change(&changed)
			if r := planOf(t, web, changed, nil); r.Pages != tt.pages || r.PagesAre != tt.are {
				t.Errorf("%d pages, %s; want %d, %s", r.Pages, r.PagesAre, tt.pages, tt.are)
			}
		}
		for render, want := range map[string]bool{"": false, crawl.RenderNever: false, crawl.RenderAuto: true} {
			changed := spec
			changed.Render = render
			if r := planOf(t, web, changed, nil); r.Rendering != want {
				t.Errorf("--render %q: rendering %v", render, r.Rendering)
			}
		}
		web.ResetLog()
		r := planOf(t, web, spec, func(o *Options) { o.MaxURLs = 10 })
		if r.Cut == "" || r.PagesAre != PagesAtLeast {
			t.Errorf("at the limit of URLs: %+v", r)
		}
	})
}

// A crawl in rounds is planned as one round. Even with short rounds nothing is read twice.
func TestPlanOfRounds(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		web, spec := sitemapWeb(t)
		spec.Every, spec.EverySince = 20*time.Millisecond, time.Now()
		if r := planOf(t, web, spec, nil); r.Pages != 61 || r.PagesAre != PagesAll {
			t.Errorf("%d pages, %s", r.Pages, r.PagesAre)
		}
		asked := map[string]int{}
		for _, q := range web.Log() {
			if asked[q.Host+q.Path]++; asked[q.Host+q.Path] == 2 {
				t.Errorf("%s%s is read twice", q.Host, q.Path)
			}
		}
	})
}

// A plan does not wait for a host whose robots.txt cannot be fetched.
func TestPlanOfAHostThatCannotBeReached(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		web, spec := sitemapWeb(t)
		web.Override("http://h0001.sim.test/robots.txt", &simweb.Answer{Status: 503})
		spec.HoldMax = 10 * time.Minute
		r := planOf(t, web, spec, nil)
		i := slices.IndexFunc(r.Hosts, func(h Host) bool { return h.Host == "h0001.sim.test" })
		if i < 0 || r.Hosts[i].Waiting != 1 || r.Waiting != 1 || r.Hosts[i].Robots != "unreachable" || r.PagesAre != PagesAtLeast {
			t.Errorf("%+v", r)
		}
	})
}

// The limits of the operator end the plan where they would end the crawl.
func TestLimits(t *testing.T) {
	hosts := func() []Host {
		return []Host{{Host: "a", Pages: 100, Read: 2, DelayS: 1}, {Host: "b", Pages: 20, Read: 3, DelayS: 2}}
	}
	for _, tt := range []struct {
		most, perHost   int64
		pages, requests int64
		shortest        float64
	}{
		{0, 0, 120, 125, 101}, {120, 0, 120, 125, 101}, {0, 10, 20, 25, 24},
		// a sends at 0, 1, 2 …, b at 0, 2, 4 …: the first page is a's third request, and b has read
		// twice by then.
		{1, 0, 1, 5, 2}, {3, 0, 3, 8, 4}, {10, 0, 10, 15, 0},
	} {
		r := newReport(crawl.Spec{}, "")
		r.Hosts = hosts()
		r.sumUp(crawl.Spec{MaxPages: tt.most, MaxPagesPerHost: tt.perHost})
		if r.Pages != tt.pages || tt.shortest > 0 && (r.Requests != tt.requests || math.Abs(r.ShortestS-tt.shortest) > 0.01) || (r.Limit != "") != (tt.most > 0 && tt.most < 120) {
			t.Errorf("%+v: %d pages, %d requests, %.2f s, limit %q", tt, r.Pages, r.Requests, r.ShortestS, r.Limit)
		}
	}
}

// The number of different refusals in the report is bounded, and the sum includes all of them.
func TestRefusalsAreBounded(t *testing.T) {
	r := newReport(crawl.Spec{}, "")
	r.groups[Refusal{Reason: "robots", Line: 1}] = 1000
	for i := range MaxRefusals + 10 {
		r.groups[Refusal{Reason: "robots", Line: 2 + i}] = 2
	}
	r.list()
	if len(r.Refusals) != MaxRefusals || r.Refusals[0].URLs != 1000 || r.More != 22 {
		t.Errorf("%d listed, first %+v, %d more", len(r.Refusals), r.Refusals[0], r.More)
	}
}
