//go:build external

package deploytest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/frontier"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/simweb/requestlog"
	"github.com/curtsy/curtsy/internal/testaid"
)

const (
	// chaosDelay and chaosSlots, the number of visits that a fetcher carries out at the same time,
	// give about 120 requests a second, and a quarter of all hosts has a visit in progress: on
	// these hosts a second visit at the same time would be noticed.
	chaosDelay = 500 * time.Millisecond
	chaosSlots = 20
	// maxVisit is the maximum number of URLs of a visit at that delay, and mostVisit at any delay.
	maxVisit  = int(10 * time.Second / chaosDelay)
	mostVisit = 64
	// mostBetween is the longest time from one kill to the next.
	mostBetween = 15 * time.Second
)

// TestExternalChaos crawls a web of many hosts with two frontiers, three fetchers and two indexers
// on three NATS servers, kills processes of every role at random times, and then compares what is
// stored, what is counted and what the web saw with what is expected. CHAOS_URLS, CHAOS_HOSTS and
// CHAOS_KILLS set the size, CHAOS_SEED the first random seed and CHAOS_SEEDS the number of seeds;
// CHAOS_KEEP names a directory in which files and logs are kept.
func TestExternalChaos(t *testing.T) {
	t.Parallel() // it mostly waits
	first := setting(t, "CHAOS_SEED", 1)
	for seed := first; seed < first+setting(t, "CHAOS_SEEDS", 1); seed++ {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			c := &chaos{
				t: t, seed: seed, urls: setting(t, "CHAOS_URLS", 5000), hosts: setting(t, "CHAOS_HOSTS", 200), kills: setting(t, "CHAOS_KILLS", 8),
				chance: rand.New(rand.NewPCG(uint64(seed), 4)),
			}
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("once more: CHAOS_SEED=%d CHAOS_URLS=%d CHAOS_HOSTS=%d CHAOS_KILLS=%d CHAOS_KEEP=/tmp/chaos make chaos",
						c.seed, c.urls, c.hosts, c.kills)
				}
			})
			c.run()
		})
	}
}

func setting(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q: use a number from 1", name, text)
	}
	return n
}

// chaos is one run.
type chaos struct {
	t                        *testing.T
	seed, urls, hosts, kills int
	chance                   *rand.Rand
	began                    time.Time

	web  *simweb.Server
	log  string // of its requests
	want map[string]simweb.Expectation
	rig  *rig
	done []kill
}

// kill is one kill that happened.
type kill struct {
	at   time.Time
	role string
	name string
}

func (c *chaos) run() {
	t, began := c.t, time.Now()
	dir := t.TempDir()
	if keep := os.Getenv("CHAOS_KEEP"); keep != "" {
		dir = filepath.Join(keep, fmt.Sprintf("seed-%d-%s", c.seed, began.Format("150405")))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Logf("files and logs stay in %s", dir)
	}
	c.serve(dir)
	c.rig = newRig(t, "chaos", dir)
	for range 2 {
		// So small that there are many checkpoints, and the log is purged.
		c.rig.add(roleFrontier, "--checkpoint", "256KiB")
	}
	for range 3 {
		c.rig.add(roleFetcher, "--visits", fmt.Sprint(chaosSlots))
	}
	for range 2 {
		c.rig.add(roleIndexer)
	}
	c.began = time.Now()
	c.rig.create("--allow-private", "--resolve", c.web.Resolve(), "--delay", chaosDelay.String(), "--contact", contact,
		"--hold-max", "5m", "--search=false", c.web.Seeds()[0])
	c.havoc()
	c.rig.done()
	took := time.Since(c.began)
	c.judge()
	requests, refetches, worst := c.inspect()
	byRole := map[string]int{}
	for _, k := range c.done {
		byRole[k.role]++
	}
	t.Logf("seed %d: %d URLs on %d hosts, %d requests, %d kills %v, %d URLs fetched again, at most %d by one kill; crawled in %v, all in %v",
		c.seed, len(c.want), c.hosts, requests, len(c.done), byRole, refetches, worst,
		took.Round(time.Second), time.Since(began).Round(time.Second))
}

