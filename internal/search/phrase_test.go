package search

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
)

// Words in quotes find exactly the pages that have them next to each other in this order.
func TestPhrasesAsInTheText(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	words := strings.Fields("tern tern tern tern skua skua skua auk auk éider eider murre")
	some := func(n int) string {
		var s []string
		for range n {
			s = append(s, words[rng.IntN(len(words))])
		}
		return strings.Join(s, " ")
	}
	var all []pages.Page
	texts := map[string]string{}
	for i := range 120 {
		u, text := fmt.Sprintf("https://a.example/%d", i), some(1+rng.IntN(40))
		texts[u] = " " + strings.ReplaceAll(text, "é", "e") + " "
		all = append(all, page(u, "en", "", "<p>"+text))
	}
	f := newFixture(t)
	for batch := range slices.Chunk(all, 50) {
		f.add(batch...)
	}
	for range 150 {
		phrase := some(2 + rng.IntN(4))
		var want, got []string
		for u, text := range texts {
			if strings.Contains(text, " "+strings.ReplaceAll(phrase, "é", "e")+" ") {
				want = append(want, u)
			}
		}
		a := ask(t, crawl.SearchRequest{Query: `"` + phrase + `"`, Limit: 200}, f.Index)
		for _, h := range a.Hits {
			got = append(append(got, h.URL), h.Also...)
		}
		slices.Sort(want)
		slices.Sort(got)
		if a.Suggestion == "" && a.Loosened == "" && !slices.Equal(got, want) {
			t.Fatalf("%q: %v, want %v", phrase, got, want)
		}
	}
}
