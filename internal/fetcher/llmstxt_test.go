package fetcher

import (
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Formats §8.22: an origin's llms.txt is asked for under its robots.txt, with one redirect
// within it; its links are told before the answer, like seeds; a page in HTML, or a file without a
// heading, is none.
func TestUsage_8_22_LLMSTxt(t *testing.T) {
	const path, good = "/llms.txt", "# A site\n\n## Docs\n- [a](/a.md): x\n- [b](https://h.test/b)\n- [c](http://elsewhere.test/c)\n- [a](a.md#x)\n- [d](mailto:x)\n"
	text := func(status int, kind, body string, more ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			for i := 0; i+1 < len(more); i += 2 {
				w.Header().Set(more[i], more[i+1])
			}
			w.WriteHeader(status)
			io.WriteString(w, body)
		}
	}
	moved := func(to string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/docs/llms.txt" {
				text(200, "text/plain", "# A\n- [a](x)\n")(w, r)
			} else {
				http.Redirect(w, r, to, http.StatusFound)
			}
		}
	}
	const day, week = 24 * time.Hour, 7 * 24 * time.Hour // a week where nothing is said
	bad := func(state, why string) crawl.LLMSTxt {
		m := crawl.LLMSTxt{State: state, Reason: why}
		if state == crawl.FileNone {
			m.Fresh = week
		}
		return m
	}
	found := crawl.LLMSTxt{State: crawl.FileFound, Title: "A site", Links: 5, Within: 3, Fresh: week}
	kept, hushed := found, crawl.LLMSTxt{State: crawl.FileFound, Title: "A site", Links: 5, Reason: "nofollow in its X-Robots-Tag or Robots-Tag header", Fresh: week}
	kept.Fresh = 2 * day
	for name, tt := range map[string]struct {
		robots string
		answer http.HandlerFunc
		want   crawl.LLMSTxt
		asked  string // after robots.txt
		links  string
	}{
		"found":        {"", text(200, "text/markdown; charset=utf-8", good), found, path, "http://elsewhere.test/c http://h.test/a.md https://h.test/b"},
		"plain":        {"", text(200, "text/plain", good, "Cache-Control", "max-age=172800"), kept, path, "http://elsewhere.test/c http://h.test/a.md https://h.test/b"},
		"moved":        {"", moved("/docs/llms.txt"), crawl.LLMSTxt{State: crawl.FileFound, Title: "A", Links: 1, Within: 1, Fresh: week}, path + " /docs/llms.txt", "http://h.test/docs/x"},
		"moved away":   {"", moved("http://other.test/llms.txt"), bad(crawl.FileUnreadable, "it redirects elsewhere"), path, ""},
		"disallowed":   {"User-agent: *\nDisallow: /llms\n", nil, bad(crawl.FileUnreadable, "robots: line 2: Disallow: /llms"), "", ""},
		"not for this": {"User-agent: *\nContent-Signal: search=no\n", nil, bad(crawl.FileUnreadable, "usage: robots.txt, line 2: Content-Signal: search=no"), "", ""},
		"none":         {"", text(404, "text/html", "no"), bad(crawl.FileNone, ""), path, ""},
		"busy":         {"", text(503, "text/html", "no"), bad(crawl.FileUnreadable, "HTTP 503"), path, ""},
		"a page":       {"", text(200, "text/html", good), bad(crawl.FileNone, "it is not Markdown"), path, ""},
		"HTML as text": {"", text(200, "text/plain", "<!doctype html>\n"+good), bad(crawl.FileNone, "it does not begin with a heading such as # NAME"), path, ""},
		"nofollow":     {"", text(200, "text/plain", good, "X-Robots-Tag", "nofollow"), hushed, path, ""},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				d, out, asked := runAux(t, crawl.AuxRequest{Kind: crawl.AuxLLMSTxt, URL: "http://h.test" + path, Origin: originH}, tt.robots, tt.answer)
				d.mu.Lock()
				defer d.mu.Unlock()
				var got *crawl.LLMSTxt
				var links []string
				for _, e := range d.events {
					for _, l := range e.Links {
						if got != nil || l.Depth != 0 || l.Seed || l.Source != crawl.SourcePage || l.FoundOn != "http://h.test"+path {
							t.Errorf("told of %+v", l)
						}
						for _, u := range l.URLs {
							links = append(links, string(u))
						}
					}
					for _, a := range e.Answers {
						got = a.LLMSTxt
					}
				}
				slices.Sort(links)
				if got == nil || !reflect.DeepEqual(*got, tt.want) || len(out.Done) != 1 || strings.Join(links, " ") != tt.links {
					t.Errorf("%+v, done %+v, links %s; want %+v, %s", got, out.Done, links, tt.want, tt.links)
				}
				if asked != strings.TrimSpace("/robots.txt "+tt.asked) {
					t.Errorf("asked for %s", asked)
				}
			})
		})
	}
}

// A long file is told a batch at a time, once each link, and no further than is read of one.
func TestLLMSTxtLong(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var body strings.Builder
		body.WriteString("# A\n")
		for i := range 6000 {
			fmt.Fprintf(&body, "- [a](/%s%d)\n", strings.Repeat("x", 100), i)
		}
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/llms.txt" {
				w.Header().Set("Content-Type", "text/plain")
				io.WriteString(w, body.String())
			}
		})
		d := newDesk(t, 1)
		startFetcher(t, d, testSpec(1, addr), Options{})
		d.outcome(d.grant(crawl.Visit{Host: "h.test", Aux: []crawl.AuxRequest{{Kind: crawl.AuxLLMSTxt, URL: "http://h.test/llms.txt", Origin: originH}}}))
		d.mu.Lock()
		defer d.mu.Unlock()
		links, most := map[string]int{}, 0
		var got *crawl.LLMSTxt
		for _, e := range d.events {
			for _, l := range e.Links {
				most = max(most, len(l.URLs))
				for _, u := range l.URLs {
					links[string(u)]++
				}
			}
			for _, a := range e.Answers {
				got = a.LLMSTxt
			}
		}
		if got == nil || got.Links != 5000 || got.Within != 5000 || len(links) != 5000 || most > 400 || !strings.Contains(got.Reason, "only its first 5000 links") {
			t.Errorf("%+v: %d links, %d in one message", got, len(links), most)
		}
	})
}
