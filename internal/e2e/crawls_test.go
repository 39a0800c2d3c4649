package e2e

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/engine"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/frontier"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simnet/broker"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/simweb/requestlog"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
)

// pair is two crawls of the same hosts, named one and two, each with its own frontier and fetcher.
type pair struct {
	*rig
	web   *website
	delay time.Duration
	specs map[string]crawl.Spec
	lines map[string]*broker.Line // of the fetchers
	stops map[string]func()       // of the fetchers
	dead  map[string]bool         // whose fetchers were killed
	stuck map[string]*atomic.Bool // whose fetchers cannot open connections to the web
}

// newPair starts both crawls. Their fetchers are in one process if together is true, else in two
// that do not know about each other.
func newPair(t *testing.T, web *website, delay time.Duration, together bool) *pair {
	t.Helper()
	c := &pair{rig: &rig{t: t, net: web.net}, web: web, delay: delay, specs: map[string]crawl.Spec{}, lines: map[string]*broker.Line{}, stops: map[string]func(){}, dead: map[string]bool{}, stuck: map[string]*atomic.Bool{}}
	c.serveNATS(t.TempDir())
	var shared *fetcher.Shared
	if together {
		var err error
		if shared, err = fetcher.NewShared(fetcher.Options{Slots: 4, Log: logger(t), Dial: c.dial}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"one", "two"} {
		spec := specFor(web)
		spec.Name, spec.Delay, spec.Contact = name, delay, name+"@example.org"
		c.specs[name] = spec
		var seeds []canon.URL
		for _, s := range spec.Seeds {
			seeds = append(seeds, canon.URL(s))
		}
		e, err := engine.Open(t.Context(), engine.Options{
			Dir: t.TempDir(), NATS: queue.Options{InProcess: c.srv.InProcess(), User: c.srv.User(), Password: c.srv.Password()}, Crawl: name,
			Plan: func(*crawl.Spec) (crawl.Spec, error) { return spec, nil }, Seeds: seeds,
			StreamLimits: frontier.StreamLimits{Events: 32 << 20, Pages: 64 << 20}, NotIndexed: true, NotFetched: true, Log: logger(t),
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		c.run(t, func(ctx context.Context) error { return e.Run(ctx, nil) })
		stuck := new(atomic.Bool)
		dial := func(_ context.Context, network, address string) (net.Conn, error) {
			for stuck.Load() {
				time.Sleep(step)
			}
			return c.dial(t.Context(), network, address)
		}
		c.stuck[name] = stuck
		line := broker.NewLine(c.srv)
		f, err := fetcher.New(line.Dial(t, c.srv), spec, fetcher.Options{Name: "for-" + name, Shared: shared, Slots: 4, DiscardPages: true, Dial: dial, Log: logger(t)})
		if err != nil {
			t.Fatal(err)
		}
		stop := c.run(t, func(ctx context.Context) error {
			if err := f.Run(ctx); !c.dead[name] {
				return err
			}
			return nil
		})
		c.lines[name] = line
		c.stops[name] = func() {
			stop()
			if n := f.Violations(); n != 0 {
				t.Errorf("%d requests of crawl %s were stopped at the last moment", n, name)
			}
		}
	}
	return c
}

// kill ends a fetcher without letting it publish anything.
func (c *pair) kill(name string) {
	c.dead[name] = true
	c.lines[name].Cut(true)
	c.stops[name]()
}

// run runs a service until stop is called, which waits for its end.
func (c *pair) run(t *testing.T, run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// asked returns how many requests a crawl has sent so far.
func (c *pair) asked(name string) (n int) {
	for _, r := range c.web.Log() {
		if strings.Contains(r.UserAgent, name+"@") {
			n++
		}
	}
	return n
}

// polite checks that both crawls together are as polite as one.
func (c *pair) polite() {
	c.t.Helper()
	politeLog(c.t, c.web.Log(), requestlog.CheckOptions{Delay: requestlog.Every(c.delay), RobotsMaxAge: time.Hour})
}

// Two crawls of the same hosts, each with its own frontier, whose fetchers are in one process, or
// in two that do not know about each other: the sites see one crawler that sends one request at a
// time and pauses after each.
func TestCrawlsOfTheSameHosts(t *testing.T) {
	for name, together := range map[string]bool{"OneFetcher": true, "TwoFetchers": false} {
		t.Run(name, func(t *testing.T) {
			simnet.Test(t, func(t *testing.T) { testCrawlsOfTheSameHosts(t, together) })
		})
	}
}

func testCrawlsOfTheSameHosts(t *testing.T, together bool) {
	const pages = 12
	web := serve(t, simweb.Config{Seed: 11, Hosts: 3, PagesPerHost: pages, LinksPerPage: 30, CrossLinks: 3, Mix: func(int) simweb.Behavior {
		return simweb.Behavior{Robots: simweb.RobotsAllowAll, Latency: 20 * time.Millisecond}
	}})
	c := newPair(t, web, 40*time.Millisecond, together)
	c.until("both crawls are done", func() bool {
		for _, spec := range c.specs {
			// At first no service answers for the crawl.
			if st, ok, err := asker.Done(t.Context(), c.q, spec); err != nil || !ok || st.Stored != 3*pages {
				return false
			}
		}
		return true
	})
	c.stops["one"]()
	c.stops["two"]()
	if n := len(web.Log()); n < 2*3*pages || c.asked("one")+c.asked("two") != n {
		t.Errorf("%d requests, %d of crawl one and %d of crawl two", n, c.asked("one"), c.asked("two"))
	}
	c.polite()
}

// Two crawls of one host, with fetchers in two processes. One fetcher is stopped and cut off from
// NATS during a visit, resumes when the other one visits the host, and is killed in the end. The
// site sees one visitor at a time, and the crawl of the other fetcher continues.
func TestCrawlsWhoseFetchersAreCutOff(t *testing.T) { simnet.Test(t, testCrawlsWhoseFetchersAreCutOff) }

func testCrawlsWhoseFetchersAreCutOff(t *testing.T) {
	web := serve(t, simweb.Config{Seed: 17, Hosts: 1, PagesPerHost: 2000, PageBytes: 1 << 10, LinksPerPage: 60, Mix: func(int) simweb.Behavior {
		return simweb.Behavior{Robots: simweb.RobotsAllowAll, Latency: 5 * time.Millisecond}
	}})
	c := newPair(t, web, 30*time.Millisecond, false)
	// amid waits until crawl one is in the middle of a visit.
	amid := func() {
		t.Helper()
		c.until("crawl one is at the host", func() bool {
			log := web.Log()
			n := len(log)
			return n >= 3 && !slices.ContainsFunc(log[n-3:], func(r requestlog.Request) bool { return !strings.Contains(r.UserAgent, "one@") })
		})
	}
	more := func(name string, n int) time.Duration {
		t.Helper()
		began, want := time.Now(), c.asked(name)+n
		c.until("crawl "+name+" goes on", func() bool { return c.asked(name) >= want })
		return time.Since(began)
	}
	more("one", 20)
	more("two", 20)
	amid()
	c.lines["one"].Cut(true)
	// Like a process that is stopped between its last check of the clock and its request.
	c.stuck["one"].Store(true)
	web.net.Reset(web.Addr())
	t.Logf("the host was free %v after its visitor was stopped", more("two", 3))
	c.lines["one"].Cut(false)
	c.stuck["one"].Store(false)
	t.Logf("the one that was stopped had 20 requests %v later", more("one", 20))
	amid()
	c.kill("one")
	t.Logf("the one that is left had 20 requests %v after its neighbour died", more("two", 20))
	c.stops["two"]()
	c.polite()
}
