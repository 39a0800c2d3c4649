package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/curtsy/curtsy/bench/command"
	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/engine"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/pkg/canon"
)

// round is one crawl, measured.
type round struct {
	usage
	pages  int64 // fetched and, unless discarded, stored
	links  int64 // offered to the frontier: in scope, new in their visit
	visits int64
	sent   sent
	server time.Duration // CPU of the site's server
	costs  costs
	memory command.Memory
}

// sent is what streams took in.
type sent struct {
	events, pages int64 // messages
	bytes         int64 // of events, with what the broker adds to each
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
	r.usage, err = profiled(func() (err error) {
		r.memory, err = watched(func() error { return c.run(ctx) })
		return err
	})
	if err != nil {
		return r, errors.Join(err, context.Cause(ctx))
	}
	if r.pages, err = c.fetched(); err != nil {
		return r, err
	}
	if r.pages != int64(web.Pages) || c.status.Stored != r.pages {
		return r, fmt.Errorf("the site has %d pages; %d were fetched, and the crawl counts %+v", web.Pages, r.pages, c.status)
	}
	r.sent = c.sent
	r.links, r.visits = c.counter("curtsy_frontier_links_total"), c.counter("curtsy_frontier_visits_total")
	r.costs = costsOf(r.profile)
	return r, nil
}

// crawling is a crawl in one process.
type crawling struct {
	s      settings
	web    *site
	dir    string
	log    *slog.Logger
	reg    *prometheus.Registry
	status crawl.Status
	sent   sent
}

// spec is a crawl without a delay: the hosts are listed as the operator's own, or the frontier,
// which cannot know yet that their address is private, would have the first visit to each wait a
// second between its requests.
func (c *crawling) spec() (crawl.Spec, []canon.URL, error) {
	spec := crawl.Spec{
		Name: "default", Shards: c.s.shards, Created: time.Now(), Scope: "domain", MaxDepth: -1, HoldMax: 10 * time.Second, Delay: c.s.delay,
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
	spec, seeds, err := c.spec()
	if err != nil {
		return err
	}
	discard := c.s.store == "discard"
	e, err := engine.Open(ctx, engine.Options{
		Dir: c.dir, Instance: "pagecost", Plan: func(*crawl.Spec) (crawl.Spec, error) { return spec, nil }, Seeds: seeds,
		Fetcher: fetcher.Options{Hands: c.s.hands, DiscardPages: discard}, NotIndexed: discard, Version: "0.0.0", Log: c.log, Registry: c.reg,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	return e.Run(ctx, func(ctx context.Context, _ crawl.Status) (err error) {
		if c.status, err = watch(ctx, e.Crawl()); err == nil {
			c.sent, err = count(ctx, e.Crawl())
		}
		return err
	})
}

// watch asks whether the crawl is done, as often as cmd/curtsy does.
func watch(ctx context.Context, c *asker.Crawl) (crawl.Status, error) {
	for {
		st, done, err := asker.Done(ctx, c.Queue, c.Spec)
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

// count says what the streams of a crawl took in. Of events that were purged meanwhile, the bytes
// are taken to be as many as of those that are left.
func count(ctx context.Context, c *asker.Crawl) (n sent, err error) {
	names := crawl.Names(c.Spec.Name)
	for i := range c.Spec.Shards {
		s, err := c.Queue.JS.Stream(ctx, names.EventsStream(i))
		if err != nil {
			return n, err
		}
		st := s.CachedInfo().State
		n.events += int64(st.LastSeq)
		if st.Msgs > 0 {
			n.bytes += int64(float64(st.Bytes) * float64(st.LastSeq) / float64(st.Msgs))
		}
	}
	s, err := c.Queue.JS.Stream(ctx, names.PagesStream())
	if err == nil {
		n.pages = int64(s.CachedInfo().State.LastSeq)
	}
	return n, err
}
