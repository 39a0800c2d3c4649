package fetcher

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Where /data.txt is requested, /data.json is, too, once and under the rules of the site. If it
// exists, it is a URL of the crawl from then on. Any other answer changes nothing.
func TestDataJSON(t *testing.T) {
	answer := func(status int, kind, body string, more ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/data.json" {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			for i := 0; i+1 < len(more); i += 2 {
				w.Header().Set(more[i], more[i+1])
			}
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			io.WriteString(w, body)
		}
	}
	const both, all = "/robots.txt /data.txt /a /b", "/robots.txt /data.txt /data.json /a /b"
	for name, tt := range map[string]struct {
		robots string
		f      http.HandlerFunc
		set    func(*crawl.Spec)
		asked  string
		found  bool
	}{
		"there":            {"", answer(200, "application/json", "{}"), nil, all, true},
		"as a text":        {"", answer(200, "text/plain", "{}"), nil, all, true},
		"long":             {"", answer(200, "application/json", strings.Repeat(" ", 4<<20)), nil, all, true},
		"absent":           {"", answer(404, "text/html", "no"), nil, all, false},
		"a page":           {"", answer(200, "text/html", "not here"), nil, all, false},
		"broken":           {"", answer(500, "text/html", ""), nil, all, false},
		"overloaded":       {"", answer(503, "text/html", ""), nil, "/robots.txt /data.txt /data.json", false},
		"moved":            {"", answer(301, "text/html", "", "Location", "/catalog/data.json"), nil, all, true},
		"moved to a page":  {"", answer(302, "text/html", "", "Location", "/"), nil, all, false},
		"moved to nowhere": {"", answer(302, "text/html", ""), nil, all, false},
		"closed":           {"User-agent: *\nDisallow: /data.json\n", answer(200, "application/json", "{}"), nil, both, false},
		"not wanted":       {"", answer(200, "application/json", "{}"), func(s *crawl.Spec) { s.DataJSON = false }, both, false},
		"out of scope":     {"", answer(200, "application/json", "{}"), func(s *crawl.Spec) { s.Exclude = []string{`\.json$`} }, both, false},
		"too deep":         {"", answer(200, "application/json", "{}"), func(s *crawl.Spec) { s.MaxDepth = 0 }, both, false},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				addr, asked := dataSite(t, tt.robots, tt.f)
				d := newDesk(t, 1)
				spec := testSpec(1, addr)
				spec.DataJSON = true
				if tt.set != nil {
					tt.set(&spec)
				}
				startFetcher(t, d, spec, Options{})
				v := visitTo(t, "http://h.test/a", "http://h.test/b")
				v.Robots = []crawl.Robots{{Origin: v.URLs[0].URL.Origin(), ProbeData: true}}
				d.outcome(d.grant(v))
				if got := asked(); got != tt.asked {
					t.Errorf("asked for %s, want %s", got, tt.asked)
				}
				var links []canon.URL
				d.mu.Lock()
				defer d.mu.Unlock()
				for _, e := range d.events {
					for _, l := range e.Links {
						if links = append(links, l.URLs...); l.FoundOn != "http://h.test/data.txt" || l.Depth != 1 {
							t.Errorf("%+v", l)
						}
					}
				}
				if found := slices.Equal(links, []canon.URL{"http://h.test/data.json"}); found != tt.found || len(links) > 1 {
					t.Errorf("offered %v, want it offered: %v", links, tt.found)
				}
			})
		})
	}
}
