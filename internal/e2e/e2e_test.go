package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/engine"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/frontier"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/tracing"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

const token = "curtsy"

// rig is the services of one crawl in this process.
type rig struct {
	t       testing.TB
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
	stop    func()
}

func logger(t testing.TB) *slog.Logger {
	if os.Getenv("E2E_LOG") != "" {
		return slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	return slog.New(slog.NewTextHandler(io.Discard, nil))
}

// specFor is a crawl of a simulated web with no delay but what its hosts ask for.
func specFor(web *simweb.Server) crawl.Spec {
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
func newRig(t testing.TB, spec crawl.Spec, opt fetcher.Options) *rig {
	return newRigWith(t, &rig{t: t, spec: spec}, opt)
}

func newRigWith(t testing.TB, r *rig, opt fetcher.Options) *rig {
	t.Helper()
	log := logger(t)
	srv, err := embedded.Start(embedded.Options{Dir: t.TempDir(), Log: log, MaxStore: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Shutdown)
	q, err := queue.Dial(t.Context(), queue.Options{InProcess: srv.InProcess(), User: srv.User(), Password: srv.Password()}, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { q.Close() })
	r.srv, r.q = srv, q
	r.start(t.TempDir(), opt)
	return r
}

func (r *rig) start(dir string, opt fetcher.Options) {
	t := r.t
	r.dir = dir
	e, err := engine.Open(t.Context(), engine.Options{
		Dir: dir, Server: r.srv, Crawl: r.spec.Name, Plan: func(*crawl.Spec) (crawl.Spec, error) { return r.spec, nil },
		Room: frontier.Room{Events: 32 << 20, Pages: 64 << 20}, Fetcher: opt, NotIndexed: !r.index, Log: logger(t), Registry: r.metrics,
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
		if err := errors.Join(g.Wait(), e.Close()); err != nil {
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

// sink takes pages off the hand-off and counts them; it stands for the indexer where
// that is not the matter.
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

// patience ends when nothing has become of any URL of a crawl for so long: how long all of it takes
// is the machine's to say, and what else that does.
type patience struct {
	limit time.Duration
	end   time.Time
	last  [5]int64
}

func patient(limit time.Duration) *patience {
	return &patience{limit: limit, end: time.Now().Add(limit)}
}

// over reports whether it has ended, by what the crawl has come to now.
func (p *patience) over(st crawl.Status) bool {
	if now := [5]int64{st.Discovered, st.Stored, st.Redirected, st.Refused, st.Failed}; now != p.last {
		p.last, p.end = now, time.Now().Add(p.limit)
	}
	return time.Now().After(p.end)
}

// wait waits until the crawl is done, and returns its accounting. It fails when nothing moves for
// the time limit.
func (r *rig) wait(limit time.Duration) crawl.Status {
	r.t.Helper()
	p := patient(limit)
	for {
		st, done, err := asker.Done(r.t.Context(), r.q, r.spec)
		if err != nil {
			if time.Now().After(p.end) {
				r.t.Fatal(err)
			}
			// The broker has seconds for an answer, which a busy machine may use up.
			time.Sleep(20 * time.Millisecond)
			continue
		}
		if sum := st.Queued + st.InFlight + st.Stored + st.Redirected + st.Refused + st.Failed; sum != st.Discovered {
			r.t.Errorf("discovered %d, classes add up to %d: %+v", st.Discovered, sum, st)
		}
		if done {
			return st
		}
		if p.over(st) {
			r.t.Fatalf("not done, and nothing has moved for %v: %+v", limit, st)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// files opens what the crawl has left, to be asked.
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
