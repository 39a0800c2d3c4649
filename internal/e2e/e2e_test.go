package e2e

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/frontier"
	"github.com/curtsy/curtsy/internal/indexer"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

const token = "curtsy"

// rig is the services of one crawl in this process.
type rig struct {
	t        testing.TB
	q        *queue.Conn
	spec     crawl.Spec
	pages    atomic.Int64
	dir      string
	services []interface{ SetSpec(crawl.Spec) error }
	index    bool                  // with an indexer instead of a sink
	metrics  prometheus.Registerer // of the frontier; nil: none
	stop     func()
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
	if err := frontier.EnsureStreams(t.Context(), q, r.spec, frontier.Room{Events: 32 << 20, Pages: 64 << 20}); err != nil {
		t.Fatal(err)
	}
	r.q = q
	r.start(t.TempDir(), opt)
	return r
}

func (r *rig) start(dir string, opt fetcher.Options) {
	t := r.t
	r.dir = dir
	log := logger(t)
	lines, err := os.OpenFile(filepath.Join(dir, "crawl.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	fr, err := frontier.New(r.q, r.spec, frontier.Options{Dir: dir, Instance: "f1", Embedded: true, Log: log, CrawlLog: lines, Registry: r.metrics})
	if err != nil {
		t.Fatal(err)
	}
	opt.Log, opt.Name = log, "x1"
	fe, err := fetcher.New(r.q, r.spec, opt)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return fr.Run(gctx) })
	g.Go(func() error { return fe.Run(gctx) })
	r.services = append(r.services[:0], fr, fe)
	if r.index {
		x, err := indexer.New(r.q, r.spec, indexer.Options{Dir: dir, Instance: "i1", Embedded: true, Search: r.spec.Search, Log: log})
		if err != nil {
			t.Fatal(err)
		}
		g.Go(func() error { return x.Run(gctx) })
		r.services = append(r.services, x)
	} else {
		r.sink(g, gctx)
	}
	stopped := false
	r.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := g.Wait(); err != nil {
			t.Errorf("services: %v", err)
		}
		if n := fe.Violations(); n != 0 {
			t.Errorf("%d requests were stopped at the last moment for being impolite", n)
		}
		lines.Close()
	}
	t.Cleanup(r.stop)
	if err := frontier.WaitReady(t.Context(), r.q, r.spec); err != nil {
		t.Fatal(err)
	}
	for r.index { // until every shard has an indexer
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		err := ask.Gather(ctx, r.q.NC, crawl.Names(r.spec.Name), "indexer-status", struct{}{}, r.spec.Shards, func(json.RawMessage) error { return nil })
		cancel()
		if err == nil || t.Context().Err() != nil {
			break
		}
	}
}

// sink takes pages off the hand-off and counts them; it stands for the indexer where that is not the matter.
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
	svc, err := ask.NewService(r.q.NC, names, "indexer", "sink", "1.0.0")
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { svc.Stop() })
	all := make([]int, r.spec.Shards)
	for i := range all {
		all[i] = i
	}
	err = svc.Handle("indexer-status", func() []int { return all }, func(_ context.Context, _ []byte, send func(any) error) error {
		return send(crawl.IndexerStatus{Shards: all})
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) seed() {
	r.t.Helper()
	var urls []canon.URL
	for _, s := range r.spec.Seeds {
		urls = append(urls, canon.URL(s))
	}
	if err := frontier.Seed(r.t.Context(), r.q, r.spec, urls); err != nil {
		r.t.Fatal(err)
	}
}

// wait waits until the crawl is done, and returns its accounting.
func (r *rig) wait(limit time.Duration) crawl.Status {
	r.t.Helper()
	end := time.Now().Add(limit)
	for {
		st, done, err := frontier.Done(r.t.Context(), r.q, r.spec)
		if err != nil {
			r.t.Fatal(err)
		}
		if sum := st.Queued + st.InFlight + st.Stored + st.Redirected + st.Refused + st.Failed; sum != st.Discovered {
			r.t.Errorf("discovered %d, classes add up to %d: %+v", st.Discovered, sum, st)
		}
		if done {
			return st
		}
		if time.Now().After(end) {
			r.t.Fatalf("not done after %v: %+v", limit, st)
		}
		time.Sleep(20 * time.Millisecond)
	}
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
