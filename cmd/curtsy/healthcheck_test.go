package main

import (
	"net/http"
	"testing"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
)

func TestHealthcheck(t *testing.T) {
	ready := true
	srv := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			t.Errorf("asked for %s", r.URL)
		}
		if !ready {
			http.Error(w, "waiting for crawl x to be created", http.StatusServiceUnavailable)
		}
	})
	defer srv.Close()
	curtsy(t, app.ExitOK, "healthcheck", srv.URL)
	ready = false
	curtsy(t, app.ExitFailed, "healthcheck", srv.URL)
	curtsy(t, app.ExitUsage, "healthcheck", "localhost")
}