// serve starts a web of at least as many URLs as requested, none of which stays queued for ever.
func (c *chaos) serve(dir string) {
	t := c.t
	t.Helper()
	c.log = filepath.Join(dir, "requests.jsonl")
	cfg := simweb.Config{
		Seed: int64(c.seed), Hosts: c.hosts, PagesPerHost: c.urls/c.hosts + 1, PageBytes: 3 << 10, PageSpread: 0.5, CrossLinks: 3,
		Mix: c.behavior, LogFile: c.log, LogLimit: 1, // other requests are only counted
	}
	var err error
	if c.web, err = simweb.Start(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.web.Close() })
	c.want = c.web.Expect("curtsy")
	sure := 0
	for _, e := range c.want {
		if !e.Optional {
			sure++
		}
	}
	if sure < c.urls {
		t.Fatalf("the web has %d URLs to find, not %d", sure, c.urls)
	}
}

// behavior gives one host in twenty of each kind a special behaviour; the others are plain, and of
// very different sizes.
func (c *chaos) behavior(i int) simweb.Behavior {
	pages := c.urls/c.hosts + 1
	special := []simweb.Behavior{
		{Robots: simweb.RobotsAllowAll, Features: []simweb.Feature{simweb.FeatureMarkup, simweb.FeatureNofollow}},
		{Robots: simweb.RobotsSubtree, Features: []simweb.Feature{simweb.FeatureRedirects}},
		{Robots: simweb.RobotsNone, Features: []simweb.Feature{simweb.FeatureTags}},
		{Robots: simweb.RobotsWildcard, Features: []simweb.Feature{simweb.FeatureStatuses, simweb.FeatureServerErrors}},
		{Robots: simweb.RobotsAgent, Features: []simweb.Feature{simweb.FeatureFlapping}, FlapRate: 0.1},
		{Robots: simweb.RobotsOdd, Features: []simweb.Feature{simweb.FeatureRetryAfter}, Pages: pages/4 + 1},
		{Robots: simweb.RobotsRedirect, Peer: i + 1, Features: []simweb.Feature{simweb.FeatureTypes}},
		{Robots: simweb.RobotsRedirectChain, Features: []simweb.Feature{simweb.FeatureEncodings}},
		{Robots: simweb.RobotsHostSelf, CrawlDelay: chaosDelay * 3 / 2, Features: []simweb.Feature{simweb.FeatureSitemap}},
		{Robots: simweb.RobotsNone, Features: []simweb.Feature{simweb.FeatureBroken}, DropReused: true},
		{Robots: simweb.RobotsGone, Latency: 10 * time.Millisecond, Jitter: 30 * time.Millisecond, Features: []simweb.Feature{simweb.FeatureSitemapPlace}},
	}
	if k := i % 20; k < len(special) {
		b := special[k]
		if b.Pages == 0 {
			b.Pages = pages
		}
		return b
	}
	switch i {
	case 11:
		return simweb.Behavior{Robots: simweb.RobotsClosed}
	case 12:
		return simweb.Behavior{Robots: simweb.RobotsMirror, Peer: i + 2}
	}
	return simweb.Behavior{Robots: simweb.RobotsAllowAll, Pages: []int{3, 3, 1, 2, 1}[i%5] * (pages + 1) / 2}
}

