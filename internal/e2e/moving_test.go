package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/frontier"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simnet/broker"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/pkg/queue"
)

// term is how long a frontier may act for a shard after it has renewed its ownership.
const term = 3 * time.Second

// field is a crawl whose services come and go, like daemons: each has its own directory and
// connection.
type field struct {
	*rig
	reg *prometheus.Registry
}

func newField(t *testing.T, net *simnet.Net, spec crawl.Spec) *field {
	t.Helper()
	f := &field{rig: &rig{t: t, net: net, spec: spec}, reg: prometheus.NewRegistry()}
	f.serveNATS(t.TempDir())
	if err := frontier.EnsureStreams(t.Context(), f.q, spec, frontier.StreamLimits{Events: 32 << 20, Pages: 64 << 20}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	g, gctx := errgroup.WithContext(ctx)
	f.sink(g, gctx)
	f.nothingWaits()
	t.Cleanup(func() {
		cancel()
		if err := g.Wait(); err != nil {
			t.Errorf("sink: %v", err)
		}
	})
	return f
}

// nothingWaits answers in place of an indexer: the sink keeps no page waiting.
func (f *field) nothingWaits() {
	names := crawl.Names(f.spec.Name)
	svc, err := ask.NewService(f.q.NC, names, "indexer", "sink", "1.0.0")
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { svc.Stop() })
	all := make([]int, f.spec.Shards)
	for i := range all {
		all[i] = i
	}
	err = svc.Handle("indexer-status", func() []int { return all }, func(_ context.Context, _ []byte, send func(any) error) error {
		return send(crawl.IndexerStatus{Shards: all})
	})
	if err != nil {
		f.t.Fatal(err)
	}
}

// run runs a service until stop is called, which waits for its end.
func (f *field) run(name string, run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			f.t.Errorf("%s: %v", name, err)
		}
	}
	f.t.Cleanup(stop)
	return stop
}

// frontier starts a frontier. kill cuts it off from NATS permanently before it ends, so that it
// hands nothing over.
func (f *field) frontier(name string) (dir string, stop, kill func()) {
	f.t.Helper()
	dir = f.t.TempDir()
	q := broker.Dial(f.t, f.srv)
	lines, err := os.OpenFile(filepath.Join(dir, "crawl.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { lines.Close() })
	fr, err := frontier.New(q, f.spec, frontier.Options{
		Dir: dir, Instance: name, Log: logger(f.t).With("frontier", name), CrawlLog: lines, Term: term, Checkpoint: 32 << 10,
		Registry: prometheus.WrapRegistererWith(prometheus.Labels{"frontier": name}, f.reg),
	})
	if err != nil {
		f.t.Fatal(err)
	}
	killed := false
	stop = f.run(name, func(ctx context.Context) error {
		err := fr.Run(ctx)
		if killed {
			return nil
		}
		return err
	})
	return dir, stop, func() { killed = true; q.NC.Close(); stop() }
}

func (f *field) fetcher(name string) (stop func()) {
	f.t.Helper()
	fe, err := fetcher.New(broker.Dial(f.t, f.srv), f.spec, fetcher.Options{Name: name, Dial: f.dial, Log: logger(f.t).With("fetcher", name)})
	if err != nil {
		f.t.Fatal(err)
	}
	stop = f.run(name, fe.Run)
	f.t.Cleanup(func() {
		stop()
		if n := fe.Violations(); n != 0 {
			f.t.Errorf("%s: %d requests were stopped at the last moment for being impolite", name, n)
		}
	})
	return stop
}

// ended waits until the crawl is done. While a shard moves, no frontier answers for it.
func (f *field) ended(limit time.Duration) (st crawl.Status) {
	f.t.Helper()
	f.within(limit, "the crawl is done", func() bool {
		var done bool
		var err error
		st, done, err = asker.Done(f.t.Context(), f.q, f.spec)
		if err != nil && !errors.Is(err, ask.ErrIncomplete) && !errors.Is(err, ask.ErrNobody) && !queue.Unanswered(err) {
			f.t.Fatal(err)
		}
		return err == nil && done
	})
	f.adds(st)
	return st
}

// count returns the sum of a counter over all frontiers.
func (f *field) count(name, label, value string) (sum float64) {
	f.t.Helper()
	all, err := f.reg.Gather()
	if err != nil {
		f.t.Fatal(err)
	}
	for _, mf := range all {
		if mf.GetName() != name {
			continue
		}
		for _, m := range mf.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == label && l.GetValue() == value {
					sum += m.GetCounter().GetValue()
				}
			}
		}
	}
	return sum
}

