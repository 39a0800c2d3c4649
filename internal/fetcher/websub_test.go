package fetcher

import (
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

// A request to a hub is one POST under its robots.txt, and its redirects are not followed. Its text
// is reported without what only the hub may know.
func TestHubIsAsked(t *testing.T) {
	const form = "hub.mode=subscribe&hub.callback=https%3A%2F%2Fc.example%2Fx%2Fsecret-place&hub.secret=sssh"
	for name, tt := range map[string]struct {
		robots, body string
		status       int
		want         crawl.RUP
		asked        int
	}{
		"accepted": {"", "", 202, crawl.RUP{Status: 202}, 1},
		"refused":  {"", "https://c.example/x/secret-place is bad, and so is sssh", 400, crawl.RUP{Status: 400, Reason: "HTTP 400: (hub.callback) is bad, and so is (hub.secret)"}, 1},
		"in parts": {"", "nothing at /x/secret-place of c.example", 400, crawl.RUP{Status: 400, Reason: "HTTP 400: nothing at /x/(hub.callback) of c.example"}, 1},
		"a page":   {"", "<html>", 404, crawl.RUP{Status: 404, Reason: "HTTP 404"}, 1},
		"busy":     {"", "", 503, crawl.RUP{Status: 503, Reason: "HTTP 503", Retry: true}, 1},
		"moved":    {"", "", 307, crawl.RUP{Status: 307, Reason: "HTTP 307"}, 1},
		"closed":   {"User-agent: *\nDisallow: /hub", "", 202, crawl.RUP{Reason: "robots: line 2: Disallow: /hub"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				var mu sync.Mutex
				asked := 0
				addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/robots.txt" {
						io.WriteString(w, tt.robots)
						return
					}
					body, _ := io.ReadAll(r.Body)
					mu.Lock()
					defer mu.Unlock()
					if asked++; r.Method != "POST" || string(body) != form || r.URL.Path != "/hub" {
						t.Errorf("%s %s: %s", r.Method, r.URL, body)
					}
					w.Header().Set("Location", "/elsewhere")
					w.WriteHeader(tt.status)
					io.WriteString(w, tt.body)
				})
				d := newDesk(t, 1)
				startFetcher(t, d, testSpec(1, addr), Options{})
				out := d.outcome(d.grant(crawl.Visit{Host: "h.test", Aux: []crawl.AuxRequest{{Kind: crawl.AuxWebSub, URL: "http://h.test/hub", Origin: vouching, About: "http://v.test/feed", Hop: 2, Form: form}}}))
				a := d.answersOf(1)[0]
				if a.RUP.Status != tt.want.Status || a.RUP.Reason != tt.want.Reason || a.RUP.Retry != tt.want.Retry || a.Aux.Form != "" || a.Aux.About != "http://v.test/feed" {
					t.Errorf("%+v, want %+v", a, tt.want)
				}
				mu.Lock()
				defer mu.Unlock()
				if asked != tt.asked || len(out.Done) != 1 {
					t.Errorf("asked %d times, %+v", asked, out)
				}
			})
		})
	}
}
