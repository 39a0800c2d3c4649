package e2e

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simweb"
)

// TestOneSiteThatUsesEverything crawls a site with groups, Host, agents, tags by header and meta,
// Clean-param and data.txt, a second one with the other form of data.txt, and a mirror of the
// first. What is stored, what may be shown, which agents serve what and which datasets there are
// must be exactly what the documents require.
func TestOneSiteThatUsesEverything(t *testing.T) { simnet.Test(t, testOneSiteThatUsesEverything) }

func testOneSiteThatUsesEverything(t *testing.T) {
	everything := simweb.Everything()
	everything.Extra = append(everything.Extra, "Clean-param: session /guide")
	web := serve(t, simweb.Config{Seed: 5, Hosts: 4, PagesPerHost: 8, Behaviors: map[int]simweb.Behavior{
		0: everything,
		1: {Robots: simweb.RobotsSubtree, Features: []simweb.Feature{simweb.FeatureDataRecords}},
		3: {Robots: simweb.RobotsNone, Features: []simweb.Feature{simweb.FeatureOpenData}},
		2: {Robots: simweb.RobotsMirror, Peer: 0},
	}})
	spec := specFor(web)
	spec.Search, spec.Sitemaps = true, true
	r := newRigWith(t, &rig{t: t, net: web.net, spec: spec, index: true}, fetcher.Options{})
	r.seed()
	r.wait(time.Minute)
	r.stop()
	polite(t, web, 0)
	judge(t, r, web)

	rd := r.files()
	defer rd.Close()
	want := web.Expect(token)
	listed := map[string]crawl.PageInfo{}
	err := questions.Pages.Each(t.Context(), rd, nil, func(p crawl.PageInfo) error { listed[p.URL] = p; return nil })
	if err != nil {
		t.Fatal(err)
	}
	for u, e := range want {
		p, stored := listed[u]
		if stored != (e.Class == simweb.Stored) && !e.Optional {
			t.Errorf("%s: stored %v, the web expects %s %s", u, stored, e.Class, e.Reason)
		}
		if stored && p.SnippetAllowed == e.NoSnippet {
			t.Errorf("%s: snippet allowed %v, nosnippet %v", u, p.SnippetAllowed, e.NoSnippet)
		}
		if stored && e.Contains != "" {
			searchable(t, rd, u, e)
		}
	}
	for u := range listed {
		if want[u].Class != simweb.Stored {
			t.Errorf("%s is stored, and the web expects %s", u, want[u].Class)
		}
		if strings.HasPrefix(u, "http://h0002.") {
			t.Errorf("%s is stored: its host names another as its main mirror", u)
		}
	}
	checkDatasets(t, rd, web)
	checkHosts(t, r)
}

// searchable searches a page by a word in it; its text must be shown exactly if that is allowed.
func searchable(t *testing.T, rd *asker.Crawl, u string, e simweb.Expectation) {
	t.Helper()
	a, err := rd.Search(t.Context(), crawl.SearchRequest{Query: e.Contains, Limit: 50})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(a.Hits, func(h crawl.Hit) bool { return h.URL == u })
	if i < 0 {
		t.Errorf("search %q does not find %s", e.Contains, u)
	} else if e.NoSnippet && a.Hits[i].Snippet != nil {
		t.Errorf("%s has nosnippet and is shown with %q", u, *a.Hits[i].Snippet)
	}
}

func checkDatasets(t *testing.T, rd *asker.Crawl, web *website) {
	t.Helper()
	titles := map[string]string{} // of the datasets of the web, by their files
	for _, d := range web.Datasets() {
		titles[d.URL] = d.Title
	}
	got := map[string]crawl.DatasetInfo{}
	err := rd.Datasets(t.Context(), func(d crawl.DatasetInfo) error {
		for _, u := range d.URLs {
			if _, ok := got[u]; !ok || d.Title == titles[u] { // other datasets may share the file
				got[u] = d
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	forms := map[string]bool{}
	for _, d := range web.Datasets() {
		if strings.HasPrefix(d.URL, "http://h0002.") {
			if _, ok := got[d.URL]; ok {
				t.Errorf("%s of a closed mirror is in the catalogue", d.URL)
			}
			continue
		}
		g, ok := got[d.URL]
		switch {
		case d.Forbidden && ok && g.Allowed:
			t.Errorf("%s is closed by its data.txt, and allowed in the catalogue", d.URL)
		case d.Forbidden:
		case !ok:
			t.Errorf("%s is not in the catalogue", d.URL)
		case d.Name != "" && g.Name != d.Name || d.Title != "" && g.Title != d.Title || d.License != "" && g.License != d.License || kindOf(g) != d.Form:
			t.Errorf("%s: %+v, want %+v", d.URL, g, d)
		}
		forms[d.Form] = true
	}
	for _, form := range []string{"yaml", "records", "json-ld", "datapackage"} {
		if !forms[form] {
			t.Errorf("forms seen: %v, not %s", forms, form)
		}
	}
}

// kindOf returns the form of the data.txt that describes a dataset, or else the kind of its most
// trusted document.
func kindOf(d crawl.DatasetInfo) string { return cmp.Or(d.Form, d.Sources[0].Kind) }

func checkHosts(t *testing.T, r *rig) {
	t.Helper()
	fr := r.files()
	defer fr.Close()
	hosts := map[string]crawl.HostInfo{}
	if err := questions.Hosts.Each(t.Context(), fr, nil, func(h crawl.HostInfo) error { hosts[h.Host] = h; return nil }); err != nil {
		t.Fatal(err)
	}
	main, mirror := hosts["h0000.sim.test"], hosts["h0002.sim.test"]
	if main.DelaySource != "crawl-delay" || main.DelayS != 0.05 || len(main.AgentServers) != 3 || main.Robot.Claim != "self" || main.Robot.DataTxt != "read" {
		t.Errorf("main host: %+v", main)
	}
	if mirror.Robot == nil || mirror.Robot.Claim != "http://h0000.sim.test" || mirror.Robot.DataTxt != "refused" {
		t.Errorf("mirror: %+v", mirror.Robot)
	}
	for path, target := range map[string]string{"/guide/x": "atp://agents.sim.test:544", "/guide/open/y": "atp://agents.sim.test:543"} {
		x, err := fr.Explain(t.Context(), "http://h0000.sim.test"+path)
		if err != nil || x.AgentServer == nil || *x.AgentServer != target {
			t.Errorf("explain %s: agent server %v (%v), want %s", path, x.AgentServer, err, target)
		}
	}
	x, err := fr.Explain(t.Context(), "http://h0002.sim.test/")
	if err != nil || x.State != "refused" || x.Robots == nil || x.Robots.Allowed || !strings.HasPrefix(x.Robots.Rule, "Host:") {
		t.Errorf("explain the mirror's root: %+v %+v (%v), want it closed by its Host line", x, x.Robots, err)
	}
}
