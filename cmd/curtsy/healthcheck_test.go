package main

import (
	"net/http"
	"testing"
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
	curtsy(t, exitOK, "healthcheck", srv.URL)
	ready = false
	curtsy(t, exitFailed, "healthcheck", srv.URL)
	curtsy(t, exitUsage, "healthcheck", "localhost")
}