// havoc kills processes until all kills are done and all processes run again. Which process is
// killed and how long it stays down is random; so is the time, but in a fast crawl the kills come
// earlier.
func (c *chaos) havoc() {
	type comeback struct {
		at time.Time
		m  *member
	}
	var away []comeback
	roles := []string{roleNATS, roleFrontier, roleFetcher, roleIndexer}
	var plan []string
	for len(plan) < c.kills {
		c.chance.Shuffle(len(roles), func(i, j int) { roles[i], roles[j] = roles[j], roles[i] })
		plan = append(plan, roles...)
	}
	plan = plan[:c.kills]
	next, latest := c.moment()
	testaid.Until(c.t, "all kills are done, and all that was killed is back", func() bool {
		c.rig.checkRunning()
		away = slices.DeleteFunc(away, func(b comeback) bool {
			if time.Now().Before(b.at) {
				return false
			}
			b.m.start()
			return true
		})
		if len(plan) == 0 || time.Now().Before(next) && c.progress() < (float64(len(c.done))+latest)/float64(c.kills) {
			return len(plan) == 0 && len(away) == 0
		}
		m := c.victim(plan[0])
		if m == nil {
			return false // no process of the role may be killed now
		}
		m.kill()
		pause := c.between(0, 3*time.Second)
		if m.role == roleFrontier && c.chance.IntN(3) == 0 {
			// Longer than 1.5 T: another process takes its shards.
			pause = c.between(17*time.Second, 27*time.Second)
		}
		c.done = append(c.done, kill{time.Now(), m.role, m.name})
		c.t.Logf("%6.1fs kill -9 of %s, back in %.1fs; %d requests so far", time.Since(c.began).Seconds(), m.name, pause.Seconds(), c.requests())
		away = append(away, comeback{time.Now().Add(pause), m})
		plan = plan[1:]
		next, latest = c.moment()
		return false
	}, func() string { return fmt.Sprintf("still to be killed: %v", plan) })
}

// moment returns when the next kill is due: a time, which is often soon, so that a process is
// killed while another one recovers; and the part of the crawl that may be done by then, after
// which the kill is due at once.
func (c *chaos) moment() (at time.Time, part float64) {
	x := c.chance.Float64()
	return time.Now().Add(time.Duration(x * x * float64(mostBetween))), c.chance.Float64()
}

func (c *chaos) between(least, most time.Duration) time.Duration {
	return least + time.Duration(c.chance.Int64N(int64(most-least)))
}

// requests returns how many requests the web has had.
func (c *chaos) requests() int64 { return c.web.LogDropped() + 1 }

// progress returns approximately which part of the crawl is done; the crawl ends some time after 1.
func (c *chaos) progress() float64 { return float64(c.requests()) / float64(c.urls) }

// victim chooses a process of a role; nil means that none may be killed at this moment.
func (c *chaos) victim(role string) *member {
	if role == roleNATS && c.rig.behind() != "" {
		return nil
	}
	var there []*member
	for _, m := range c.rig.all() {
		if m.role == role && m.running() {
			there = append(there, m)
		}
	}
	if len(there) == 0 {
		return nil
	}
	return there[c.chance.IntN(len(there))]
}

// judge compares what is stored and counted with what the web expects.
func (c *chaos) judge() {
	t := c.t
	st, pages := status(t, c.rig.at()...), storedPages(t, c.rig.at()...)
	if st.Queued != 0 || st.InFlight != 0 {
		t.Errorf("done with %d queued and %d in flight; postponed: %+v", st.Queued, st.InFlight, st.Postponed)
	}
	if int(st.Stored) != len(pages) {
		t.Errorf("status counts %d stored pages, there are %d", st.Stored, len(pages))
	}
	others := map[string]simweb.Expectation{}
	for u, e := range c.want {
		if _, ok := pages[u]; !ok {
			others[u] = e
		}
	}
	got := c.rig.classesOf(others)
	for u := range pages {
		got[u] = simweb.Stored
	}
	diff := c.web.Diff("curtsy", got)
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
			t.Errorf("status counts %d %s, asked one by one it is %d", n, class, is)
		}
	}
}

// classesOf is like classes, but explains several URLs at the same time.
func (o *observer) classesOf(urls map[string]simweb.Expectation) map[string]simweb.Class {
	const askers = 8
	var parts [askers]map[string]simweb.Expectation
	n := 0
	for u, e := range urls {
		if n++; parts[n%askers] == nil {
			parts[n%askers] = map[string]simweb.Expectation{}
		}
		parts[n%askers][u] = e
	}
	var wg sync.WaitGroup
	var mu sync.Mutex // guards all
	all := map[string]simweb.Class{}
	for _, part := range parts {
		wg.Go(func() {
			got := o.classes(part)
			mu.Lock()
			defer mu.Unlock()
			for u, class := range got {
				all[u] = class
			}
		})
	}
	wg.Wait()
	return all
}

