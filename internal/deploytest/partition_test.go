//go:build external

package deploytest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
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
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	labDelay = 500 * time.Millisecond
	labHosts = 24
	labTerm  = 10 * time.Second // T: how long an owner may act without confirmation
	busy     = 3 * time.Second  // the delay that is tolerated on a busy machine
)

// labCrawl is a crawl on machines of a lab: three NATS servers, two frontiers, three fetchers, two
// indexers, the sites, and a console from which the test observes.
type labCrawl struct {
	*observer
	*lab
	t         *testing.T
	console   *machine
	records   jetstream.KeyValue // of owners
	srv       *simweb.Server
	nats      []*machine
	frontiers []*machine
	fetchers  []*machine
}

// slow reports which hosts answer slowly: a visit to one of them takes longer than a lease that is
// not renewed.
func slow(host int) bool { return host%3 != 0 }

// layout has the networks of those machines that do not have to be on the bus.
type layout struct{ nats3, fetcher3, frontier2 network }

func newLabCrawl(t *testing.T, pages int, where layout) *labCrawl {
	t.Helper()
	where = layout{cmp.Or(where.nats3, bus), cmp.Or(where.fetcher3, bus), cmp.Or(where.frontier2, bus)}
	program(t, "curtsy") // built before any measurement begins
	l := newLab(t)
	c := &labCrawl{lab: l, t: t, console: l.machine("console", bus)}

	web := l.machine("web", webnet)
	cfg := simweb.Config{Hosts: labHosts, PagesPerHost: pages, CrossLinks: 3, PageSpread: 0.5, Addr: web.addr(webnet) + ":0"}
	cfg.Mix = func(i int) simweb.Behavior {
		b := simweb.Behavior{Robots: []simweb.Robots{simweb.RobotsAllowAll, simweb.RobotsSubtree, simweb.RobotsNone, simweb.RobotsAgent}[i%4]}
		if slow(i) {
			b.Latency, b.Jitter, b.Pages = 500*time.Millisecond, time.Second, pages/2
		}
		return b
	}
	var err error
	web.do(func() { c.srv, err = simweb.Start(cfg) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.srv.Close() })

	c.nats = []*machine{l.machine("nats-1", bus), l.machine("nats-2", bus), l.machine("nats-3", where.nats3)}
	startCluster(c.nats)
	all := natsURLs(c.nats...)
	// This server is never cut off: the connection of the console has only its address.
	c.connect(natsURLs(c.nats[0]))
	near := map[network]string{bus: all, island: natsURLs(c.nats[2])}
	for i, net := range []network{bus, where.frontier2} {
		f := l.machine(fmt.Sprint("frontier-", i+1), net)
		f.daemon("frontier", near[net], "--dir", t.TempDir())
		c.frontiers = append(c.frontiers, f)
	}
	for i, net := range []network{bus, bus, where.fetcher3} {
		f := l.machine(fmt.Sprint("fetcher-", i+1), net, webnet)
		f.daemon("fetcher", near[net], "--visits", "12")
		c.fetchers = append(c.fetchers, f)
	}
	for i := range 2 {
		l.machine(fmt.Sprint("indexer-", i+1), bus).daemon("indexer", all, "--dir", t.TempDir())
	}
	c.console.curtsy("seed", "--nats", all, "--crawl", "docs", "--nats-replicas", "3", "--shards", "6", "--allow-private",
		"--resolve", fmt.Sprintf("*.sim.test=%s:%d", web.addr(webnet), c.srv.Port()), "--delay", labDelay.String(),
		"--contact", contact, "--hold-max", "1m", "--search=false", c.srv.Seeds()[0])
	if c.records, err = c.q.OpenBucket(t.Context(), crawl.Names("docs").Bucket(), 3); err != nil {
		t.Fatal(err)
	}
	return c
}

// daemon starts one of our daemons on this machine.
func (m *machine) daemon(kind, nats string, args ...string) *process {
	m.l.t.Helper()
	return m.start(kind, append([]string{
		"--nats", nats, "--crawl", "docs", "--nats-replicas", "3", "--listen", adminAddr, "--instance", m.name,
	}, args...)...)
}

