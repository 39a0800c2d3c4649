package e2e

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/simweb/requestlog"
)

// sitemapRig crawls a web to its end and returns what is known then, and the requests by URL.
// Politeness is checked.
func sitemapRig(t *testing.T, web *website, change func(*crawl.Spec)) (*rig, crawl.Status, map[string]int) {
	t.Helper()
	spec := specFor(web)
	if change != nil {
		change(&spec)
	}
	r := newRig(t, web.net, spec, fetcher.Options{})
	r.seed()
	st := r.wait(2 * time.Minute)
	r.stop()
	polite(t, web, 0)
	asked := map[string]int{}
	for _, q := range web.Log() {
		asked["http://"+q.Origin+q.Path]++
	}
	return r, st, asked
}

// sitemapsKnown returns the sitemaps of all hosts, by URL and the origin that refers to them.
func sitemapsKnown(t *testing.T, r *rig) map[string]crawl.SitemapInfo {
	t.Helper()
	rd := r.files()
	defer rd.Close()
	known := map[string]crawl.SitemapInfo{}
	err := questions.Hosts.Each(t.Context(), rd, nil, func(h crawl.HostInfo) error {
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

// TestSitemaps crawls sites whose sitemaps, in every form, list pages to which no link leads: all
// are stored, except for those that robots.txt forbids, and each sitemap is requested once.
func TestSitemaps(t *testing.T) { simnet.Test(t, testSitemaps) }

func testSitemaps(t *testing.T) {
	web := serve(t, simweb.Config{Seed: 9, Hosts: 5, PagesPerHost: 6, Behaviors: map[int]simweb.Behavior{
		0: {Robots: simweb.RobotsSubtree, Features: []simweb.Feature{simweb.FeatureSitemap}},
		1: {Robots: simweb.RobotsNone, Features: []simweb.Feature{simweb.FeatureSitemapPlace}},
		2: {Robots: simweb.RobotsHostSelf, CrawlDelay: 20 * time.Millisecond, Features: []simweb.Feature{simweb.FeatureSitemap}},
		3: {Robots: simweb.RobotsClosed, Features: []simweb.Feature{simweb.FeatureSitemap}},
		4: {Robots: simweb.RobotsAllowAll},
	}})
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
				n *= 2 // and once more at the target of a redirect
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

// A robots.txt may refer to sitemaps on another host: these may list pages of both hosts, but of no
// others; a sitemap to which no robots.txt refers may only list pages of its own host. What changed
// last is crawled first.
func TestSitemapsOfOtherHosts(t *testing.T) { simnet.Test(t, testSitemapsOfOtherHosts) }

func testSitemapsOfOtherHosts(t *testing.T) {
	plain := simweb.Behavior{Robots: simweb.RobotsAllowAll, Pages: 3}
	web := serve(t, simweb.Config{Seed: 4, Hosts: 3, Behaviors: map[int]simweb.Behavior{
		0: {Robots: simweb.RobotsAllowAll, Pages: 3, Extra: []string{"Sitemap: http://h0001.sim.test/for-0.xml", "Sitemap: http://files.other.test/cdn.xml", "Sitemap: http://h0001.sim.test/moved.xml"}},
		1: plain, 2: plain,
	}})
	url := func(u, mod string) string { return "<url><loc>" + u + "</loc><lastmod>" + mod + "</lastmod></url>" }
	page := func(u string) {
		web.Override(u, &simweb.Answer{Body: "<title>x</title>"})
	}
	forZero := "<urlset>"
	for i, day := range []int{3, 19, 1, 27, 8} {
		u := fmt.Sprintf("http://h0000.sim.test/dated-%02d.html", day)
		page(u)
		forZero += url(u, fmt.Sprintf("1999-01-%02d", day))
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
	xml("http://h0001.sim.test/for-0.xml", forZero+url("http://h0001.sim.test/own.html", "1999-01-01")+url("http://h0002.sim.test/stranger.html", "1999-01-01")+"</urlset>")
	xml("http://h0001.sim.test/sitemap.xml", "<urlset>"+url("http://h0001.sim.test/by-place.html", "1999-01-01")+url("http://h0000.sim.test/unvouched.html", "1999-01-01")+"</urlset>")
	web.Override("http://h0001.sim.test/moved.xml", &simweb.Answer{Status: 302, Header: []string{"Location: http://h0002.sim.test/new.xml"}})
	xml("http://h0002.sim.test/new.xml", "<urlset>"+url("http://h0000.sim.test/moved.html", "1999-01-01")+url("http://h0002.sim.test/moved.html", "1999-01-01")+url("http://h0001.sim.test/unvouched.html", "1999-01-01")+"</urlset>")
	r, _, asked := sitemapRig(t, web, func(s *crawl.Spec) { s.Resolve = append(s.Resolve, "*.other.test="+web.Addr()) })
	rd := r.files()
	defer rd.Close()
	for u, state := range map[string]string{
		"http://h0000.sim.test/dated-27.html": "stored", "http://h0000.sim.test/dateless.html": "stored", "http://h0001.sim.test/own.html": "stored",
		"http://h0001.sim.test/by-place.html": "stored", "http://h0000.sim.test/moved.html": "stored", "http://h0002.sim.test/moved.html": "stored",
		"http://h0002.sim.test/stranger.html": "", "http://h0000.sim.test/unvouched.html": "", "http://h0001.sim.test/unvouched.html": "",
	} {
		if x, err := rd.Explain(t.Context(), u); err != nil || x.Seen != (state != "") || x.Seen && x.State != state {
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
	// The files host is out of scope and of another domain: whatever refers to it, nothing is
	// requested from it.
	for u := range asked {
		if strings.HasPrefix(u, "http://files.other.test") {
			t.Errorf("a third party was asked for %s", u)
		}
	}
}

// Harmful sitemaps cost one request each, are read up to the limits, and the crawl continues.
func TestHostileSitemaps(t *testing.T) { simnet.Test(t, testHostileSitemaps) }

func testHostileSitemaps(t *testing.T) {
	web := serve(t, simweb.Config{Seed: 6, Hosts: 3, PagesPerHost: 4, Behaviors: map[int]simweb.Behavior{
		0: {Robots: simweb.RobotsAllowAll, Extra: []string{"Sitemap: /bomb.txt.gz", "Sitemap: /self.xml", "Sitemap: /a.xml", "Sitemap: /million.txt", "Sitemap: /wrong.xml",
			"Sitemap: /soft404", "Sitemap: /broken.xml", "Sitemap: /loop", "Sitemap: /error.xml"}},
		1: {Robots: simweb.RobotsAllowAll}, 2: {Robots: simweb.RobotsAllowAll},
	}})
	const home = "http://h0000.sim.test"
	put := func(path, body string) {
		web.Override(home+path, &simweb.Answer{ContentType: "text/plain", Body: body})
	}
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	io.WriteString(z, home+"/x/\n"+strings.Repeat(strings.Repeat(" ", 30<<10)+"\n", 2<<10))
	z.Close()
	put("/bomb.txt.gz", bomb.String())
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
		"/bomb.txt.gz": "only its first 50 MiB", "/self.xml": "", "/a.xml": "", "/b.xml": "", "/c.xml": "it is an index nested more than 2 deep", "/million.txt": "only its first 50000 entries", "/wrong.xml": "",
		"/soft404": "it is neither a sitemap", "/broken.xml": "it cannot be read to the end", "/loop": "location", "/error.xml": "HTTP 500",
	} {
		s, ok := known[home+path+" for "+home]
		n := 1
		if path == "/error.xml" {
			n = 3
		}
		if !ok || s.Queued || !strings.HasPrefix(s.Reason, want) || asked[home+path] != n {
			t.Errorf("%s: %+v, asked for %d times; want %q", path, s, asked[home+path], want)
		}
		if want := map[string]int{"/million.txt": 50_000, "/bomb.txt.gz": 1}; want[path] != s.Entries && path[2:] != ".xml" && path != "/broken.xml" {
			t.Errorf("%s: %d entries", path, s.Entries)
		}
	}
	if asked[home+"/d.xml"] != 0 || asked["http://h0001.sim.test/wrong"] != 0 || asked[home+"/unlinked-1.html"] != 1 {
		t.Errorf("asked: %v", asked)
	}
	t.Logf("%+v", st)
}

// A crawl of pages that only sitemaps list, which is killed again and again while it reads them:
// everything is found nevertheless, each URL once, and the counts are the same as without kills.
func TestSitemapsKilled(t *testing.T) { simnet.Test(t, testSitemapsKilled) }

func testSitemapsKilled(t *testing.T) {
	const files, each = 10, 30
	const home = "http://h0000.sim.test"
	web := serve(t, simweb.Config{Seed: 4, Hosts: 2, Behaviors: map[int]simweb.Behavior{
		0: {Robots: simweb.RobotsSubtree, Pages: 5, Extra: []string{"Sitemap: /index.xml"}, Latency: 4 * time.Millisecond},
		1: {Robots: simweb.RobotsAllowAll, Pages: 5, Latency: 4 * time.Millisecond},
	}})
	index := "<sitemapindex>"
	for f := range files {
		text := ""
		for i := range each {
			u := fmt.Sprintf("%s/only/%d-%d.html", home, f, i)
			web.Override(u, &simweb.Answer{Body: fmt.Sprintf("<title>%d-%d</title>page", f, i)})
			text += u + "\n"
		}
		web.Override(fmt.Sprintf("%s/s%d.txt", home, f), &simweb.Answer{ContentType: "text/plain", Body: text + home + "/private/secret.html\n"})
		index += fmt.Sprintf("<sitemap><loc>%s/s%d.txt</loc></sitemap>", home, f)
	}
	web.Override(home+"/index.xml", &simweb.Answer{ContentType: "application/xml", Body: index + "</sitemapindex>"})
	asked := func(what string) int {
		return len(slices.DeleteFunc(web.Log(), func(r requestlog.Request) bool { return !strings.HasPrefix(r.Path, what) }))
	}
	crawl := func() *rig {
		r := &rig{t: t, net: web.net, spec: specFor(web), index: true}
		r.spec.Seeds = []string{home + "/"}
		r.serveNATS(t.TempDir())
		return r
	}
	end := func(r *rig) result {
		r.start(r.dir, fetcher.Options{})
		r.seed()
		r.wait(time.Minute)
		r.stop()
		return r.result()
	}
	want := end(crawl())
	if n := len(want.pages); n != files*each+5+5+2 { // and two of the subtree's
		t.Fatalf("%d pages undisturbed: %s", n, want.classes)
	}
	web.ResetLog()
	hurt, kills := crawl(), 0
	for _, when := range []struct {
		what string
		n    int
	}{{"/index.xml", 1}, {"/s", 2}, {"/s", 6}, {"/only/", 20}, {"/s", 12}, {"/only/", 200}} {
		if hurt.killWhen(web, fmt.Sprint(when), func() bool { return asked(when.what) >= when.n }) {
			break
		}
		kills++
	}
	got := end(hurt)
	if !slices.Equal(got.pages, want.pages) || got.classes != want.classes {
		t.Errorf("after %d kills %d pages, %s; without %d, %s", kills, len(got.pages), got.classes, len(want.pages), want.classes)
	}
	if kills < 3 {
		t.Errorf("killed %d times only", kills)
	}
	polite(t, web, 0)
	t.Logf("%d kills; sitemaps asked for %d times, %d without", kills, asked("/s")+asked("/index"), files+1)
}

// TestSitemapIndexMemory is the acceptance test: an index with a gzipped sitemap of 50,000 URLs is
// read by the whole crawl (fetcher, frontier, log and store in one process, and the server too)
// while memory grows by less than 50 MiB. It does not run in parallel to others. More sitemaps
// would wait until most of those URLs were fetched, which the page limit prevents here.
func TestSitemapIndexMemory(t *testing.T) { simnet.Test(t, testSitemapIndexMemory) }

func testSitemapIndexMemory(t *testing.T) {
	const pages, files, each, most = 400, 1, 50_000, 50 << 20
	web := serve(t, simweb.Config{Seed: 2, Hosts: 1, PagesPerHost: pages, PageBytes: 18 << 10, Behaviors: map[int]simweb.Behavior{
		0: {Robots: simweb.RobotsAllowAll, Extra: []string{"Sitemap: /index.xml.gz"}},
	}})
	const home = "http://h0000.sim.test"
	size, packed := 0, 0
	put := func(path, text string) {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		io.WriteString(z, text)
		z.Close()
		size, packed = size+len(text), packed+b.Len()
		web.Override(home+path, &simweb.Answer{ContentType: "application/gzip", Body: b.String()})
	}
	index := "<sitemapindex>"
	for f := range files {
		var b strings.Builder
		b.WriteString("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n")
		for i := range each {
			n := f*each + i
			fmt.Fprintf(&b, "<url><loc>%s/articles/2026/%d/%x-what-happened-when-nobody-was-looking</loc><lastmod>1999-%02d-%02d</lastmod><changefreq>daily</changefreq></url>\n",
				home, n, n*n, 1+n%10, 1+n%27)
		}
		put(fmt.Sprintf("/s%d.xml.gz", f), b.String()+"</urlset>")
		index += fmt.Sprintf("<sitemap><loc>%s/s%d.xml.gz</loc></sitemap>", home, f)
	}
	put("/index.xml.gz", index+"</sitemapindex>")

	spec := specFor(web)
	// First everything else, so that the memory of a crawl is known; and none of the new pages.
	spec.Sitemaps, spec.MaxPages = false, pages
	r := newRig(t, web.net, spec, fetcher.Options{})
	peak := sampleMemory(t)
	r.seed()
	r.until("the linked pages are stored", func() bool {
		st, err := asker.Status(t.Context(), r.q, r.spec)
		return err == nil && st.Stored == pages && st.InFlight == 0
	})
	before := peak()
	peak = sampleMemory(t)
	began := time.Now()
	r.respec(func(s *crawl.Spec) { s.Sitemaps = true })
	r.until("all URLs are known", func() bool {
		st, err := asker.Status(t.Context(), r.q, r.spec)
		return err == nil && st.Discovered == files*each+pages && st.Shards[0].Aux == 0
	})
	took, after := time.Since(began), peak()
	r.stop()
	grown := memory{after.heap - before.heap, after.rss - before.rss, after.anon - before.anon}
	t.Logf("%d URLs in %d sitemaps of an index, %d KiB (%d KiB gzipped), read in %v. The most that was taken: alive in the heap %.1f MiB, %.1f more than while %d linked pages were crawled; "+
		"resident without mapped files %.1f MiB, %.1f more; with the mapped files of the store %.1f MiB, %.1f more",
		files*each, files, size>>10, packed>>10, took.Round(time.Millisecond), mib(after.heap), mib(grown.heap), pages,
		mib(after.anon), mib(grown.anon), mib(after.rss), mib(grown.rss))
	// The system reclaims mapped files when it needs memory; the race detector takes many times as
	// much.
	if !raced() && max(grown.heap, grown.anon) >= most {
		t.Errorf("memory grew by %.1f MiB, want less than %d", mib(max(grown.heap, grown.anon)), most>>20)
	}
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }

// raced reports whether this was built with the race detector.
func raced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// memory is the memory of a process in bytes: the live heap of Go, and the resident memory with and
// without mapped files.
type memory struct{ heap, rss, anon int64 }

func (m memory) most(o memory) memory {
	return memory{max(m.heap, o.heap), max(m.rss, o.rss), max(m.anon, o.anon)}
}

// sampleMemory measures at the end of each garbage collection until the function that it returns is
// called, which returns the maximum of each. Code that allocates much causes collections, however
// fast or slow the machine is.
func sampleMemory(t *testing.T) (peak func() memory) {
	t.Helper()
	status, err := os.Open("/proc/self/status")
	if err != nil {
		t.Skip("only Linux reports the resident memory")
	}
	debug.FreeOSMemory() // return what earlier tests have allocated
	var mu sync.Mutex    // guards the variables below
	var most memory
	over := false
	buf := make([]byte, 8<<10)
	// Not the heap in use: its amount of garbage depends on what else the machine does.
	heap := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	look := func() {
		metrics.Read(heap)
		n, _ := status.ReadAt(buf, 0)
		most = most.most(memory{
			heap: int64(heap[0].Value.Uint64()), rss: statusKiB(buf[:n], "VmRSS:") << 10, anon: statusKiB(buf[:n], "RssAnon:") << 10,
		})
	}
	var next func()
	next = func() {
		runtime.AddCleanup(&struct{ _ [16]byte }{}, func(int) { // garbage at once
			mu.Lock()
			defer mu.Unlock()
			if !over {
				look()
				next()
			}
		}, 0)
	}
	next()
	return func() memory {
		runtime.GC()
		mu.Lock()
		defer mu.Unlock()
		look()
		over = true
		status.Close()
		return most
	}
}

// statusKiB returns a figure of /proc/self/status.
func statusKiB(status []byte, name string) (kib int64) {
	_, after, _ := bytes.Cut(status, []byte(name))
	for _, c := range bytes.TrimLeft(after, " \t") {
		if c < '0' || c > '9' {
			break
		}
		kib = 10*kib + int64(c-'0')
	}
	return kib
}
