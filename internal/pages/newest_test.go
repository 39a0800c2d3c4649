package pages

import (
	"fmt"
	"slices"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

// The newest content comes first and each page once. Removed pages do not come.
func TestEachNewest(t *testing.T) {
	s := openTemp(t)
	const n = 3000 // more than one transaction reads
	var all []Page
	for i := range n {
		all = append(all, page(fmt.Sprintf("https://a.example/%04d", i), 1, "text"))
	}
	put(t, s, all...)
	put(t, s, page("https://a.example/0007", 2, "another text"))
	put(t, s, gone("https://a.example/0009", 2, crawl.ReasonNoindex))
	walk := func(most int, enough int) (got []string, whole bool) {
		whole, err := s.Feed().EachNewest(most, func(p *Page) error {
			got = append(got, string(p.URL))
			if len(got) == enough {
				return ErrEnough
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return got, whole
	}
	got, whole := walk(2*n, 0)
	if !whole || len(got) != n-1 || got[0] != "https://a.example/0007" || got[1] != "https://a.example/2999" || got[n-2] != "https://a.example/0000" {
		t.Fatalf("%d pages, whole %v: %q", len(got), whole, got[:3])
	}
	if slices.Contains(got, "https://a.example/0009") {
		t.Error("a page that is gone is listed")
	}
	if got, whole := walk(2*n, 3); len(got) != 3 || whole {
		t.Errorf("three are enough: %d came, whole %v", len(got), whole)
	}
	if got, whole := walk(100, 0); len(got) > 100 || len(got) < 98 || whole {
		t.Errorf("100 entries of the journal: %d pages, whole %v", len(got), whole)
	}
}