// startCluster starts a NATS server on each machine.
func startCluster(nodes []*machine) {
	var routes []string
	for _, m := range nodes {
		routes = append(routes, fmt.Sprintf("nats://%s:6222", m.addr(bus)))
	}
	for i, m := range nodes {
		m.start("nats-server", "-n", m.name, "-a", m.addr(bus), "-p", "4222", "-js", "-sd", filepath.Join(m.l.t.TempDir(), "js"),
			"--cluster_name", "lab", "--cluster", routes[i], "--routes", strings.Join(routes, ","))
	}
}

func natsURLs(nodes ...*machine) string {
	var urls []string
	for _, m := range nodes {
		urls = append(urls, fmt.Sprintf("nats://%s:4222", m.addr(bus)))
	}
	return strings.Join(urls, ",")
}

// connect waits until the cluster can be used, from the console.
func (c *labCrawl) connect(url string) {
	c.t.Helper()
	var q *queue.Conn
	var err error
	testaid.Until(c.t, "the cluster can be used", func() bool {
		ctx, cancel := attempt(c.t)
		defer cancel()
		c.console.do(func() {
			q, err = queue.Dial(ctx, queue.Options{URL: url, Name: "lab", Replicas: 3}, slog.New(slog.DiscardHandler))
		})
		if err == nil {
			if _, err = q.OpenBucket(ctx, "ready", 3); err != nil { // all three must take part
				q.Close()
			}
		}
		return err == nil
	}, func() string { return err.Error() })
	c.t.Cleanup(func() { q.Close() })
	c.observer = &observer{c.t, q, crawl.Spec{Name: "docs", Shards: 6}}
}

// stage waits until n pages are stored, each frontier has half of the shards, and a fetcher has
// visits, also to slow hosts.
func (c *labCrawl) stage(n int, f *machine) {
	c.t.Helper()
	half := c.spec.Shards / 2
	c.until(fmt.Sprintf("at work with %d pages stored", n), func(ctx context.Context) (crawl.Status, bool, error) {
		st, err := asker.Status(ctx, c.q, c.spec)
		ready := err == nil && st.Stored >= int64(n) &&
			slices.ContainsFunc(c.visiting(f), func(h string) bool { return slow(slices.Index(c.srv.Hosts(), h)) }) &&
			len(c.shards(c.frontiers[0].name)) == half && len(c.shards(c.frontiers[1].name)) == half
		return st, ready, err
	})
}

// visiting returns the hosts whose last and recent request came from a fetcher.
func (c *labCrawl) visiting(f *machine) (hosts []string) {
	last := map[string]requestlog.Request{}
	for _, r := range c.srv.Log() {
		last[r.Host] = r
	}
	for host, r := range last {
		if r.Peer == f.addr(webnet) && time.Since(r.Start) < 3*time.Second {
			hosts = append(hosts, host)
		}
	}
	slices.Sort(hosts)
	return hosts
}

// takenOver waits until other fetchers than m have requested something from each of the hosts since
// then, and returns how long that took.
func (c *labCrawl) takenOver(hosts []string, m *machine, since time.Time) (longest time.Duration) {
	c.t.Helper()
	var missing []string
	testaid.Until(c.t, "others have asked the hosts of "+m.name, func() bool {
		first := map[string]time.Time{}
		for _, r := range c.srv.Log() {
			if r.Start.After(since) && r.Peer != m.addr(webnet) && first[r.Host].IsZero() {
				first[r.Host] = r.Start
			}
		}
		longest, missing = 0, nil
		for _, h := range hosts {
			if first[h].IsZero() {
				missing = append(missing, h)
			}
			longest = max(longest, first[h].Sub(since))
		}
		return len(missing) == 0
	}, func() string { return "nobody else has asked " + strings.Join(missing, ", ") })
	return longest
}

