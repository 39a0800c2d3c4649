package simulation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/frontier"
	"github.com/curtsy/curtsy/internal/indexer"
	"github.com/curtsy/curtsy/internal/simnet"
)

// oneProcess are the faults of a crawl in one process, in place of those of many: its NATS server
// is a part of it, so that it is never cut off from the server, and it never loses its files alone.
var oneProcess = [20]int{0, 1, 2, 3, 0, 5, 6, 7, 1, 2, 10, 7, 0, 1, 2, 15, 16, 17, 18, 3}

// TestOneProcess is TestSimulation for a crawl with everything in one process, as `curtsy crawl`
// runs it: pages are taken over from the fetcher by the indexer, and do not travel through NATS.
func TestOneProcess(t *testing.T) {
	for _, seed := range seedsOf(t, []uint64{21}, 10, 3) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			simnet.Test(t, func(t *testing.T) {
				w := newWorld(t, seed)
				w.one = true
				w.run()
			})
		})
	}
}

// makeCrawl makes frontier, fetcher and indexer as package engine does.
func (l *life) makeCrawl(log *slog.Logger) (run func(context.Context) error, err error) {
	w := l.s.w
	lines, err := os.OpenFile(filepath.Join(l.dir, "crawl.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	w.t.Cleanup(func() { lines.Close() })
	fr, err := frontier.New(l.q, w.spec, frontier.Options{Dir: l.dir, Instance: l.name, Log: log, CrawlLog: lines, Embedded: true, Fault: l.fault})
	if err != nil {
		return nil, err
	}
	x, err := indexer.New(l.q, w.spec, indexer.Options{Dir: l.dir, Instance: l.name, Search: true, Log: log, Embedded: true, IntakeFile: 4 << 10, Fault: l.fault})
	if err != nil {
		return nil, err
	}
	fe, err := fetcher.New(l.q, w.spec, fetcher.Options{Name: fmt.Sprintf("%s-%d", l.name, l.n), Log: log, Slots: 8, Dial: l.dial, Fault: l.fault, Alone: true,
		Robot: w.robot(), SendPages: x.TakePages, Renderer: l.renderer(), Renders: 3})
	if err != nil {
		return nil, err
	}
	l.fetcher = fe
	l.setSpec = func(spec crawl.Spec) error { return errors.Join(fe.SetSpec(spec), fr.SetSpec(spec), x.SetSpec(spec)) }
	return func(ctx context.Context) error {
		services, stop := context.WithCancel(context.WithoutCancel(ctx))
		defer stop()
		g, services := errgroup.WithContext(services)
		g.Go(func() error { return fr.Run(services) })
		g.Go(func() error { return x.Run(services) })
		fetching, stopFetching := context.WithCancel(services)
		defer stopFetching()
		unhook := context.AfterFunc(ctx, stopFetching)
		defer unhook()
		g.Go(func() error {
			defer stop() // the fetcher ends first
			return fe.Run(fetching)
		})
		return g.Wait()
	}, nil
}
