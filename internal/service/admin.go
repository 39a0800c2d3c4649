package service

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/pprof"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// AdminOptions says what an admin server shows.
type AdminOptions struct {
	Listen   string // host:port; port 0 for any
	Title    string // of the status page: "crawl default", "fetcher f1"
	Registry *prometheus.Registry
	Ready    func(context.Context) error                 // nil error: ready for work
	Status   func(context.Context) (crawl.Status, error) // nil: the page has none
	Search   Site                                        // nil: there is no search
	Log      *slog.Logger
}

// Site is a part of what is served, which knows its own paths.
type Site interface {
	http.Handler
	Serves(path string) bool
}

// Admin serves the status page, /metrics, /livez, /readyz and, on loopback, search and profiles.
type Admin struct {
	o AdminOptions
	*Server
}

// NewAdmin opens the port, or the next free one after it.
func NewAdmin(o AdminOptions) (*Admin, error) {
	s, err := Listen(o.Listen, o.Log)
	if err != nil {
		return nil, fmt.Errorf("%w (use another address, or --listen off)", err)
	}
	return &Admin{o, s}, nil
}

// Run serves until ctx ends.
func (a *Admin) Run(ctx context.Context) error { return a.Server.Run(ctx, a.handler()) }

func (a *Admin) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", a.page)
	mux.Handle("GET /metrics", promhttp.HandlerFor(a.o.Registry, promhttp.HandlerOpts{Registry: a.o.Registry}))
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := a.o.Ready(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	if !a.Loopback() {
		// No profiles here: they show memory, and cost as much as the client likes. No search
		// either: who opens a port for metrics does not say that all may read what was crawled.
		return mux
	}
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.Handle("GET /debug/pprof/cmdline", http.NotFoundHandler()) // arguments may hold passwords
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return a.Guarded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.o.Search != nil && a.o.Search.Serves(r.URL.Path) {
			a.o.Search.ServeHTTP(w, r) // before the mux, which changes paths that hold a URL
			return
		}
		mux.ServeHTTP(w, r)
	}))
}

// searches reports whether search is served.
func (a *Admin) searches() bool {
	return a.o.Search != nil && a.Loopback() && a.o.Search.Serves("/search")
}
