package frontier

import (
	"fmt"
	"maps"
	rand "math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/mirror"
	"github.com/curtsy/curtsy/internal/frontier/wellknown"
	"github.com/curtsy/curtsy/internal/testaid"
	"github.com/curtsy/curtsy/pkg/canon"
)

// learned applies the fact that an origin's robots.txt has this body.
func (b *bench) learned(origin, body string, v crawl.VisitID) {
	b.t.Helper()
	f := crawl.Robots{Origin: canon.URL(origin + "/").Origin(), State: crawl.RobotsParsed, Status: 200, Body: []byte(body), Digest: []byte(strings.Repeat("d", 32)), Fresh: 24 * time.Hour}
	if body == "" {
		f = robotsOK(canon.URL(origin + "/"))
	}
	b.event(crawl.Event{Visit: v, Robots: []crawl.Robots{f}})
	b.outboxToLog()
}

func withSitemaps(seeds ...string) crawl.Spec {
	spec := testSpec(seeds...)
	spec.Sitemaps = true
	return spec
}

// outboxToLog does what ledger.SendOutbox does: there is one shard.
func (b *bench) outboxToLog() {
	b.t.Helper()
	b.commit()
	for _, m := range b.s.Ledger.CommittedOutbox() {
		ev, err := crawl.DecodeEvent(b.outgoing(m))
		if err != nil {
			b.t.Fatal(err)
		}
		b.event(ev)
		b.s.Ledger.MarkSent(m.N)
	}
}

// sitemapsOf returns the sitemaps that visits of a host would read, in order.
func (b *bench) sitemapsOf(host canon.Host) (urls []string) {
	for _, e := range b.s.Ledger.Hosts[host].Aux {
		if e.Kind == crawl.AuxSitemap {
			urls = append(urls, string(e.URL)+" for "+e.Origin.String())
		}
	}
	slices.Sort(urls)
	return urls
}

// read ends a visit for auxiliary requests, all of which were answered by a.
func (b *bench) read(v crawl.Visit, a crawl.Sitemap) {
	b.t.Helper()
	o := &crawl.Outcome{Host: v.Host, Delay: v.Delay, Requests: len(v.Aux), Private: true}
	for _, e := range v.Aux {
		b.event(crawl.Event{Visit: v.ID, Answers: []crawl.Answer{{Aux: e, Sitemap: a}}})
		o.Done = append(o.Done, e)
	}
	b.event(crawl.Event{Visit: v.ID, Outcome: o})
}

func TestSitemapsAreRequested(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, withSitemaps("http://a.example/", "http://b.example/"))
		b.links(0, "", "http://a.example/", "http://b.example/", "https://b.example/x")
		b.learned("http://a.example", "Sitemap: /s1.xml\nSitemap: http://files.example/s2.xml\nSitemap: ftp://x/\n", crawl.VisitID{})
		b.learned("http://b.example", "", crawl.VisitID{})
		if got := fmt.Sprint(b.sitemapsOf("a.example"), b.sitemapsOf("files.example"), b.sitemapsOf("b.example")); got !=
			"[http://a.example/s1.xml for http://a.example] [http://files.example/s2.xml for http://a.example] [http://b.example/sitemap.xml for http://b.example]" {
			t.Errorf("asked for %v", got)
		}
		var v crawl.Visit
		for _, v = range b.grant(10) {
			if v.Host == "a.example" {
				break
			}
		}
		if len(v.Aux) != 1 || v.Aux[0].ETag != "" || len(v.Robots) != 1 || v.Robots[0].Origin != canon.URL("http://a.example/").Origin() {
			t.Fatalf("granted %+v", v)
		}
		b.read(v, crawl.Sitemap{Status: 200, Read: true, Form: "urlset", Entries: 7, ETag: `"e"`})
		if got := b.sitemapsOf("a.example"); got != nil {
			t.Errorf("still to be read: %v", got)
		}
		info := b.s.Account.HostInfo(b.s.Ledger.Hosts["a.example"], time.Now()).Sitemaps
		if len(info) != 1 || info[0].Entries != 7 || info[0].ReadAt == nil || info[0].Queued {
			t.Errorf("reported: %+v", info)
		}
		b.learned("http://a.example", "Sitemap: /s1.xml\n", crawl.VisitID{})
		if got := b.sitemapsOf("a.example"); got != nil {
			t.Errorf("read lately, and asked for: %v", got)
		}
		time.Sleep(24 * time.Hour)
		b.learned("http://a.example", "Sitemap: /s1.xml\n", crawl.VisitID{})
		for _, v := range b.grant(10) {
			for _, e := range v.Aux {
				if v.Host == "a.example" && e.ETag != `"e"` {
					t.Errorf("asked for again without its ETag: %+v", e)
				}
			}
		}
		if got := b.sitemapsOf("a.example"); len(got) != 1 {
			t.Errorf("a day later: %v", got)
		}
	})
}

