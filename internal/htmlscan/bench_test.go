package htmlscan

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/pkg/canon"
)

// benchPage returns a page of 18 KB with 43 links, as in the budget of design.md.
func benchPage(b *testing.B) (canon.URL, []byte) {
	web := simweb.New(simweb.Bench(20, 50, 8))
	u := "http://h0003.sim.test/"
	r := httptest.NewRequest(http.MethodGet, u, nil)
	w := httptest.NewRecorder()
	web.ServeHTTP(w, r)
	body, _ := io.ReadAll(w.Result().Body)
	// a numbered page, not the front page
	for _, part := range strings.Split(string(body), `href="`)[1:] {
		if link, _, _ := strings.Cut(part, `"`); strings.HasPrefix(link, "/") && len(link) > 1 {
			w = httptest.NewRecorder()
			web.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://h0003.sim.test"+link, nil))
			if got, _ := io.ReadAll(w.Result().Body); len(got) > 15<<10 {
				return canon.URL("http://h0003.sim.test" + link), got
			}
		}
	}
	b.Fatal("no page of 18 KB")
	return "", nil
}

func BenchmarkScan(b *testing.B) {
	u, body := benchPage(b)
	var s Scanner
	r := s.Scan(Page{URL: u, Body: body, ContentType: "text/html; charset=utf-8", HTML: true, Token: "curtsy"})
	b.Logf("%d bytes, %d links", len(body), len(r.Links))
	b.SetBytes(int64(len(body)))
	measure(b, func() {
		s.Scan(Page{URL: u, Body: body, ContentType: "text/html; charset=utf-8", HTML: true, Token: "curtsy"})
	})
}

// measure also reports CPU time, which other processes do not change.
func measure(b *testing.B, f func()) {
	b.ReportAllocs()
	cpu := func() time.Duration {
		var r syscall.Rusage
		syscall.Getrusage(syscall.RUSAGE_SELF, &r)
		return time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	before := cpu()
	for b.Loop() {
		f()
	}
	b.ReportMetric(float64((cpu()-before).Nanoseconds())/1e3/float64(b.N), "cpu-µs/op")
}

// BenchmarkReference is the same pass with html.Tokenizer of golang.org/x/net, which reads names
// and attributes of all tags. Package html is measured against it.
func BenchmarkReference(b *testing.B) {
	_, body := benchPage(b)
	b.SetBytes(int64(len(body)))
	measure(b, func() {
		z := html.NewTokenizer(bytes.NewReader(body))
		for {
			switch z.Next() {
			case html.ErrorToken:
				return
			case html.StartTagToken:
				_, more := z.TagName()
				for more {
					_, _, more = z.TagAttr()
				}
			}
		}
	})
}

func BenchmarkScanRich(b *testing.B) {
	var page strings.Builder
	page.WriteString(`<!doctype html><html lang=en><head><meta charset=utf-8><title>x</title><link rel=stylesheet href=/s.css></head><body>`)
	for i := range 43 {
		fmt.Fprintf(&page, `<div class="row item-%d" id="i%d" data-x="1"><h3>Title %d</h3><p class="text">Some text &amp; more text, a sentence or two of it, with <b>bold</b> and <i>italic</i> words.</p><ul><li>one</li><li>two</li></ul><a class="link" href="../section/page-%d.html?x=1&amp;y=2" title="t">read</a></div>`+"\n", i, i, i, i)
	}
	body := []byte(page.String())
	u := canon.URL("http://example.org/dir/sub/page.html")
	var s Scanner
	b.SetBytes(int64(len(body)))
	measure(b, func() { s.Scan(Page{URL: u, Body: body, ContentType: "text/html", HTML: true, Token: "curtsy"}) })
}
