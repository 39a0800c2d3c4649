package main

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
)

// A catalogue of datasets to which nothing links is found in its well-known place. It is requested
// no more than necessary: once to see whether it exists, once for its content, and not again when
// the crawl is resumed.
func TestDataJSON(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var mu sync.Mutex
		asked := map[string]int{}
		site := newSite(t, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			asked[r.Host+r.URL.Path]++
			mu.Unlock()
			switch {
			case r.URL.Path == "/":
				w.Header().Set("Content-Type", "text/html")
				io.WriteString(w, `<title>home</title><a href="http://b.test/">b</a>`)
			case r.Host == "a.test" && r.URL.Path == "/data.json":
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, `{"conformsTo":"https://project-open-data.cio.gov/v1.1/schema","dataset":[{"@type":"dcat:Dataset","title":"Rainfall","accessLevel":"public","distribution":[{"downloadURL":"/rain.csv"}]}]}`)
			default:
				http.NotFound(w, r)
			}
		})
		dir := filepath.Join(t.TempDir(), "data")
		addr := strings.TrimPrefix(site.URL, "http://")
		crawl := func() {
			t.Helper()
			curtsy(t, app.ExitOK, "crawl", "--dir", dir, "--allow-private", "--delay", "0s", "--scope", "any", "--sitemaps=false",
				"--resolve", "a.test="+addr, "--resolve", "b.test="+addr, "http://a.test/")
		}
		crawl()
		crawl()
		if out := curtsy(t, app.ExitOK, "datasets", "--dir", dir); !strings.Contains(out, "Rainfall") {
			t.Errorf("datasets: %s", out)
		}
		if out := curtsy(t, app.ExitOK, "explain", "http://a.test/data.json", "--dir", dir); !strings.Contains(out, "stored") || !strings.Contains(out, "http://a.test/data.txt") {
			t.Errorf("explain: %s", out)
		}
		mu.Lock()
		defer mu.Unlock()
		for u, n := range map[string]int{"a.test/data.txt": 1, "a.test/data.json": 2, "b.test/data.txt": 1, "b.test/data.json": 1} {
			if asked[u] != n {
				t.Errorf("%s was asked for %d times, want %d", u, asked[u], n)
			}
		}
	})
}
