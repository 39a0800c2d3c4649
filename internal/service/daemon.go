package service

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/curtsy/curtsy/internal/backoff"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
)

// DaemonOptions configure a daemon. All fields but Crawls, Cert, Key and Site are required.
type DaemonOptions struct {
	Kind     string // frontier, fetcher, indexer
	Instance string
	Crawl    string
	// Crawls are the crawls of the daemon if it works for several; nil means Crawl alone. Each has
	// its own service and its own connection to NATS, and can be stopped alone.
	Crawls []string
	Queue  queue.Options
	Listen string // admin port; "off" for none
	Cert   string // PEM files for TLS on that port; "": plain HTTP
	Key    string
	Log    *slog.Logger
	// Site returns what the admin port shows of the crawl, when the crawl is known. loopback says
	// that only this machine reaches the port. Without a Site, and if it returns nil, the port
	// shows only the status page.
	Site func(p Parts, loopback bool) Site
}

// Runner is a service that a daemon runs.
type Runner interface {
	Run(context.Context) error
	SetSpec(crawl.Spec) error
}

// Together runs several services as one. It ends with ctx, or when one of them fails.
type Together []Runner

// Run implements Runner.
func (t Together) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, r := range t {
		g.Go(func() error { return r.Run(ctx) })
	}
	return g.Wait()
}

// SetSpec gives all services another spec.
func (t Together) SetSpec(spec crawl.Spec) error {
	var errs []error
	for _, r := range t {
		errs = append(errs, r.SetSpec(spec))
	}
	return errors.Join(errs...)
}

// Parts are what a Runner needs.
type Parts struct {
	Queue    *queue.Conn
	Bucket   jetstream.KeyValue // the crawl's
	Spec     crawl.Spec
	Registry *prometheus.Registry
}

// Daemon runs a service until ctx ends or the crawl is stopped. It connects, waiting for the server
// if necessary, and waits until the crawl is created. Then it constructs the service and passes
// each change of the spec to it. For several crawls it does all this at the same time, so construct
// may be called concurrently. It then ends when all of them are stopped, or when one fails.
func Daemon(ctx context.Context, o DaemonOptions, construct func(Parts) (Runner, error)) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	reg := NewRegistry()
	crawls := o.Crawls
	if len(crawls) == 0 {
		crawls = []string{o.Crawl}
	}
	ready := newReadiness(crawls)
	show := func(Parts) {}
	var adm *Admin
	var conn atomic.Pointer[nats.Conn] // nil: not connected yet
	g, ctx := errgroup.WithContext(ctx)
	if o.Listen != "off" {
		var err error
		adm, err = NewAdmin(AdminOptions{
			Listen: o.Listen, Cert: o.Cert, Key: o.Key, Title: o.Kind + " " + o.Instance + " of crawl " + strings.Join(crawls, ", "), Registry: reg, Log: o.Log,
			Ready: func(context.Context) error { return ready.err() },
		})
		if err != nil {
			return err
		}
		if o.Site != nil {
			site := new(siteToCome)
			adm.Show(site)
			show = func(p Parts) {
				if it := o.Site(p, adm.Loopback()); it != nil {
					site.set(it)
				}
			}
		}
		o.Log.Info("admin port open", "url", adm.URL())
		g.Go(func() error { return adm.Run(ctx) })
	}
	if err := WatchCertificates(reg, o.Queue, conn.Load, adm); err != nil {
		return err
	}
	g.Go(func() error {
		defer stop() // without a service the admin port is of no use
		each, ctx := errgroup.WithContext(ctx)
		for _, name := range crawls {
			one, counts := o, prometheus.Registerer(reg)
			if one.Crawl = name; len(crawls) > 1 {
				counts = prometheus.WrapRegistererWith(prometheus.Labels{"crawl": name}, reg)
				one.Log = o.Log.With("crawl", name)
			}
			each.Go(func() error {
				ctx, stop := context.WithCancel(ctx)
				defer stop()
				err := one.work(ctx, stop, reg, counts, func(p Parts) (Runner, error) {
					conn.Store(p.Queue.NC)
					show(p)
					return construct(p)
				}, func(s string) { ready.set(name, s) })
				if ctx.Err() != nil && errors.Is(err, context.Canceled) {
					return nil // it was stopped while it waited
				}
				return err
			})
		}
		return each.Wait()
	})
	return g.Wait()
}

// openBucket opens the bucket of the crawl. A cluster without a leader may fail to answer for
// longer than the calls are repeated. Like a crawl that does not exist yet, it is waited for.
func (o DaemonOptions) openBucket(ctx context.Context, q *queue.Conn) (jetstream.KeyValue, error) {
	for {
		kv, err := q.OpenBucket(ctx, crawl.Names(o.Crawl).Bucket(), 0)
		if err == nil || ctx.Err() != nil || !queue.Unanswered(err) {
			return kv, err
		}
		o.Log.Warn("NATS does not answer yet; trying again", "crawl", o.Crawl, "err", err)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(tryAgain):
		}
	}
}

