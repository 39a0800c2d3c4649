//go:build external

package deploytest

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/simweb/requestlog"
	"github.com/curtsy/curtsy/internal/testaid"
	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/nats-io/nats.go"
)

const (
	faultDelay   = 100 * time.Millisecond
	faultyShards = 4
)

// account compares the outcomes of the URLs of a web, after a crawl has finished, with what the web
// expects, and checks its log against the promises. It returns how many requests were repeated.
func account(t *testing.T, srv *simweb.Server, st crawl.Status, pages map[string]string,
	classes func(map[string]simweb.Expectation) map[string]simweb.Class, delay time.Duration) (again int) {
	t.Helper()
	if st.Queued != 0 || st.InFlight != 0 || int(st.Stored) != len(pages) {
		t.Errorf("done with %d queued, %d in flight, %d stored; there are %d pages", st.Queued, st.InFlight, st.Stored, len(pages))
	}
	got := classes(srv.Expect("curtsy"))
	for u := range pages {
		got[u] = simweb.Stored
	}
	diff := srv.Diff("curtsy", got)
	for _, line := range diff[:min(len(diff), 20)] {
		t.Error(line)
	}
	if len(diff) > 20 {
		t.Errorf("%d URLs are not what they should be", len(diff))
	}
	for class, n := range map[simweb.Class]int64{
		simweb.Stored: st.Stored, simweb.Redirected: st.Redirected, simweb.Refused: st.Refused, simweb.Failed: st.Failed,
	} {
		if is := count(got, class); is != n {
			t.Errorf("status counts %d %s, of the URLs the web has it is %d", n, class, is)
		}
	}
	log := srv.Log()
	bad := requestlog.Check(log, requestlog.CheckOptions{Delay: requestlog.Every(delay), Token: "curtsy"})
	for _, v := range bad[:min(len(bad), 10)] {
		t.Error(v)
	}
	asked := map[string]bool{}
	for _, r := range log {
		if u := r.Origin + r.Path; !r.Robots {
			if asked[u] {
				again++
			}
			asked[u] = true
		}
	}
	t.Logf("%d pages of %d URLs by %d requests, %d of them repeated; %d violations", len(pages), st.Discovered, len(log), again, len(bad))
	return again
}

// faulty is a crawl with one daemon of each kind and one NATS server, all of which may be killed.
type faulty struct {
	*rig
	srv      *simweb.Server
	store    string // of the NATS server
	frontier *member
	indexer  *member
}

// faultyOptions are the differences from the usual set-up.
type faultyOptions struct {
	dir     string                // of all files; "": a temporary one
	limits  frontier.StreamLimits // that streams reserve; zero: the default
	indexer []string              // more arguments
}

// newFaulty serves a web and starts everything.
func newFaulty(t *testing.T, cfg simweb.Config, o faultyOptions) *faulty {
	t.Helper()
	dir := cmp.Or(o.dir, t.TempDir())
	srv, err := simweb.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close() })
	f := &faulty{srv: srv, rig: &rig{t: t, crawl: "docs", dir: dir, ports: []natsPorts{{clients: freePort(t)}}}}
	f.store = filepath.Join(dir, "nats", "store")
	t.Cleanup(f.rig.stop)
	m := &member{t: t, role: roleNATS, name: "nats", dir: filepath.Join(dir, "nats"), bin: "nats-server"}
	m.args = []string{"-a", "127.0.0.1", "-p", fmt.Sprint(f.ports[0].clients), "-js", "-sd", f.store}
	f.nats = []*member{m}
	m.start()
	if o.limits != (frontier.StreamLimits{}) {
		f.reserve(o.limits)
	}
	single := []string{"--nats-replicas", "1"} // the last of repeated flags counts
	f.frontier = f.add(roleFrontier, single...)
	f.add(roleFetcher, single...)
	f.indexer = f.add(roleIndexer, slices.Concat(single, o.indexer)...)
	testaid.Until(t, "the frontier waits for the crawl", func() bool { return strings.Contains(f.log(f.frontier), "waiting for the crawl") })
	f.create("--nats-replicas", "1", "--shards", fmt.Sprint(faultyShards), "--allow-private", "--resolve", srv.Resolve(), "--delay", faultDelay.String(),
		"--contact", contact, "--hold-max", "1m", "--search=false", srv.Seeds()[0])
	return f
}

