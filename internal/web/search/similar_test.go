package search

import (
	"reflect"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/web"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Parameters become a request, and the links of the answer lead to the same request.
func TestSimilar(t *testing.T) {
	f := answers(crawl.SearchAnswer{Hits: []crawl.Hit{{URL: "https://b.example/"}}, Total: 30, Next: "c"}, nil)
	w := New(Options{Crawl: f})
	code, a := getJSON[Answer](t, w, "/api/v1/similar?url=https://A.example/x%3Fy%23z&per=3&site=b.example&site=c.example&lang=de")
	want := crawl.SearchRequest{Query: "site:b.example site:c.example lang:de", Like: "https://a.example/x?y", Limit: 3}
	if code != 200 || len(f.asked) != 1 || !reflect.DeepEqual(f.asked[0], want) {
		t.Fatalf("%d, asked %+v, want %+v", code, f.asked, want)
	}
	if len(a.Hits) != 1 || a.Links.Self != "/api/v1/similar?url=https%3A%2F%2Fa.example%2Fx%3Fy&site=b.example&site=c.example&lang=de&per=3" {
		t.Errorf("%+v", a)
	}
	if _, a := getJSON[Answer](t, w, a.Links.Next); a.Page != 2 || f.asked[1].Cursor != "c" || f.asked[1].Like != want.Like || f.asked[1].Query != want.Query {
		t.Errorf("the next are asked for with %+v", f.asked[1])
	}
}

// Wrong parameters are answered with correct ones, and no shard is asked.
func TestSimilarWrong(t *testing.T) {
	long := "https://a.example/" + strings.Repeat("x", maxURL)
	for query, c := range map[string]struct{ parameter, says string }{
		"":                              {"url", "?url=https"},
		"per=3":                         {"url", "?url=https"},
		"url=words":                     {"url", "https://example.org/"},
		"url=https://a.example/&q=x":    {"q", "there are url, page"},
		"url=https://a.example/&like=x": {"like", "there are url, page"},
		"url=https://a.example/&url=https://b.example/": {"url", "once"},
		"url=https://a.example/&per=101":                {"per", "1 to 100"},
		"url=https://a.example/&page=101":               {"page", "at most 1000"},
		"url=https://a.example/&lang=german":            {"lang", "de"},
		"url=" + long[:maxURL+1]:                        {"url", "4097 bytes; the limit is 4096"},
		"url=" + long[:canon.MaxLen+1]:                  {"url", "is not a URL"},
		"url=%zz":                                       {"", "not valid"},
	} {
		f := answers(crawl.SearchAnswer{}, nil)
		code, p := getJSON[web.Details](t, New(Options{Crawl: f}), "/api/v1/similar?"+query)
		if code != 400 || p.Parameter != c.parameter || !strings.Contains(p.Detail, c.says) || len(f.asked) > 0 {
			t.Errorf("%s: %d %+v, asked %+v", shown(query), code, p, f.asked)
		}
	}
	f := answers(crawl.SearchAnswer{}, nil)
	if code, _, body := get(t, New(Options{Crawl: f}), "/api/v1/similar?url="+long[:canon.MaxLen]); code != 200 {
		t.Errorf("the longest URL: %d %s", code, body)
	}
}

// A page that is not stored is not found.
func TestSimilarToNothing(t *testing.T) {
	w := New(Options{Crawl: answers(crawl.SearchAnswer{}, &crawl.NoPageError{URL: "https://a.example/"})})
	for _, path := range []string{"/api/v1/similar?url=https://a.example/", "/api/v1/search?like=https://a.example/"} {
		if code, p := getJSON[web.Details](t, w, path); code != 404 || !strings.Contains(p.Detail, "no page with the URL https://a.example/ is stored") {
			t.Errorf("%s: %d %+v", path, code, p)
		}
	}
	if code, _, body := get(t, w, "/search?like=https://a.example/"); code != 404 || !strings.Contains(body, `role="alert"`) {
		t.Errorf("%d %s", code, body)
	}
}

// Each hit of the page leads to similar pages, and that page says what it shows and leads back.
func TestSimilarPage(t *testing.T) {
	w := New(Options{Crawl: answers(crawl.SearchAnswer{Hits: []crawl.Hit{{URL: "https://a.example/b?c&d", Title: "B"}, {URL: "no address"}}, Total: 2}, nil)})
	d, _ := see(t, w, "/search?q=a&site=a.example&per=20")
	links := d.Find(".hits .similar a")
	if to, _ := links.Attr("href"); links.Length() != 1 || to != "/search?like=https%3A%2F%2Fa.example%2Fb%3Fc%26d&per=20" {
		t.Fatalf("%d links, the first to %s", links.Length(), to)
	}
	d, _ = see(t, w, "/search?like=https%3A%2F%2Fa.example%2Fb%3Fc%26d&site=a.example")
	if got := d.Find("main h1").Text(); got != "Pages similar to https://a.example/b?c&d" {
		t.Errorf("the heading is %q", got)
	}
	if to, _ := d.Find(".chips a").First().Attr("href"); to != "/search?q=site%3Aa.example" {
		t.Errorf("without the page the search is %s", to)
	}
}
