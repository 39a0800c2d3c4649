package fetcher

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

func TestTypesAndTags(t *testing.T) {
	const link = `<a href="/linked">x</a>`
	page := func(header, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			for _, h := range strings.Split(header, "|") {
				if k, v, ok := strings.Cut(h, ": "); ok {
					w.Header().Add(k, v)
				}
			}
			io.WriteString(w, body)
		}
	}
	const html = "Content-Type: text/html"
	for _, tt := range []struct {
		name   string
		f      http.HandlerFunc
		want   string
		linked bool
		bits   crawl.DirectiveBits
	}{
		{"html", page(html, link), "stored", true, 0},
		{"xhtml", page("Content-Type: application/xhtml+xml; charset=utf-8", link), "stored", true, 0},
		{"plain", page("Content-Type: text/plain", link), "stored", false, 0},
		{"sniffed html", page("", "<!doctype html>"+link), "stored", true, 0},
		{"sniffed text", page("", "just words"), "stored", false, 0},
		{"sniffed png", page("", "\x89PNG\x0D\x0A\x1A\x0A"+strings.Repeat("x", 1000)), "refused/type", false, 0},
		{"pdf", page("Content-Type: application/pdf", "%PDF-1.4"), "refused/type", false, 0},
		{"xml", page("Content-Type: text/xml", "<a/>"), "refused/type", false, 0},
		{"unusable type", page("Content-Type: nonsense", link), "stored", true, 0},
		{"unusable type of noise", page("Content-Type: nonsense", "\x00\x01\x02"+link), "refused/type", false, 0},
		{"no type but the bytes", page("Content-Type: text/html charset=utf-8", link), "stored", true, 0},
		{"any type", page("Content-Type: */*", link), "stored", true, 0},
		{"refresh in the header", page(html+"|Refresh: 0; url=/linked", "x"), "stored", true, 0},
		{"next in the header", page(html+"|Link: </linked>; rel=next", "x"), "stored", true, 0},
		{"a style sheet in the header", page(html+"|Link: </linked>; rel=stylesheet", "x"), "stored", false, 0},
		{"nofollow, and a link in the header", page(html+"|Link: </linked>; rel=next|X-Robots-Tag: nofollow", "x"), "stored", false, crawl.NoFollow},
		{"XHTML, noindex behind a script", page("Content-Type: application/xhtml+xml", `<html xmlns="http://www.w3.org/1999/xhtml"><head><script src="a"/><meta name="robots" content="noindex"/></head><body>`+link+`</body></html>`), "refused/noindex", true, crawl.NoIndex},
		{"HTML, a script does not close itself", page(html, `<head><script src="a"/><meta name="robots" content="noindex"/></head>`+link), "stored", false, 0},
		{"noindex header", page(html+"|X-Robots-Tag: noindex", link), "refused/noindex", true, crawl.NoIndex},
		{"noindex meta", page(html, `<meta name="robots" content="NoIndex">`+link), "refused/noindex", true, crawl.NoIndex},
		{"noindex for us", page(html+"|Robots-Tag: curtsy=noindex", link), "refused/noindex", true, crawl.NoIndex},
		{"noindex for another", page(html+"|Robots-Tag: other=noindex", link), "stored", true, 0},
		{"noindex too late", page(html, `<body>x<meta name="robots" content="noindex">`+link), "stored", true, 0},
		{"none", page(html+"|Robots-Tag: none", link), "refused/noindex", false, crawl.NoIndex | crawl.NoFollow},
		{"nofollow", page(html, `<meta name=curtsy content=nofollow>`+link), "stored", false, crawl.NoFollow},
		{"nosnippet", page(html+"|Robots-Tag: nosnippet, noarchive", link), "stored", true, crawl.NoSnippet | crawl.NoArchive},
		{"over", page(html+"|Robots-Tag: unavailable_after: 2020-01-01", link), "refused/noindex", true, crawl.NoIndex},
		{"not yet over", page(html+"|Robots-Tag: unavailable_after: 2120-01-01", link), "stored", true, 0},
		{"noindex text", page("Content-Type: text/plain|X-Robots-Tag: noindex", "words"), "refused/noindex", false, crawl.NoIndex},
	} {
		t.Run(tt.name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				addr := origin(t, tt.f)
				d := newDesk(t, 1)
				startFetcher(t, d, testSpec(1, addr), Options{})
				out := d.outcome(d.grant(open(visitTo(t, "http://h.test/"))))
				if got := classes(out); got != tt.want {
					t.Errorf("%s (%s), want %s", got, out.Results[0].Rule, tt.want)
				}
				if _, ok := d.links()["http://h.test/linked"]; ok != tt.linked {
					t.Errorf("followed: %v", ok)
				}
				p := d.pageOf("http://h.test/")
				noBody := tt.want != "stored"
				if p.Directives != tt.bits || noBody != (len(p.Body) == 0) || noBody != (p.SHA256 == [32]byte{}) || noBody != (p.Head == nil) {
					t.Errorf("page %+v", p)
				}
				if tt.want == "refused/type" != (p.Deleted == crawl.ReasonType) {
					t.Errorf("deleted: %q", p.Deleted)
				}
				if out.Results[0].NoSnippet != (tt.bits&crawl.NoSnippet != 0) {
					t.Errorf("%+v", out.Results[0])
				}
			})
		})
	}
}

