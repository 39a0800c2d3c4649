package webhooktest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The server keeps the highest version of each page, also of a deleted one, sweeps one shard, and
// reports requests that are not as documented.
func TestServer(t *testing.T) {
	s := New(Config{Refuse: func(id string, _ []byte) string {
		if id == "bad" {
			return "no"
		}
		return ""
	}})
	post := func(body string) string {
		t.Helper()
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)))
		return w.Body.String()
	}
	change := func(shard, generation int, changes string) string {
		t.Helper()
		return post(fmt.Sprintf(`{"crawl":"docs","shard":%d,"generation":%d,"changes":[%s]}`, shard, generation, changes))
	}
	got := change(0, 1, `{"id":"a","version":2,"url":"u"},{"id":"b","version":3},{"id":"bad","version":4},{"id":"c","version":5}`)
	if !strings.Contains(got, `{"id":"bad","reason":"no"}`) {
		t.Error(got)
	}
	change(0, 1, `{"id":"a","version":1,"url":"older"},{"id":"b","version":6,"removed":"gone"},{"id":"b","version":3}`)
	change(1, 1, `{"id":"d","version":1}`)
	if pages := s.Pages(); len(pages) != 3 || string(pages["a"]) != `{"id":"a","version":2,"url":"u"}` || pages["b"] != nil {
		t.Errorf("%s", pages)
	}
	change(0, 2, `{"id":"c","version":9}`)
	post(`{"crawl":"docs","shard":0,"generation":2,"sweep":true}`)
	if pages := s.Pages(); len(pages) != 2 || pages["c"] == nil || pages["d"] == nil {
		t.Errorf("after a sweep: %s", pages)
	}
	if len(s.Errors()) != 0 || s.Requests() != 5 {
		t.Errorf("%v, %d requests", s.Errors(), s.Requests())
	}
	change(0, 2, `{"id":"e"}`)
	post("no JSON")
	if len(s.Errors()) != 2 {
		t.Error(s.Errors())
	}
}
