package main

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
)

// Formats §8.22: only with --llms-txt, a site is asked for its llms.txt, once and with one request
// at a time. The pages that it names are fetched if they are in scope and allowed, and explain
// shows where they were found.
func TestUsage_8_22_Crawl(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var mu sync.Mutex
		asked, now := map[string]int{}, 0
		site := newSite(t, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			if asked[r.Host+r.URL.Path]++; now > 0 || asked[r.Host+"/robots.txt"] == 0 {
				t.Errorf("%s beside another request, or before robots.txt", r.URL.Path)
			}
			now++
			mu.Unlock()
			switch r.URL.Path {
			case "/robots.txt":
				io.WriteString(w, "User-agent: *\nDisallow: /closed\n")
			case "/llms.txt":
				w.Header().Set("Content-Type", "text/markdown")
				io.WriteString(w, "# A\n\n## Pages\n\n- [hidden](/hidden)\n- [closed](/closed)\n- [away](http://b.test/away)\n\n## Optional\n\n- [more](/more)\n")
			default:
				w.Header().Set("Content-Type", "text/html")
				io.WriteString(w, "<title>page</title>")
			}
			mu.Lock()
			now--
			mu.Unlock()
		})
		dir := filepath.Join(t.TempDir(), "data")
		addr := strings.TrimPrefix(site.URL, "http://")
		for i, args := range [][]string{{}, {"--llms-txt"}, {"--llms-txt"}} {
			curtsy(t, app.ExitOK, append([]string{"crawl", "--dir", dir, "--allow-private", "--delay", "0s", "--sitemaps=false",
				"--resolve", "a.test=" + addr, "--resolve", "b.test=" + addr, "http://a.test/"}, args...)...)
			mu.Lock()
			for _, u := range []string{"a.test/llms.txt", "a.test/hidden", "a.test/more"} {
				if asked[u] != min(i, 1) {
					t.Errorf("run %d: %s was asked for %d times", i, u, asked[u])
				}
			}
			if asked["a.test/closed"] != 0 || asked["b.test/away"] != 0 {
				t.Errorf("run %d: asked for what is closed, or out of scope: %v", i, asked)
			}
			mu.Unlock()
		}
		for want, args := range map[string][]string{
			"llms.txt: 4 links, 3 in scope":                                   {"hosts", "--dir", dir},
			`"llms_txt":{"state":"found","title":"A","links":4,"in_scope":3}`: {"hosts", "--json", "--dir", dir},
			"http://a.test/llms.txt":                                          {"explain", "--dir", dir, "http://a.test/hidden"},
		} {
			if out := curtsy(t, app.ExitOK, args...); !strings.Contains(out, want) {
				t.Errorf("%s lacks %s", out, want)
			}
		}
	})
}
