package htmlscan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/pkg/canon"
)

func pageOfLinks(n int, form string) []byte {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, form, i)
	}
	return []byte(b.String())
}

// A Scanner asks once before it gathers more than an ordinary page has: more links, more text of
// them, or more text than they have in the page because they are relative to a long base. Without
// permission it gathers no more.
func TestMoreIsAskedFor(t *testing.T) {
	long := canon.URL("http://a.example/" + strings.Repeat("b", 1500) + "/")
	for _, c := range []struct {
		name       string
		page       Page
		asks       bool
		least, all int // links without permission, and with it
	}{
		{"ordinary", Page{URL: here, Body: pageOfLinks(OrdinaryLinks, "<a href=/%d>")}, false, OrdinaryLinks, OrdinaryLinks},
		{"one more", Page{URL: here, Body: pageOfLinks(OrdinaryLinks+1, "<a href=/%d>")}, true, OrdinaryLinks, OrdinaryLinks + 1},
		{"long ones", Page{URL: "http://a.example/x", Body: pageOfLinks(63, "<a href=/%03d"+strings.Repeat("c", 1020)+">")}, false, 63, 63},
		{"one more of them", Page{URL: "http://a.example/x", Body: pageOfLinks(64, "<a href=/%03d"+strings.Repeat("c", 1020)+">")}, true, 63, 64},
		{"long in the page only", Page{URL: "http://a.example/x", Body: pageOfLinks(65, "<a href="+strings.Repeat("x/../", 202)+"%014d>")}, true, 64, 65},
		{"short ones, long base", Page{URL: long, Body: pageOfLinks(42, "<a href=%02d>")}, false, 42, 42},
		{"one more with this base", Page{URL: long, Body: pageOfLinks(44, "<a href=%02d>")}, true, 43, 44},
	} {
		for _, allowed := range []bool{true, false} {
			asked := 0
			c.page.HTML, c.page.More = true, func() bool { asked++; return allowed }
			var s Scanner
			r := s.Scan(c.page)
			switch {
			case asked > 1 || (asked == 1) != c.asks:
				t.Errorf("%s: asked %d times", c.name, asked)
			case r.Cut != (c.asks && !allowed):
				t.Errorf("%s: allowed %v, cut %v", c.name, allowed, r.Cut)
			case !r.Cut && len(r.Links) != c.all, r.Cut && (len(r.Links) < c.least || len(r.Links) >= c.all):
				t.Errorf("%s: allowed %v, %d links", c.name, allowed, len(r.Links))
			}
		}
	}
}

// The links of a page have a limited length together, also if its base makes them long.
func TestMaxLinkText(t *testing.T) {
	base := canon.URL("http://a.example/" + strings.Repeat("b", 2024-len("http://a.example/")) + "/")
	const each = 2048
	for n, cut := range map[int]bool{MaxLinkText / each: false, MaxLinkText/each + 1: true} {
		var s Scanner
		r := s.Scan(Page{URL: base, Body: pageOfLinks(n, "<a href=%023d>"), HTML: true})
		if len(r.Links) != MaxLinkText/each || r.Cut != cut {
			t.Errorf("%d links of %d bytes: %d, cut %v", n, each, len(r.Links), r.Cut)
		}
	}
}

// After a page with many links a Scanner gives its tables back, and keeps those of an ordinary
// page. It keeps no text of the last page.
func TestTrim(t *testing.T) {
	var s Scanner
	size := func() int {
		return cap(s.refs.bytes) + 16*cap(s.refs.list) + 16*len(s.refs.seen.slots) + 16*cap(s.links) + 16*len(s.seen.slots) + cap(s.text) + cap(s.canonical)
	}
	s.Scan(Page{URL: here, Body: pageOfLinks(MaxLinks, "<a href=/%d>"), HTML: true})
	if n := size(); n < 1<<20 {
		t.Fatalf("only %d bytes are in use: the test shows nothing", n)
	}
	s.Trim()
	if n := size(); n > 2*OrdinaryText {
		t.Errorf("%d bytes are kept", n)
	}
	ordinary := Page{URL: here, Body: pageOfLinks(OrdinaryLinks, "<a href=/%06d>\xe9"), ContentType: "text/html; charset=windows-1252", HTML: true}
	s.Scan(ordinary)
	before := size()
	s.Trim()
	if n := size(); n != before || n > 256<<10 {
		t.Errorf("%d bytes of %d are kept for the next ordinary page", n, before)
	}
	for _, u := range s.links[:cap(s.links)] {
		if u != "" {
			t.Fatal("a link of the last page is kept")
		}
	}
	if r := s.Scan(ordinary); len(r.Links) != OrdinaryLinks {
		t.Errorf("%d links afterwards", len(r.Links))
	}
}