// asks waits until a fetcher makes a request again.
func (c *labCrawl) asks(f *machine, since time.Time) (after time.Duration) {
	c.t.Helper()
	testaid.Until(c.t, f.name+" asks again", func() bool {
		log := c.srv.Log()
		i := slices.IndexFunc(log, func(r requestlog.Request) bool { return r.Start.After(since) && r.Peer == f.addr(webnet) })
		if i >= 0 {
			after = log[i].Start.Sub(since)
		}
		return i >= 0
	})
	return after
}

// silent checks that a fetcher that was cut off until healed sent requests to hosts of those shards
// for no longer than limit, and returns for how long it did.
func (c *labCrawl) silent(f *machine, shards []int, cut, healed time.Time, limit time.Duration) (last time.Duration) {
	c.t.Helper()
	late := 0
	for _, r := range c.srv.Log() {
		if r.Peer != f.addr(webnet) || r.Start.Before(cut) || r.Start.After(healed) || !slices.Contains(shards, c.shardOf(r.Host)) {
			continue
		}
		last = max(last, r.Start.Sub(cut))
		if r.Start.Sub(cut) > limit {
			if late++; late <= 5 {
				c.t.Errorf("%s, cut off, asked http://%s%s %v later", f.name, r.Host, r.Path, r.Start.Sub(cut))
			}
		}
	}
	return last
}

func (c *labCrawl) shardOf(host string) int { return crawl.ShardOf(canon.Host(host), c.spec.Shards) }

// shards returns the shards of a frontier; of "", all.
func (c *labCrawl) shards(owner string) (ids []int) {
	c.t.Helper()
	for id := range c.spec.Shards {
		if owner == "" || c.owner(id) == owner {
			ids = append(ids, id)
		}
	}
	return ids
}

func (c *labCrawl) get(ctx context.Context, key string) (jetstream.KeyValueEntry, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return c.records.Get(ctx, key)
}

// owner returns the frontier in the record of a shard; none before the first, and while the shard
// is released.
func (c *labCrawl) owner(shard int) string {
	c.t.Helper()
	var e jetstream.KeyValueEntry
	var err error
	testaid.Until(c.t, fmt.Sprintf("the record of shard %d can be read", shard), func() bool {
		e, err = c.get(c.t.Context(), fmt.Sprintf("frontier.%d", shard))
		if err != nil && !errors.Is(err, jetstream.ErrKeyNotFound) && !queue.Unanswered(err) {
			c.t.Fatal(err)
		}
		return !queue.Unanswered(err) // if unanswered, a leader is being elected
	}, func() string { return err.Error() })
	if err != nil {
		return ""
	}
	var rec queue.Record
	if err := json.Unmarshal(e.Value(), &rec); err != nil {
		c.t.Fatal(err)
	}
	if rec.Clean {
		return ""
	}
	return rec.Owner
}

// changed waits until each of the shards has another owner than from, and returns the times of the
// changes.
func (c *labCrawl) changed(shards []int, from string) map[int]time.Time {
	c.t.Helper()
	at := map[int]time.Time{}
	testaid.Until(c.t, "all shards of "+from+" have another owner", func() bool {
		for _, id := range shards {
			if now := c.owner(id); at[id].IsZero() && now != from && now != "" {
				at[id] = time.Now()
			}
		}
		return len(at) == len(shards)
	}, func() string { return fmt.Sprintf("it still has %d of %d", len(shards)-len(at), len(shards)) })
	return at
}

// askedAgain waits until, for each shard that has hosts, one of them got a request after the shard
// was taken, and returns the time of the last of these.
func (c *labCrawl) askedAgain(taken map[int]time.Time) (last time.Time) {
	c.t.Helper()
	populated := map[int]bool{}
	for _, h := range c.srv.Hosts() {
		if id := c.shardOf(h); !taken[id].IsZero() {
			populated[id] = true
		}
	}
	first := map[int]time.Time{}
	testaid.Until(c.t, "the hosts of all shards that moved are asked again", func() bool {
		clear(first)
		for _, r := range c.srv.Log() {
			id := c.shardOf(r.Host)
			if at, moved := taken[id]; moved && r.Start.After(at) && first[id].IsZero() {
				first[id] = r.Start
			}
		}
		return len(first) == len(populated)
	}, func() string {
		return fmt.Sprintf("those of %d of %d shards have not been", len(populated)-len(first), len(populated))
	})
	return slices.MaxFunc(slices.Collect(maps.Values(first)), time.Time.Compare)
}