// An index of many sitemaps: they wait on disk, no crash loses one, and in the end each was read
// once.
func TestManySitemaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := withSitemaps("http://a.example/")
		spec.Delay = 10 * time.Millisecond
		b := newBench(t, spec)
		b.links(0, "", "http://a.example/")
		const n = 300
		var aux []crawl.AuxRequest
		for i := range n {
			aux = append(aux, crawl.AuxRequest{Kind: crawl.AuxSitemap, URL: canon.URL(fmt.Sprintf("http://a.example/s%d.xml", i)), Origin: canon.URL("http://a.example/").Origin(), Hop: 1})
		}
		b.event(crawl.Event{Aux: aux})
		b.event(crawl.Event{Aux: aux})
		if h := b.s.Ledger.Hosts["a.example"]; h.SitemapsDue != n || len(h.Aux) > wellknown.SitemapAux {
			t.Fatalf("%d due, %d auxiliary requests", h.SitemapsDue, len(h.Aux))
		}
		read := map[canon.URL]int{}
		for i := 0; b.s.Ledger.Hosts["a.example"].SitemapsDue > 0; i++ {
			if i > 2*n+200 {
				t.Fatalf("%d are never read", b.s.Ledger.Hosts["a.example"].SitemapsDue)
			}
			for _, v := range b.grant(1) {
				for _, e := range v.Aux {
					read[e.URL]++
				}
				if v.URLs != nil {
					b.finish(v, crawl.Stored, "")
				} else {
					b.read(v, crawl.Sitemap{Status: 200, Read: true, Form: "urlset"})
				}
			}
			if i%5 == 3 {
				b.commit()
			}
			if i%5 == 4 {
				b.crash()
				b.open()
			}
			time.Sleep(20 * time.Second)
		}
		for u, k := range read {
			if k != 1 {
				t.Errorf("%s read %d times", u, k)
			}
		}
		if len(read) != n {
			t.Errorf("%d of %d read", len(read), n)
		}
		if st := b.status(); st.Shards[0].DueSoon != 0 {
			t.Errorf("work is left: %+v", st.Shards[0])
		}
	})
}

