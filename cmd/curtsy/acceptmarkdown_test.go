package main

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
)

// Formats §8.34: with --accept-markdown, pages that a site offers as Markdown are crawled in that
// form, and are found, shown and exported like other pages. Without the flag, a later run gets them
// as HTML again.
func TestUsage_8_34_Crawl(t *testing.T) {
	virtual(t, func(t *testing.T) {
		site := newSite(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Vary", "Accept")
			w.Header().Set("ETag", `"`+r.URL.Path+`"`)
			switch {
			case r.Header.Get("If-None-Match") == `"`+r.URL.Path+`"`:
				w.WriteHeader(304)
			case r.URL.Path == "/robots.txt":
				http.NotFound(w, r)
			case strings.Contains(r.Header.Get("Accept"), "text/markdown"):
				w.Header().Set("Content-Type", "text/markdown")
				if r.URL.Path == "/" {
					io.WriteString(w, "# Home\n\n[next](/next.html)\n")
				} else {
					io.WriteString(w, "# Ocelots\n\nAn **ocelot** is small.\n\n<div data-nosnippet>\n\nwalrus\n\n</div>\n")
				}
			default:
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprint(w, `<h1>Tapirs</h1><a href="/next.html">next</a>`)
			}
		})
		dir := filepath.Join(t.TempDir(), "data")
		crawl := func(args ...string) {
			curtsy(t, app.ExitOK, append([]string{"crawl", "--dir", dir, "--allow-private", "--delay", "0s", "--sitemaps=false",
				"--resolve", "a.test=" + strings.TrimPrefix(site.URL, "http://"), "http://a.test/"}, args...)...)
		}
		crawl("--accept-markdown")
		for _, c := range []struct{ want, not, args string }{
			{"Ocelots", "walrus", "search ocelot"},
			{`"content_type":"text/markdown"`, "", "pages --json"},
			{`"vary":"Accept"`, "", "pages --json"},
			{"Ocelots", "walrus", "search --json walrus"},
			{`"markdown":"# Ocelots\n\nAn **ocelot** is small.\n\n…"`, "walrus", "export pages --format markdown"},
			{"An ocelot is small.", "walrus", "export pages"},
			{`"to":"http://a.test/next.html"`, "", "export links"},
			{"Ocelots", "", "search type:markdown ocelot"},
		} {
			out := curtsy(t, app.ExitOK, append(strings.Fields(c.args), "--dir", dir)...)
			if !strings.Contains(out, c.want) || c.not != "" && strings.Contains(strings.ReplaceAll(out, `"walrus"`, ""), c.not) {
				t.Errorf("%s: %s", c.args, out)
			}
		}
		for _, u := range []string{"http://a.test/", "http://a.test/next.html"} {
			curtsy(t, app.ExitOK, "refetch", "--dir", dir, u)
		}
		curtsy(t, app.ExitOK, "crawl", "--dir", dir, "--accept-markdown=false")
		if out := curtsy(t, app.ExitOK, "pages", "--json", "--dir", dir); strings.Count(out, `"content_type":"text/html"`) != 2 || strings.Contains(out, "markdown") {
			t.Error("what is not asked for as Markdown any more is not HTML again: " + out)
		}
	})
}
