package search

import (
	"fmt"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

// long makes a page of about so many bytes of text, with some passages at given offsets.
func long(bytes int, stretches map[int]string) string {
	var b strings.Builder
	for i := 0; b.Len() < bytes; i++ {
		fmt.Fprintf(&b, "<p>line %d says nothing of it", i)
		for at, s := range stretches {
			if b.Len() >= at {
				b.WriteString("<p>" + s)
				delete(stretches, at)
			}
		}
	}
	return b.String()
}

// Only as much of a long page is read as is needed for a good passage; the first passage is not
// taken if the page has a better one a little later.
func TestSnippetOfALongPage(t *testing.T) {
	f := newFixture(t)
	f.add(
		page("https://a.example/later", "en", "Later", long(200<<10, map[int]string{1000: "an okapi", 30 << 10: "the okapi and the zebra meet"})),
		page("https://b.example/split", "en", "Split", long(200<<10, map[int]string{1000: "a quagga", 30 << 10: "a lonely gnu"})),
		page("https://c.example/far", "en", "Far", long(200<<10, map[int]string{150 << 10: "the bongo and the nyala"})),
		page("https://d.example/menu", "en", "Menu", "<nav>"+long(60<<10, map[int]string{10: "kudu impala"})+"</nav><main>"+
			long(40<<10, map[int]string{20 << 10: "of the kudu and the impala"})+"</main>"),
		page("https://e.example/quiet", "en", "Quiet", long(20<<10, map[int]string{100: "<span data-nosnippet>eland dikdik</span>"})+
			long(20<<10, map[int]string{100: "an eland, not a dikdik"})),
		// Two of the three words are near the beginning, all three are later.
		page("https://f.example/middle", "en", "Middle", long(200<<10, map[int]string{1000: "topi and sable", 40 << 10: "topi, sable, sitatunga"})),
		page("https://g.example/end", "en", "End", long(200<<10, map[int]string{1000: "oryx and addax", 150 << 10: "oryx, addax, lechwe"})),
	)
	for q, want := range map[string]string{
		"okapi zebra":  "the okapi and the zebra meet",
		"quagga gnu":   "a quagga",
		"bongo nyala":  "the bongo and the nyala",
		"kudu impala":  "of the kudu and the impala",
		"eland dikdik": "an eland, not a dikdik",

		"topi sable sitatunga": "topi, sable, sitatunga",
		"oryx addax lechwe":    "oryx and addax",
	} {
		hits := f.search(q)
		if len(hits) != 1 || hits[0].Snippet == nil || !strings.Contains(*hits[0].Snippet, want) {
			t.Errorf("%q: %s", q, shown(hits))
			continue
		}
		if s := *hits[0].Snippet; !strings.HasPrefix(s, "…") || !strings.HasSuffix(s, "…") {
			t.Errorf("%q: the snippet %q does not say that it was cut", q, s)
		}
	}
}

func shown(hits []crawl.Hit) (s string) {
	for _, h := range hits {
		if h.Snippet != nil {
			s += h.URL + ": " + *h.Snippet + "\n"
		}
	}
	return s
}