// reserve creates the streams of the crawl with these limits, which they keep afterwards.
func (f *faulty) reserve(limits frontier.StreamLimits) {
	f.t.Helper()
	var err error
	testaid.Until(f.t, "the streams are created", func() bool {
		ctx, cancel := attempt(f.t)
		defer cancel()
		var q *queue.Conn
		if q, err = queue.Dial(ctx, queue.Options{URL: f.at()[1]}, slog.New(slog.DiscardHandler)); err == nil {
			defer q.Close()
			err = frontier.EnsureStreams(ctx, q, crawl.Spec{Name: f.crawl, Shards: faultyShards}, limits)
		}
		return err == nil
	}, func() string { return err.Error() })
}

// log returns the output of a member so far.
func (f *faulty) log(m *member) string {
	text, err := os.ReadFile(m.dir + ".log")
	if err != nil {
		f.t.Fatal(err)
	}
	return string(text)
}

// finish waits for the end of the crawl, and checks its results.
func (f *faulty) finish() (again int) {
	f.t.Helper()
	f.done()
	f.checkRunning()
	return account(f.t, f.srv, status(f.t, f.at()...), storedPages(f.t, f.at()...), f.classesOf, faultDelay)
}

// plainWeb is a web of hosts each of which takes about faultDelay times the number of its pages.
func plainWeb(hosts, pages int) simweb.Config {
	return simweb.Config{Hosts: hosts, PagesPerHost: pages, CrossLinks: 3, PageSpread: 0.5, Mix: func(i int) simweb.Behavior {
		return simweb.Behavior{Robots: []simweb.Robots{simweb.RobotsAllowAll, simweb.RobotsSubtree, simweb.RobotsNone}[i%3]}
	}}
}

// As soon as an outcome is in the log, the host may be granted again, with its delay counted from
// the end that the outcome states. A frontier that is killed at this moment restarts with visits
// that it does not know: it must wait for all of them.
func TestExternalKillBetweenOutcomeAndGrant(t *testing.T) {
	t.Parallel()
	const pages = 30
	cfg := plainWeb(8, pages)
	cfg.Mix = func(int) simweb.Behavior {
		return simweb.Behavior{Robots: simweb.RobotsSubtree, CrawlDelay: time.Second}
	}
	f := newFaulty(t, cfg, faultyOptions{})
	for _, after := range []time.Duration{0, 300 * time.Millisecond} {
		st := f.underWay(8)
		host := f.killAtOutcome(after, pages-5)
		killed := time.Now()
		f.frontier.start()
		first := f.nextRequest(host, killed)
		t.Logf("kill -9 %v after the outcome of a visit to %s, with %d pages stored, %d URLs in flight: asked again %v later",
			after, host, st.Stored, st.InFlight, first)
		if first < frontier.LeaseTime {
			t.Errorf("%s was asked again %v after its frontier was killed: others might hold visits for a lease", host, first)
		}
	}
	if again := f.finish(); again > 2*8*10 {
		t.Errorf("%d URLs were fetched again, more than the visits lost could hold", again)
	}
}

// killAtOutcome kills the frontier as soon as the outcome of a visit has been published, to a host
// of which at most most URLs were requested so far.
func (f *faulty) killAtOutcome(after time.Duration, most int) (host string) {
	f.t.Helper()
	outcomes := make(chan string, 1)
	sub, err := f.q.NC.Subscribe(f.crawl+".events.*", func(m *nats.Msg) {
		ev, err := crawl.DecodeEvent(m.Data)
		if err != nil {
			f.t.Error(err)
			return
		}
		if o := ev.Outcome; o != nil && !o.Partial && o.Requests > 5 && f.asked(string(o.Host)) <= most {
			select {
			case outcomes <- string(o.Host):
			default: // one was enough
			}
		}
	})
	if err != nil {
		f.t.Fatal(err)
	}
	defer sub.Unsubscribe()
	host = testaid.Receive(f.t, "a visit ends", outcomes)
	time.Sleep(after)
	f.frontier.kill()
	return host
}

// asked returns how many URLs of a host were requested.
func (f *faulty) asked(host string) int {
	paths := map[string]bool{}
	for _, r := range f.srv.Log() {
		if r.Host == host {
			paths[r.Path] = true
		}
	}
	return len(paths)
}

// nextRequest waits until a host gets another request, and returns how long after since that was.
func (f *faulty) nextRequest(host string, since time.Time) (after time.Duration) {
	f.t.Helper()
	testaid.Until(f.t, host+" is asked again", func() bool {
		for _, r := range f.srv.Log() {
			if r.Host == host && r.Start.After(since) {
				after = r.Start.Sub(since)
				return true
			}
		}
		return false
	})
	return after
}

