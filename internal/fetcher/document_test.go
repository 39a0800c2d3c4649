package fetcher

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/document"
	"github.com/curtsy/curtsy/internal/document/documenttest"
)

// A document is published as the HTML that was made of it, and archived as it came.
func TestDocument(t *testing.T) {
	virtual(t, func(t *testing.T) {
		pdf := documenttest.Content{Title: "The title", Text: "Some words of it", Link: "http://b.test/x"}.PDF()
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", document.PDF)
			switch r.URL.Path {
			case "/robots.txt":
				http.NotFound(w, r)
			case "/good":
				w.Header().Set("Content-Length", fmt.Sprint(len(pdf)))
				_, _ = w.Write(pdf)
			case "/none":
				w.Header().Set("X-Robots-Tag", "none")
				_, _ = w.Write(pdf)
			default:
				_, _ = w.Write(pdf[:40])
			}
		})
		d := newDesk(t, 1)
		spec := testSpec(1, addr)
		spec.Types, spec.WARC = []string{"html", "pdf"}, t.TempDir()
		startFetcher(t, d, spec, Options{})
		out := d.outcome(d.grant(open(visitTo(t, "http://h.test/good", "http://h.test/none", "http://h.test/broken"))))
		if got, want := classes(out), "stored refused/noindex failed/document"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		p := d.pageOf("http://h.test/good")
		if html := string(unpack(t, p)); p.ContentType != document.PDF || p.Charset != "utf-8" || !strings.Contains(html, "<title>The title</title>") || !strings.Contains(html, "Some words") {
			t.Errorf("%+v %s", p, html)
		}
		if answer, _ := d.captured("http://h.test/good"); !strings.HasSuffix(answer, string(pdf)) {
			t.Errorf("archived as %q", answer)
		}
		if answer, _ := d.captured("http://h.test/broken"); !strings.HasSuffix(answer, string(pdf[:40])) {
			t.Errorf("archived as %q", answer)
		}
	})
}
