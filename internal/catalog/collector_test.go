package catalog

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// A catalogue that is too large for memory is merged like one that is not, including claims in
// parts, copies and claims of strangers.
func TestCollectorMergesTheSame(t *testing.T) {
	var claims []crawl.DatasetClaim
	rows := int64(3)
	for i := range 3000 {
		c := crawl.DatasetClaim{Kind: crawl.DatasetDCAT, Document: "https://p.example/data.json", Origin: "https://p.example", N: i, Allowed: true,
			ID: fmt.Sprintf("https://p.example/d/%d", i), Title: fmt.Sprint("T", i), Description: strings.Repeat("d", 1000), Keywords: []string{"a", "b"},
			License: "CC0-1.0", Publisher: "P", Rows: &rows, Extra: map[string]any{"x": "y"}, FetchedAt: time.Unix(5, 0).UTC(),
			Files: []crawl.DatasetFile{{URL: fmt.Sprintf("https://p.example/f/%d.csv", i), SHA256: strings.Repeat("a", 64)}}}
		claims = append(claims, c)
		switch i % 4 {
		case 0: // the claim continues
			claims = append(claims, crawl.DatasetClaim{Kind: c.Kind, Document: c.Document, Origin: c.Origin, N: i, Part: 1, Allowed: true,
				Files: []crawl.DatasetFile{{URL: fmt.Sprintf("https://p.example/g/%d.csv", i)}}, Creators: []string{"C"}})
		case 1: // a page of the site makes the same claim and another one
			c.Kind, c.Document, c.N, c.Publisher = crawl.DatasetJSONLD, fmt.Sprintf("https://p.example/%d.html", i), 0, "Q"
			claims = append(claims, c)
		case 2: // a claim of a stranger
			c.Kind, c.Document, c.Origin, c.N, c.Title = crawl.DatasetDCAT, "https://q.example/data.json", "https://q.example", i, "other"
			claims = append(claims, c)
		}
	}
	want := Merge(claims)
	var all Collector
	defer all.Close()
	for i, c := range claims {
		if err := all.Add(c); err != nil {
			t.Fatal(err)
		}
		if i == 0 && all.shelf != nil || i == len(claims)-1 && all.shelf == nil {
			t.Fatalf("claim %d: on the shelf %v", i, all.shelf != nil)
		}
	}
	n := 0
	err := all.Each(func(d crawl.DatasetInfo) error {
		if n < len(want) && !reflect.DeepEqual(d, want[n]) {
			t.Fatalf("dataset %d is\n%+v, want\n%+v", n, d, want[n])
		}
		n++
		return nil
	})
	if err != nil || n != len(want) || n != 3000 {
		t.Errorf("%d datasets, want %d (%v)", n, len(want), err)
	}
}