const visitsGranted = "curtsy_frontier_visits_total"

// untouched checks that no host of the shards got a request between the time when the last leases
// of a lost owner had ended and one lease after another owner had taken its shard.
func (c *labCrawl) untouched(taken map[int]time.Time, over time.Time) {
	c.t.Helper()
	for _, r := range c.srv.Log() {
		if at, moved := taken[c.shardOf(r.Host)]; moved && r.Start.After(over) && r.Start.Before(at.Add(frontier.LeaseTime)) {
			c.t.Errorf("http://%s%s was asked for by %s, %v after its shard's owner was cut off and %v after another took it",
				r.Host, r.Path, r.Peer, r.Start.Sub(over), r.Start.Sub(at))
		}
	}
}

// finish waits for the end of the crawl, and checks its results.
func (c *labCrawl) finish() (again int) {
	c.t.Helper()
	c.done()
	at := []string{"--nats", natsURLs(c.nats[0]), "--crawl", "docs"}
	var st crawl.Status
	var pages map[string]string
	c.console.do(func() { st, pages = status(c.t, at...), storedPages(c.t, at...) })
	return account(c.t, c.srv, st, pages, c.classesOf, labDelay)
}

// TestExternalPartitions cuts machines off from others. Its crawls run in parallel, since they
// mostly wait, but not in parallel to other tests of this package: these crawls are sensitive to
// timing, and other tests compile.
func TestExternalPartitions(t *testing.T) {
	for name, partition := range map[string]func(*testing.T){
		"fetcher": fetcherCutOff, "server with its fetcher": serverCutOffWithItsFetcher,
		"frontier": frontierCutOff, "island": islandCutOff,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			partition(t)
		})
	}
}

// A fetcher that can reach the sites but not the brokers, so that it cannot be stopped, must stop
// by itself within its lease.
func fetcherCutOff(t *testing.T) {
	c := newLabCrawl(t, 55, layout{})
	f := c.fetchers[0]
	c.stage(60, f)
	hosts := c.visiting(f)
	f.cut(bus)
	cut := time.Now()
	if f.reaches(c.nats[0].addr(bus)+":4222") || !f.reaches(c.srv.Addr()) {
		t.Fatal("the fetcher should reach the sites, and not NATS")
	}
	took := c.takenOver(hosts, f, cut)
	time.Sleep(time.Until(cut.Add(frontier.LeaseTime + busy + 3*time.Second)))
	f.heal(bus)
	healed := time.Now()
	last := c.silent(f, c.shards(""), cut, healed, frontier.LeaseTime+busy)
	if last == 0 {
		t.Error("it asked nothing at all once it was cut off: its silence proves nothing")
	}
	back := c.asks(f, healed)
	t.Logf("cut off from NATS while it visited %d hosts: last request after %v, all hosts taken over after %v, at work again %v after it healed",
		len(hosts), last, took, back)
	if again := c.finish(); again > len(hosts)*20 {
		t.Errorf("%d pages were fetched again, more than the visits that were lost could hold", again)
	}
}

// The same for a fetcher whose NATS server answers but is cut off from the other two together with
// it.
func serverCutOffWithItsFetcher(t *testing.T) {
	c := newLabCrawl(t, 60, layout{nats3: island, fetcher3: island})
	f := c.fetchers[2]
	c.stage(60, f)
	hosts := c.visiting(f)
	c.cutIsland()
	cut := time.Now()
	if !f.reaches(c.nats[2].addr(bus)+":4222") || f.reaches(c.nats[0].addr(bus)+":4222") || !f.reaches(c.srv.Addr()) {
		t.Fatal("the fetcher should reach the sites and its own NATS server, and no other")
	}
	// Leaders are elected, and the clients of that server must notice and connect to another one
	// before leases end.
	took := c.takenOver(hosts, f, cut)
	time.Sleep(time.Until(cut.Add(frontier.LeaseTime + busy + 3*time.Second)))
	c.healIsland()
	healed := time.Now()
	last := c.silent(f, c.shards(""), cut, healed, frontier.LeaseTime+busy)
	if last == 0 {
		t.Error("it asked nothing at all once it was cut off: its silence proves nothing")
	}
	back := c.asks(f, healed)
	t.Logf("cut off with its server while it visited %d hosts: last request after %v, all hosts taken over after %v, at work again %v after it healed",
		len(hosts), last, took, back)
	c.finish()
}

