package search

import (
	"maps"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
)

// Pages are counted by type, each once, in whichever segment they are; deleted pages are not
// counted, and all media types that this version does not distinguish are counted together.
func TestTypes(t *testing.T) {
	f := newFixture(t)
	want := func(want map[string]int64) {
		t.Helper()
		if got, err := f.Types(); err != nil || !maps.Equal(got, want) {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
	}
	want(map[string]int64{})
	of := func(u, kind string) pages.Page {
		p := page(u, "en", "Quagga", "<p>quagga")
		p.ContentType = kind
		return p
	}
	gone := of("https://a.example/b.pdf", "application/pdf")
	f.add(of("https://a.example/", "text/html"), of("https://b.example/", "application/xhtml+xml"), of("https://a.example/a.pdf", "application/pdf"), gone)
	f.add(of("https://a.example/x", "application/x-strange"), of("https://a.example/y", ""), of("https://a.example/", "text/html"))
	want(map[string]int64{"html": 2, "pdf": 2, "other": 2})
	gone.Visit.N, gone.Directives, gone.Body = visits+1, crawl.NoIndex, nil
	f.add(gone)
	want(map[string]int64{"html": 2, "pdf": 1, "other": 2})
	f.reopen()
	want(map[string]int64{"html": 2, "pdf": 1, "other": 2})
}

// Languages are counted like types; pages without a known language are counted, too.
func TestLangs(t *testing.T) {
	f := newFixture(t)
	none := page("https://c.example/", "", "", "<p>")
	none.Lang = ""
	f.add(page("https://a.example/", "de", "Hafen", "<p>ein Hafen"), page("https://b.example/", "en", "Harbour", "<p>a harbour"), page("https://b.example/b", "en", "Harbour", "<p>a harbour"), none)
	if got, err := f.Langs(); err != nil || !maps.Equal(got, map[string]int64{"de": 1, "en": 2, crawl.PageLangNone: 1}) {
		t.Errorf("%v, %v", got, err)
	}
}
