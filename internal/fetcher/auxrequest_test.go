package fetcher

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

// runAux carries out a visit to h.test with one auxiliary request. asked is what was requested of
// its origin, in order, with a space between.
func runAux(t *testing.T, e crawl.AuxRequest, robots string, answer http.HandlerFunc) (d *desk, out crawl.Outcome, asked string) {
	t.Helper()
	var mu sync.Mutex
	var paths []string
	addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		paths = append(paths, r.URL.Path)
		mu.Unlock()
		if r.URL.Path == "/robots.txt" {
			io.WriteString(w, robots)
		} else {
			answer(w, r)
		}
	})
	d = newDesk(t, 1)
	startFetcher(t, d, testSpec(1, addr), Options{})
	out = d.outcome(d.grant(crawl.Visit{Host: "h.test", Aux: []crawl.AuxRequest{e}}))
	mu.Lock()
	defer mu.Unlock()
	return d, out, strings.Join(paths, " ")
}
