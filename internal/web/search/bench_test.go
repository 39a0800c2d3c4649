package search

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

// BenchmarkAnswer is the cost of ten hits without that of finding them: as a page, and as JSON.
func BenchmarkAnswer(b *testing.B) {
	snippet := strings.Repeat("the quiet harbor and ", 12)
	a := crawl.SearchAnswer{Total: 4711, Facets: map[string][]crawl.FacetValue{"lang": {{Value: "en", Count: 40}, {Value: "de", Count: 7}}}}
	for range 10 {
		a.Hits = append(a.Hits, crawl.Hit{URL: "https://a.example/docs/17/quiet.html", Title: "The quiet harbor", Snippet: &snippet, Marks: [][2]int{{4, 9}, {10, 16}}, Lang: "en", Size: 4711})
	}
	w := New(Options{Crawl: answers(a, nil), Name: "manuals"})
	for _, path := range []string{"/search?q=quiet+harbor", "/api/v1/search?q=quiet+harbor"} {
		b.Run(strings.Trim(strings.Split(path, "?")[0], "/"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				rec := httptest.NewRecorder()
				if w.ServeHTTP(rec, httptest.NewRequest("GET", path, nil)); rec.Code != 200 {
					b.Fatal(rec.Code)
				}
			}
		})
	}
}