// The smallest length of an excerpt in header and markup is published, and besides it that of the
// markup.
func TestMaxSnippet(t *testing.T) {
	virtual(t, func(t *testing.T) {
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			switch r.URL.Path {
			case "/header":
				w.Header().Add("X-Robots-Tag", "max-snippet:40; curtsy: max-snippet:30; otherbot: max-snippet:1")
			case "/both":
				w.Header().Add("X-Robots-Tag", "max-snippet:40")
			case "/again":
				w.Header().Add("X-Robots-Tag", "max-snippet:20")
				w.WriteHeader(http.StatusNotModified)
				return
			}
			if r.URL.Path != "/header" {
				io.WriteString(w, `<meta name=robots content="max-snippet:50"><meta name=curtsy content="max-snippet:60">`)
			}
			io.WriteString(w, "words")
		})
		d := newDesk(t, 1)
		startFetcher(t, d, testSpec(1, addr), Options{})
		v := open(visitTo(t, "http://h.test/header", "http://h.test/both", "http://h.test/meta", "http://h.test/again"))
		v.URLs[3].ETag, v.URLs[3].Keep = `"1"`, true
		if got := classes(d.outcome(d.grant(v))); got != "stored stored stored stored" {
			t.Fatal(got)
		}
		for i, want := range [][2]int{{30, 0}, {40, 50}, {50, 50}, {20, 0}} {
			p := d.pageOf(v.URLs[i].URL)
			if got := [2]int{p.MaxSnippet, p.MetaMaxSnippet}; got != want || p.Tagged != (i == 3) {
				t.Errorf("%s: %v, tagged %v, want %v", p.URL, got, p.Tagged, want)
			}
		}
	})
}

// formats §8.24: a page that costs money is refused at the first answer, with its price, and a
// copy of it is removed.
func TestUsage_8_24_Payment(t *testing.T) {
	virtual(t, func(t *testing.T) {
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/robots.txt":
				http.NotFound(w, r)
			case "/priced":
				w.Header().Set("crawler-price", "USD 0.01")
				fallthrough
			default:
				w.WriteHeader(http.StatusPaymentRequired)
			}
		})
		d := newDesk(t, 1)
		startFetcher(t, d, testSpec(1, addr), Options{})
		v := open(visitTo(t, "http://h.test/priced", "http://h.test/held"))
		v.URLs[1].ETag, v.URLs[1].Keep = `"1"`, true
		out := d.outcome(d.grant(v))
		if got := classes(out); got != "refused/payment refused/payment" || out.Requests != 2 {
			t.Fatalf("%s after %d requests", got, out.Requests)
		}
		if a, b := out.Results[0].Rule, out.Results[1].Rule; a != `crawler-price: "USD 0.01"` || b != "" {
			t.Errorf("prices %q, %q", a, b)
		}
		for _, u := range v.URLs {
			if p := d.pageOf(u.URL); p.Deleted != crawl.ReasonPayment {
				t.Errorf("%+v", p)
			}
		}
	})
}

// formats §8.24: if a page is served although it has a price, the price is reported.
func TestUsage_8_24_PriceOfAPageThatIsGiven(t *testing.T) {
	virtual(t, func(t *testing.T) {
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("crawler-price", "USD 0.02")
			if r.URL.Path == "/noindex" {
				w.Header().Set("X-Robots-Tag", "noindex")
			}
			io.WriteString(w, "words")
		})
		d := newDesk(t, 1)
		startFetcher(t, d, testSpec(1, addr), Options{})
		out := d.outcome(d.grant(open(visitTo(t, "http://h.test/given", "http://h.test/noindex"))))
		if got := classes(out); got != "stored refused/noindex" {
			t.Fatal(got)
		}
		if a, b := out.Results[0].Rule, out.Results[1].Rule; a != `crawler-price: "USD 0.02"` || b != "" {
			t.Errorf("prices %q, %q", a, b)
		}
	})
}

