// Package crawling runs a crawl of the site in one process, with the real services, for the
// programs that measure it.
package crawling

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/curtsy/curtsy/bench/site"
	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/engine"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Options define what is crawled, and how.
type Options struct {
	Site          site.Info
	Dir           string // the data directory
	Shards, Slots int
	Delay         time.Duration
	Search        bool
	Discard       bool   // pages are read for links and discarded
	WARC          string // the directory of the archive; "": none

	Log      *slog.Logger          `json:"-"` // nil: silent
	Registry prometheus.Registerer `json:"-"` // nil: no metrics
	// Seen is called with each status, unless it is nil.
	Seen func(crawl.Status) `json:"-"`
	// Done is called before the crawl is closed, unless it is nil.
	Done func(context.Context, *asker.Crawl) error `json:"-"`
}

// spec makes a crawl without a delay. The hosts are listed as the operator's own, because otherwise
// the frontier, which cannot know yet that their address is private, would use a delay of a second
// in the first visit to each.
func (o *Options) spec() (crawl.Spec, []canon.URL, error) {
	spec := crawl.Spec{
		Name: "default", Shards: o.Shards, Created: time.Now(), Scope: "domain", MaxDepth: -1, HoldMax: 10 * time.Second, Delay: o.Delay,
		Agent: "curtsy", AllowPrivate: true, Hurry: o.Site.Hosts, Resolve: []string{o.Site.Resolve}, Search: o.Search, WARC: o.WARC,
	}
	var seeds []canon.URL
	for _, raw := range o.Site.Seeds {
		u, err := canon.Parse(raw)
		if err != nil {
			return spec, nil, err
		}
		seeds, spec.Seeds = append(seeds, u), append(spec.Seeds, string(u))
	}
	return spec, seeds, nil
}

// Run crawls until nothing is left to do, and closes everything.
func Run(ctx context.Context, o Options) (last crawl.Status, err error) {
	spec, seeds, err := o.spec()
	if err != nil {
		return last, err
	}
	e, err := engine.Open(ctx, engine.Options{
		Dir: o.Dir, Instance: "bench", Plan: func(*crawl.Spec) (crawl.Spec, error) { return spec, nil }, Seeds: seeds,
		Fetcher: fetcher.Options{Slots: o.Slots, DiscardPages: o.Discard}, NotIndexed: o.Discard, Version: "0.0.0", Log: o.Log, Registry: o.Registry,
	})
	if err != nil {
		return last, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	err = e.Run(ctx, func(ctx context.Context, _ crawl.Status) (err error) {
		if last, err = Watch(ctx, e.Crawl(), o.Seen); err == nil && o.Done != nil {
			err = o.Done(ctx, e.Crawl())
		}
		return err
	})
	return last, err
}

// Watch asks whether the crawl is done, as often as cmd/curtsy does, until it is.
func Watch(ctx context.Context, c *asker.Crawl, seen func(crawl.Status)) (crawl.Status, error) {
	for {
		st, done, err := asker.Done(ctx, c.Queue, c.Spec)
		if err == nil && seen != nil {
			seen(st)
		}
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
