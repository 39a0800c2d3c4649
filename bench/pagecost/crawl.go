package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/frontier"
	"github.com/curtsy/curtsy/internal/indexer"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

// round is one crawl, measured.
type round struct {
	usage
	pages  int64 // fetched and, unless discarded, stored
	links  int64 // offered to the frontier: in scope, new in their visit
	visits int64
	server time.Duration // CPU of the site's server
	costs  costs
}

// oneRound crawls the whole site into a new directory, from opening it to closing it.
func oneRound(ctx context.Context, s settings, parent string) (r round, err error) {
	web, err := startSite(ctx, s, "")
	if err != nil {
		return r, err
	}
	defer func() { r.server = web.stop() }()
	dir, err := os.MkdirTemp(parent, "data-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeoutCause(ctx, s.limit, fmt.Errorf("not done after %v", s.limit))
	defer cancel()
	c := &crawling{s: s, web: web, dir: dir, reg: prometheus.NewRegistry(), log: slog.New(slog.DiscardHandler)}
	if s.verbose {
		c.log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	r.usage, err = profiled(func() error { return c.run(ctx) })
	if err != nil {
		return r, errors.Join(err, context.Cause(ctx))
	}
	if r.pages, err = c.fetched(); err != nil {
		return r, err
	}
	if r.pages != int64(web.Pages) || c.status.Stored != r.pages {
		return r, fmt.Errorf("the site has %d pages; %d were fetched, and the crawl counts %+v", web.Pages, r.pages, c.status)
	}
	r.links, r.visits = c.counter("curtsy_frontier_links_total"), c.counter("curtsy_frontier_visits_total")
	r.costs = costsOf(r.profile)
	return r, nil
}

// crawling is a crawl by one of each service on an embedded NATS server, put together as cmd/curtsy does.
type crawling struct {
	s      settings
	web    *site
	dir    string
	log    *slog.Logger
	reg    *prometheus.Registry
	status crawl.Status
}

// spec is a crawl without a delay: the hosts are listed as the operator's own, or the frontier, which cannot know yet that
// their address is private, would have the first visit to each wait a second between its requests.
func (c *crawling) spec() (crawl.Spec, []canon.URL, error) {
	spec := crawl.Spec{
		Name: "default", Shards: c.s.shards, Created: time.Now(), Scope: "domain", MaxDepth: -1, HoldMax: 10 * time.Second,
		Agent: "curtsy", AllowPrivate: true, Hurry: c.web.Hosts, Resolve: []string{c.web.Resolve}, Search: c.s.search,
	}
	var seeds []canon.URL
	for _, raw := range c.web.Seeds {
		u, err := canon.Parse(raw)
		if err != nil {
			return spec, nil, err
		}
		seeds, spec.Seeds = append(seeds, u), append(spec.Seeds, string(u))
	}
	return spec, seeds, nil
}

// run crawls until nothing is left to do, and closes everything.
func (c *crawling) run(ctx context.Context) (err error) {
	keep := func(e error) { err = errors.Join(err, e) }
	spec, seeds, err := c.spec()
	if err != nil {
		return err
	}
	srv, err := embedded.Start(embedded.Options{Dir: filepath.Join(c.dir, "nats"), Listen: "127.0.0.1:0", Log: c.log})
	if err != nil {
		return err
	}
	defer srv.Shutdown()
	q, err := queue.Dial(ctx, queue.Options{InProcess: srv.InProcess(), User: srv.User(), Password: srv.Password(), Name: "pagecost"}, c.log)
	if err != nil {
		return err
	}
	defer func() { keep(q.Close()) }()
	if _, err := q.OpenBucket(ctx, crawl.Names(spec.Name).Bucket(), 0); err != nil {
		return err
	}
	var room frontier.Room
	room.Events, room.Pages = embedded.Budget(srv.MaxStore(), spec.Shards)
	if err := frontier.EnsureStreams(ctx, q, spec, room); err != nil {
		return err
	}
	lines, err := os.OpenFile(filepath.Join(c.dir, "crawl.jsonl"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer func() { keep(lines.Close()) }()
	services, err := c.services(q, spec, lines)
	if err != nil {
		return err
	}

	running, stop := context.WithCancel(ctx)
	defer stop()
	g, gctx := errgroup.WithContext(running)
	for _, run := range services {
		g.Go(func() error { return run(gctx) })
	}
	err = frontier.Seed(gctx, q, spec, seeds)
	if err == nil {
		c.status, err = watch(gctx, q, spec)
	}
	stop()
	if failed := g.Wait(); failed != nil {
		return failed // the watcher only saw the consequence
	}
	return err
}

// services are the Run methods of what is to run.
func (c *crawling) services(q *queue.Conn, spec crawl.Spec, lines io.Writer) ([]func(context.Context) error, error) {
	fr, err := frontier.New(q, spec, frontier.Options{
		Dir: c.dir, Instance: "pagecost", Log: c.log, Registry: c.reg, Embedded: true, CrawlLog: lines,
	})
	if err != nil {
		return nil, err
	}
	fe, err := fetcher.New(q, spec, fetcher.Options{
		Name: "pagecost", Hands: c.s.hands, Log: c.log, Registerer: c.reg, DiscardPages: c.s.store == "discard",
	})
	if err != nil {
		return nil, err
	}
	store := func(ctx context.Context) error { return nobodyStores(ctx, q, spec) }
	if c.s.store != "discard" {
		ix, err := indexer.New(q, spec, indexer.Options{
			Dir: c.dir, Instance: "pagecost", Log: c.log, Registry: c.reg, Embedded: true, Search: spec.Search, Version: "0.0.0",
		})
		if err != nil {
			return nil, err
		}
		store = ix.Run
	}
	return []func(context.Context) error{fr.Run, fe.Run, store}, nil
}

// nobodyStores answers for the indexer where pages are discarded: nothing waits to be stored.
func nobodyStores(ctx context.Context, q *queue.Conn, spec crawl.Spec) error {
	svc, err := ask.NewService(q.NC, crawl.Names(spec.Name), "indexer", "nobody", "0.0.0")
	if err != nil {
		return err
	}
	defer svc.Stop()
	all := make([]int, spec.Shards)
	for i := range all {
		all[i] = i
	}
	err = svc.Handle("indexer-status", func() []int { return all }, func(_ context.Context, _ []byte, send func(any) error) error {
		return send(crawl.IndexerStatus{Shards: all})
	})
	if err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// watch asks whether the crawl is done, as often as cmd/curtsy does.
func watch(ctx context.Context, q *queue.Conn, spec crawl.Spec) (crawl.Status, error) {
	if err := frontier.WaitReady(ctx, q, spec); err != nil {
		return crawl.Status{}, err
	}
	for {
		st, done, err := frontier.Done(ctx, q, spec)
		switch {
		case ctx.Err() != nil:
			return st, ctx.Err()
		case err == nil && done:
			return st, nil
		case err != nil && !errors.Is(err, ask.ErrIncomplete) && !errors.Is(err, ask.ErrNobody):
			return st, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(150 * time.Millisecond):
		}
	}
}
