package wellknown

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/canon"
)

// formats §8.22: an origin's llms.txt is requested under its robots.txt, with one redirect within
// the origin. Its links are published like seeds. A page in HTML, or a file without a heading, is
// not an llms.txt.
func TestUsage_8_22_LLMSTxt(t *testing.T) {
	const path, good = "/llms.txt", "# A site\n\n## Docs\n- [a](/a.md): x\n- [b](https://h.test/b)\n- [c](http://elsewhere.test/c)\n- [a](a.md#x)\n- [d](mailto:x)\n"
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
			simnet.Test(t, func(t *testing.T) {
				got := fetch(t, crawl.AuxRequest{Kind: crawl.AuxLLMSTxt, URL: "http://h.test" + path, Origin: origin}, tt.robots, tt.answer)
				var links []string
				for _, l := range got.links {
					if l.Depth != 0 || l.Seed || l.Source != crawl.SourcePage || l.FoundOn != "http://h.test"+path {
						t.Errorf("%+v was published", l)
					}
					for _, u := range l.URLs {
						links = append(links, string(u))
					}
				}
				slices.Sort(links)
				if m := got.answer.LLMSTxt; m == nil || !reflect.DeepEqual(*m, tt.want) || !got.done || strings.Join(links, " ") != tt.links {
					t.Errorf("%+v, done %v, links %s; want %+v, %s", m, got.done, links, tt.want, tt.links)
				}
				if got.paths != strings.TrimSpace("/robots.txt "+tt.asked) {
					t.Errorf("%s was requested", got.paths)
				}
			})
		})
	}
}

// The links of a long file are published in batches, each link once, and not more than are read of
// one file.
func TestLLMSTxtLong(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		var body strings.Builder
		body.WriteString("# A\n")
		for i := range 6000 {
			fmt.Fprintf(&body, "- [a](/%s%d)\n", strings.Repeat("x", 100), i)
		}
		got := fetch(t, crawl.AuxRequest{Kind: crawl.AuxLLMSTxt, URL: "http://h.test/llms.txt", Origin: origin}, "", text(200, "text/plain", body.String()))
		links, most := map[canon.URL]int{}, 0
		for _, l := range got.links {
			most = max(most, len(l.URLs))
			for _, u := range l.URLs {
				links[u]++
			}
		}
		if m := got.answer.LLMSTxt; m == nil || m.Links != 5000 || m.Within != 5000 || len(links) != 5000 || most > 400 || !strings.Contains(m.Reason, "only its first 5000 links") {
			t.Errorf("%+v: %d links, %d in one message", m, len(links), most)
		}
	})
}
