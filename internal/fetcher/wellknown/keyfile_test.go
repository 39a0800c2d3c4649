package wellknown

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simnet"
)

// formats §8.33: a key file is requested like any URL of its host, under its robots.txt, and its
// contents are the answer.
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
			simnet.Test(t, func(t *testing.T) {
				got := fetch(t, crawl.AuxRequest{Kind: crawl.AuxIndexNow, URL: "http://h.test" + path, Origin: origin}, tt.robots, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Location", "/elsewhere")
					w.WriteHeader(tt.status)
					io.WriteString(w, tt.body)
				})
				asked := map[string]bool{"/robots.txt " + path: true, "/robots.txt": false}
				if want, known := asked[got.paths]; !known || want != tt.asked {
					t.Errorf("%s was requested", got.paths)
				}
				if k := got.answer.KeyFile; k == nil || *k != tt.want || !got.done {
					t.Errorf("%+v, done %v; want %+v", k, got.done, tt.want)
				}
			})
		})
	}
}
