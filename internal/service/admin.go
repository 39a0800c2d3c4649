package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"strconv"
	"syscall"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// portsTried is how many ports an admin server tries, from the one it was told.
const portsTried = 32

// AdminOptions says what an admin server shows.
type AdminOptions struct {
	Listen   string // host:port; port 0 for any
	Title    string // of the status page: "crawl default", "fetcher f1"
	Registry *prometheus.Registry
	Ready    func(context.Context) error                 // nil error: ready for work
	Status   func(context.Context) (crawl.Status, error) // nil: the page has none
	Log      *slog.Logger
}

// Admin serves the status page, /metrics, /livez, /readyz and /debug/pprof.
type Admin struct {
	o  AdminOptions
	ln net.Listener
}

// NewAdmin opens the port, or the next free one after it.
func NewAdmin(o AdminOptions) (*Admin, error) {
	host, port, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w", o.Listen, err)
	}
	first, err := strconv.Atoi(port)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w", o.Listen, err)
	}
	for p := first; ; p++ {
		ln, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(p)))
		if err == nil {
			return &Admin{o, ln}, nil
		}
		if first == 0 || p == first+portsTried-1 || p == 65535 || !errors.Is(err, syscall.EADDRINUSE) {
			return nil, fmt.Errorf("listen on %s: %w (use another address, or --listen off)", o.Listen, err)
		}
	}
}

// URL is where the server can be reached.
func (a *Admin) URL() string {
	addr := a.ln.Addr().(*net.TCPAddr)
	if addr.IP.IsUnspecified() {
		return "http://127.0.0.1:" + strconv.Itoa(addr.Port) + "/"
	}
	return "http://" + addr.String() + "/"
}

// Run serves until ctx ends.
func (a *Admin) Run(ctx context.Context) error {
	srv := &http.Server{
		Handler:           a.handler(),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       time.Minute,
		ErrorLog:          slog.NewLogLogger(a.o.Log.Handler(), slog.LevelDebug),
	}
	stopped := make(chan struct{})
	unhook := context.AfterFunc(ctx, func() {
		defer close(stopped)
		grace, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if srv.Shutdown(grace) != nil {
			srv.Close() // a profile that is being made must not delay the end
		}
	})
	err := srv.Serve(a.ln)
	if errors.Is(err, http.ErrServerClosed) && !unhook() {
		<-stopped
		return nil
	}
	return fmt.Errorf("serve %s: %w", a.URL(), err)
}

// Close gives up the port of a server that was never Run.
func (a *Admin) Close() error { return a.ln.Close() }

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
	if !a.ln.Addr().(*net.TCPAddr).IP.IsLoopback() {
		return mux // no profiles here: they show memory, and cost as much as the client likes
	}
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.Handle("GET /debug/pprof/cmdline", http.NotFoundHandler()) // arguments may hold passwords
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	// On loopback only our operator should see this. A web page in the operator's browser could
	// reach it under a name of its own that resolves to 127.0.0.1, so names other than
	// localhost are turned away.
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !local(r.Host) {
			http.Error(w, "ask by address or as localhost", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func local(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
	}
	if host == "localhost" {
		return true
	}
	_, err = netip.ParseAddr(host)
	return err == nil
}
