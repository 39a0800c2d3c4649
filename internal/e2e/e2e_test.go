package e2e

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/engine"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/frontier"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simnet/broker"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/simweb/requestlog"
	"github.com/curtsy/curtsy/internal/tracing"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

const token = "curtsy"

// website is a simulated web in an in-memory network.
type website struct {
	*simweb.Server
	net *simnet.Net
}

// latency is how long a message takes through the network, so that every request takes some time.
const latency = time.Millisecond

// serve starts a web in a separate network, until the test ends.
func serve(t testing.TB, cfg simweb.Config) *website {
	t.Helper()
	net := simnet.New(simnet.Options{Latency: latency})
	cfg.Listen = net.Listen
	web, err := simweb.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { web.Close() })
	return &website{web, net}
}

// server starts an HTTP server in an in-memory network, until the test ends. With a configuration
// it uses TLS.
func server(t testing.TB, net *simnet.Net, h http.Handler, secure *tls.Config) *httptest.Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &httptest.Server{Listener: l, Config: &http.Server{Handler: h}, TLS: secure, EnableHTTP2: secure != nil}
	if secure != nil {
		srv.StartTLS()
	} else {
		srv.Start()
	}
	t.Cleanup(srv.Close)
	return srv
}

// polite checks the log of a web without any tolerance: in virtual time nothing is noticed late.
// The delay is the minimum that the crawl itself keeps.
func polite(t testing.TB, web *website, delay time.Duration) {
	t.Helper()
	politeLog(t, web.Log(), requestlog.CheckOptions{Token: token, Delay: requestlog.Every(delay)})
}

func politeLog(t testing.TB, log []requestlog.Request, o requestlog.CheckOptions) {
	t.Helper()
	o.Tolerance, o.AbortTolerance = time.Nanosecond, time.Nanosecond
	violations := requestlog.Check(log, o)
	for _, v := range violations[:min(len(violations), 10)] {
		t.Error(v)
	}
	if len(violations) > 10 {
		t.Errorf("%d violations in %d requests", len(violations), len(log))
	}
}

// rig is the services of one crawl in this process. All its files are in dir.
type rig struct {
	t       testing.TB
	net     *simnet.Net
	q       *queue.Conn
	spec    crawl.Spec
	pages   atomic.Int64
	dir     string
	srv     *embedded.Server
	engine  *engine.Engine
	index   bool                  // with an indexer instead of a sink
	metrics prometheus.Registerer // nil: none
	logs    frontier.CrawlLog
	tracer  *tracing.Tracer // nil: none
	// no more requests go to the web, and the services may end with an error
	dead atomic.Bool
	stop func()
}

func logger(t testing.TB) *slog.Logger {
	if os.Getenv("E2E_LOG") != "" {
		return slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	return slog.New(slog.DiscardHandler)
}

// specFor returns a crawl of a simulated web whose only delays are those of its hosts.
func specFor(web *website) crawl.Spec {
	spec := crawl.Spec{
		Name: "e2e", Shards: 4, Scope: "domain", MaxDepth: -1, HoldMax: 3 * time.Second, Agent: token, Contact: "test@example.org",
		AllowPrivate: true, Resolve: []string{web.Resolve()}, Search: false, Sitemaps: true,
	}
	for _, s := range web.Seeds() {
		u, err := canon.Parse(s)
		if err != nil {
			panic(err)
		}
		spec.Seeds = append(spec.Seeds, string(u))
	}
	return spec
}

// newRig starts a broker, a frontier, a fetcher and a sink for pages.
func newRig(t testing.TB, net *simnet.Net, spec crawl.Spec, opt fetcher.Options) *rig {
	return newRigWith(t, &rig{t: t, net: net, spec: spec}, opt)
}

func newRigWith(t testing.TB, r *rig, opt fetcher.Options) *rig {
	t.Helper()
	r.serveNATS(t.TempDir())
	r.start(r.dir, opt)
	return r
}

// serveNATS starts the broker in a directory, as for a crawl with an embedded broker.
func (r *rig) serveNATS(dir string) {
	r.dir = dir
	r.srv = broker.StartIn(r.t, filepath.Join(dir, "nats"))
	r.q = broker.Dial(r.t, r.srv)
}

func (r *rig) start(dir string, opt fetcher.Options) {
	t := r.t
	r.dir = dir
	opt.Dial = r.dial
	e, err := engine.Open(t.Context(), engine.Options{
		Dir: dir, Server: r.srv, Crawl: r.spec.Name, Plan: func(*crawl.Spec) (crawl.Spec, error) { return r.spec, nil },
		StreamLimits: frontier.StreamLimits{Events: 32 << 20, Pages: 64 << 20}, Fetcher: opt, NotIndexed: !r.index, Log: logger(t), Registry: r.metrics,
		CrawlLog: r.logs, Tracer: r.tracer,
	})
	if err != nil {
		t.Fatal(err)
	}
	r.engine = e
	ctx, cancel := context.WithCancel(context.Background())
	g, gctx := errgroup.WithContext(ctx)
	ready := make(chan struct{})
	g.Go(func() error {
		return e.Run(gctx, func(ctx context.Context, _ crawl.Status) error { close(ready); <-ctx.Done(); return nil })
	})
	if !r.index {
		r.sink(g, gctx)
	}
	stopped := false
	r.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := errors.Join(g.Wait(), e.Close()); err != nil && !r.dead.Load() {
			t.Errorf("services: %v", err)
		}
		if n := e.Violations(); n != 0 {
			t.Errorf("%d requests were stopped at the last moment for being impolite", n)
		}
	}
	t.Cleanup(r.stop)
	select {
	case <-ready:
	case <-gctx.Done():
		t.Fatal("the services failed before they were ready")
	}
}

