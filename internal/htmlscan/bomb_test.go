package htmlscan

import (
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/pagebomb"
	"github.com/curtsy/curtsy/internal/racing"
)

// What a fetcher spends on the links and tags of a page is bounded whatever is in it.
func TestNoPageCostsMuch(t *testing.T) {
	for _, size := range []int{racing.Volume(100<<10, 10<<10), racing.Volume(2<<20, 100<<10)} {
		pagebomb.Check(t, "links", size, pagebomb.HTML, func(b pagebomb.Bomb) func() {
			var s Scanner
			return func() {
				s.Scan(Page{URL: "http://a.example/x", Body: b.Body, ContentType: "text/html; charset=utf-8", HTML: true, Token: "curtsy"})
			}
		})
	}
}

// Past the tags that are decoded in full, links that need it are left out and it is said so; plain
// ones and robots tags count still.
func TestTagsDecodedInFull(t *testing.T) {
	for _, c := range []struct {
		n     int
		links int
		cut   bool
	}{{maxDecoded - 2, 3, false}, {maxDecoded + 1, 2, true}} {
		page := "<head>" + strings.Repeat(`<link rel=next href="&#97;">`, c.n) + `<a href="&#98;"><a href=c><meta name=robots content="no&#105;ndex">`
		page = `<meta name=robots content="no&#105;ndex">` + page
		var s Scanner
		r := s.Scan(Page{URL: "http://a.example/", Body: []byte(page), HTML: true, Token: "curtsy"})
		if len(r.Links) != c.links || r.Cut != c.cut || !r.Directives.NoIndex {
			t.Errorf("%d: links %q, cut %v, noindex %v", c.n, r.Links, r.Cut, r.Directives.NoIndex)
		}
	}
	tail := "<head>" + strings.Repeat(`<meta name="&#97;">`, maxDecoded+5) + `<meta name=robots content="no&#105;ndex">`
	var s Scanner
	if r := s.Scan(Page{URL: "http://a.example/", Body: []byte(tail), HTML: true, Token: "curtsy"}); !r.Directives.NoIndex {
		t.Error("a robots tag behind many is not read")
	}
}
