package fetcher

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

// An answer that ends a visit ends it for the rights files, too. If a site asks for an hour until
// the next request, or for a longer delay than we wait, the next file is not requested. What was
// learnt until then is published.
func TestFilesApartEndWithTheVisit(t *testing.T) {
	for _, tt := range []struct {
		name, robots string
		asked        []string
	}{
		{"retry-after", "", []string{"/robots.txt", "/.well-known/tdmrep.json"}},
		{"crawl-delay", "Crawl-delay: 3600\n", []string{"/robots.txt"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				var mu sync.Mutex
				var asked []string
				addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
					mu.Lock()
					asked = append(asked, r.URL.Path)
					mu.Unlock()
					switch r.URL.Path {
					case "/robots.txt":
						fmt.Fprint(w, "User-agent: *\n"+tt.robots+"License: http://h.test/one.xml\nLicense: http://h.test/two.xml\n")
					default:
						w.Header().Set("Retry-After", strconv.Itoa(3600))
						w.WriteHeader(http.StatusServiceUnavailable)
					}
				})
				d := newDesk(t, 1)
				spec := testSpec(1, addr)
				spec.Purposes = []string{"ai-train"}
				startFetcher(t, d, spec, Options{})
				out := d.outcome(d.grant(visitTo(t, "http://h.test/")))
				mu.Lock()
				defer mu.Unlock()
				if !slices.Equal(asked, tt.asked) {
					t.Errorf("asked for %q, want %q", asked, tt.asked)
				}
				if got := classes(out); got != "returned" {
					t.Errorf("the page: %s", got)
				}
				reported := 0
				for _, f := range d.facts() {
					for _, a := range f.Rights {
						if reported++; a.State != crawl.RightsLost {
							t.Errorf("%+v", a)
						}
					}
				}
				if want := len(tt.asked) - 1; reported != want {
					t.Errorf("%d files are told of, want %d", reported, want)
				}
			})
		})
	}
}
