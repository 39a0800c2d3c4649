package search

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Only pages of named origins may read answers, and only those of the search box.
func TestOrigins(t *testing.T) {
	f := answers(crawl.SearchAnswer{}, nil)
	f.suggest = func(crawl.SuggestRequest) (crawl.SuggestAnswer, error) { return crawl.SuggestAnswer{}, nil }
	named := New(Options{Crawl: f, Origins: []string{"https://docs.example.org", "http://127.0.0.1:8080"}})
	ask := func(w *Web, method, path string, origin ...string) http.Header {
		r := httptest.NewRequest(method, path, nil)
		r.Header["Origin"] = origin
		if method == "OPTIONS" {
			r.Header.Set("Access-Control-Request-Method", "GET")
		}
		rec := httptest.NewRecorder()
		w.ServeHTTP(rec, r)
		rec.Header().Set("Status", http.StatusText(rec.Code))
		return rec.Header()
	}
	for _, path := range []string{"/api/v1/search?q=a", "/api/search?q=a", "/api/v1/search", "/api/v1/suggest?q=a", "/search-box.js"} {
		for _, origin := range named.o.Origins {
			h := ask(named, "GET", path, origin)
			if h.Get("Access-Control-Allow-Origin") != origin || h.Get("Cross-Origin-Resource-Policy") != "cross-origin" || !strings.Contains(strings.Join(h.Values("Vary"), ","), "Origin") ||
				h.Get("Access-Control-Allow-Credentials") != "" {
				t.Errorf("%s from %s: %v", path, origin, h)
			}
			if h := ask(named, "OPTIONS", path, origin); h.Get("Status") != "No Content" || h.Get("Access-Control-Allow-Origin") != origin || h.Get("Access-Control-Allow-Methods") != "GET, HEAD" {
				t.Errorf("may %s ask for %s? %v", origin, path, h)
			}
		}
		for _, origin := range [][]string{{"https://evil.example"}, {"http://docs.example.org"}, {"https://docs.example.org:444"}, {"https://docs.example.org.evil.example"}, {"null"}, {"*"}, {""}, nil,
			{"https://docs.example.org", "https://evil.example"}} {
			for _, method := range []string{"GET", "OPTIONS"} {
				h := ask(named, method, path, origin...)
				if h.Get("Access-Control-Allow-Origin") != "" || h.Get("Access-Control-Allow-Methods") != "" || !strings.Contains(strings.Join(h.Values("Vary"), ","), "Origin") {
					t.Errorf("%s %s from %q: %v", method, path, origin, h)
				}
				if method == "OPTIONS" && h.Get("Status") != "Method Not Allowed" {
					t.Errorf("%s from %q: %v", path, origin, h)
				}
			}
		}
		if h := ask(New(Options{Crawl: f}), "GET", path, "https://docs.example.org"); h.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s without named origins: %v", path, h)
		}
	}
	for _, path := range []string{"/search?q=a", "/api/v1/pages?url=x", "/api/openapi.json", "/opensearch.xml"} {
		if h := ask(named, "GET", path, "https://docs.example.org"); h.Get("Access-Control-Allow-Origin") != "" || h.Get("Cross-Origin-Resource-Policy") != "same-origin" {
			t.Errorf("%s: %v", path, h)
		}
	}
}

// The script is small, needs nothing else, and takes no text for markup.
func TestSearchBox(t *testing.T) {
	code, header, body := get(t, New(Options{}), "/search-box.js")
	if code != 200 || header.Get("Content-Type") != "text/javascript; charset=utf-8" || header.Get("Cache-Control") != "public, max-age=3600" || header.Get("Cross-Origin-Resource-Policy") != "cross-origin" {
		t.Errorf("%d %v", code, header)
	}
	const most = 10 << 10
	if len(body) > most || len(body) < 1000 {
		t.Errorf("the script has %d bytes; it may have %d", len(body), most)
	}
	for _, forbidden := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "eval(", "import ", "document.write", "localStorage", "cookie"} {
		if strings.Contains(body, forbidden) {
			t.Errorf("the script uses %s", forbidden)
		}
	}
}
