package fetcher

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Formats §8.33: a key file is asked for as any URL of its host, under its robots.txt, and what
// it holds is told.
func TestUsage_8_33_KeyFile(t *testing.T) {
	const path, key = "/12345678.txt", "12345678"
	for name, tt := range map[string]struct {
		robots string
		status int
		body   string
		want   crawl.KeyFile
		asked  bool
	}{
		"the key":        {"", 200, key + "\n", crawl.KeyFile{Key: key}, true},
		"another":        {"", 200, "another-key", crawl.KeyFile{Key: "another-key"}, true},
		"a page":         {"", 200, "<html>" + key, crawl.KeyFile{Reason: "the content at the address of its key file is not a key"}, true},
		"too long":       {"", 200, key + strings.Repeat(" ", 2000), crawl.KeyFile{Reason: "the content at the address of its key file is not a key"}, true},
		"none":           {"", 404, key, crawl.KeyFile{Reason: "its key file: HTTP 404"}, true},
		"elsewhere":      {"", 302, "", crawl.KeyFile{Reason: "its key file: HTTP 302"}, true},
		"busy":           {"", 503, key, crawl.KeyFile{Reason: "its key file: HTTP 503", Again: true}, true},
		"closed":         {"User-agent: *\nDisallow: /*.txt$\n", 200, key, crawl.KeyFile{Reason: "robots: line 2: Disallow: /*.txt$"}, false},
		"not to be used": {"User-agent: *\nContent-Signal: search=no\n", 200, key, crawl.KeyFile{Reason: "usage: robots.txt, line 2: Content-Signal: search=no"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				var mu sync.Mutex
				asked := false
				addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
					mu.Lock()
					defer mu.Unlock()
					if r.URL.Path == "/robots.txt" {
						io.WriteString(w, tt.robots)
						return
					}
					asked = r.URL.Path == path
					w.Header().Set("Location", "/elsewhere")
					w.WriteHeader(tt.status)
					io.WriteString(w, tt.body)
				})
				d := newDesk(t, 1)
				startFetcher(t, d, testSpec(1, addr), Options{})
				out := d.outcome(d.grant(crawl.Visit{Host: "h.test", Aux: []crawl.AuxRequest{{Kind: crawl.AuxIndexNow, URL: "http://h.test" + path, Origin: originH}}}))
				d.mu.Lock()
				var got *crawl.KeyFile
				for _, e := range d.events {
					for _, a := range e.Answers {
						got = a.KeyFile
					}
				}
				d.mu.Unlock()
				mu.Lock()
				defer mu.Unlock()
				if got == nil || *got != tt.want || asked != tt.asked || len(out.Done) != 1 {
					t.Errorf("%+v, asked %v; want %+v, %v", got, asked, tt.want, tt.asked)
				}
			})
		})
	}
}