// dial connects to the web, unless the crawl is dead.
func (r *rig) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if r.dead.Load() {
		return nil, errors.New("killed")
	}
	return r.net.Dial(ctx, network, address)
}

// endNATS ends the broker of a crawl that does not run; serveNATS starts it again.
func (r *rig) endNATS() {
	r.q.Close()
	r.srv.Shutdown()
}

// kill ends the crawl like SIGKILL: only the files of this instant remain, and its connections to
// the web break. start continues from the files.
func (r *rig) kill(web *website) {
	r.t.Helper()
	synctest.Wait() // no goroutine is in the middle of a write
	left := filepath.Join(r.t.TempDir(), "left")
	if err := os.CopyFS(left, os.DirFS(r.dir)); err != nil {
		r.t.Fatal(err)
	}
	r.dead.Store(true)
	web.net.Reset(web.Addr())
	r.stop()
	r.endNATS()
	if err := errors.Join(os.RemoveAll(r.dir), os.Rename(left, r.dir)); err != nil {
		r.t.Fatal(err)
	}
	r.dead.Store(false)
	r.serveNATS(r.dir)
}

// killWhen continues a crawl that does not run, and kills it when so returns true. It reports
// whether the crawl was finished before.
func (r *rig) killWhen(web *website, what string, so func() bool) (over bool) {
	r.t.Helper()
	r.metrics = nil // those of the previous run are registered
	r.start(r.dir, fetcher.Options{})
	r.seed()
	for i := 1; !so(); i++ {
		if i%100 == 0 {
			if _, over = r.done(); over {
				r.stop()
				return true
			}
		}
		if i > 100_000 {
			r.t.Fatalf("never %s", what)
		}
		time.Sleep(time.Millisecond)
	}
	r.kill(web)
	return false
}

// sink takes pages from the hand-off and counts them; it replaces the indexer in tests that do not
// need one.
func (r *rig) sink(g *errgroup.Group, ctx context.Context) {
	names := crawl.Names(r.spec.Name)
	var subjects []string
	for i := range r.spec.Shards {
		subjects = append(subjects, names.PagesSubject(i))
	}
	w, err := r.q.OpenWork(r.t.Context(), queue.WorkConfig{Stream: names.PagesStream(), Subjects: subjects})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, s := range subjects {
		g.Go(func() error {
			return w.Consume(ctx, s, "sink-"+strings.ReplaceAll(s, ".", "-"), 1, queue.ConsumeOptions{}, func(_ context.Context, batch []queue.Message) error {
				for _, m := range batch {
					pages, err := crawl.DecodePages(m.Data)
					if err != nil {
						return err
					}
					r.pages.Add(int64(len(pages)))
				}
				return nil
			})
		})
	}
}

func (r *rig) seed() {
	r.t.Helper()
	var urls []canon.URL
	for _, s := range r.spec.Seeds {
		urls = append(urls, canon.URL(s))
	}
	if err := asker.Seed(r.t.Context(), r.q, r.spec, urls); err != nil {
		r.t.Fatal(err)
	}
}

// done asks whether the crawl is done, and checks its counts.
func (r *rig) done() (st crawl.Status, done bool) {
	r.t.Helper()
	st, done, err := asker.Done(r.t.Context(), r.q, r.spec)
	if err != nil {
		r.t.Fatal(err)
	}
	r.adds(st)
	return st, done
}

// adds checks that the counts of the URLs by class add up to the total.
func (r *rig) adds(st crawl.Status) {
	r.t.Helper()
	if sum := st.Queued + st.InFlight + st.Stored + st.Redirected + st.Refused + st.Failed; sum != st.Discovered {
		r.t.Errorf("discovered %d, classes add up to %d: %+v", st.Discovered, sum, st)
	}
}

// wait waits until the crawl is done, and returns its status.
func (r *rig) wait(limit time.Duration) (st crawl.Status) {
	r.t.Helper()
	r.within(limit, "the crawl is done", func() (ok bool) { st, ok = r.done(); return ok })
	return st
}

// until waits until ok returns true, for at most two minutes.
func (r *rig) until(what string, ok func() bool) {
	r.t.Helper()
	r.within(2*time.Minute, what, ok)
}

// within waits until ok returns true, for at most limit.
func (r *rig) within(limit time.Duration, what string, ok func() bool) {
	r.t.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(step) {
		if time.Now().After(end) {
			st, err := asker.Status(r.t.Context(), r.q, r.spec)
			r.t.Fatalf("not within %v: %s: %+v, %v", limit, what, st, err)
		}
	}
}

// step is the interval between two checks of a condition.
const step = 10 * time.Millisecond

// files opens the files that the crawl has left, for questions.
func (r *rig) files() *asker.Crawl {
	r.t.Helper()
	c, err := engine.OpenFiles(r.dir)
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

func (r *rig) explain(u string) crawl.Explanation {
	r.t.Helper()
	var x crawl.Explanation
	err := ask.Gather(r.t.Context(), r.q.NC, crawl.Names(r.spec.Name), "explain", map[string]string{"url": u}, r.spec.Shards, func(raw json.RawMessage) error {
		return json.Unmarshal(raw, &x)
	})
	if err != nil {
		r.t.Fatalf("explain %s: %v", u, err)
	}
	return x
}
