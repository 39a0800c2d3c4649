package fetcher

import (
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

// An origin is asked for its security.txt if its robots.txt allows that, with one redirect within
// it, and whatever it answers is told.
func TestSecurityTxt(t *testing.T) {
	const path = "/.well-known/security.txt"
	text := func(status int, kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			io.WriteString(w, body)
		}
	}
	moved := func(to string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/security.txt" {
				text(200, "text/plain", "Contact: tel:1\n")(w, r)
			} else {
				http.Redirect(w, r, to, http.StatusFound)
			}
		}
	}
	unreadable := func(why string) crawl.SecurityTxt {
		return crawl.SecurityTxt{State: crawl.FileUnreadable, Reason: why}
	}
	found := crawl.SecurityTxt{State: crawl.FileFound, Contacts: []string{"tel:1"}}
	for name, tt := range map[string]struct {
		robots string
		answer http.HandlerFunc
		want   crawl.SecurityTxt
		asked  string // after robots.txt
	}{
		"found":      {"", text(200, "text/plain; charset=utf-8", "Contact: tel:1\n"), found, path},
		"moved":      {"", moved("/security.txt"), found, path + " /security.txt"},
		"moved away": {"", moved("http://other.test/security.txt"), unreadable("it redirects elsewhere"), path},
		"in a ring":  {"", moved(path), unreadable("it redirects elsewhere"), path},
		"disallowed": {"User-agent: *\nDisallow: /.well-known/\n", nil, unreadable("robots: line 2: Disallow: /.well-known/"), ""},
		"none":       {"", text(404, "text/html", "no"), crawl.SecurityTxt{State: crawl.FileNone}, path},
		"busy":       {"", text(503, "text/html", "no"), unreadable("HTTP 503"), path},
		"a page":     {"", text(200, "text/html", "Contact: tel:1\n"), unreadable("it is not text/plain"), path},
		"nobody":     {"", text(200, "text/plain", "# nobody\n"), unreadable("it has no usable Contact"), path},
		"too large":  {"", text(200, "text/plain", strings.Repeat("Contact: tel:1\n", 3000)), unreadable("it is larger than 32 KiB"), path},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				d, out, asked := runAux(t, crawl.AuxRequest{Kind: crawl.AuxSecurityTxt, URL: "http://h.test" + path, Origin: originH}, tt.robots, tt.answer)
				d.mu.Lock()
				defer d.mu.Unlock()
				var got *crawl.SecurityTxt
				for _, e := range d.events {
					for _, a := range e.Answers {
						got = a.SecurityTxt
					}
				}
				if got == nil || !reflect.DeepEqual(*got, tt.want) || len(out.Done) != 1 {
					t.Errorf("%+v, done %+v; want %+v", got, out.Done, tt.want)
				}
				if asked != strings.TrimSpace("/robots.txt "+tt.asked) {
					t.Errorf("asked for %s", asked)
				}
			})
		})
	}
}
