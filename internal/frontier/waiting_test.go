package frontier

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/shard"
	"github.com/curtsy/curtsy/internal/frontier/wellknown"
	"github.com/curtsy/curtsy/pkg/canon"
)

// An index of many large sitemaps: the next one is read when few URLs wait, also after a crash, and
// in the end all are read.
func TestSitemapsAreReadWhileFewURLsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const files, pages = 6, 3000
		b := newBench(t, withSitemaps("http://a.example/"))
		b.links(0, "", "http://a.example/")
		origin := canon.URL("http://a.example/").Origin()
		var aux []crawl.AuxRequest
		for i := range files {
			aux = append(aux, crawl.AuxRequest{Kind: crawl.AuxSitemap, URL: canon.URL(fmt.Sprintf("http://a.example/s%d.xml", i)), Origin: origin, Hop: 1})
		}
		b.event(crawl.Event{Aux: aux})
		most, read := int64(0), 0
		for i := 0; b.status().Shards[0].DueSoon > 0; i++ {
			if i > 10_000 {
				t.Fatalf("the work does not end: %+v", b.status())
			}
			time.Sleep(11 * time.Second)
			for _, v := range b.grant(1) {
				if len(v.URLs) > 0 {
					b.finish(v, crawl.Stored, "")
					continue
				}
				if len(v.Aux) != 1 {
					t.Fatalf("%d sitemaps in a visit", len(v.Aux))
				}
				read++
				e := v.Aux[0]
				l := crawl.Links{Depth: 1, Source: crawl.SourceSitemap, FoundOn: e.URL}
				for j := range pages {
					l.URLs = append(l.URLs, e.URL+canon.URL(fmt.Sprintf("/%d", j)))
				}
				b.event(crawl.Event{Links: []crawl.Links{l}})
				b.read(v, crawl.Sitemap{Status: 200, Read: true, Form: "urlset", Entries: pages})
				most = max(most, b.status().Queued)
				if read == 3 {
					b.commit()
					b.crash()
					b.open()
				}
			}
		}
		if few := int64(time.Hour / time.Second); read != files || b.status().Stored != files*pages+1 || most >= few+pages {
			t.Errorf("%d sitemaps read, %d URLs waited, %+v", read, most, b.status())
		}
	})
}

// Known URLs of a host that were never fetched are bounded; links over the limit are counted and
// explained.
func TestWaitingURLsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := testSpec("http://a.example/")
		spec.Delay, spec.MaxDepth = 10*time.Minute, 3 // a week of that is less than the minimum
		b := newBench(t, spec)
		b.links(0, "", "http://a.example/")
		h := b.s.Ledger.Hosts["a.example"]
		if n := b.s.Links.MaxWaiting(h); n != shard.WaitingLeast {
			t.Fatalf("%d may wait", n)
		}
		b.spec.Delay = time.Second
		b.respec(func(*crawl.Spec) {})
		if n := b.s.Links.MaxWaiting(h); n != 604_800 {
			t.Fatalf("%d may wait at a second's delay", n)
		}
		b.respec(func(s *crawl.Spec) { s.Delay = 10 * time.Minute })
		was := h.Queued
		h.Queued = shard.WaitingLeast - 1 // as if it had that many
		b.links(1, "", "http://a.example/1", "http://a.example/2", "http://a.example/3")
		if st := b.status(); st.Discovered != 2 || h.LeftOut != 2 {
			t.Errorf("at the limit: %d left out, %+v", h.LeftOut, st)
		}
		left := 0
		for _, path := range []string{"1", "2", "3"} {
			if x := b.explain("http://a.example/" + path); !x.Seen && strings.Contains(x.Detail, "2 links to this host were not recorded") {
				left++
			}
		}
		if left != 2 {
			t.Errorf("%d explained", left)
		}
		h.Queued = was + 1
		b.links(1, "", "http://a.example/1", "http://a.example/2", "http://a.example/3")
		if st := b.status(); st.Discovered != 4 {
			t.Errorf("below the limit again: %+v", st)
		}
		h.Refused = shard.WaitingLeast - 1
		b.links(9, "", "http://a.example/deep1", "http://a.example/deep2")
		if st := b.status(); st.Discovered != 5 || st.ByReason["depth"] != 1 || h.LeftOut != 3 {
			t.Errorf("refused at the limit: %d left out, %+v", h.LeftOut, st)
		}
		b.commit()
		b.crash()
		b.open()
		if n := b.s.Ledger.Hosts["a.example"].LeftOut; n != 3 {
			t.Errorf("%d left out after a crash", n)
		}
	})
}

