package fetcher

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

// markdownSite has pages as HTML and as Markdown, according to Accept. It is careless: both have
// the same validator.
func markdownSite(t *testing.T) (addr string, asked func() []http.Header) {
	var mu sync.Mutex
	var headers []http.Header
	addr = origin(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/robots.txt" {
			mu.Lock()
			headers = append(headers, r.Header.Clone())
			mu.Unlock()
		}
		h := w.Header()
		h.Set("ETag", `"1"`)
		h.Set("Vary", "Accept")
		if r.Header.Get("If-None-Match") == `"1"` {
			w.WriteHeader(304)
			return
		}
		switch as := r.Header.Get("Accept"); {
		case r.URL.Path == "/robots.txt":
			http.NotFound(w, r)
		case r.URL.Path == "/only", strings.Contains(as, "text/markdown") && r.URL.Path != "/html":
			h.Set("Content-Type", "text/markdown; charset=utf-8")
			if r.URL.Path == "/closed" {
				h.Set("X-Robots-Tag", "noindex")
			}
			if r.URL.Path == "/unwanted" {
				h.Set("Content-Usage", "search=n")
			}
			fmt.Fprint(w, "---\ntitle: The page\n---\n# Heading\n\nText with [a link](linked.md) and [another](http://b.test/x \"t\").\n\n`code [no](/link)`\n")
		default:
			h.Set("Content-Type", "text/html")
			fmt.Fprint(w, `<title>x</title><a href="/of-html">l</a>`)
		}
	})
	return addr, func() []http.Header {
		mu.Lock()
		defer mu.Unlock()
		all := headers
		headers = nil
		return all
	}
}

// formats §8.34: Markdown is only requested with --accept-markdown. It is stored under its own
// type, its links are followed, and its headers obeyed.
func TestUsage_8_34_Accept(t *testing.T) {
	virtual(t, func(t *testing.T) {
		addr, asked := markdownSite(t)
		for _, on := range []bool{false, true} {
			d := newDesk(t, 1)
			spec := testSpec(1, addr)
			spec.AcceptMarkdown = on
			startFetcher(t, d, spec, Options{})
			out := d.outcome(d.grant(open(visitTo(t, "http://h.test/page", "http://h.test/html", "http://h.test/only", "http://h.test/closed", "http://h.test/unwanted"))))
			want, accept := "stored stored refused/type stored stored", "text/html, application/xhtml+xml, text/plain;q=0.9, */*;q=0.1"
			if on {
				want, accept = "stored stored stored refused/noindex refused/usage", "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/plain;q=0.8, */*;q=0.1"
			}
			if got := classes(out); got != want {
				t.Errorf("%v: %s, want %s", on, got, want)
			}
			for _, h := range asked() {
				if got := h["Accept"]; len(got) != 1 || got[0] != accept || len(h) != 3 {
					t.Errorf("%v: %q", on, h)
				}
			}
			p, html := d.pageOf("http://h.test/page"), d.pageOf("http://h.test/html")
			kind, tag, vary := "text/html", `"1"`, ""
			if on {
				kind, tag, vary = "text/markdown", `md:"1"`, "Accept"
			}
			if p.ContentType != kind || p.Charset != "utf-8" || p.ETag != `"1"` || p.Vary != vary || out.Results[0].ETag != tag {
				t.Errorf("%v: %+v, validator %s", on, p, out.Results[0].ETag)
			}
			if html.ContentType != "text/html" || out.Results[1].ETag != tag {
				t.Errorf("%v: %+v, validator %s", on, html, out.Results[1].ETag)
			}
			d.mu.Lock()
			links := map[string]bool{}
			for _, e := range d.events {
				for _, l := range e.Links {
					for _, u := range l.URLs {
						links[string(u)] = true
					}
				}
			}
			d.mu.Unlock()
			if links["http://h.test/linked.md"] != on || links["http://b.test/x"] != on || links["http://h.test/link"] || !links["http://h.test/of-html"] {
				t.Errorf("%v: links %v", on, links)
			}
		}
	})
}

// An answer to a request that accepted Markdown is validated by requests that accept it, and all
// others by those that do not. The validator that the frontier stores says which.
func TestUsage_8_34_Validators(t *testing.T) {
	virtual(t, func(t *testing.T) {
		addr, asked := markdownSite(t)
		for _, c := range []struct {
			on         bool
			kept, sent string
			class      string
			now        string
		}{
			{true, `md:"1"`, `"1"`, "not modified", `md:"1"`},
			{true, `"1"`, "", "stored", `md:"1"`}, // of HTML, from before Markdown was accepted
			{true, `md:"0"`, `"0"`, "stored", `md:"1"`},
			{false, `md:"1"`, "", "stored", `"1"`},
			{false, `"1"`, `"1"`, "not modified", `"1"`},
			{false, "md:", "", "stored", `"1"`},
		} {
			d := newDesk(t, 1)
			spec := testSpec(1, addr)
			spec.AcceptMarkdown = c.on
			startFetcher(t, d, spec, Options{})
			v := open(visitTo(t, "http://h.test/page"))
			v.URLs[0].ETag, v.URLs[0].Keep = c.kept, true
			if c.kept == "md:" {
				v.URLs[0].LastModified = "Thu, 19 Nov 2026 10:00:00 GMT"
			}
			r := d.outcome(d.grant(v)).Results[0]
			class := "stored"
			if r.NotModified {
				class = "not modified"
			}
			all := asked()
			if len(all) != 1 || all[0].Get("If-None-Match") != c.sent || all[0].Get("If-Modified-Since") != "" || r.Class != crawl.Stored || class != c.class || r.ETag != c.now {
				t.Errorf("%+v: sent %q; %+v", c, all, r)
			}
			if p := d.pageOf("http://h.test/page"); p.ETag != `"1"` {
				t.Errorf("%+v: the page has %q", c, p.ETag)
			}
		}
	})
}