// A NATS server that restarts without the end of a log assigns the lost sequence numbers to other
// messages, without an error. The frontier must detect it, and must not count what it fetches again
// twice.
func TestExternalLogTailLost(t *testing.T) {
	t.Parallel()
	f := newFaulty(t, plainWeb(12, 60), faultyOptions{})
	f.underWay(250)
	server := f.nats[0]
	server.kill()
	time.Sleep(500 * time.Millisecond) // what was delivered is applied and committed
	name := crawl.Names(f.crawl).EventsStream(f.cutLog(server))
	server.start()
	f.until("aware of the loss", func(context.Context) (crawl.Status, bool, error) {
		return crawl.Status{}, strings.Contains(f.log(f.frontier), "does not continue from the applied messages"), nil
	})
	again := f.finish()
	if again == 0 {
		t.Error("nothing was fetched again: pages handed over lately may be lost with the log's end")
	}
	for line := range strings.Lines(f.log(f.frontier)) {
		if strings.Contains(line, "does not continue") && !strings.Contains(line, name) {
			t.Errorf("another log than %s does not continue: %s", name, line)
		}
	}
}

// cutLog removes the last quarter of the log of the shard with the largest log, and returns that
// shard.
func (f *faulty) cutLog(server *member) (shard int) {
	f.t.Helper()
	var file string
	var size int64
	for i := range f.spec.Shards {
		blocks, err := filepath.Glob(filepath.Join(f.store, "jetstream", "$G", "streams", crawl.Names(f.crawl).EventsStream(i), "msgs", "*.blk"))
		if err != nil || len(blocks) != 1 {
			f.t.Fatalf("the log of shard %d is in %v (%v), not in one file", i, blocks, err)
		}
		info, err := os.Stat(blocks[0])
		if err != nil {
			f.t.Fatal(err)
		}
		if info.Size() > size {
			shard, file, size = i, blocks[0], info.Size()
		}
	}
	if err := os.Truncate(file, size*3/4); err != nil {
		f.t.Fatal(err)
	}
	f.t.Logf("shard %d: %d of %d bytes of its log cut off", shard, size-size*3/4, size)
	return shard
}

// Some servers close a kept-alive connection just as the next request arrives. Nothing can be
// concluded from that: the request is repeated once, but after the delay, and by the fetcher rather
// than by its HTTP transport.
func TestExternalReusedConnectionClosed(t *testing.T) {
	t.Parallel()
	cfg := plainWeb(6, 25)
	plain := cfg.Mix
	cfg.Mix = func(i int) simweb.Behavior {
		b := plain(i)
		b.DropReused = i%2 == 0
		return b
	}
	srv, err := simweb.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	dir := filepath.Join(t.TempDir(), "data")
	run(t, program(t, "curtsy"), "crawl", "--dir", dir, "--listen", "off", "--search=false", "--allow-private",
		"--resolve", srv.Resolve(), "--delay", faultDelay.String(), "--contact", contact, srv.Seeds()[0])
	again := account(t, srv, status(t, "--dir", dir), storedPages(t, "--dir", dir), readClasses(t, dir), faultDelay)

	type attempts struct{ dropped, answered int }
	pages := map[string]*attempts{}
	closed := 0
	for _, r := range srv.Log() {
		u := r.Host + r.Path
		if pages[u] == nil {
			pages[u] = new(attempts)
		}
		if r.Status == 0 {
			pages[u].dropped++
			closed++
		} else {
			pages[u].answered++
		}
	}
	for _, u := range slices.Sorted(maps.Keys(pages)) {
		if p := pages[u]; p.answered != 1 || p.dropped > 1 {
			t.Errorf("%s was requested %d times without and %d times with an answer, want at most one of each", u, p.dropped, p.answered)
		}
	}
	if closed < 3*20 || again > closed {
		t.Errorf("%d requests were answered by closing the connection, %d were repeated", closed, again)
	}
}

// readClasses explains URLs from the files of a crawl that does not run.
func readClasses(t *testing.T, dir string) func(map[string]simweb.Expectation) map[string]simweb.Class {
	return func(urls map[string]simweb.Expectation) map[string]simweb.Class {
		t.Helper()
		rd, err := frontier.OpenDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		files := asker.Stopped(rd.Spec(), rd.Close, rd.Handlers())
		defer files.Close()
		got := map[string]simweb.Class{}
		for u := range urls {
			if x, err := files.Explain(t.Context(), u); err == nil && x.Seen {
				got[u] = simweb.Class(x.State)
			}
		}
		return got
	}
}
