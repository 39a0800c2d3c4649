package frontier

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// learned applies that an origin's robots.txt says body.
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

// outboxToLog does what sendOutbox does: there is one shard.
func (b *bench) outboxToLog() {
	b.t.Helper()
	b.commit()
	for _, m := range b.s.committedOutbox() {
		ev, err := crawl.DecodeEvent(m.data)
		if err != nil {
			b.t.Fatal(err)
		}
		b.event(ev)
		b.s.markSent(m.n)
	}
}

// sitemapsOf are the sitemaps that visits of a host would read, in order.
func (b *bench) sitemapsOf(host canon.Host) (urls []string) {
	for _, e := range b.s.hosts[host].errands {
		if e.Kind == crawl.ErrandSitemap {
			urls = append(urls, string(e.URL)+" for "+e.Origin.String())
		}
	}
	slices.Sort(urls)
	return urls
}

// read ends a visit for errands, all of which were answered by a.
func (b *bench) read(v crawl.Visit, a crawl.Sitemap) {
	b.t.Helper()
	o := &crawl.Outcome{Host: v.Host, Delay: v.Delay, Requests: len(v.Errands), Private: true}
	for _, e := range v.Errands {
		b.event(crawl.Event{Visit: v.ID, Answers: []crawl.Answer{{Errand: e, Sitemap: a}}})
		o.Done = append(o.Done, e)
	}
	b.event(crawl.Event{Visit: v.ID, Outcome: o})
}

func TestSitemapsAreAskedFor(t *testing.T) {
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
		if len(v.Errands) != 1 || v.Errands[0].ETag != "" || len(v.Robots) != 1 || v.Robots[0].Origin != canon.URL("http://a.example/").Origin() {
			t.Fatalf("granted %+v", v)
		}
		b.read(v, crawl.Sitemap{Status: 200, Read: true, Form: "urlset", Entries: 7, ETag: `"e"`})
		if got := b.sitemapsOf("a.example"); got != nil {
			t.Errorf("still to be read: %v", got)
		}
		info := b.s.hostInfo(b.s.hosts["a.example"], time.Now()).Sitemaps
		if len(info) != 1 || info[0].Entries != 7 || info[0].ReadAt == nil || info[0].Queued {
			t.Errorf("told: %+v", info)
		}
		b.learned("http://a.example", "Sitemap: /s1.xml\n", crawl.VisitID{})
		if got := b.sitemapsOf("a.example"); got != nil {
			t.Errorf("read lately, and asked for: %v", got)
		}
		time.Sleep(24 * time.Hour)
		b.learned("http://a.example", "Sitemap: /s1.xml\n", crawl.VisitID{})
		for _, v := range b.grant(10) {
			for _, e := range v.Errands {
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

func TestSitemapsLeftAlone(t *testing.T) {
	b := newBench(t, testSpec("http://a.example/"))
	b.links(0, "", "http://a.example/")
	b.learned("http://a.example", "Sitemap: /s1.xml\n", crawl.VisitID{})
	if got := b.sitemapsOf("a.example"); got != nil {
		t.Errorf("without sitemaps: %v", got)
	}
	b = newBench(t, withSitemaps("http://a.example/"))
	b.event(crawl.Event{Errands: []crawl.Errand{{Kind: crawl.ErrandRobots, URL: "http://a.example/r.txt", Origin: canon.URL("http://b.example/").Origin(), Hop: 1}}})
	b.learned("http://a.example", "Sitemap: /s1.xml\n", crawl.VisitID{})
	if got := b.sitemapsOf("a.example"); got != nil {
		t.Errorf("of a host without pages: %v", got)
	}
	b.event(crawl.Event{Errands: []crawl.Errand{{Kind: crawl.ErrandSitemap, URL: "http://a.example/s", Origin: canon.URL("http://a.example/").Origin(), Hop: sitemapIndexes + 1}}})
	if got := b.sitemapsOf("a.example"); got != nil {
		t.Errorf("too deep: %v", got)
	}
	b.links(0, "", "http://a.example/")
	var lines strings.Builder
	for i := range maxRobotsSitemaps + 5 {
		fmt.Fprintf(&lines, "Sitemap: /s%d.xml\n", i)
	}
	b.learned("http://a.example", lines.String(), crawl.VisitID{})
	if h := b.s.hosts["a.example"]; h.Sitemaps != maxRobotsSitemaps {
		t.Errorf("%d sitemaps of one robots.txt", h.Sitemaps)
	}
}

// An index of many: they wait on disk, a crash forgets none, and in the end each was read once.
func TestManySitemaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := withSitemaps("http://a.example/")
		spec.Delay = 10 * time.Millisecond
		b := newBench(t, spec)
		b.links(0, "", "http://a.example/")
		const n = 300
		var errands []crawl.Errand
		for i := range n {
			errands = append(errands, crawl.Errand{Kind: crawl.ErrandSitemap, URL: canon.URL(fmt.Sprintf("http://a.example/s%d.xml", i)), Origin: canon.URL("http://a.example/").Origin(), Hop: 1})
		}
		b.event(crawl.Event{Errands: errands})
		b.event(crawl.Event{Errands: errands})
		if h := b.s.hosts["a.example"]; h.SitemapsDue != n || len(h.errands) > sitemapErrands {
			t.Fatalf("%d due, %d errands", h.SitemapsDue, len(h.errands))
		}
		read := map[canon.URL]int{}
		for i := 0; b.s.hosts["a.example"].SitemapsDue > 0; i++ {
			if i > 200 {
				t.Fatalf("%d are never read", b.s.hosts["a.example"].SitemapsDue)
			}
			for _, v := range b.grant(1) {
				for _, e := range v.Errands {
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

// One that cannot be had is asked for again, later and later, three times in all; one that is not there is not.
func TestSitemapRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, withSitemaps("http://a.example/"))
		b.links(0, "", "http://a.example/")
		b.learned("http://a.example", "Sitemap: /s.xml\n", crawl.VisitID{})
		began, asked := time.Now(), []time.Duration{}
		for range 6 * 60 * 6 { // six hours
			for _, v := range b.grant(1) {
				if len(v.Errands) > 0 {
					asked = append(asked, time.Since(began).Truncate(time.Minute))
					b.read(v, crawl.Sitemap{Reason: "HTTP 502", Status: 502})
					if len(asked) == 1 {
						b.commit()
						b.crash() // the next try is not forgotten
						b.open()
						if st := b.status(); st.Shards[0].DueSoon == 0 {
							t.Error("a crawl is done that will ask for a sitemap again soon")
						}
					}
				} else {
					b.finish(v, crawl.Stored, "")
				}
			}
			time.Sleep(10 * time.Second)
			if err := b.s.retrySitemaps(time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		if want := []time.Duration{0, 10 * time.Minute, 50 * time.Minute}; !slices.Equal(asked, want) {
			t.Errorf("asked after %v, want %v", asked, want)
		}
		b.links(0, "", "http://b.example/")
		b.learned("http://b.example", "", crawl.VisitID{})
		n := 0
		for range 60 {
			for _, v := range b.grant(1) {
				if v.Host == "b.example" {
					n += len(v.Errands)
				}
				b.read(v, crawl.Sitemap{Status: 404})
			}
			time.Sleep(time.Minute)
			if err := b.s.retrySitemaps(time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		if n != 1 {
			t.Errorf("one that is not there was asked for %d times", n)
		}
	})
}
