package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/feed"
	"github.com/curtsy/curtsy/internal/feed/sinks"
	"github.com/curtsy/curtsy/internal/service"
)

// feeds are the feeds of a crawl that runs in this process (crawl --feed).
type feeds struct {
	sinks []feed.Sink
	names []string

	feeders []*feed.Feeder
	lags    []*lag // of each sink
	errs    []error
	stop    context.CancelFunc
	running sync.WaitGroup
}

// openFeeds opens the sinks of --feed, without connecting to them.
func openFeeds(cfg *config.Crawl) (*feeds, error) {
	f := &feeds{stop: func() {}}
	seen := map[string]bool{}
	for _, raw := range cfg.Feed {
		sink, name, err := sinks.Open(raw, cfg.FeedSecrets.Sinks())
		if err == nil && seen[name] {
			err = errors.Join(sink.Close(), fmt.Errorf("%s is given twice; give each sink once", name))
		}
		if err != nil {
			return nil, errors.Join(app.Usage("--feed: %w", err), f.close())
		}
		f.sinks, f.names, seen[name] = append(f.sinks, sink), append(f.names, name), true
		f.lags = append(f.lags, &lag{name: name})
	}
	return f, nil
}

// start sends what is stored from now on.
func (f *feeds) start(ctx context.Context, c *asker.Crawl, dir string, reg prometheus.Registerer, log *slog.Logger) error {
	if len(f.sinks) == 0 {
		return nil
	}
	metrics, err := feed.NewMetrics(reg)
	if err != nil {
		return err
	}
	memory := feed.NewMemory()
	for i, sink := range f.sinks {
		one, err := feed.New(c, c.Spec, sink, feed.Options{Name: f.names[i], Every: time.Second, Dead: feed.DeadFile(dir, f.names[i]), Memory: memory,
			Log: log, Events: f.lags[i].events(metrics.Events(f.names[i]))})
		if err != nil {
			return err
		}
		f.feeders = append(f.feeders, one)
	}
	ctx, f.stop = context.WithCancel(ctx)
	f.errs = make([]error, len(f.feeders))
	for i, one := range f.feeders {
		f.running.Go(func() { f.errs[i] = one.Run(ctx) })
	}
	f.running.Go(func() {
		err := service.WatchSpec(ctx, c.Bucket, c.Spec, func(spec crawl.Spec) {
			for _, one := range f.feeders {
				if err := one.SetSpec(spec); err != nil {
					log.Error("the changed settings cannot be applied to a feed", "err", err)
				}
			}
		})
		if err != nil {
			log.Error("feeds do not see changed settings", "err", err)
		}
	})
	return nil
}

// finish waits until the sinks have everything, or until ctx ends. It returns what is wrong with
// each sink that has not.
func (f *feeds) finish(ctx context.Context) (failed []error) {
	if len(f.feeders) == 0 {
		return nil
	}
	var sent sync.WaitGroup
	for _, one := range f.feeders {
		one.Finish()
		sent.Go(func() { <-one.Ended() })
	}
	sent.Wait()
	f.stop()
	f.running.Wait()
	if ctx.Err() != nil {
		return nil // the next run goes on
	}
	for i, err := range f.errs {
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", f.names[i], err))
		}
	}
	return failed
}

// close closes the sinks.
func (f *feeds) close() error {
	f.stop()
	f.running.Wait()
	var errs []error
	for _, s := range f.sinks {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
