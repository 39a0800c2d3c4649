package search

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Data that queries derived and cached follow the index: the links of the pages that are there now
// count, in whichever segment they are.
func TestCachesFollowTheIndex(t *testing.T) {
	f := newFixture(t)
	links := func() (got string) {
		t.Helper()
		for range 2 { // derived, and from the cache
			got = ""
			hits := ask(t, crawl.SearchRequest{Query: "okapi", Explain: true}, f.Index).Hits
			slices.SortFunc(hits, func(a, b crawl.Hit) int { return cmp.Compare(a.URL, b.URL) })
			for _, h := range hits {
				for _, s := range h.Signals {
					if s.Name == "links" || s.Name == "rank" {
						got += fmt.Sprintf("%s %s %.2f ", h.URL[len("https://a.example/"):], s.Name, s.Value)
					}
				}
			}
		}
		return got
	}
	check := func(what, want string) {
		t.Helper()
		if got := links(); got != want {
			t.Errorf("%s: %s; want %s", what, got, want)
		}
	}
	link := `<p><a href="/animal">okapi</a> and others`
	f.add(page("https://a.example/one", "en", "One", link))
	check("nobody has what the link leads to", "one links 0.00 one rank 0.00 ")
	animal := page("https://a.example/animal", "en", "An animal", "<p>of the forest")
	f.add(animal)
	check("another segment has it", "animal links 0.50 animal rank 0.50 one links 0.00 one rank 0.00 ")
	f.add(page("https://a.example/two", "en", "Two", link))
	check("two pages link", "animal links 0.67 animal rank 0.68 one links 0.00 one rank 0.00 two links 0.00 two rank 0.00 ")
	f.add(page("https://a.example/animal", "en", "An animal", "<p>of the forest, stored again"))
	check("stored again", "animal links 0.67 animal rank 0.68 one links 0.00 one rank 0.00 two links 0.00 two rank 0.00 ")
	f.add(page("https://a.example/one", "en", "One", "<p>links no more"))
	check("one of them links no more", "animal links 0.50 animal rank 0.43 two links 0.00 two rank 0.00 ")
}
