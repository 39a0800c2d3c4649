package service

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// Only users of this machine can read profiles. Nobody can read the command line, which may contain
// passwords.
func TestProfilesOnLoopbackOnly(t *testing.T) {
	for listen, want := range map[string]int{"127.0.0.1:0": http.StatusOK, "0.0.0.0:0": http.StatusNotFound} {
		a, err := NewAdmin(AdminOptions{Listen: listen, Registry: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
			Ready: func(context.Context) error { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		for path, want := range map[string]int{"/debug/pprof/": want, "/debug/pprof/cmdline": http.StatusNotFound, "/livez": http.StatusOK} {
			r := httptest.NewRequest("GET", "http://127.0.0.1"+path, nil)
			w := httptest.NewRecorder()
			a.handler().ServeHTTP(w, r)
			if w.Code != want {
				t.Errorf("%s on %s: %d, want %d", path, listen, w.Code, want)
			}
		}
	}
}
