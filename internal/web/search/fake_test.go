package search

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/query"
)

// fake is a crawl with the answers of a test. It records the questions.
type fake struct {
	answer func(context.Context, crawl.SearchRequest) (crawl.SearchAnswer, error)
	page   func(url, content string) (crawl.PageRecord, bool, error)
	fields query.Schema
	// suggest answers suggestions; nil: there are none.
	suggest func(crawl.SuggestRequest) (crawl.SuggestAnswer, error)

	mu    sync.Mutex
	asked []crawl.SearchRequest
}

func (f *fake) Search(ctx context.Context, r crawl.SearchRequest) (crawl.SearchAnswer, error) {
	f.mu.Lock()
	f.asked = append(f.asked, r)
	f.mu.Unlock()
	return f.answer(ctx, r)
}

func (f *fake) Suggest(_ context.Context, r crawl.SuggestRequest) (crawl.SuggestAnswer, error) {
	return f.suggest(r)
}

func (f *fake) Fields(context.Context) (query.Schema, error) { return f.fields, nil }

// times is how often it was searched.
func (f *fake) times() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.asked)
}

func (f *fake) Page(_ context.Context, url, content string) (crawl.PageRecord, bool, error) {
	return f.page(url, content)
}

// answers makes a fake that always gives one answer.
func answers(a crawl.SearchAnswer, err error) *fake {
	return &fake{answer: func(context.Context, crawl.SearchRequest) (crawl.SearchAnswer, error) { return a, err }}
}

// get asks a Web, as by a connection.
func get(t *testing.T, w http.Handler, path string) (status int, header http.Header, body string) {
	t.Helper()
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, httptest.NewRequest("GET", path, nil))
	b, err := io.ReadAll(rec.Body)
	if err != nil {
		t.Fatal(err)
	}
	return rec.Code, rec.Header(), string(b)
}

// getJSON asks for JSON, strictly.
func getJSON[T any](t *testing.T, w http.Handler, path string) (status int, v T) {
	t.Helper()
	status, header, body := get(t, w, path)
	want := "application/json"
	if status >= 400 {
		want = "application/problem+json"
	}
	if header.Get("Content-Type") != want || header.Get("X-Content-Type-Options") != "nosniff" || header.Get("Cache-Control") != "no-store" {
		t.Errorf("%s: header %v", path, header)
	}
	d := json.NewDecoder(strings.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v in %s", path, err, body)
	}
	return status, v
}

func text(s string) *string { return &s }
