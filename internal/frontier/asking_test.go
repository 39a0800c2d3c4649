package frontier

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Every event that makes an origin worth asking, once its robots.txt is known, leads to requests
// for both its sitemaps and its /rupinfo.txt.
func TestEveryEventAsks(t *testing.T) {
	const url = "http://a.example/page"
	// known makes an origin known whose robots.txt was read and of which nothing is to be crawled
	// yet.
	known := func(b *bench, origin string) {
		b.t.Helper()
		h, err := b.s.Ledger.HostOf(canon.URL(origin + "/").Host())
		if err != nil {
			b.t.Fatal(err)
		}
		b.learned(origin, "", crawl.VisitID{})
		if len(h.Aux) > 0 {
			b.t.Fatalf("asked for %v before anything of it was to be crawled", h.Aux)
		}
	}
	for name, test := range map[string]struct {
		spec func(*crawl.Spec)
		do   func(b *bench)
		of   string
	}{
		"its robots.txt was read": {do: func(b *bench) {
			b.links(0, "", url)
			b.learned("http://a.example", "", crawl.VisitID{})
		}},
		"a first URL": {do: func(b *bench) {
			known(b, "http://a.example")
			b.links(0, "", url)
		}},
		"a first URL of another scheme": {of: "https://a.example", do: func(b *bench) {
			b.links(0, "", url)
			b.finish(b.grant(1)[0], crawl.Stored, "")
			b.learned("https://a.example", "", crawl.VisitID{})
			b.links(0, "", "https://a.example/page")
		}},
		"a wider spec": {spec: func(s *crawl.Spec) { s.MaxDepth = 0 }, do: func(b *bench) {
			b.links(1, "http://b.example/", url)
			known(b, "http://a.example")
			b.respec(func(s *crawl.Spec) { s.MaxDepth = 5 })
			b.passes()
		}},
		"a name let in": {spec: func(s *crawl.Spec) { s.MaxHosts = 1 }, of: "http://b.a.example", do: func(b *bench) {
			b.links(0, "", url)
			b.links(1, url, "http://b.a.example/page")
			if !b.s.Ledger.Hosts["b.a.example"].Closed {
				b.t.Fatal("the name was let in")
			}
			known(b, "http://b.a.example")
			b.respec(func(s *crawl.Spec) { s.MaxHosts = 5 })
			b.passes()
		}},
		"both are wanted": {spec: func(s *crawl.Spec) { s.Sitemaps, s.Updates = false, false }, do: func(b *bench) {
			b.links(0, "", url)
			known(b, "http://a.example")
			b.respec(func(s *crawl.Spec) { s.Sitemaps, s.Updates = true, true })
			b.passes()
		}},
		"updates are wanted at the next start": {spec: func(s *crawl.Spec) { s.Updates = false }, do: func(b *bench) {
			b.links(0, "", url)
			b.learned("http://a.example", "", crawl.VisitID{})
			b.commit()
			b.crash()
			b.spec.Updates = true
			b.open()
			b.passes()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				spec := withSitemaps("http://a.example/")
				spec.Recrawl, spec.Updates = true, true
				if test.spec != nil {
					test.spec(&spec)
				}
				b := newBench(t, spec)
				test.do(b)
				b.outboxToLog()
				of := canon.URL("http://a.example/").Origin()
				if test.of != "" {
					of = canon.URL(test.of + "/").Origin()
				}
				for _, kind := range []crawl.AuxKind{crawl.AuxSitemap, crawl.AuxRUP} {
					asked := func(e crawl.AuxRequest) bool { return e.Kind == kind && e.Origin == of }
					if !slices.ContainsFunc(b.s.Ledger.Hosts[of.Host].Aux, asked) {
						t.Errorf("no %v is asked of %s: %v", kind, of, b.s.Ledger.Hosts[of.Host].Aux)
					}
				}
			})
		})
	}
}