// A sitemap that cannot be fetched is requested again after longer and longer times, three times in
// all; one that does not exist is not.
func TestSitemapRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, withSitemaps("http://a.example/"))
		b.links(0, "", "http://a.example/")
		b.learned("http://a.example", "Sitemap: /s.xml\n", crawl.VisitID{})
		began, asked := time.Now(), []time.Duration{}
		for range 10 * 60 {
			for _, v := range b.grant(1) {
				if len(v.Aux) > 0 {
					asked = append(asked, time.Since(began).Truncate(time.Second))
					b.read(v, crawl.Sitemap{Reason: "HTTP 502", Status: 502, Again: true})
					if len(asked) == 1 {
						b.commit()
						b.crash() // the next attempt is not forgotten
						b.open()
						if st := b.status(); st.Shards[0].DueSoon == 0 {
							t.Error("a crawl is done that will ask for a sitemap again soon")
						}
					}
				} else {
					b.finish(v, crawl.Stored, "")
				}
			}
			time.Sleep(time.Second)
			if err := b.s.Sitemaps.Upkeep(time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		if want := []time.Duration{0, 5 * time.Second, 25 * time.Second}; !slices.Equal(asked, want) {
			t.Errorf("asked after %v, want %v", asked, want)
		}
		b.links(0, "", "http://b.example/")
		b.learned("http://b.example", "", crawl.VisitID{})
		n := 0
		for range 60 {
			for _, v := range b.grant(1) {
				if v.Host == "b.example" {
					n += len(v.Aux)
				}
				b.read(v, crawl.Sitemap{Status: 404})
			}
			time.Sleep(time.Minute)
			if err := b.s.Sitemaps.Upkeep(time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		if n != 1 {
			t.Errorf("one that is not there was asked for %d times", n)
		}
	})
}

// readAll returns the sitemaps of a host that the next visits for auxiliary requests read, with
// their data; each is answered by a.
func (b *bench) readAll(a func(crawl.AuxRequest) crawl.Sitemap) (asked []crawl.AuxRequest) {
	b.t.Helper()
	for range 20 {
		time.Sleep(5 * time.Second)
		for _, v := range b.grant(1) {
			if len(v.Aux) == 0 {
				v.Robots = nil
				b.answer(v, says(version(1)))
				continue
			}
			o := &crawl.Outcome{Host: v.Host, Delay: v.Delay, Requests: len(v.Aux), Private: true, Done: v.Aux}
			for _, e := range v.Aux {
				asked = append(asked, e)
				b.event(crawl.Event{Visit: v.ID, Answers: []crawl.Answer{{Aux: e, Sitemap: a(e)}}})
			}
			b.event(crawl.Event{Visit: v.ID, Outcome: o})
		}
	}
	return asked
}

// An index may be unchanged while its sitemaps are not: it is requested without conditions, so that
// they are read.
func TestIndexesAreReadWithoutConditions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, withSitemaps("http://a.example/"))
		b.links(0, "", "http://a.example/")
		const robotsTxt = "Sitemap: /index.xml\n"
		a := func(e crawl.AuxRequest) crawl.Sitemap {
			s := crawl.Sitemap{Status: 200, Read: true, Form: "urlset", ETag: `"e"`, Scope: b.spec.ScopeHash()}
			if e.Hop == 0 {
				s.Form = "index"
				b.event(crawl.Event{Aux: []crawl.AuxRequest{{Kind: crawl.AuxSitemap, URL: "http://a.example/child.xml", Origin: e.Origin, Hop: 1}}})
			}
			return s
		}
		for day := range 3 {
			b.learned("http://a.example", robotsTxt, crawl.VisitID{})
			asked := b.readAll(a)
			if len(asked) != 2 || asked[0].URL != "http://a.example/index.xml" || asked[0].ETag != "" || (asked[1].ETag != "") != (day > 0) {
				t.Fatalf("day %d: asked %+v", day, asked)
			}
			time.Sleep(24 * time.Hour)
		}
		// If an index turns out to be nearer to a seed, it may lead to more.
		b.event(crawl.Event{Aux: []crawl.AuxRequest{{Kind: crawl.AuxSitemap, URL: "http://a.example/deep.xml", Origin: canon.URL("http://a.example/").Origin(), Hop: 2}}})
		index := func(crawl.AuxRequest) crawl.Sitemap {
			return crawl.Sitemap{Status: 200, Read: true, Form: "index", Scope: b.spec.ScopeHash()}
		}
		deep := b.readAll(index)
		b.learned("http://a.example", robotsTxt+"Sitemap: /deep.xml\n", crawl.VisitID{})
		for _, e := range b.readAll(index) {
			deep = append(deep, e)
		}
		deep = slices.DeleteFunc(deep, func(e crawl.AuxRequest) bool { return e.URL != "http://a.example/deep.xml" })
		if len(deep) != 2 || deep[0].Hop != 2 || deep[1].Hop != 0 {
			t.Errorf("asked %+v", deep)
		}
	})
}

