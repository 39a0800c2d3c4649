package search

import (
	"encoding/xml"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestOpenSearch(t *testing.T) {
	w := New(Options{Name: `a<b>&"`})
	for host, want := range map[string]int{
		"127.0.0.1:7880": 200, "localhost": 200, "[::1]:80": 200, "search.example": 200, `x"/><y`: 400, "a b": 400, "": 400, "a/b": 400, "a@b": 400, "{searchTerms}": 400,
	} {
		r := httptest.NewRequest("GET", "/opensearch.xml", nil)
		r.Host = host
		rec := httptest.NewRecorder()
		w.ServeHTTP(rec, r)
		if rec.Code != want {
			t.Errorf("%q: %d", host, rec.Code)
		}
		if rec.Code != 200 {
			continue
		}
		var d openSearchDescription
		if err := xml.Unmarshal(rec.Body.Bytes(), &d); err != nil {
			t.Fatal(err)
		}
		// OpenSearch 1.1 Draft 6 §4.2: ShortName is at most 16 characters and no markup,
		// Description 1024.
		if n := len(d.ShortName); n == 0 || n > 16 || len(d.Description) > 1024 || !strings.Contains(d.Description, `a<b>&"`) || len(d.URLs) != 4 {
			t.Errorf("%+v", d)
		}
		if got := d.URLs[0].Template; got != "http://"+host+"/search?q={searchTerms}&page={startPage?}&per={count?}" {
			t.Errorf("template %s", got)
		}
	}
	// Behind a proxy that ends TLS, queries go to the proxy, not in clear text past it, nor to the
	// browser's own machine.
	r := httptest.NewRequest("GET", "/opensearch.xml", nil)
	r.Host = "localhost"
	r.Header.Set("X-Forwarded-Host", "search.example")
	r.Header.Set("X-Forwarded-Proto", "https")
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, r)
	if n := strings.Count(rec.Body.String(), `"https://search.example/`); n != 4 || strings.Contains(rec.Body.String(), "localhost") {
		t.Errorf("behind a proxy: %s", rec.Body)
	}
	r.Header.Set("X-Forwarded-Host", "a b")
	rec = httptest.NewRecorder()
	if w.ServeHTTP(rec, r); rec.Code != 400 {
		t.Errorf("behind a proxy without a name: %d", rec.Code)
	}
	// A browser that knows no page leaves the parameter empty; that request is answered too.
	w = New(Options{Crawl: &fake{}})
	if p, bad := parse("q=a%20b&page=&per=", true, nil); bad != nil || p.Q != "a b" || p.Page != 1 || p.Per != 10 {
		t.Errorf("%+v %+v", p, bad)
	}
	if code, _, body := get(t, w, "/search"); code != 200 || !strings.Contains(body, `rel="search" type="application/opensearchdescription+xml" href="/opensearch.xml"`) {
		t.Errorf("the page does not lead to it: %d", code)
	}
	if got := shortName("docs"); got != "Curtsy docs" {
		t.Errorf("short name %q", got)
	}
}
