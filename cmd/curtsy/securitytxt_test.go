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

// With --security-txt a site is asked for its security.txt once, and hosts shows the contacts in
// it. The site gets one request at a time, as in any visit, and a second run requests nothing more.
func TestSecurityTxt(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var mu sync.Mutex
		asked, now := map[string]int{}, 0
		site := newSite(t, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			if asked[r.URL.Path]++; now > 0 || asked["/robots.txt"] == 0 {
				t.Errorf("%s beside another request, or before robots.txt", r.URL.Path)
			}
			now++
			mu.Unlock()
			switch r.URL.Path {
			case "/robots.txt":
			case "/.well-known/security.txt":
				w.Header().Set("Content-Type", "text/plain")
				io.WriteString(w, "Contact: mailto:safe@a.test\nExpires: 2030-06-15T12:00:00Z\n")
			default:
				w.Header().Set("Content-Type", "text/html")
				io.WriteString(w, `<a href="/2">two</a> <a href="/3">three</a>`)
			}
			mu.Lock()
			now--
			mu.Unlock()
		})
		dir := filepath.Join(t.TempDir(), "data")
		for i, args := range [][]string{{"--security-txt=false"}, {"--security-txt"}, {"--security-txt"}} {
			curtsy(t, app.ExitOK, append([]string{"crawl", "--dir", dir, "--allow-private", "--delay", "0s", "--sitemaps=false",
				"--resolve", "a.test=" + strings.TrimPrefix(site.URL, "http://"), "http://a.test/"}, args...)...)
			mu.Lock()
			if n := asked["/.well-known/security.txt"]; n != min(i, 1) {
				t.Errorf("run %d: asked %d times", i, n)
			}
			mu.Unlock()
		}
		for want, args := range map[string][]string{
			"security.txt: mailto:safe@a.test, expires 2030-06-15":                                                {"hosts", "--dir", dir},
			`"security_txt":{"state":"found","contacts":["mailto:safe@a.test"],"expires":"2030-06-15T12:00:00Z"}`: {"hosts", "--json", "--dir", dir},
		} {
			if out := curtsy(t, app.ExitOK, args...); !strings.Contains(out, want) {
				t.Errorf("%s lacks %s", out, want)
			}
		}
	})
}
