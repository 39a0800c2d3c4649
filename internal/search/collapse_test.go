package search

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/pkg/canon"
)

// copyOf makes a page with a digest, like the fetcher does.
func copyOf(u, canonical string, depth int, text string) pages.Page {
	p := page(u, "en", "Ibis", "<p>"+text)
	p.SHA256, p.Canonical, p.Depth = sha256.Sum256([]byte(text)), canon.URL(canonical), depth
	return p
}

func also(hits []crawl.Hit) (all []string) {
	for _, h := range hits {
		line := h.URL
		if len(h.Also) > 0 {
			line += " also " + strings.Join(h.Also, " ")
		}
		all = append(all, line)
	}
	slices.Sort(all)
	return all
}

const h = "https://h.example/"

// Pages that are the same are one hit: which page is shown, and which addresses are its others.
func TestCollapse(t *testing.T) {
	const other = "https://o.example/"
	for _, c := range []struct {
		name string
		all  []pages.Page
		want []string
	}{
		{"copies: the nearest to a seed", []pages.Page{copyOf(h+"a", "", 2, "ibis"), copyOf(h+"deep/er", "", 1, "ibis"), copyOf(other, "", 1, "ibis"), copyOf(h+"x", "", 1, "another ibis")},
			[]string{h + "x", other + " also " + h + "a " + h + "deep/er"}},
		{"canonical", []pages.Page{copyOf(h+"a?print", h+"a", 0, "ibis printed"), copyOf(h+"a", "", 3, "ibis"), copyOf(h+"a?x", h+"a", 1, "ibis x")},
			[]string{h + "a also " + h + "a?x " + h + "a?print"}},
		{"canonical that is not stored", []pages.Page{copyOf(h+"b?1", h+"b", 2, "ibis one"), copyOf(h+"b?2", h+"b", 1, "ibis two")},
			[]string{h + "b?2 also " + h + "b?1"}},
		{"each names the other", []pages.Page{copyOf(h+"a", h+"b", 1, "ibis one"), copyOf(h+"b", h+"a", 2, "ibis two")}, []string{h + "a also " + h + "b"}},
		{"another host's page steps back behind the one it names, unnamed", []pages.Page{copyOf(other, h+"a", 0, "ibis spam"), copyOf(h+"a", "", 3, "ibis")}, []string{h + "a"}},
		{"or stands alone", []pages.Page{copyOf(other, h+"a", 0, "ibis spam"), copyOf(h+"a?1", h+"a", 3, "ibis")}, []string{h + "a?1", other}},
		{"a stolen copy names its owner", []pages.Page{copyOf(other, h+"a", 0, "ibis"), copyOf(h+"a", "", 3, "ibis")}, []string{h + "a also " + other}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			f.add(c.all...)
			slices.Sort(c.want)
			if got := also(f.search("ibis")); !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			// Each page is in its own shard.
			var parts []*Index
			for _, p := range c.all {
				f := newFixture(t)
				f.add(p)
				parts = append(parts, f.Index)
			}
			if got := also(ask(t, crawl.SearchRequest{Query: "ibis"}, parts...).Hits); !slices.Equal(got, c.want) {
				t.Errorf("merged %q\nwant   %q", got, c.want)
			}
		})
	}
}

// The copy on a mirror is found until the main page is indexed, in whichever shard; then it is one
// of the addresses of the main page.
func TestCollapseAliases(t *testing.T) {
	f := newFixture(t)
	f.add(copyOf("https://x.example/", "", 0, "ibis"))
	if err := f.store.Alias([]crawl.Page{{Kind: crawl.KindAlias, URL: "https://x.example/", AliasOf: h, Visit: crawl.VisitID{Epoch: 9, N: 1 << 40}}}); err != nil {
		t.Fatal(err)
	}
	standIn := f.search("ibis")
	if len(standIn) != 1 || standIn[0].URL != "https://x.example/" || standIn[0].AliasOf != h || standIn[0].Snippet == nil {
		t.Fatalf("%+v", standIn)
	}
	g := newFixture(t)
	g.add(copyOf(h, "", 7, "ibis of the main host"))
	if got := ask(t, crawl.SearchRequest{Query: "ibis"}, f.Index, g.Index).Hits; !slices.Equal(also(got), []string{h + " also https://x.example/"}) {
		t.Errorf("in another shard: %q", also(got))
	}
	f.add(copyOf(h, "", 7, "ibis of the main host"))
	if got := also(f.search("ibis")); !slices.Equal(got, []string{h + " also https://x.example/"}) {
		t.Errorf("%q", got)
	}
}

// A nosnippet of a page applies only to the text of that page.
func TestCollapseNoSnippet(t *testing.T) {
	f := newFixture(t)
	main, other := copyOf(h, "", 0, "ibis"), copyOf(h+"copy", "", 1, "ibis")
	main.Directives = crawl.NoSnippet
	f.add(main, other)
	if got := f.search("ibis"); len(got) != 1 || got[0].URL != h || got[0].Snippet != nil || len(got[0].Also) != 1 {
		t.Errorf("%+v", got)
	}
	g := newFixture(t)
	main.Directives, other.Directives = 0, crawl.NoSnippet
	g.add(main, other)
	if got := g.search("ibis"); len(got) != 1 || got[0].URL != h || got[0].Snippet == nil {
		t.Errorf("%+v", got)
	}
}

// A thousand copies of one page do not displace other hits, and not all of them are listed.
func TestManyCopies(t *testing.T) {
	f := newFixture(t)
	var all []pages.Page
	for i := range 500 {
		all = append(all, copyOf(fmt.Sprint(h, "s/", i), "", 2, "ibis ibis ibis"))
	}
	for i := range 5 {
		all = append(all, copyOf(fmt.Sprint(h, "o/", i), "", 2, fmt.Sprint("one ibis among many other words of a longer page ", i)))
	}
	f.add(all...)
	a := ask(t, crawl.SearchRequest{Query: "ibis", Limit: 5}, f.Index)
	if len(a.Hits) != 5 || len(a.Hits[0].Also) != maxAlso {
		t.Errorf("%q", also(a.Hits))
	}
}

// A hidden page is neither shown nor listed from this moment on.
func TestHidden(t *testing.T) {
	f := newFixture(t)
	f.add(copyOf(h+"a", "", 0, "ibis"), copyOf("https://o.example/", "", 1, "ibis"), copyOf(h+"b", "", 0, "ibis too"))
	f.o.Hidden = func(u canon.URL) bool { return u.Host() == "h.example" }
	f.o.HiddenHost = func(h canon.Host) (all, some bool) { return h == "h.example", false }
	a := ask(t, crawl.SearchRequest{Query: "ibis"}, f.Index)
	if got := also(a.Hits); !slices.Equal(got, []string{"https://o.example/"}) || a.Total != 1 || len(a.Facets["site"]) != 1 {
		t.Errorf("%q, %d in all, %v", got, a.Total, a.Facets)
	}
	f.o.Hidden = func(u canon.URL) bool { return u == h+"b" }
	f.o.HiddenHost = func(h canon.Host) (all, some bool) { return false, h == "h.example" }
	if a := ask(t, crawl.SearchRequest{Query: "ibis"}, f.Index); a.Total != 1 || a.Facets["site"][0].Count != 1 {
		t.Errorf("%d in all, %v", a.Total, a.Facets)
	}
	f.o.Hidden = func(u canon.URL) bool { return u.Host() == "h.example" }
	f.o.HiddenHost = func(h canon.Host) (all, some bool) { return h == "h.example", false }
}
