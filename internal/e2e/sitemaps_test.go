package e2e

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/frontier"
	"github.com/curtsy/curtsy/internal/simweb"
)

// sitemapRig crawls a web to its end and returns what is known then, and the requests by URL. Politeness is checked.
func sitemapRig(t *testing.T, web *simweb.Server, change func(*crawl.Spec)) (*rig, crawl.Status, map[string]int) {
	t.Helper()
	spec := specFor(web)
	if change != nil {
		change(&spec)
	}
	r := newRig(t, spec, fetcher.Options{})
	r.seed()
	st := r.wait(2 * time.Minute)
	r.stop()
	for _, v := range simweb.Check(web.Log(), simweb.CheckOptions{Token: token}) {
		t.Error(v)
	}
	asked := map[string]int{}
	for _, q := range web.Log() {
		asked["http://"+q.Origin+q.Path]++
	}
	return r, st, asked
}

// sitemapsKnown is what is told of the sitemaps of all hosts, by URL and the origin that vouches.
func sitemapsKnown(t *testing.T, r *rig) map[string]crawl.SitemapInfo {
	t.Helper()
	rd, err := frontier.OpenDir(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer rd.Close()
	known := map[string]crawl.SitemapInfo{}
	err = rd.Hosts(func(h crawl.HostInfo) error {
		for _, s := range h.Sitemaps {
			known[s.URL+" for "+s.Origin] = s
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return known
}

// TestSitemaps crawls sites whose sitemaps, in every form, know pages that no link leads to: all are stored, but for those that
// robots.txt closes, and each sitemap is asked for once.
func TestSitemaps(t *testing.T) {
	t.Parallel()
	web, err := simweb.Start(simweb.Config{Seed: 9, Hosts: 5, PagesPerHost: 6, Behaviors: map[int]simweb.Behavior{
		0: {Robots: simweb.RobotsSubtree, Features: []simweb.Feature{simweb.FeatureSitemap}},
		1: {Robots: simweb.RobotsNone, Features: []simweb.Feature{simweb.FeatureSitemapPlace}},
		2: {Robots: simweb.RobotsHostSelf, CrawlDelay: 20 * time.Millisecond, Features: []simweb.Feature{simweb.FeatureSitemap}},
		3: {Robots: simweb.RobotsClosed, Features: []simweb.Feature{simweb.FeatureSitemap}},
		4: {Robots: simweb.RobotsAllowAll},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	r, st, asked := sitemapRig(t, web, nil)
	judge(t, r, web)
	known := sitemapsKnown(t, r)
	for host, want := range map[string]map[string]string{
		"http://h0000.sim.test": {"/sitemap-index.xml": "index 3 2", "/sitemap-a.xml": "urlset 5 1", "/sitemap-b.xml.gz": "urlset 2 0", "/sitemap-feeds.xml": "index 2 0",
			"/rss.xml": "feed 2 0", "/atom.xml": "feed 1 0", "/sitemap.txt": "text 2 0", "/sitemap-old.txt": "text 2 0"},
		"http://h0001.sim.test": {"/sitemap.xml": "urlset 2 0"},
		"http://h0003.sim.test": {"/sitemap-index.xml": " 0 0 robots", "/sitemap.txt": " 0 0 robots", "/sitemap-old.txt": " 0 0 robots"},
		"http://h0004.sim.test": {"/sitemap.xml": " 0 0 HTTP 404"},
	} {
		got := map[string]crawl.SitemapInfo{}
		for _, s := range known {
			if path, ok := strings.CutPrefix(s.URL, host); ok && s.Origin == host {
				got[path] = s
			}
		}
		for path, s := range want {
			g := got[path]
			if text := strings.TrimSuffix(fmt.Sprintf("%s %d %d %s", g.Form, g.Entries, g.Skipped, g.Reason), " "); g.Queued || !strings.HasPrefix(text, s) || g.Form != "" && g.ReadAt == nil {
				t.Errorf("%s%s: %+v, want %s", host, path, g, s)
			}
			n := 1
			if strings.HasSuffix(s, "robots") {
				n = 0
			}
			if path == "/sitemap.txt" {
				n *= 2 // and once more at the end of a redirect
			}
			if asked[host+path] != n {
				t.Errorf("%s%s was asked for %d times, want %d", host, path, asked[host+path], n)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: %d sitemaps, want %d: %+v", host, len(got), len(want), got)
		}
	}
	for u, n := range asked {
		if n > 1 && !strings.HasSuffix(u, "/sitemap.txt") {
			t.Errorf("%s was asked for %d times", u, n)
		}
		if strings.Contains(u, "stranger") {
			t.Errorf("%s was asked for", u)
		}
	}
	t.Logf("%d requests: %+v", len(web.Log()), st)
}

// A robots.txt may vouch for sitemaps on another host: they tell of pages of both, of nobody else's, and whoever is not vouched
// for tells of his own alone. What changed last comes first.
func TestSitemapsOfOtherHosts(t *testing.T) {
	t.Parallel()
	plain := simweb.Behavior{Robots: simweb.RobotsAllowAll, Pages: 3}
	web, err := simweb.Start(simweb.Config{Seed: 4, Hosts: 3, Behaviors: map[int]simweb.Behavior{
		0: {Robots: simweb.RobotsAllowAll, Pages: 3, Extra: []string{"Sitemap: http://h0001.sim.test/for-0.xml", "Sitemap: http://files.other.test/cdn.xml", "Sitemap: http://h0001.sim.test/moved.xml"}},
		1: plain, 2: plain,
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	url := func(u, mod string) string { return "<url><loc>" + u + "</loc><lastmod>" + mod + "</lastmod></url>" }
	page := func(u string) {
		web.Override(u, &simweb.Answer{Body: "<title>x</title>"})
	}
	forZero := "<urlset>"
	for i, day := range []int{3, 19, 1, 27, 8} {
		u := fmt.Sprintf("http://h0000.sim.test/dated-%02d.html", day)
		page(u)
		forZero += url(u, fmt.Sprintf("2026-01-%02d", day))
		if i == 2 {
			forZero += "<url><loc>http://h0000.sim.test/dateless.html</loc></url>"
		}
	}
	for _, u := range []string{"http://h0000.sim.test/dateless.html", "http://h0001.sim.test/own.html", "http://h0002.sim.test/stranger.html", "http://h0000.sim.test/unvouched.html",
		"http://h0001.sim.test/by-place.html", "http://h0000.sim.test/moved.html", "http://h0002.sim.test/moved.html"} {
		page(u)
	}
	xml := func(u, body string) {
		web.Override(u, &simweb.Answer{ContentType: "application/xml", Body: body})
	}
	xml("http://h0001.sim.test/for-0.xml", forZero+url("http://h0001.sim.test/own.html", "2026-01-01")+url("http://h0002.sim.test/stranger.html", "2026-01-01")+"</urlset>")
	xml("http://h0001.sim.test/sitemap.xml", "<urlset>"+url("http://h0001.sim.test/by-place.html", "2026-01-01")+url("http://h0000.sim.test/unvouched.html", "2026-01-01")+"</urlset>")
	web.Override("http://h0001.sim.test/moved.xml", &simweb.Answer{Status: 302, Header: []string{"Location: http://h0002.sim.test/new.xml"}})
	xml("http://h0002.sim.test/new.xml", "<urlset>"+url("http://h0000.sim.test/moved.html", "2026-01-01")+url("http://h0002.sim.test/moved.html", "2026-01-01")+url("http://h0001.sim.test/unvouched.html", "2026-01-01")+"</urlset>")
	r, _, asked := sitemapRig(t, web, func(s *crawl.Spec) { s.Resolve = append(s.Resolve, "*.other.test="+web.Addr()) })
	rd, err := frontier.OpenDir(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer rd.Close()
	for u, state := range map[string]string{
		"http://h0000.sim.test/dated-27.html": "stored", "http://h0000.sim.test/dateless.html": "stored", "http://h0001.sim.test/own.html": "stored",
		"http://h0001.sim.test/by-place.html": "stored", "http://h0000.sim.test/moved.html": "stored", "http://h0002.sim.test/moved.html": "stored",
		"http://h0002.sim.test/stranger.html": "", "http://h0000.sim.test/unvouched.html": "", "http://h0001.sim.test/unvouched.html": "",
	} {
		if x, err := rd.Explain(u); err != nil || x.Seen != (state != "") || x.Seen && x.State != state {
			t.Errorf("%s: %+v (%v), want %q", u, x, err, state)
		}
	}
	var order []string
	for _, q := range web.Log() {
		if strings.HasPrefix(q.Path, "/date") {
			order = append(order, strings.TrimSuffix(strings.TrimPrefix(q.Path, "/date"), ".html"))
		}
	}
	if want := []string{"d-27", "d-19", "d-08", "d-03", "d-01", "less"}; !slices.Equal(order, want) {
		t.Errorf("in the order %v, want %v", order, want)
	}
	// The files host has no page of this crawl: its robots.txt and the sitemap are all it is asked for.
	if n := asked["http://files.other.test/robots.txt"]; n != 1 || asked["http://files.other.test/cdn.xml"] != 1 || asked["http://files.other.test/sitemap.xml"] != 0 {
		t.Errorf("asked of the files host: %v", asked)
	}
}

// Sitemaps made to do harm cost one request each, are read up to the limits, and the crawl goes on.
func TestHostileSitemaps(t *testing.T) {
	t.Parallel()
	web, err := simweb.Start(simweb.Config{Seed: 6, Hosts: 3, PagesPerHost: 4, Behaviors: map[int]simweb.Behavior{
		0: {Robots: simweb.RobotsAllowAll, Extra: []string{"Sitemap: /bomb.xml.gz", "Sitemap: /self.xml", "Sitemap: /a.xml", "Sitemap: /million.txt", "Sitemap: /wrong.xml",
			"Sitemap: /soft404", "Sitemap: /broken.xml", "Sitemap: /loop", "Sitemap: /error.xml"}},
		1: {Robots: simweb.RobotsAllowAll}, 2: {Robots: simweb.RobotsAllowAll},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	const home = "http://h0000.sim.test"
	put := func(path, body string) {
		web.Override(home+path, &simweb.Answer{ContentType: "text/plain", Body: body})
	}
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	io.WriteString(z, "<urlset>"+strings.Repeat("<!-- "+strings.Repeat("x", 1000)+" -->", 60<<10)+"</urlset>")
	z.Close()
	put("/bomb.xml.gz", bomb.String())
	put("/self.xml", "<sitemapindex><sitemap><loc>/self.xml</loc></sitemap></sitemapindex>")
	put("/a.xml", "<sitemapindex><sitemap><loc>/b.xml</loc></sitemap></sitemapindex>")
	put("/b.xml", "<sitemapindex><sitemap><loc>/a.xml</loc></sitemap><sitemap><loc>/c.xml</loc></sitemap></sitemapindex>")
	put("/c.xml", "<sitemapindex><sitemap><loc>/d.xml</loc></sitemap></sitemapindex>")
	var million strings.Builder
	for i := range 1_000_000 {
		fmt.Fprintf(&million, "%s/x/%d\n", home, i)
	}
	put("/million.txt", million.String())
	put("/wrong.xml", "<urlset><url><loc>http://h0001.sim.test/wrong</loc></url><url><loc>http://10.0.0.1/</loc></url><url><loc>file:///etc/passwd</loc></url><url><loc>javascript:x</loc></url></urlset>")
	put("/soft404", "<!doctype html><title>not found</title><a href='http://h0001.sim.test/wrong'>x</a>")
	put("/broken.xml", "<urlset><url><loc>/unlinked-1.html</loc></url><url><loc>/unlinked-2.html</url><url")
	web.Override(home+"/loop", &simweb.Answer{Status: 301, Header: []string{"Location: /loop"}})
	web.Override(home+"/error.xml", &simweb.Answer{Status: 500})
	r, st, asked := sitemapRig(t, web, func(s *crawl.Spec) { s.Exclude = []string{"/x/"}; s.HoldMax = time.Minute })
	known := sitemapsKnown(t, r)
	for path, want := range map[string]string{
		"/bomb.xml.gz": "only its first 50 MiB", "/self.xml": "", "/a.xml": "", "/b.xml": "", "/c.xml": "indexes are followed 2 deep", "/million.txt": "only its first 50000 entries", "/wrong.xml": "",
		"/soft404": "neither a sitemap", "/broken.xml": "it cannot be read to its end", "/loop": "location", "/error.xml": "HTTP 500",
	} {
		s, ok := known[home+path+" for "+home]
		n := 1
		if path == "/error.xml" {
			n = 3
		}
		if !ok || s.Queued || !strings.HasPrefix(s.Reason, want) || asked[home+path] != n {
			t.Errorf("%s: %+v, asked for %d times; want %q", path, s, asked[home+path], want)
		}
		if want := map[string]int{"/million.txt": 50_000, "/wrong.xml": 0, "/self.xml": 0}; want[path] != s.Entries && path[1] > 'c' && path != "/broken.xml" {
			t.Errorf("%s: %d entries", path, s.Entries)
		}
	}
	if asked[home+"/d.xml"] != 0 || asked["http://h0001.sim.test/wrong"] != 0 || asked[home+"/unlinked-1.html"] != 1 {
		t.Errorf("asked: %v", asked)
	}
	t.Logf("%+v", st)
}