// Sitemaps follow the spec: switched off nothing waits, switched on every origin is asked, and
// after a new scope they are requested without conditions.
func TestSitemapsFollowTheSpec(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/")
		b.learned("http://a.example", "Sitemap: /s.xml\n", crawl.VisitID{})
		read := func(crawl.AuxRequest) crawl.Sitemap {
			return crawl.Sitemap{Status: 200, Read: true, Form: "urlset", ETag: `"e"`, Scope: b.spec.ScopeHash()}
		}
		pass := func() {
			t.Helper()
			for busy := true; busy; {
				var err error
				if busy, err = b.s.Passes.Some(time.Now()); err != nil {
					t.Fatal(err)
				}
			}
			b.outboxToLog()
		}
		if pass(); b.sitemapsOf("a.example") != nil {
			t.Error("asked for without being wanted")
		}
		b.finish(b.grant(1)[0], crawl.Stored, "")
		if b.status().Shards[0].DueSoon != 0 {
			t.Errorf("%+v", b.status().Shards[0])
		}
		b.respec(func(s *crawl.Spec) { s.Sitemaps = true })
		if b.status().Shards[0].DueSoon == 0 {
			t.Error("done before origins were asked")
		}
		b.commit()
		b.crash()
		b.open()
		b.learned("http://a.example", "Sitemap: /s.xml\n", crawl.VisitID{})
		pass()
		if got := b.sitemapsOf("a.example"); len(got) != 1 {
			t.Fatalf("switched on: %v", got)
		}
		b.respec(func(s *crawl.Spec) { s.Sitemaps = false })
		if got := b.sitemapsOf("a.example"); got != nil || b.status().Shards[0].DueSoon != 0 {
			t.Errorf("switched off: %v, %+v", got, b.status().Shards[0])
		}
		b.respec(func(s *crawl.Spec) { s.Sitemaps = true })
		pass()
		if asked := b.readAll(read); len(asked) != 1 || asked[0].ETag != "" {
			t.Errorf("on again: %+v", asked)
		}
		b.respec(func(s *crawl.Spec) { s.Exclude = []string{"/x"} })
		pass()
		if asked := b.readAll(read); len(asked) != 1 || asked[0].ETag != "" {
			t.Errorf("another scope: %+v", asked)
		}
		for _, change := range []func(*crawl.Spec){func(s *crawl.Spec) { s.MaxDepth = 0 }, func(s *crawl.Spec) { s.Scope = "page" }} {
			b.respec(func(s *crawl.Spec) { s.MaxDepth, s.Scope = -1, "any"; change(s) })
			if b.s.Ledger.Judge.ReadsSitemaps() {
				t.Errorf("read although nothing they name is crawled: %+v", b.spec)
			}
		}
	})
}

// With re-crawl, sitemaps are read every day, also while no page is due.
func TestSitemapsAreReadDaily(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := withSitemaps("http://a.example/")
		spec.Recrawl, spec.RecrawlMin = true, 20*24*time.Hour
		b := newBench(t, spec)
		b.links(0, "", "http://a.example/")
		b.learned("http://a.example", "Sitemap: /s.xml\n", crawl.VisitID{})
		n := 0
		for range 5 * 24 * 6 {
			for _, v := range b.grant(1) {
				if len(v.Aux) == 0 {
					v.Robots = nil
					b.answer(v, says(version(1)))
					continue
				}
				n += len(v.Aux)
				b.read(v, crawl.Sitemap{Status: 200, Read: true, Form: "urlset", Scope: spec.ScopeHash()})
			}
			if err := b.s.Sitemaps.Upkeep(time.Now()); err != nil {
				t.Fatal(err)
			}
			if _, err := b.s.Passes.Some(time.Now()); err != nil {
				t.Fatal(err)
			}
			b.outboxToLog()
			time.Sleep(10 * time.Minute)
		}
		if n != 5 {
			t.Errorf("read %d times in five days", n)
		}
	})
}

