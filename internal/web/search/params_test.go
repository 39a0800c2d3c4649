package search

import (
	"net/url"
	"strings"
	"testing"
)

// FuzzParams: the address of a search leads to the same search.
func FuzzParams(f *testing.F) {
	f.Add("q=two+words&page=2&per=20&explain=1&site=example.org&lang=de&after=2024")
	f.Add("q=a&site=x.example&site=y.example&per_site=2&verbatim=1&languages=de-CH,fr%3Bq=0.5&cursor=x&page=2000")
	f.Add("q=%22a+b%22+-c&type=text%2Fhtml&before=2024-05")
	f.Fuzz(func(t *testing.T, raw string) {
		p, bad := parse(raw, true, nil)
		if bad != nil {
			return
		}
		link := p.link("/search")
		_, query, _ := strings.Cut(link, "?")
		again, bad := parse(query, true, nil)
		if bad != nil || again != p {
			t.Errorf("%q is %+v, and its link %q is %+v, %v", raw, p, link, again, bad)
		}
	})
}

// FuzzPageAsked: a page that is asked for in any way is asked for as it was written.
func FuzzPageAsked(f *testing.F) {
	f.Add("https://a.example/x%2Fy?z=1&url=2")
	f.Add("http://a.example")
	f.Fuzz(func(t *testing.T, page string) {
		if page == "" || len(page) > maxURL {
			return
		}
		for _, raw := range []string{
			"http://localhost/api/v1/pages?url=" + url.QueryEscape(page), "http://localhost/api/v1/pages/" + url.PathEscape(page),
		} {
			u, err := url.Parse(raw)
			if err != nil {
				t.Fatal(err)
			}
			got, content, bad := pageAsked(u)
			if bad != nil || got != page || content != "text" {
				t.Errorf("%q: %q as %s, %v", raw, got, content, bad)
			}
		}
	})
}
