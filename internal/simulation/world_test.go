package simulation

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simnet/broker"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

const token = "curtsy"

// world is one run: a web, a broker, the services of a crawl, and what happened.
type world struct {
	t     *testing.T
	seed  uint64
	r     *rand.Rand // used by the goroutine of the test only
	began time.Time
	log   *slog.Logger

	net  *simnet.Net
	web  *simweb.Server
	srv  *embedded.Server
	spec crawl.Spec
	line *broker.Line // the connection of the test itself
	q    *queue.Conn
	dir  string

	natsDir string
	all     []*service

	agents     *rand.Rand // like r, for the agent servers; nil: there are none
	agentHosts []agentHost
	feeds      *feeds            // the feeders and what they send; nil: there are none
	apps       *apps             // nil: no page needs scripts
	rules      *ruleWorld        // nil: there are no site rules
	chains     [][]string        // URLs of pages to which one link leads
	visits     map[string]string // of stored URLs, according to the frontier
	final      crawl.Status
	bound      int64
	checkpoint int64
	one        bool         // everything is in one process, as in `curtsy crawl`
	alone      bool         // fetchers know of no other crawl: only leases keep them apart
	copies     atomic.Int64 // of messages that are still to be sent
	faults     *faults
	exchanges  exchanges
	asked      time.Time      // when the crawl was last asked whether it is done
	agenda     []event        // guarded by faults.mu
	dying      sync.WaitGroup // processes that were killed and have not noticed yet

	mu     sync.Mutex // guards events
	events []string
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{faults: new(faults), visits: map[string]string{}, t: t, seed: seed, r: rand.New(rand.NewPCG(seed, 26)), began: time.Now(), dir: t.TempDir(), log: slog.New(slog.DiscardHandler)}
	if os.Getenv("SIM_LOG") != "" {
		w.log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	w.faults.w = w
	return w
}

// note records an event, for the reader who wants to know why a seed failed.
func (w *world) note(format string, args ...any) {
	line := fmt.Sprintf("%9.3fs ", time.Since(w.began).Seconds()) + fmt.Sprintf(format, args...)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, line)
	if os.Getenv("SIM_LOG") != "" {
		fmt.Fprintln(os.Stderr, "=====", line)
	}
}

// fail reports a broken promise. A mutation is identified by the name of the promise.
func (w *world) fail(promise, format string, args ...any) {
	w.t.Helper()
	w.t.Errorf("PROMISE %s: %s", promise, fmt.Sprintf(format, args...))
}

func (w *world) run() {
	t := w.t
	defer func() {
		if t.Failed() {
			t.Logf("events of seed %d:\n%s", w.seed, strings.Join(w.events, "\n"))
		}
	}()
	defer w.end() // also after a fatal failure: no goroutine may be left
	w.start()
	w.seedCrawl()
	w.plan()
	w.planAgents()
	w.planRules()
	w.planApps()
	w.twice()
	st := w.untilDone()
	w.final = st
	w.note("done: %d discovered, %d stored, %d requests", st.Discovered, st.Stored, len(w.web.Log()))
	w.check(st)
	w.end()
	w.checkStopped()
	if m := st.MobileRobots; m != nil {
		t.Logf("robots: %+v", *m)
	}
}

// start opens the web and the broker, and starts the services.
func (w *world) start() {
	t := w.t
	w.net = simnet.New(simnet.Options{Seed: w.seed, Latency: time.Duration(w.r.IntN(20)) * ms, Jitter: time.Duration(w.r.IntN(20)) * ms})
	cfg, chains := randomWeb(w.r)
	if w.feeds != nil {
		cfg, chains = w.feeds.web(), nil
	}
	w.chains = chains
	if w.agents != nil {
		addAgents(w.agents, &cfg)
		w.agentHosts = agentHosts(&cfg)
	}
	if w.rules != nil {
		w.rules.addPages(&cfg, chains)
	}
	if w.apps != nil {
		w.apps.addTo(&cfg, chains)
	}
	cfg.Listen = w.net.Listen
	for i := range cfg.Hosts {
		b := cfg.Behaviors[i]
		w.note("h%04d: robots %q, crawl-delay %v, latency %v+%v, %v", i, b.Robots, b.CrawlDelay, b.Latency, b.Jitter, b.Features)
	}
	var err error
	if w.web, err = simweb.Start(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.web.Close() })
	w.natsDir = filepath.Join(w.dir, "nats")
	w.srv = broker.StartIn(t, w.natsDir)
	w.line = broker.NewLine(w.srv)
	w.q = w.line.Dial(t, w.srv)
	w.spec = crawl.Spec{
		Name: "sim", Shards: 3 + w.r.IntN(4), Scope: "domain", MaxDepth: -1, HoldMax: 6 * time.Hour, Agent: token, Contact: "test@example.org",
		AllowPrivate: true, Resolve: []string{w.web.Resolve()}, Search: true, Sitemaps: true, Delay: time.Duration(30+w.r.IntN(300)) * ms,
		SendRobots: w.agents != nil,
	}
	if w.apps != nil {
		w.spec.Render = crawl.RenderAuto
	}
	seeds := w.web.Seeds()
	for _, c := range chains {
		seeds = append(seeds, c[0])
	}
	if w.rules != nil {
		seeds = append(seeds, w.rules.seeds...)
		w.spec.Sites = w.rules.last().text()
		for i, v := range w.rules.versions {
			w.note("site rules, file %d:\n%s", i, v.text())
		}
		w.note("the site rules are those of file %d", w.rules.used[0])
	}
	for _, s := range seeds {
		u, err := canon.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		w.spec.Seeds = append(w.spec.Seeds, string(u))
	}
	if w.feeds != nil {
		w.feeds.setUp(&w.spec)
	}
	w.setHours(&w.spec)
	if err := frontier.EnsureStreams(t.Context(), w.q, w.spec, frontier.StreamLimits{Events: 32 << 20, Pages: 64 << 20}); err != nil {
		t.Fatal(err)
	}
	w.checkpoint, w.alone = 1<<(10+w.r.IntN(8)), w.r.IntN(2) == 0
	w.note("%d shards, delay %v, a checkpoint each %d bytes, fetchers alone: %v", w.spec.Shards, w.spec.Delay, w.checkpoint, w.alone)
	if w.one {
		w.add(newService(w, "crawl", 0))
		return
	}
	for i := range 2 + w.r.IntN(2) {
		w.add(newService(w, "frontier", i))
	}
	for i := range 2 + w.r.IntN(2) {
		w.add(newService(w, "fetcher", i))
	}
	for i := range 1 + w.r.IntN(2) {
		w.add(newService(w, "indexer", i))
	}
	if w.feeds != nil {
		w.feeds.start()
	}
}