// A postponed host gets no requests, and the crawl does not wait for its sitemaps.
func TestSitemapsOfPostponedHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, withSitemaps("http://a.example/"))
		b.links(0, "", "http://a.example/")
		v := b.grant(1)[0]
		b.event(crawl.Event{Visit: v.ID, Robots: []crawl.Robots{{Origin: canon.URL("http://a.example/").Origin(), State: crawl.RobotsParsed, Status: 200,
			Body: []byte("User-agent: *\nCrawl-delay: 3600\n"), Digest: []byte(strings.Repeat("e", 32)), CrawlDelay: time.Hour, HasCrawlDelay: true, Fresh: 24 * time.Hour}}})
		b.outboxToLog()
		b.event(crawl.Event{Visit: v.ID, Outcome: &crawl.Outcome{Host: v.Host, Requests: 1, Results: []crawl.Result{{URL: v.URLs[0].URL, Class: crawl.Returned}}}})
		if got := b.sitemapsOf("a.example"); len(got) != 1 {
			t.Fatalf("waiting: %v", got)
		}
		b.event(crawl.Event{Aux: []crawl.AuxRequest{{Kind: crawl.AuxSitemap, URL: "https://a.example/other.xml", Origin: canon.URL("http://a.example/").Origin()}}})
		// Requests for other hosts wait as well: a sample, a data.txt that redirects there, a
		// nested one.
		for _, kind := range []crawl.AuxKind{crawl.AuxSample, crawl.AuxData, crawl.AuxNested} {
			b.event(crawl.Event{Aux: []crawl.AuxRequest{{Kind: kind, URL: "http://a.example/wanted", Origin: canon.URL("http://b.example/").Origin()}}})
		}
		time.Sleep(2 * time.Hour)
		if got := b.grant(1); len(got) != 0 || b.status().Shards[0].DueSoon != 0 {
			t.Errorf("granted %+v; %+v", got, b.status().Shards[0])
		}
		time.Sleep(23 * time.Hour)
		if got := b.grant(1); len(got) != 1 {
			t.Errorf("its robots.txt is never looked at again")
		}
	})
}

// While the robots.txt of an origin cannot be fetched, no auxiliary request makes it be requested
// more often than its back-off allows.
func TestAuxRequestsWaitForRobots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, withSitemaps("http://a.example/"))
		b.links(0, "", "http://a.example/")
		v := b.grant(1)[0]
		b.event(crawl.Event{Visit: v.ID, Robots: []crawl.Robots{{Origin: canon.URL("http://a.example/").Origin(), State: crawl.RobotsUnreachable, Status: 503}}})
		b.event(crawl.Event{Visit: v.ID, Outcome: &crawl.Outcome{Host: v.Host, Requests: 1, Results: []crawl.Result{{URL: v.URLs[0].URL, Class: crawl.Returned}}}})
		for _, kind := range []crawl.AuxKind{crawl.AuxSample, crawl.AuxData, crawl.AuxNested} {
			b.event(crawl.Event{Aux: []crawl.AuxRequest{{Kind: kind, URL: "http://a.example/wanted", Origin: canon.URL("http://b.example/").Origin()}}})
		}
		time.Sleep(4 * time.Minute)
		if got := b.grant(1); len(got) != 0 {
			t.Errorf("within the back-off of 5 minutes: %+v", got)
		}
		time.Sleep(2 * time.Minute)
		if got := b.grant(1); len(got) != 1 {
			t.Errorf("after it: %+v", got)
		}
	})
}