// work runs the service of one crawl. Metrics of this crawl alone are registered in counts.
func (o DaemonOptions) work(ctx context.Context, stop func(), reg *prometheus.Registry, counts prometheus.Registerer, construct func(Parts) (Runner, error), state func(string)) error {
	q, err := o.dial(ctx)
	if err != nil {
		return err
	}
	defer q.Close()
	names := crawl.Names(o.Crawl)
	me := Process{Kind: o.Kind, Instance: o.Instance, PID: os.Getpid()}
	if err := Obey(q.NC, names, me, stop); err != nil {
		return err
	}
	kv, err := o.openBucket(ctx, q)
	if err != nil {
		return err
	}
	state("waiting for crawl " + o.Crawl + " to be created")
	spec, err := AwaitSpec(ctx, kv, o.Crawl, o.Log)
	if err != nil {
		return err
	}
	if err := CheckPassword(spec, o.Queue); err != nil {
		return err
	}
	if err := CountShards(counts, spec); err != nil {
		return err
	}
	r, err := construct(Parts{q, kv, spec, reg})
	if err != nil {
		return err
	}
	state("")
	o.Log.Info("ready", "instance", o.Instance, "crawl", o.Crawl, "shards", spec.Shards)
	return o.run(ctx, stop, kv, spec, r)
}

// run runs the service and the watch of the spec.
func (o DaemonOptions) run(ctx context.Context, stop func(), kv jetstream.KeyValue, spec crawl.Spec, r Runner) error {
	g, ctx := errgroup.WithContext(ctx)
	ctx, refuse := context.WithCancelCause(ctx)
	defer refuse(nil)
	g.Go(func() error {
		defer stop()
		err := r.Run(ctx)
		if refused := context.Cause(ctx); errors.Is(refused, ErrDemoPassword) {
			return errors.Join(refused, err)
		}
		return err
	})
	g.Go(func() error {
		return WatchSpec(ctx, kv, spec, func(spec crawl.Spec) {
			if err := CheckPassword(spec, o.Queue); err != nil {
				refuse(err)
				return
			}
			if err := r.SetSpec(spec); err != nil {
				o.Log.Error("the changed settings cannot be applied", "err", err)
			}
		})
	})
	return g.Wait()
}

// readiness says why a daemon is not ready: what each of its crawls waits for. The daemon is ready
// when one crawl works, because the others may not exist yet.
type readiness struct {
	mu    sync.Mutex // guards waits
	waits map[string]string
}

func newReadiness(crawls []string) *readiness {
	r := &readiness{waits: map[string]string{}}
	for _, name := range crawls {
		r.waits[name] = "connecting to NATS"
	}
	return r
}

// set stores what a crawl waits for; "" means that it works.
func (r *readiness) set(crawl, wait string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waits[crawl] = wait
}

func (r *readiness) err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	why := ""
	for _, name := range slices.Sorted(maps.Keys(r.waits)) {
		wait := r.waits[name]
		if wait == "" {
			return nil
		}
		why = cmp.Or(why, wait)
	}
	return errors.New(why)
}

// siteToCome is a Site that is set later. Until then it serves nothing.
type siteToCome struct{ it atomic.Pointer[Site] }

func (s *siteToCome) set(it Site) { s.it.Store(&it) }

// Serves reports whether the path belongs to the site. Without a site none does.
func (s *siteToCome) Serves(path string) bool {
	it := s.it.Load()
	return it != nil && (*it).Serves(path)
}

// ServeHTTP passes the request to the site.
func (s *siteToCome) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if it := s.it.Load(); it != nil {
		(*it).ServeHTTP(w, r)
		return
	}
	http.NotFound(w, r)
}

// dial connects to NATS. It waits for the server, because daemons and servers are started together.
func (o DaemonOptions) dial(ctx context.Context) (*queue.Conn, error) {
	again := backoff.Delay{Least: 250 * time.Millisecond, Most: 5 * time.Second}
	for {
		q, err := queue.Dial(ctx, o.Queue, o.Log)
		if err == nil || ctx.Err() != nil || hopeless(err) {
			return q, err
		}
		o.Log.Warn("cannot connect to NATS yet; trying again", "err", err)
		if err := again.Sleep(ctx); err != nil {
			return nil, fmt.Errorf("connect to NATS: %w", err)
		}
	}
}

// hopeless reports whether a daemon cannot reach its server before somebody changes its settings.
func hopeless(err error) bool {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	return errors.Is(err, nats.ErrAuthorization) || errors.As(err, &unknown) || errors.As(err, &name) || errors.Is(err, fs.ErrNotExist)
}
