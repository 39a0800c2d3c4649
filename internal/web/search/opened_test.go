package search

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

// recorder records calls as text.
type recorder struct{ calls []string }

func (r *recorder) Asked(normal string, total int64, listed bool) {
	r.calls = append(r.calls, fmt.Sprint("asked ", normal, " ", total, " ", listed))
}

func (r *recorder) Opened(normal, url string, rank int) {
	r.calls = append(r.calls, fmt.Sprint("opened ", normal, " ", url, " ", rank))
}

func (r *recorder) Completions(string, int) []string { return nil }

func two() crawl.SearchAnswer {
	return crawl.SearchAnswer{Total: 40, Hits: []crawl.Hit{
		{URL: "https://a.example/1", Title: "One"},
		{URL: "https://a.example/2", Title: "Two", Section: &crawl.Section{Title: "Part", URL: "https://a.example/2#part"}},
	}}
}

func TestRecorded(t *testing.T) {
	rec := &recorder{}
	f := answers(two(), nil)
	f.page = func(url, _ string) (crawl.PageRecord, bool, error) {
		return crawl.PageRecord{}, url == "https://a.example/1", nil
	}
	w := New(Options{Crawl: f, Recorder: rec})
	hrefs := links(see1(t, w, "/search?q=Some+Words&page=2").Find(".hits"))
	get(t, w, "/search?q=Some+Words")
	get(t, w, "/api/v1/search?q=words")
	for _, title := range []string{"One", "Two", "Part"} {
		status, header, _ := get(t, w, hrefs[title])
		if to := header.Get("Location"); status != http.StatusFound || !strings.HasPrefix(to, "https://a.example/") || header.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s leads to %d %s %v", title, status, to, header)
		}
	}
	want := []string{
		"asked some words 40 true", "asked words 40 false", "opened some words https://a.example/1 11", "opened some words https://a.example/2 12",
		"opened some words https://a.example/2 12",
	}
	if !slices.Equal(rec.calls, want) {
		t.Errorf("recorded is\n %q, want\n %q", rec.calls, want)
	}
	rec.calls = nil
	// Without a valid signature only stored pages are led to.
	for change, status := range map[string]int{
		"": http.StatusFound, "s=": http.StatusFound, "n=11": http.StatusFound,
		"u=https%3A%2F%2Fa.example%2F1": http.StatusNotFound, "u=https": http.StatusNotFound,
	} {
		href := hrefs["One"]
		if change != "" {
			to := map[string]string{"u=https%3A%2F%2Fa.example%2F1": "u=https%3A%2F%2Fevil.example%2F", "u=https": "u=javascript", "s=": "s=x", "n=11": "n=1"}[change]
			href = strings.Replace(href, change, to, 1)
		}
		r := httptest.NewRequest(http.MethodHead, href, nil)
		if change != "" {
			r = httptest.NewRequest(http.MethodGet, href, nil)
		}
		got := httptest.NewRecorder()
		w.ServeHTTP(got, r)
		if got.Code != status || got.Code == http.StatusFound && got.Header().Get("Location") != "https://a.example/1" {
			t.Errorf("with %q changed: %d %s", change, got.Code, got.Header().Get("Location"))
		}
	}
	r := httptest.NewRequest(http.MethodGet, hrefs["One"], nil)
	r.Header.Set("Sec-Purpose", "prefetch;prerender")
	w.ServeHTTP(httptest.NewRecorder(), r)
	if len(rec.calls) > 0 {
		t.Errorf("recorded without being opened: %q", rec.calls)
	}
}

// Without a Recorder, hits are linked to as they are, and nothing leads elsewhere.
func TestNotRecorded(t *testing.T) {
	w := New(Options{Crawl: answers(two(), nil)})
	if got := links(see1(t, w, "/search?q=words").Find(".hits")); got["One"] != "https://a.example/1" {
		t.Errorf("%v", got)
	}
	if status, _, _ := get(t, w, w.opens.link("words", 1, "https://a.example/1")); status != http.StatusNotFound {
		t.Errorf("status %d", status)
	}
}