// The sitemaps of a mirror are not used while it is one.
func TestSitemapsOfAMirror(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, withSitemaps("http://x.example/"))
		b.links(0, "", "http://x.example/", "https://x.example/")
		b.learned("http://x.example", "Sitemap: /s.xml\n", crawl.VisitID{})
		b.learned("https://x.example", "Sitemap: /s.xml\n", crawl.VisitID{})
		h := b.s.Ledger.Hosts["x.example"]
		turn := func(do func(*mirror.Record, *mirror.Env)) {
			t.Helper()
			if err := b.s.Mirrors.Step(h, 0, time.Now(), do); err != nil {
				t.Fatal(err)
			}
			b.outboxToLog()
		}
		turn(func(m *mirror.Record, e *mirror.Env) {
			m.Confirm(e, canon.URL("http://m.example/").Origin(), mirror.ByRedirect, "")
		})
		if got := fmt.Sprint(b.sitemapsOf("x.example")); got != "[https://x.example/s.xml for https://x.example]" || h.SitemapsDue != 1 {
			t.Errorf("while it is a mirror: %s, %d due", got, h.SitemapsDue)
		}
		b.s.Sitemaps.Retries = append(b.s.Sitemaps.Retries, wellknown.SitemapRetryAt{Key: wellknown.SitemapKey(h.ID, &crawl.AuxRequest{URL: "http://x.example/s.xml", Origin: canon.URL("http://x.example/").Origin()})})
		if err := b.s.Sitemaps.Upkeep(time.Now()); err != nil || len(b.s.Sitemaps.Retries) != 0 || h.SitemapsDue != 1 {
			t.Errorf("tried once more while it is a mirror: %v, %d due, %v", b.s.Sitemaps.Retries, h.SitemapsDue, err)
		}
		time.Sleep(24 * time.Hour)
		b.learned("http://x.example", "Sitemap: /s.xml\nSitemap: /t.xml\n", crawl.VisitID{})
		b.event(crawl.Event{Aux: []crawl.AuxRequest{{Kind: crawl.AuxSitemap, URL: "http://x.example/s.xml", Origin: canon.URL("http://y.example/").Origin()}}})
		if h.SitemapsDue != 1 {
			t.Errorf("%d due a day later", h.SitemapsDue)
		}
		turn(func(m *mirror.Record, e *mirror.Env) { m.SetState(e, mirror.Main, "", "") })
		if h.SitemapsDue != 3 || len(b.sitemapsOf("x.example")) != 3 {
			t.Errorf("a mirror no more: %v", b.sitemapsOf("x.example"))
		}
	})
}

// Within a depth, URLs that pages link to come first; then those that changed last according to the
// sitemap; last those without a date.
func TestSitemapOrder(t *testing.T) {
	spec := withSitemaps("http://a.example/")
	spec.Delay = 0
	b := newBench(t, spec)
	day := func(d int) int64 { return time.Date(2026, 1, d, 12, 0, 0, 0, time.UTC).Unix() }
	sitemap := crawl.Links{FoundOn: "http://a.example/s.xml", Depth: 1, Source: crawl.SourceSitemap,
		URLs: []canon.URL{"http://a.example/none", "http://a.example/old", "http://a.example/new", "http://a.example/linked", "http://a.example/new2", "http://a.example/1900"},
		Mods: []int64{0, day(2), day(20), day(30), day(20), -5e9}}
	b.links(2, "", "http://a.example/far", "http://a.example/old")
	b.links(1, "http://a.example/", "http://a.example/linked")
	b.event(crawl.Event{Links: []crawl.Links{sitemap}})
	b.links(1, "http://a.example/", "http://a.example/linked2")
	b.commit()
	b.crash()
	b.open()
	got := ""
	for range 2 { // and the same again for a visit without a result
		v := b.grant(1)[0]
		got = ""
		for _, u := range v.URLs {
			got += u.URL.PathQuery() + " "
		}
		if want := "/linked /linked2 /new /new2 /old /none /1900 /far "; got != want {
			t.Errorf("order %swant %s", got, want)
		}
		b.finish(v, crawl.Returned, "")
		b.s.Ledger.Hosts["a.example"].Due = time.Time{}
	}
	b.finish(b.grant(1)[0], crawl.Stored, "")
	b.verify()
}

