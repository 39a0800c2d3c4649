package e2e

import (
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simweb"
)

// TestWiderScopeContinues finishes a crawl of one page, then of one host, then of the whole domain.
// Each step must continue from the pages that are there: in the end all are stored, and no page was
// requested twice.
func TestWiderScopeContinues(t *testing.T) { simnet.Test(t, testWiderScopeContinues) }

func testWiderScopeContinues(t *testing.T) {
	web := serve(t, simweb.Config{Seed: 9, Hosts: 3, PagesPerHost: 10, CrossLinks: 2, Mix: func(int) simweb.Behavior {
		return simweb.Behavior{Robots: simweb.RobotsSubtree, Features: []simweb.Feature{simweb.FeatureRedirects}}
	}})
	spec := specFor(web)
	spec.Scope = "page"
	r := newRigWith(t, &rig{t: t, net: web.net, spec: spec, index: true}, fetcher.Options{})
	r.seed()
	if st := r.wait(time.Minute); st.Stored != 1 {
		t.Fatalf("scope page: %+v, want one page", st)
	}
	r.stop()
	r.spec.Scope = "host"
	r.start(r.dir, fetcher.Options{})
	host := r.wait(time.Minute)
	if host.Stored < 10 || host.Hosts != 1 {
		t.Fatalf("scope host: %+v, want the pages of one host", host)
	}
	// And while it runs:
	r.spec.Scope = "domain"
	if err := r.engine.SetSpec(r.spec); err != nil {
		t.Fatal(err)
	}
	st := r.wait(time.Minute)
	r.stop()
	if st.Stored <= host.Stored || st.Hosts != 3 {
		t.Errorf("scope domain: %+v", st)
	}
	judge(t, r, web)
	seen := map[string]int{}
	for _, q := range web.Log() {
		if !q.Robots && q.Path != "/data.txt" {
			seen[q.Host+q.Path]++
		}
	}
	for u, n := range seen {
		if n > 1 {
			t.Errorf("%s was asked for %d times", u, n)
		}
	}
}

// TestLinksLater crawls only what sitemaps list, without links of pages, and then follows links as
// well: the links of the stored pages are read from the store, and no page is requested twice.
// While it runs, links are switched off again, which removes nothing.
func TestLinksLater(t *testing.T) { simnet.Test(t, testLinksLater) }

func testLinksLater(t *testing.T) {
	web := serve(t, simweb.Config{Seed: 11, Hosts: 2, PagesPerHost: 10, CrossLinks: 1, Mix: func(int) simweb.Behavior {
		return simweb.Behavior{Robots: simweb.RobotsSubtree, Features: []simweb.Feature{simweb.FeatureSitemapPlace, simweb.FeatureRedirects}}
	}})
	spec := specFor(web)
	spec.Seeds, spec.NoLinks, spec.HoldMax = []string{web.Seeds()[0], "http://h0000.sim.test/redirect/301"}, true, time.Second
	r := newRigWith(t, &rig{t: t, net: web.net, spec: spec, index: true}, fetcher.Options{})
	r.seed()
	// The home page, what the sitemap lists, and the target of the redirect, if it has one.
	few := r.wait(time.Minute)
	if few.Stored < 3 || few.Stored > 4 || few.Hosts != 1 {
		t.Fatalf("without links: %+v, want the seeds and the two pages of the sitemap", few)
	}
	r.stop()
	r.spec.NoLinks = false
	r.start(r.dir, fetcher.Options{})
	all := r.wait(time.Minute)
	if all.Stored < 20 || all.Hosts != 2 {
		t.Errorf("with links: %+v", all)
	}
	r.spec.NoLinks = true
	if err := r.engine.SetSpec(r.spec); err != nil {
		t.Fatal(err)
	}
	if st := r.wait(time.Minute); st.Stored != all.Stored {
		t.Errorf("without links again: %+v, want what was there", st)
	}
	r.stop()
	judge(t, r, web)
	seen := map[string]int{}
	for _, q := range web.Log() {
		if seen[q.Host+q.Path]++; seen[q.Host+q.Path] > 1 && !q.Robots && q.Path != "/data.txt" {
			t.Errorf("%s%s was asked for %d times", q.Host, q.Path, seen[q.Host+q.Path])
		}
	}
}

// TestSiteRulesChange finishes a crawl that site rules limit to a part of one host. Another file
// takes in the hosts below a name, while the crawl is stopped; links of stored pages are followed
// then, and no page is requested twice. A third one excludes a host: nothing is requested, and
// explain names the line.
func TestSiteRulesChange(t *testing.T) { simnet.Test(t, testSiteRulesChange) }

func testSiteRulesChange(t *testing.T) {
	web := serve(t, simweb.Config{Seed: 9, Hosts: 3, PagesPerHost: 10, CrossLinks: 2, Mix: func(int) simweb.Behavior {
		return simweb.Behavior{Robots: simweb.RobotsSubtree, Features: []simweb.Feature{simweb.FeatureRedirects}}
	}})
	spec := specFor(web)
	first := web.Hosts()[0]
	spec.Scope, spec.Sites, spec.HoldMax = "host", "sites:\n  "+first+":\n    max-depth: 0\n", time.Second
	r := newRigWith(t, &rig{t: t, net: web.net, spec: spec, index: true}, fetcher.Options{})
	r.seed()
	if st := r.wait(time.Minute); st.Stored != 1 || st.Refused == 0 {
		t.Fatalf("at depth 0: %+v, want one page", st)
	}
	r.stop()
	r.spec.Sites = "sites:\n  sim.test: {subdomains: true}\n"
	r.start(r.dir, fetcher.Options{})
	wide := r.wait(time.Minute)
	if wide.Stored < 20 || wide.Hosts != 3 {
		t.Fatalf("with subdomains: %+v, want the pages of all hosts", wide)
	}
	asked := len(web.Log())
	r.spec.Sites = "sites:\n  " + first + ":\n    exclude: [/**]\n"
	if err := r.engine.SetSpec(r.spec); err != nil {
		t.Fatal(err)
	}
	narrow := r.wait(time.Minute)
	if narrow.Stored != wide.Stored || len(web.Log()) != asked {
		t.Errorf("with an exclusion: %+v after %d requests, want nothing new", narrow, len(web.Log())-asked)
	}
	if x := r.explain("http://" + first + "/"); x.InScope || x.ScopeRule != "site rules:3: exclude /**" || x.State != "stored" {
		t.Errorf("%+v", x)
	}
	r.stop()
	seen := map[string]int{}
	for _, q := range web.Log() {
		if seen[q.Host+q.Path]++; seen[q.Host+q.Path] > 1 && !q.Robots && q.Path != "/data.txt" {
			t.Errorf("%s%s was asked for %d times", q.Host, q.Path, seen[q.Host+q.Path])
		}
	}
}
