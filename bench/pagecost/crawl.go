package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/curtsy/curtsy/bench/command"
	"github.com/curtsy/curtsy/bench/crawling"
	"github.com/curtsy/curtsy/bench/site"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
)

// round is one measured crawl.
type round struct {
	usage
	pages  int64 // fetched and, unless discarded, stored
	links  int64 // offered to the frontier: in scope, new in their visit
	visits int64
	sent   sent
	server time.Duration // CPU time of the server of the site
	costs  costs
	memory command.Memory
	tenths [10]tenth
}

// sent is what the streams received.
type sent struct {
	events, pages int64 // messages
	bytes         int64 // of events, with the overhead of the broker
}

// oneRound crawls the whole site into a new directory, and measures from opening to closing it.
func oneRound(ctx context.Context, s settings, parent string) (r round, err error) {
	web, err := site.Start(ctx, site.Options{Hosts: s.hosts, PagesPerHost: s.pages / s.hosts, Cross: s.cross, Latency: s.latency, HasUsage: s.says})
	if err != nil {
		return r, err
	}
	defer func() {
		cpu, _, stopped := web.Stop()
		r.server, err = cpu, errors.Join(err, stopped)
	}()
	dir, err := os.MkdirTemp(parent, "data-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeoutCause(ctx, s.limit, fmt.Errorf("not done after %v", s.limit))
	defer cancel()
	reg := metrics{prometheus.NewRegistry()}
	log := slog.New(slog.DiscardHandler)
	if s.verbose {
		log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	warcs := ""
	if s.warc {
		warcs = filepath.Join(dir, "warc")
	}
	var status crawl.Status
	seen := progress{{0, ownCPU(), web.CPU()}}
	r.usage, err = profiled(func() (err error) {
		r.memory, err = watched(func() (err error) {
			status, err = crawling.Run(ctx, crawling.Options{
				Site: web.Info, Dir: dir, Shards: s.shards, Slots: s.slots, Delay: s.delay, Search: s.search, Discard: s.store == "discard", WARC: warcs,
				Log: log, Registry: reg, Seen: func(st crawl.Status) { seen.add(st.Stored, ownCPU(), web.CPU()) },
				Done: func(ctx context.Context, c *asker.Crawl) (err error) {
					r.sent, err = count(ctx, c)
					return err
				},
			})
			return err
		})
		return err
	})
	if err != nil {
		return r, errors.Join(err, context.Cause(ctx))
	}
	if r.pages, err = reg.fetched(); err != nil {
		return r, err
	}
	if r.pages != int64(web.Pages) || status.Stored != r.pages {
		return r, fmt.Errorf("the site has %d pages; %d were fetched, and the crawl counts %+v", web.Pages, r.pages, status)
	}
	r.links, r.visits = reg.counter("curtsy_frontier_links_total"), reg.counter("curtsy_frontier_visits_total")
	r.costs, r.tenths = costsOf(r.profile), seen.tenths(r.pages)
	return r, nil
}

// count returns what the streams of a crawl received. Events that were purged are assumed to be as
// large on average as the remaining ones.
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
