package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/pprof"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// AdminOptions configures an admin port.
type AdminOptions struct {
	Listen    string // host:port; port 0 for any
	Cert, Key string // PEM files; if they are set, the port uses TLS only
	Title     string // of the status page: "crawl default", "fetcher f1"
	Registry  *prometheus.Registry
	Ready     func(context.Context) error // nil error: ready for work
	Log       *slog.Logger
}

// Site is a part of the admin port, such as the dashboard. It knows its own paths and decides who
// may see them.
type Site interface {
	http.Handler
	Serves(path string) bool
}

// Admin serves the status page, /metrics, /livez, /readyz and, on loopback, profiles. A site
// replaces the status page.
type Admin struct {
	o AdminOptions
	*Server
	site Site // nil: none
}

// NewAdmin opens the port, or the next free one after it.
func NewAdmin(o AdminOptions) (*Admin, error) {
	s, err := Listen(o.Listen, o.Log)
	if err != nil {
		return nil, fmt.Errorf("%w (use another address, or --listen off)", err)
	}
	if err := s.Secure(o.Cert, o.Key); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return &Admin{o: o, Server: s}, nil
}

// Show adds a site. It must be called before Run.
func (a *Admin) Show(site Site) { a.site = site }

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
	if a.Loopback() {
		// Only on loopback, because profiles show memory and a client decides what they cost.
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		// arguments may contain passwords
		mux.Handle("GET /debug/pprof/cmdline", http.NotFoundHandler())
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	own := a.Guarded(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.site != nil && a.site.Serves(r.URL.Path) {
			a.site.ServeHTTP(w, r) // not through the mux, which changes paths that contain a URL
			return
		}
		own.ServeHTTP(w, r)
	})
}