func (w *world) add(s *service) {
	w.all = append(w.all, s)
	s.start()
}

func (w *world) seedCrawl() {
	t := w.t
	w.patiently("ready", func(ctx context.Context) error { return asker.WaitReady(ctx, w.q, w.spec) })
	var urls []canon.URL
	for _, s := range w.spec.Seeds {
		urls = append(urls, canon.URL(s))
	}
	if err := asker.Seed(t.Context(), w.q, w.spec, urls); err != nil {
		t.Fatal(err)
	}
}

// longest is how long a crawl may take.
const longest = 12 * time.Hour

// patiently tries until do succeeds.
func (w *world) patiently(what string, do func(context.Context) error) {
	w.t.Helper()
	for end := time.Now().Add(10 * time.Minute); ; time.Sleep(time.Second) {
		ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
		err := do(ctx)
		cancel()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			w.fail("ends", "%s: not within ten minutes: %v", what, err)
			w.t.FailNow()
		}
	}
}

// untilDone waits until the crawl reports that it is done.
func (w *world) untilDone() crawl.Status {
	t := w.t
	end := time.Now().Add(longest)
	if w.feeds != nil { // its web is small, and no host of it is slow
		end = time.Now().Add(longest / 72)
	}
	for ; ; time.Sleep(w.step()) {
		if !w.quiet() && time.Since(w.asked) < time.Second {
			continue
		}
		w.asked = time.Now()
		st, done, err := asker.Done(t.Context(), w.q, w.spec)
		if err == nil {
			if st.Discovered > w.most() {
				w.fail("seen-once", "%d URLs are discovered, and the web has %d", st.Discovered, w.most())
				t.FailNow()
			}
			if sum := st.Queued + st.InFlight + st.Stored + st.Redirected + st.Refused + st.Failed; sum != st.Discovered {
				w.fail("sum", "discovered %d, the classes add up to %d: %+v", st.Discovered, sum, st)
			}
		}
		if done && w.quiet() {
			return st
		}
		if done { // planned faults would have nothing to disturb any more
			w.drop()
		}
		if time.Now().After(end) {
			w.fail("ends", "the crawl is not done after %v: %v, %+v", longest, err, st)
			t.FailNow()
		}
	}
}

// expect returns what the web expects, the chains included.
func (w *world) expect() map[string]simweb.Expectation {
	want := w.web.Expect(token)
	for _, c := range w.chains {
		for _, u := range c {
			want[u] = simweb.Expectation{Class: simweb.Stored}
		}
	}
	w.expectRules(want)
	return want
}

// most returns how many URLs can be discovered at most. Not in the expectation are links that lead
// nowhere, a few on some pages.
func (w *world) most() int64 {
	if w.bound == 0 {
		w.bound = 2*int64(len(w.expect())) + 200 + 500*int64(len(w.agentHosts))
	}
	return w.bound
}

// drop removes planned faults that would come after the end of the crawl.
func (w *world) drop() {
	w.faults.mu.Lock()
	defer w.faults.mu.Unlock()
	w.faults.ended = true
}

// over reports whether no more faults come.
func (f *faults) over() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ended
}

// end stops all services in order.
func (w *world) end() {
	w.drop()
	for i := len(w.all) - 1; i >= 0; i-- {
		w.all[i].stop()
	}
	w.dying.Wait()
}

// copyDir copies the files of a directory.
func copyDir(from, to string) error {
	return filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		at := filepath.Join(to, rel)
		if d.IsDir() {
			return os.MkdirAll(at, 0o700)
		}
		in, err := os.Open(path)
		if os.IsNotExist(err) {
			return nil // it was there a moment before
		}
		if err != nil {
			return err
		}
		defer in.Close()
		out, err := os.Create(at)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, in)
		if cerr := out.Close(); err == nil {
			err = cerr
		}
		return err
	})
}