// inspect checks the log of the web against the promises, and counts the URLs that were requested
// again after a final answer. Only a kill excuses that, and each kill only as many URLs as one
// visit to a host may have.
func (c *chaos) inspect() (requests, refetches, worst int) {
	t := c.t
	if err := c.web.Close(); err != nil {
		t.Fatal(err)
	}
	log, err := requestlog.Read(c.log)
	if err != nil {
		t.Fatal(err)
	}
	bad := requestlog.Check(log, requestlog.CheckOptions{Delay: requestlog.Every(chaosDelay), Token: "curtsy"})
	for _, v := range bad[:min(len(bad), 20)] {
		t.Error(v)
	}
	if len(bad) > 20 {
		t.Errorf("%d violations in %d requests", len(bad), len(log))
	}

	slices.SortStableFunc(log, func(a, b requestlog.Request) int { return a.Start.Compare(b.Start) })
	ends := stretches(log)
	answered := map[string]time.Time{}
	byKill := make([]int, len(c.done))
	type at struct {
		kill int
		host string
	}
	byHost := map[at]int{}
	unexplained := 0
	for _, r := range log {
		u := "http://" + r.Origin + r.Path
		e, known := c.want[u]
		// A failure that is tried again.
		if !known || r.Robots || e.Class == simweb.Failed && e.Reason != simweb.ReasonHTTP4xx {
			continue
		}
		if before, again := answered[u]; again {
			refetches++
			if k := c.cause(endOf(ends[r.Host], before), r.Start); k < 0 {
				if unexplained++; unexplained <= 10 {
					t.Errorf("%s was answered at %s and asked for again at %s, and nothing was killed between", u,
						before.Format("15:04:05.000"), r.Start.Format("15:04:05.000"))
				}
			} else {
				byKill[k]++
				byHost[at{k, r.Host}]++
			}
		}
		if r.Status >= 200 && r.Status < 500 && r.Status != 429 && !r.Aborted {
			answered[u] = r.End
		}
	}
	for k, n := range byHost {
		if n > maxVisit {
			t.Errorf("after the kill of %s %d URLs of %s were fetched again, more than a visit holds", c.done[k.kill].name, n, k.host)
		}
	}
	if refetches > mostVisit*len(c.done) {
		t.Errorf("%d URLs were fetched again, more than one visit of %d for each of %d kills", refetches, mostVisit, len(c.done))
	}
	var cost []string
	for i, n := range byKill {
		if worst = max(worst, n); n > 0 {
			cost = append(cost, fmt.Sprintf("%s %d", c.done[i].name, n))
		}
	}
	t.Logf("fetched again, by the kill that caused it: %s", cmp.Or(strings.Join(cost, ", "), "nothing"))
	return len(log), refetches, worst
}

// stretches returns, for each host, the times after which nothing was requested from it for as long
// as a dead visit blocks it.
func stretches(log []requestlog.Request) map[string][]time.Time {
	ends := map[string][]time.Time{}
	for _, r := range log {
		list := ends[r.Host]
		if n := len(list); n > 0 && r.Start.Sub(list[n-1]) < 6*time.Second {
			list[n-1] = r.End
		} else {
			ends[r.Host] = append(list, r.End)
		}
	}
	return ends
}

// endOf returns the end of the stretch that contains a time.
func endOf(ends []time.Time, at time.Time) time.Time {
	for _, end := range ends {
		if !end.Before(at) {
			return end
		}
	}
	return at
}

// cause returns the kill that explains why a URL was requested at the time again, when the last
// sign of its earlier visit was at the time last: the first kill of a fetcher between the two, or
// else the first kill of any role; -1 if there is none.
func (c *chaos) cause(last, again time.Time) int {
	found := -1
	for i, k := range c.done {
		since := k.at.Add(time.Second) // an answer in transit may be logged after the kill
		if k.role != roleFetcher {
			// A visit ends with its lease, possibly in the middle of a request.
			since = k.at.Add(frontier.LeaseTime)
		}
		if since.Before(last) || k.at.After(again) {
			continue
		}
		if k.role == roleFetcher {
			return i
		}
		if found < 0 {
			found = i
		}
	}
	return found
}