// TestFrontiersAreAddedAndRemoved scales the frontiers from one to three and back during a crawl:
// every move is orderly, none makes a host wait for a lease, the web sees no request too early, and
// every URL has its expected outcome.
func TestFrontiersAreAddedAndRemoved(t *testing.T) { simnet.Test(t, testFrontiersAreAddedAndRemoved) }

func testFrontiersAreAddedAndRemoved(t *testing.T) {
	web := serve(t, simweb.Mixed(24, 8))
	spec := specFor(web)
	spec.Shards, spec.Delay = 8, 400*time.Millisecond
	f := newField(t, web.net, spec)
	_, stop1, _ := f.frontier("f1")
	if err := asker.WaitReady(t.Context(), f.q, spec); err != nil {
		t.Fatal(err)
	}
	f.fetcher("x1")
	f.fetcher("x2")
	f.seed()
	time.Sleep(time.Second)
	_, stop2, _ := f.frontier("f2")
	time.Sleep(300 * time.Millisecond)
	f.dir, f.rig.stop, _ = f.frontier("f3")
	time.Sleep(time.Second)
	stop1()
	time.Sleep(500 * time.Millisecond)
	stop2()
	st := f.ended(5 * time.Minute)
	if n := f.count("curtsy_frontier_shards_taken_total", "owed", "lease"); n != 0 {
		t.Errorf("%v shards were taken unclean", n)
	}
	moves := f.count("curtsy_frontier_shards_taken_total", "owed", "clean")
	if moves < 8+4 {
		t.Errorf("only %v shards were taken: nothing moved", moves)
	}
	f.rig.stop()
	polite(t, web, spec.Delay)
	judge(t, f.rig, web)
	seen := map[string]int{}
	for _, r := range web.Log() {
		seen[fmt.Sprint(r.Host, r.Path)]++
	}
	t.Logf("%d requests for %d resources, %v shards taken, %+v", len(web.Log()), len(seen), moves, st)
}

// TestFrontierLostWithItsDisk kills one of two frontiers and deletes its directory in the middle
// of a crawl: the other one continues from checkpoints and logs as soon as every visit that it
// cannot know has ended, and the counts are the same as without the kill.
func TestFrontierLostWithItsDisk(t *testing.T) { simnet.Test(t, testFrontierLostWithItsDisk) }

func testFrontierLostWithItsDisk(t *testing.T) {
	web := serve(t, simweb.Mixed(24, 8))
	spec := specFor(web)
	spec.Shards, spec.Delay = 8, 400*time.Millisecond
	f := newField(t, web.net, spec)
	dir, _, kill := f.frontier("f1")
	f.dir, f.rig.stop, _ = f.frontier("f2")
	if err := asker.WaitReady(t.Context(), f.q, spec); err != nil {
		t.Fatal(err)
	}
	f.fetcher("x1")
	f.fetcher("x2")
	f.seed()
	time.Sleep(3 * time.Second)
	kill()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	st := f.ended(5 * time.Minute)
	if n := f.count("curtsy_frontier_shards_taken_total", "owed", "lease"); n == 0 {
		t.Error("no shard was taken over: the test shows nothing")
	}
	f.rig.stop()
	polite(t, web, spec.Delay)
	judge(t, f.rig, web)
	seen, again := map[string]int{}, 0
	for _, r := range web.Log() {
		if seen[fmt.Sprint(r.Host, r.Path)]++; seen[fmt.Sprint(r.Host, r.Path)] > 1 {
			again++
		}
	}
	if again > 24 { // at most one visit to each host of the killed one
		t.Errorf("%d requests were made again", again)
	}
	t.Logf("%d requests, %d again, %+v", len(web.Log()), again, st)
}