// formats §8.31: what is reported of a site that answers robots.txt, or a sitemap, with 403 and
// Accept-Signature.
func TestSigning_8_31_OtherFiles(t *testing.T) {
	virtual(t, func(t *testing.T) {
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Accept-Signature", `sig1=("@authority");tag="web-bot-auth"`)
			w.WriteHeader(http.StatusForbidden)
		})
		const wants = `HTTP 403: "it requires a signature: sig1=(\"@authority\");tag=\"web-bot-auth\""`
		d := newDesk(t, 1)
		startFetcher(t, d, testSpec(1, addr), Options{})
		d.outcome(d.grant(visitTo(t, "http://h.test/")))
		if f := d.facts(); len(f) != 1 || f[0].State != crawl.RobotsUnavailable || f[0].Reason != wants {
			t.Errorf("robots.txt: %+v", f)
		}
		d.outcome(d.grant(sitemapVisit("/sitemap.xml")))
		d.mu.Lock()
		defer d.mu.Unlock()
		var reasons []string
		for _, e := range d.events {
			for _, a := range e.Answers {
				reasons = append(reasons, a.Sitemap.Reason)
			}
		}
		if len(reasons) != 1 || reasons[0] != wants {
			t.Errorf("sitemaps: %q", reasons)
		}
	})
}

func TestStatuses(t *testing.T) {
	virtual(t, func(t *testing.T) {
		cases := []struct {
			status   int
			location string
			hops     int
			want     string
			link     string
		}{
			{301, "/to", 0, "redirected/redirect", "http://h.test/to"},
			{302, "http://other.test/x", 9, "redirected/redirect", "http://other.test/x"},
			{303, "to?a=b#c", 0, "redirected/redirect", "http://h.test/dir/to?a=b"},
			{307, "//other.test", 0, "redirected/redirect", "http://other.test/"},
			{308, "/to", 10, "refused/redirects", ""},
			{301, "/dir/x", 0, "refused/redirects", ""},
			{301, "", 0, "failed/location", ""},
			{302, "mailto:a@b", 0, "failed/location", ""},
			{302, "http://", 0, "failed/location", ""},
			{304, "", 0, "failed/http-other", ""},
			{206, "", 0, "failed/http-other", ""},
			{400, "", 0, "failed/http-4xx", ""},
			{404, "", 0, "failed/http-4xx", ""},
			{451, "", 0, "failed/http-4xx", ""},
			{500, "", 0, "retry/http-5xx", ""},
			{502, "", 0, "retry/http-5xx", ""},
			{600, "", 0, "failed/http-other", ""},
			{999, "", 0, "failed/http-other", ""},
		}
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			var i int
			fmt.Sscanf(r.Host, "h%d.test", &i)
			if cases[i].location != "" {
				w.Header().Set("Location", strings.ReplaceAll(cases[i].location, "h.test", r.Host))
			}
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(cases[i].status)
		})
		d := newDesk(t, 1)
		startFetcher(t, d, testSpec(1, addr), Options{})
		for i, tt := range cases {
			u := fmt.Sprintf("http://h%d.test/dir/x", i)
			v := open(visitTo(t, u))
			v.URLs[0].Redirects, v.URLs[0].Depth = tt.hops, 3
			out := d.outcome(d.grant(v))
			var links []crawl.Links
			for _, l := range d.links() {
				if string(l.FoundOn) == u {
					links = append(links, l)
				}
			}
			if got := classes(out); got != tt.want || (len(links) == 1) != (tt.link != "") || out.Results[0].Status != tt.status {
				t.Errorf("%d %s: %s, links %v", tt.status, tt.location, got, links)
			}
			if len(links) == 1 {
				want := canon.URL(strings.ReplaceAll(tt.link, "h.test", fmt.Sprintf("h%d.test", i)))
				if l := links[0]; l.Depth != 3 || l.Redirects != tt.hops+1 || l.URLs[0] != want || out.Results[0].Location != string(want) {
					t.Errorf("%d %s: link %+v, result %+v", tt.status, tt.location, l, out.Results[0])
				}
			}
		}
	})
}

// After an answer that we cut off, the origin gets its 25 ms, even without a delay.
func TestRestAfterAbandoning(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var mu sync.Mutex
		var at []time.Time
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			at = append(at, time.Now())
			mu.Unlock()
			if r.URL.Path == "/zip" {
				w.Header().Set("Content-Type", "application/zip")
				w.Write(make([]byte, 1<<20))
			}
		})
		d := newDesk(t, 1)
		startFetcher(t, d, testSpec(1, addr), Options{})
		out := d.outcome(d.grant(open(visitTo(t, "http://h.test/zip", "http://h.test/a", "http://h.test/zip"))))
		if out.SinceEnd < 25*time.Millisecond {
			t.Errorf("the outcome was sent %v after the connection was closed", out.SinceEnd)
		}
		if gap := at[1].Sub(at[0]); gap < 25*time.Millisecond {
			t.Errorf("gap %v", gap)
		}
		if out.Bytes > 1000 {
			t.Errorf("%d body bytes were read", out.Bytes)
		}
	})
}
