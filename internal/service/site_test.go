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

// site is a site of which only the paths matter.
type site struct{}

func (site) Serves(path string) bool { return path != "/metrics" }

func (site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fmt.Fprint(w, "found at ", r.URL.EscapedPath())
}

// A site replaces the status page when it is set, and decides itself who may see it. Other paths do
// not change.
func TestSite(t *testing.T) {
	for _, listen := range []string{"127.0.0.1:0", "[::1]:0", "0.0.0.0:0"} {
		a, err := NewAdmin(AdminOptions{Listen: listen, Registry: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
			Ready: func(context.Context) error { return nil }})
		if err != nil && listen == "[::1]:0" {
			continue // a machine without IPv6
		}
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		var later siteToCome
		a.Show(&later)
		h := a.handler()
		get := func(host, path string) (int, string) {
			r := httptest.NewRequest("GET", "http://127.0.0.1"+path, nil)
			r.Host = host
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w.Code, w.Body.String()
		}
		if code, body := get("localhost", "/"); code != 200 || !strings.Contains(body, "ready") {
			t.Errorf("%s, before there is a site: %d %s", listen, code, body)
		}
		if code, _ := get("localhost", "/search"); code != 404 {
			t.Errorf("%s, before there is a site: %d", listen, code)
		}
		later.set(site{})
		if code, body := get("evil.example", "/search/http://a.example/"); code != 200 || body != "found at /search/http://a.example/" {
			t.Errorf("%s: %d %s", listen, code, body)
		}
		want := 403
		if !a.Loopback() {
			want = 200 // a collector of metrics uses a name of this machine
		}
		if code, body := get("evil.example", "/metrics"); code != want || strings.Contains(body, "found") {
			t.Errorf("%s, metrics by a foreign name: %d %s", listen, code, body)
		}
	}
}
