package service

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// site is a search of which only the paths are known.
type site struct{}

func (site) Serves(path string) bool { return strings.HasPrefix(path, "/search") }

func (site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fmt.Fprint(w, "found at ", r.URL.EscapedPath())
}

// Search is for who is on the machine, by an address or as localhost: the pages are shown nowhere
// where profiles are not.
func TestSearchOnLoopbackOnly(t *testing.T) {
	for _, listen := range []string{"127.0.0.1:0", "[::1]:0", "0.0.0.0:0"} {
		var later siteToCome
		a, err := NewAdmin(AdminOptions{Listen: listen, Registry: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
			Ready: func(context.Context) error { return nil }, Search: &later})
		if err != nil && listen == "[::1]:0" {
			continue // a machine without IPv6
		}
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		h := a.handler()
		get := func(host, path string) (int, string) {
			r := httptest.NewRequest("GET", "http://127.0.0.1"+path, nil)
			r.Host = host
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w.Code, w.Body.String()
		}
		if code, body := get("localhost", "/"); code != 200 || strings.Contains(body, `action="/search"`) {
			t.Errorf("%s, before there is a search: %d %s", listen, code, body)
		}
		if code, _ := get("localhost", "/search"); code != 404 {
			t.Errorf("%s, before there is a search: %d", listen, code)
		}
		later.set(site{})
		shown := listen != "0.0.0.0:0"
		if code, body := get("localhost", "/"); code != 200 || strings.Contains(body, `action="/search"`) != shown || strings.Contains(body, "<script>") != shown {
			t.Errorf("%s: %d %s", listen, code, body)
		}
		code, body := get("127.0.0.1:8080", "/search/http://a.example/")
		if shown && (code != 200 || body != "found at /search/http://a.example/") || !shown && strings.Contains(body, "found at") {
			t.Errorf("%s: %d %s", listen, code, body)
		}
		if code, body := get("evil.example", "/search"); strings.Contains(body, "found at") || shown && code != 403 {
			t.Errorf("%s, by a foreign name: %d %s", listen, code, body)
		}
	}
}

// Without one there is no search, and the page says nothing of it.
func TestNoSearch(t *testing.T) {
	var none *siteToCome
	if none.site() != nil {
		t.Error("nothing is a site")
	}
}
