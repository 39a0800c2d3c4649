package e2e

import (
	"context"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/engine"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/frontier"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

// Two crawls of the very same hosts, each with its own frontier, fetched for by one process, or by
// two that know nothing of each other: to the sites they are one, that sends one request at a time
// and pauses after each.
func TestCrawlsOfTheSameHosts(t *testing.T) {
	t.Parallel()
	t.Run("OneFetcher", func(t *testing.T) { t.Parallel(); crawlsOfTheSameHosts(t, true) })
	t.Run("TwoFetchers", func(t *testing.T) { t.Parallel(); crawlsOfTheSameHosts(t, false) })
}

func crawlsOfTheSameHosts(t *testing.T, together bool) {
	const pages, delay = 12, 40 * time.Millisecond
	web, err := simweb.Start(simweb.Config{Seed: 11, Hosts: 3, PagesPerHost: pages, LinksPerPage: 30, CrossLinks: 3, Mix: func(int) simweb.Behavior {
		return simweb.Behavior{Robots: simweb.RobotsAllowAll, Latency: 20 * time.Millisecond}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	srv, err := embedded.Start(embedded.Options{Dir: t.TempDir(), Log: logger(t), MaxStore: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Shutdown()
	nats := queue.Options{InProcess: srv.InProcess(), User: srv.User(), Password: srv.Password()}
	q, err := queue.Dial(t.Context(), nats, logger(t))
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	var shared *fetcher.Shared
	if together {
		if shared, err = fetcher.NewShared(fetcher.Options{Hands: 4, Log: logger(t)}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	g, ctx := errgroup.WithContext(ctx)
	crawls := map[string]crawl.Spec{}
	for _, name := range []string{"one", "two"} {
		spec := specFor(web)
		spec.Name, spec.Delay, spec.Contact = name, delay, name+"@example.org"
		crawls[name] = spec
		var seeds []canon.URL
		for _, s := range spec.Seeds {
			seeds = append(seeds, canon.URL(s))
		}
		e, err := engine.Open(t.Context(), engine.Options{
			Dir: t.TempDir(), NATS: nats, Crawl: name, Plan: func(*crawl.Spec) (crawl.Spec, error) { return spec, nil }, Seeds: seeds,
			Room: frontier.Room{Events: 32 << 20, Pages: 64 << 20}, NotIndexed: true, NotFetched: true, Log: logger(t),
		})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		f, err := fetcher.New(q, spec, fetcher.Options{Name: "for-" + name, Shared: shared, Hands: 4, DiscardPages: true, Log: logger(t)})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if n := f.Violations(); n != 0 {
				t.Errorf("%d requests were stopped at the last moment", n)
			}
		}()
		g.Go(func() error { return e.Run(ctx, nil) })
		g.Go(func() error { return f.Run(ctx) })
	}
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		done := 0
		for _, spec := range crawls {
			if st, ok, err := asker.Done(t.Context(), q, spec); err == nil && ok && st.Stored == 3*pages {
				done++
			}
		}
		if done == len(crawls) {
			break
		}
		if time.Now().After(end) || ctx.Err() != nil {
			t.Fatalf("%d of two crawls are done: %v", done, context.Cause(ctx))
		}
	}
	cancel()
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
	log := web.Log()
	if len(log) < 2*3*pages {
		t.Errorf("%d requests of two crawls", len(log))
	}
	for _, v := range simweb.Check(log, simweb.CheckOptions{Token: token, Delay: simweb.Every(delay), RobotsMaxAge: time.Hour}) {
		t.Error(v)
	}
	asked := map[string]int{}
	for _, r := range log {
		asked[r.UserAgent]++
	}
	if len(asked) != 2 {
		t.Errorf("requests are of %v", asked)
	}
}