// Refused URLs that a new spec allows no longer count against the limit of refused URLs, and queued
// ones that it refuses do.
func TestTheCountOfRefusedURLsFollowsTheSpec(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := testSpec("http://a.example/")
		spec.MaxDepth = 1
		b := newBench(t, spec)
		want := func(when string, n int64) {
			t.Helper()
			if h := b.s.Ledger.Hosts["a.example"]; h.Refused != n {
				t.Errorf("%s: %d URLs of the host are refused, want %d", when, h.Refused, n)
			}
		}
		b.links(1, "http://a.example/", "http://a.example/near")
		b.links(2, "http://a.example/1", "http://a.example/x/deep", "http://a.example/deep")
		want("too deep", 2)
		b.links(1, "http://a.example/", "http://a.example/deep")
		want("one was found nearer", 1)
		respec := func(f func(*crawl.Spec)) {
			b.respec(f)
			b.refillAll()
		}
		respec(func(s *crawl.Spec) { s.MaxDepth = 5 })
		want("a wider limit", 0)
		respec(func(s *crawl.Spec) { s.Exclude = []string{"/x/"} })
		want("a narrower scope", 1)
		b.commit()
		b.crash()
		b.open()
		want("after a crash", 1)
		respec(func(s *crawl.Spec) { s.Exclude = nil })
		want("a wider scope", 0)
	})
}

// A site can only cause requests for sitemaps to hosts that are in scope or of its own domain, and
// only a few.
func TestSitemapsOfThirdParties(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := withSitemaps("http://a.one.example/")
		spec.Scope, spec.Delay = "host", 20*time.Millisecond
		b := newBench(t, spec)
		b.links(0, "", "http://a.one.example/")
		b.learned("http://a.one.example", "Sitemap: http://b.one.example/s.xml\nSitemap: http://victim.example/s.xml\nSitemap: /s.xml\n", crawl.VisitID{})
		b.outboxToLog()
		if got := b.sitemapsOf2("victim.example"); got != nil {
			t.Errorf("a third party out of scope is asked for %v", got)
		}
		if own, other := b.sitemapsOf2("a.one.example"), b.sitemapsOf2("b.one.example"); len(own) != 1 || len(other) != 1 {
			t.Errorf("its own: %v, its domain's: %v", own, other)
		}
		// Neither does an index, or a redirect.
		origin := canon.URL("http://a.one.example/").Origin()
		b.event(crawl.Event{Aux: []crawl.AuxRequest{{Kind: crawl.AuxSitemap, URL: "http://victim.example/2.xml", Origin: origin, Hop: 1}}})
		if got := b.sitemapsOf2("victim.example"); got != nil || b.s.Ledger.Hosts["victim.example"] != nil {
			t.Errorf("a third party out of scope is asked for %v by an index", got)
		}
		// A limited number of those on one host that others named is kept, and the next one waits
		// for the URLs of the last one.
		var aux []crawl.AuxRequest
		for i := range wellknown.MaxForeignSitemaps + 5 {
			aux = append(aux, crawl.AuxRequest{Kind: crawl.AuxSitemap, URL: canon.URL(fmt.Sprintf("http://b.one.example/%d.xml", i)), Origin: origin, Hop: 1})
		}
		b.event(crawl.Event{Aux: aux})
		h := b.s.Ledger.Hosts["b.one.example"]
		if h.SitemapsForeign != wellknown.MaxForeignSitemaps || h.Sitemaps != wellknown.MaxForeignSitemaps {
			t.Errorf("%d sitemaps for others, %d in all", h.SitemapsForeign, h.Sitemaps)
		}
		for h.ForeignRead.IsZero() {
			time.Sleep(time.Second)
			for _, v := range b.grant(2) {
				if v.Host != h.Name {
					continue
				}
				if len(v.Aux) != 1 {
					t.Fatalf("%d sitemaps for others in a visit", len(v.Aux))
				}
				b.read(v, crawl.Sitemap{Status: 200, Read: true, Form: "urlset", Entries: 50})
			}
		}
		next := func() time.Duration { return time.Until(b.s.Polite.AuxFrom(h, &h.Aux[0], time.Now())) }
		// The answer came before the visit reported that the address is private.
		if got := next(); got <= 0 || got > time.Second {
			t.Errorf("the next is read in %v, want 1 s: fifty URLs of a private host", got)
		}
		h.Private = false
		if got := next(); got < 49*time.Second || got > 50*time.Second {
			t.Errorf("the next is read in %v, want 50 s: fifty URLs, a second each", got)
		}
		if got := b.s.Polite.AuxReady(h, 1, time.Now()); got != nil {
			t.Errorf("%v is read at once", got)
		}
	})
}

// sitemapsOf2 returns the sitemaps of a host that may be unknown.
func (b *bench) sitemapsOf2(name canon.Host) []string {
	if b.s.Ledger.Hosts[name] == nil {
		return nil
	}
	return b.sitemapsOf(name)
}
