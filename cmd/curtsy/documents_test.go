package main

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/document"
	"github.com/curtsy/curtsy/internal/document/documenttest"
)

// A crawl that stores documents fetches those to which pages link, follows their links, finds them
// by their text, and reports why some cannot be read. A crawl without documents refuses them, and a
// wider list of types accepts them.
func TestDocuments(t *testing.T) {
	virtual(t, func(t *testing.T) {
		say := func(word string) documenttest.Content {
			return documenttest.Content{Title: "The " + word + " report", Text: "Here the " + word + " walks along the quiet harbour", Link: "http://a.test/of-" + word}
		}
		files := map[string]struct {
			kind string
			body []byte
		}{
			"/a.pdf":    {document.PDF, say("pangolin").PDF()},
			"/b.docx":   {document.DOCX, say("dugong").DOCX()},
			"/c.odt":    {document.ODT, say("okapi").ODT()},
			"/d.xlsx":   {document.XLSX, say("tapir").XLSX()},
			"/x.pdf":    {"application/x-pdf", say("numbat").PDF()},
			"/w":        {"application/msword", say("kinkajou").DOCX()},
			"/old.doc":  {"application/msword", []byte("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1")},
			"/h.epub":   {document.EPUB, say("quoll").EPUB()},
			"/untold":   {"application/octet-stream", say("nobody").PDF()},
			"/e.pdf":    {"application/octet-stream", say("quokka").PDF()},
			"/feed":     {"application/xml", []byte(`<rss><channel><title>The news report</title><item><title>Here the axolotl walks</title><link>http://a.test/of-axolotl</link></item></channel></rss>`)},
			"/g.csv":    {document.CSV, []byte("animal,page\nnarwhal,http://a.test/of-narwhal\n")},
			"/bad.pdf":  {document.PDF, []byte("%PDF-1.7 that is all")},
			"/lock.odt": {document.ODT, documenttest.Zip("META-INF/manifest.xml", "<m><encryption-data/></m>", "content.xml", "?")},
		}
		var mu sync.Mutex
		asked := map[string]int{}
		site := newSite(t, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			asked[r.URL.Path]++
			mu.Unlock()
			switch f, ok := files[r.URL.Path]; {
			case r.URL.Path == "/robots.txt", r.URL.Path == "/data.txt":
				http.NotFound(w, r)
			case r.URL.Path == "/large.pdf":
				w.Header().Set("Content-Type", document.PDF)
				w.Header().Set("Content-Length", fmt.Sprint(document.MaxBody+1))
				_, _ = io.CopyN(w, zeroes{}, document.MaxBody+1)
			case ok:
				w.Header().Set("Content-Type", f.kind)
				_, _ = w.Write(f.body)
			case r.URL.Path == "/":
				w.Header().Set("Content-Type", "text/html")
				io.WriteString(w, `<a href="/large.pdf">large</a>`)
				for name := range files {
					fmt.Fprintf(w, `<a href="%s">x</a>`, name)
				}
			default:
				w.Header().Set("Content-Type", "text/html")
				io.WriteString(w, "<title>reached</title>")
			}
		})
		dir := filepath.Join(t.TempDir(), "data")
		crawl := func(args ...string) {
			curtsy(t, app.ExitOK, append([]string{"crawl", "--dir", dir, "--allow-private", "--delay", "0s", "--sitemaps=false",
				"--resolve", "a.test=" + strings.TrimPrefix(site.URL, "http://"), "http://a.test/"}, args...)...)
		}
		see := func(args, want string) {
			t.Helper()
			if out := curtsy(t, app.ExitOK, append(strings.Fields(args), "--dir", dir)...); !strings.Contains(out, want) {
				t.Errorf("%s: no %q in %s", args, want, out)
			}
		}
		crawl()
		see("explain http://a.test/a.pdf", "type")
		crawl("--types", "html,text,data,feed,pdf,office")
		for word, name := range map[string]string{"pangolin": "a.pdf", "dugong": "b.docx", "okapi": "c.odt", "tapir": "d.xlsx", "quokka": "e.pdf", "axolotl": "feed", "narwhal": "g.csv", "numbat": "x.pdf", "kinkajou": "w", "quoll": "h.epub"} {
			see("search "+word, "http://a.test/"+name)
			see("explain http://a.test/of-"+word, "stored")
		}
		see("search type:pdf quiet", "The pangolin report")
		see("pages --json", `"content_type":"application/pdf"`)
		see("export links", `"to":"http://a.test/of-okapi"`)
		see("export pages --format markdown", "Here the dugong walks")
		for name, why := range map[string]string{"bad.pdf": "no catalog", "lock.odt": "encrypted", "large.pdf": "larger than 32 MiB"} {
			see("explain http://a.test/"+name, "document")
			see("explain http://a.test/"+name, why)
		}
		see("explain http://a.test/untold", "type")
		see("explain http://a.test/old.doc", "type")
		see("status", "search has: html 11, office 5, pdf 3, data 1, feed 1\n")
		mu.Lock()
		defer mu.Unlock()
		for path, n := range asked {
			if n > 2 || n > 1 && strings.HasPrefix(path, "/of-") {
				t.Errorf("%s was asked for %d times", path, n)
			}
		}
	})
}

// zeroes is an endless file.
type zeroes struct{}

func (zeroes) Read(b []byte) (int, error) { clear(b); return len(b), nil }