// A frontier that reaches no broker grants nothing. Another one takes its shards, but only after
// everything that it may have granted has ended.
func frontierCutOff(t *testing.T) {
	c := newLabCrawl(t, 55, layout{})
	c.stage(60, c.fetchers[0])
	f := c.frontiers[0]
	shards := c.shards(f.name)
	f.cut(bus)
	cut := time.Now()
	time.Sleep(labTerm)
	granted := f.metric(visitsGranted)
	taken := c.changed(shards, f.name)
	took := time.Since(cut)
	if limit := labTerm*3/2 + 5*busy; took > limit {
		t.Errorf("its shards were taken after %v, want at most %v", took, limit)
	}
	again := c.askedAgain(taken)
	if limit := labTerm*3/2 + frontier.LeaseTime + labDelay + 5*busy; again.Sub(cut) > limit {
		t.Errorf("its hosts were asked again after %v, want at most %v", again.Sub(cut), limit)
	}
	if n := f.metric(visitsGranted); n != granted {
		t.Errorf("%s, cut off, has granted %v visits more than a term before", f.name, n-granted)
	}
	f.heal(bus)
	healed := time.Now()
	c.changed(shards, c.frontiers[1].name) // back to their first owner
	t.Logf("cut off with %d of %d shards: all taken after %v, their hosts asked again after %v, given back %v after it healed",
		len(shards), c.spec.Shards, took, again.Sub(cut), time.Since(healed))
	c.untouched(taken, cut.Add(frontier.LeaseTime+busy))
	c.finish()
}

// A frontier that still reaches a fetcher, but not the brokers that would tell it that its shards
// have a new owner, must know by itself when to stop.
func islandCutOff(t *testing.T) {
	c := newLabCrawl(t, 55, layout{nats3: island, fetcher3: island, frontier2: island})
	f, islander := c.frontiers[1], c.fetchers[2]
	c.stage(60, islander)
	ours, theirs := c.shards(f.name), c.shards(c.frontiers[0].name)
	before := f.metric(visitsGranted)
	c.cutIsland()
	cut := time.Now()
	time.Sleep(labTerm)
	granted, asked := f.metric(visitsGranted), f.metric("curtsy_frontier_takes_total")
	taken := c.changed(ours, f.name)
	took := time.Since(cut)
	again := c.askedAgain(taken)
	// By now it knows that visits have ended, and hosts that would be due.
	if n := f.metric(visitsGranted); n != granted {
		t.Errorf("%s, cut off, has granted %v visits more than a term before", f.name, n-granted)
	}
	if n := f.metric("curtsy_frontier_takes_total"); n == asked {
		t.Errorf("nobody asked %s for visits: that it granted none proves nothing", f.name)
	}
	c.healIsland()
	healed := time.Now()
	last := c.silent(islander, ours, cut, healed, labTerm+frontier.LeaseTime+busy)
	others := c.silent(islander, theirs, cut, healed, frontier.LeaseTime+busy)
	c.changed(ours, c.frontiers[0].name) // back to their first owner
	back := time.Since(healed)
	t.Logf("an island with a NATS server, a fetcher and a frontier of %d of %d shards is cut off: it granted %v visits more; "+
		"last request %v later, of other shards %v; its shards were taken after %v, their hosts asked again after %v; they were given back %v after it healed",
		len(ours), c.spec.Shards, granted-before, last, others, took, again.Sub(cut), back)
	c.untouched(taken, cut.Add(labTerm+frontier.LeaseTime+busy))
	c.finish()
}
