package e2e

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/simweb/requestlog"
	"github.com/curtsy/curtsy/pkg/canon"
)

// A host and a part of another are forgotten while the crawl runs and re-crawls. They are not shown
// any more, and nothing is requested from them any more: not on re-crawl, not for new links and
// seeds, not after a restart. All other pages are re-crawled as before.
func TestForgettingARunningCrawl(t *testing.T) { simnet.Test(t, testForgettingARunningCrawl) }

func testForgettingARunningCrawl(t *testing.T) {
	const out, part = "http://h0001.sim.test/", "http://h0002.sim.test/notes"
	web := serve(t, simweb.Config{Seed: 8, Hosts: 3, PagesPerHost: 16, CrossLinks: 2, Mix: func(int) simweb.Behavior {
		return simweb.Behavior{Robots: simweb.RobotsAllowAll, Features: []simweb.Feature{simweb.FeatureDataYAML}}
	}})
	word := map[string]string{out: "aardvark", part + "/here.html": "bandicoot", "http://h0002.sim.test/elsewhere.html": "capybara"}
	for u, w := range word {
		web.Override(u, page(1, "", "a page about the "+w))
	}
	spec := specFor(web)
	spec.Search = true
	spec.Seeds = append(spec.Seeds, slices.Sorted(maps.Keys(word))...)
	r := newRigWith(t, &rig{t: t, net: web.net, spec: spec, index: true}, fetcher.Options{})
	r.seed()
	r.wait(time.Minute)
	for u, w := range word {
		r.until(w+" can be found", func() bool { return r.finds(w, u) })
	}
	datasets := func() (n int) {
		gather(r, "datasets", nil, func(c crawl.DatasetClaim) {
			if strings.Contains(c.Document, "h0001.") {
				n++
			}
		})
		return n
	}
	if datasets() == 0 {
		t.Fatal("no datasets to forget")
	}
	all := r.listed()
	forgotten := func(u string) bool { return strings.HasPrefix(u, out) || strings.HasPrefix(u, part) }

	r.respec(func(s *crawl.Spec) { s.Recrawl, s.RecrawlMin, s.RecrawlMax = true, time.Second, time.Second })
	// Each page that is not forgotten was requested so often since the log was reset.
	asked := func(times int) func() bool {
		return func() bool {
			n := map[string]int{}
			for _, q := range web.Log() {
				n["http://"+q.Host+q.Path]++
			}
			for u := range all {
				if !forgotten(u) && n[u] < times {
					return false
				}
			}
			return true
		}
	}
	r.until("all are asked for again", asked(1))
	r.respec(func(s *crawl.Spec) { s.Forgotten = []string{"h0001.sim.test", part} })
	hidden := func() {
		t.Helper()
		for u := range r.listed() {
			if forgotten(u) {
				t.Errorf("%s is listed", u)
			}
		}
		for u, w := range word {
			if r.finds(w, u) == forgotten(u) {
				t.Errorf("%s is found: %v", u, !forgotten(u))
			}
		}
		if n := datasets(); n > 0 {
			t.Errorf("%d datasets are in the catalogue", n)
		}
	}
	hidden() // from now on
	r.until("no request to them is in progress", func() bool {
		return !slices.ContainsFunc(web.Log(), func(q requestlog.Request) bool { return q.End.IsZero() })
	})
	web.ResetLog()
	// A page that is re-crawled gets links to what is forgotten, and somebody seeds it.
	web.Override("http://h0002.sim.test/elsewhere.html", page(2, "", `capybara <a href="`+out+`new.html">x</a> <a href="`+part+`/new.html">x</a>`))
	if err := asker.Seed(t.Context(), r.q, r.spec, []canon.URL{out, out + "seeded.html", part + "/seeded.html"}); err != nil {
		t.Fatal(err)
	}
	r.until("the links are seen", func() bool { return r.explain(part+"/new.html").Seen && r.explain(out+"new.html").Seen })
	r.until("all other pages are re-crawled", asked(2))
	hidden()
	r.stop()
	r.start(r.dir, fetcher.Options{})
	r.until("all other pages are re-crawled after a restart", asked(4))
	hidden()
	for _, u := range []string{out, out + "new.html", out + "seeded.html", part + "/new.html", part + "/seeded.html", part + "/here.html"} {
		if x := r.explain(u); x.State != "refused" || x.Reason != "forgotten" {
			t.Errorf("%s: %s %s", u, x.State, x.Reason)
		}
	}
	for _, q := range web.Log() {
		if forgotten("http://" + q.Host + q.Path) {
			t.Errorf("%s%s was asked for", q.Host, q.Path)
		}
	}
	// When they are allowed again, all their pages come back.
	r.respec(func(s *crawl.Spec) { s.Forgotten, s.Recrawl = nil, false })
	r.wait(time.Minute)
	back := r.listed()
	for u := range all {
		if _, ok := back[u]; !ok {
			t.Errorf("%s is not back", u)
		}
	}
	r.until("its datasets are back", func() bool { return datasets() > 0 })
	r.until("it is searchable again", func() bool { return r.finds("aardvark", out) && r.finds("bandicoot", part+"/here.html") })
	r.accounts()
}
