package htmlscan

import (
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/testaid"
)

// The links and tags of a page cost a fetcher a limited time, whatever is in the page.
func TestNoPageCostsMuch(t *testing.T) {
	for _, size := range []int{testaid.Volume(100<<10, 10<<10), testaid.Volume(2<<20, 100<<10)} {
		testaid.CheckCost(t, "links", size, testaid.HTMLBombs, func(b testaid.Bomb) func() {
			var s Scanner
			return func() {
				s.Scan(Page{URL: "http://a.example/x", Body: b.Body, ContentType: "text/html; charset=utf-8", HTML: true, Token: "curtsy"})
			}
		})
	}
}

// Every link and robots tag counts, however many of them have character references.
func TestManyReferences(t *testing.T) {
	const n = 20_000
	page := `<meta name=robots content="no&#105;ndex"><head>` + strings.Repeat(`<link rel=next href="&#97;">`, n) + strings.Repeat(`<meta name="&#97;">`, n) +
		`<meta name=robots content="nos&#110;ippet"><a href="&#98;"><a href=c>`
	var s Scanner
	r := s.Scan(Page{URL: "http://a.example/", Body: []byte(page), HTML: true, Token: "curtsy"})
	if len(r.Links) != 3 || r.Cut || !r.Directives.NoIndex || !r.Directives.NoSnippet {
		t.Errorf("links %q, cut %v, %+v", r.Links, r.Cut, r.Directives)
	}
}