// Killed at any moment, also between the entries of a sitemap, its answer and the outcome: in the
// end every sitemap was read and each of their URLs is known once.
func TestSitemapsSurviveKills(t *testing.T) {
	for seed := range uint64(testaid.Runs(8, 4)) {
		synctest.Test(t, func(t *testing.T) { sitemapKills(t, rand.New(rand.NewPCG(seed, 5))) })
	}
}

func sitemapKills(t *testing.T, rng *rand.Rand) {
	spec := withSitemaps("http://a.example/")
	spec.Delay = 10 * time.Millisecond
	b := newBench(t, spec)
	b.links(0, "", "http://a.example/")
	b.learned("http://a.example", "Sitemap: /index.xml\n", crawl.VisitID{})
	const files, pages = 80, 20
	origin := canon.URL("http://a.example/").Origin()
	read, kills := map[canon.URL]int{}, 0
	kill := func() bool {
		if rng.IntN(20) > 0 {
			return false
		}
		kills++
		b.crash()
		b.open()
		return true
	}
	for steps := 0; ; steps++ {
		if steps > 3000 {
			t.Fatalf("%d of %d sitemaps after %d kills; %+v", len(read), files+1, kills, b.status())
		}
		time.Sleep(time.Second)
		b.s.Visits.Expire(time.Now())
		if rng.IntN(3) == 0 {
			b.outboxToLog()
		}
		vs := b.grant(1)
		if len(vs) == 0 && b.status().Shards[0].DueSoon == 0 && b.status().Shards[0].Outbox == 0 {
			break
		}
	visits:
		for _, v := range vs {
			if len(v.URLs) > 0 {
				v.Robots = nil
				b.answer(v, says(version(1)))
				continue
			}
			o := &crawl.Outcome{Host: v.Host, Delay: v.Delay, Requests: len(v.Aux), Private: true}
			for _, e := range v.Aux {
				a := crawl.Sitemap{Status: 200, Read: true, Form: "urlset", Scope: spec.ScopeHash()}
				ev := crawl.Event{Visit: v.ID}
				if e.URL == "http://a.example/index.xml" {
					a.Form = "index"
					for i := range files {
						ev.Aux = append(ev.Aux, crawl.AuxRequest{Kind: crawl.AuxSitemap, URL: canon.URL(fmt.Sprintf("http://a.example/s%d.xml", i)), Origin: origin, Hop: 1})
					}
				} else {
					l := crawl.Links{Depth: 1, Source: crawl.SourceSitemap, FoundOn: e.URL}
					for i := range pages {
						l.URLs, l.Mods = append(l.URLs, e.URL+canon.URL(fmt.Sprintf("/%d", i))), append(l.Mods, int64(1e9+i*1e6))
					}
					ev.Links = []crawl.Links{l}
				}
				if b.event(ev); kill() {
					continue visits // the fetcher was killed with it
				}
				read[e.URL]++
				if b.event(crawl.Event{Visit: v.ID, Answers: []crawl.Answer{{Aux: e, Sitemap: a}}}); kill() {
					continue visits
				}
				o.Done = append(o.Done, e)
			}
			b.event(crawl.Event{Visit: v.ID, Outcome: o})
		}
		kill()
		if rng.IntN(4) == 0 {
			b.commit()
		}
	}
	if st := b.status(); len(read) != files+1 || st.Stored != files*pages+1 || st.Discovered != st.Stored || b.s.Ledger.Hosts["a.example"].SitemapsDue != 0 {
		t.Errorf("%d of %d sitemaps read, %+v", len(read), files+1, st)
	}
	if most := slices.Max(slices.Collect(maps.Values(read))); most > kills+1 {
		t.Errorf("a sitemap was read %d times, with %d kills", most, kills)
	}
	b.verify()
}
