//go:build external

package deploytest

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/simweb/requestlog"
	"github.com/curtsy/curtsy/internal/testaid"
	"github.com/curtsy/curtsy/pkg/canon"
)

// leaseTime and spare limit how long a host may pause because its shard moves: the lease of design,
// and five seconds.
const (
	leaseTime = 10 * time.Second
	spare     = 5 * time.Second
)

// steady is a web on which every host has work for some time, so that a pause in the log of a host
// has a cause.
func steady(log string) simweb.Config {
	return simweb.Config{
		Seed: 7, Hosts: 48, PagesPerHost: 220, PageBytes: 2 << 10, CrossLinks: 2, LogFile: log, LogLimit: 1,
		Mix: func(int) simweb.Behavior { return simweb.Behavior{Robots: simweb.RobotsAllowAll} },
	}
}

const steadyDelay = 400 * time.Millisecond

// scene is a crawl of a web by a rig.
type scene struct {
	t    *testing.T
	web  *simweb.Server
	log  string
	rig  *rig
	want map[string]simweb.Expectation
}

func newScene(t *testing.T, cfg func(log string) simweb.Config) *scene {
	t.Helper()
	dir := t.TempDir()
	s := &scene{t: t, log: filepath.Join(dir, "requests.jsonl")}
	var err error
	if s.web, err = simweb.Start(cfg(s.log)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.web.Close() })
	s.want = s.web.Expect("curtsy")
	s.rig = newRig(t, "scene", dir)
	return s
}

func (s *scene) create(delay time.Duration, more ...string) {
	s.t.Helper()
	s.rig.create(slices.Concat([]string{"--allow-private", "--resolve", s.web.Resolve(), "--delay", delay.String(), "--contact", contact,
		"--hold-max", "5m", "--search=false", "--shards", "8"}, more, []string{s.web.Seeds()[0]})...)
}

// reached waits until a part of the pages of the web, 0 to 1, is stored.
func (s *scene) reached(part float64) {
	s.t.Helper()
	n := int64(part * float64(len(s.want)))
	s.rig.until(fmt.Sprintf("%d pages stored", n), func(ctx context.Context) (crawl.Status, bool, error) {
		st, err := asker.Status(ctx, s.rig.q, s.rig.spec)
		return st, st.Stored >= n, err
	})
}

// exact compares what is stored and counted with the web, and checks the log of the web against the
// promises. It returns the log.
func (s *scene) exact(delay time.Duration) []requestlog.Request {
	s.t.Helper()
	t := s.t
	st, pages := status(t, s.rig.at()...), storedPages(t, s.rig.at()...)
	if st.Queued != 0 || st.InFlight != 0 || int(st.Stored) != len(pages) {
		t.Errorf("done with %d queued, %d in flight, %d stored; there are %d pages", st.Queued, st.InFlight, st.Stored, len(pages))
	}
	got := map[string]simweb.Class{}
	others := maps.Clone(s.want)
	for u := range pages {
		got[u] = simweb.Stored
		delete(others, u)
	}
	maps.Copy(got, s.rig.classesOf(others))
	diff := s.web.Diff("curtsy", got)
	for _, line := range diff[:min(len(diff), 20)] {
		t.Error(line)
	}
	if err := s.web.Close(); err != nil {
		t.Fatal(err)
	}
	log, err := requestlog.Read(s.log)
	if err != nil {
		t.Fatal(err)
	}
	bad := requestlog.Check(log, requestlog.CheckOptions{Delay: requestlog.Every(delay), Token: "curtsy"})
	for _, v := range bad[:min(len(bad), 20)] {
		t.Error(v)
	}
	t.Logf("%d pages, %d requests, %d violations, %d URLs not as they should be", len(pages), len(log), len(bad), len(diff))
	return log
}

// again counts the requests for URLs that were answered before.
func (s *scene) again(log []requestlog.Request) (n int) {
	seen := map[string]bool{}
	for _, r := range log {
		u := "http://" + r.Origin + r.Path
		if _, known := s.want[u]; !known || r.Robots {
			continue
		}
		if seen[u] {
			n++
		}
		seen[u] = true
	}
	return n
}

// owners returns the frontier of each shard, as the frontiers report.
func (s *scene) owners() map[int]string {
	ctx, cancel := attempt(s.t)
	defer cancel()
	st, err := asker.Status(ctx, s.rig.q, s.rig.spec)
	if err != nil {
		return nil
	}
	all := map[int]string{}
	for _, sh := range st.Shards {
		all[sh.Shard] = sh.Owner
	}
	return all
}

// spread waits until exactly these frontiers have shards, about equally many each.
func (s *scene) spread(names ...string) {
	s.t.Helper()
	var owners map[int]string
	testaid.Until(s.t, "the shards are with "+strings.Join(names, ", "), func() bool {
		owners = s.owners()
		count := map[string]int{}
		for _, o := range owners {
			count[o]++
		}
		fair := len(owners) == s.rig.spec.Shards && len(count) == len(names)
		for _, n := range names {
			fair = fair && count[n] >= s.rig.spec.Shards/len(names)
		}
		return fair
	}, func() string { return fmt.Sprintf("they are with %v", owners) })
}

// TestExternalScale crawls with one frontier and one indexer, adds two of each in the middle, and
// later removes two of each: nothing is lost, nothing is fetched twice, no host is visited too
// early, and none pauses longer than a lease and five seconds. Then all processes are restarted one
// after the other, as for an upgrade, including the three NATS nodes: the same is true, except for
// how long hosts pause.
func TestExternalScale(t *testing.T) {
	t.Parallel()
	s := newScene(t, steady)
	f1, i1 := s.rig.add(roleFrontier), s.rig.add(roleIndexer)
	s.rig.add(roleFetcher)
	s.rig.add(roleFetcher)
	s.create(steadyDelay)
	s.reached(0.1)
	began := time.Now()
	f2 := s.rig.add(roleFrontier)
	f3 := s.rig.add(roleFrontier)
	i2 := s.rig.add(roleIndexer)
	i3 := s.rig.add(roleIndexer)
	s.spread(f1.name, f2.name, f3.name)
	t.Logf("three frontiers after %v", time.Since(began).Round(time.Millisecond))
	s.homes(i1.name, i2.name, i3.name)
	t.Logf("three indexers after %v", time.Since(began).Round(time.Millisecond))
	s.reached(0.45)

	began = time.Now()
	f1.stop()
	f3.stop()
	s.spread(f2.name)
	t.Logf("one frontier after %v", time.Since(began).Round(time.Millisecond))
	for _, m := range []*member{i1, i2} {
		run(t, program(t, "curtsy"), slices.Concat([]string{"retire"}, s.rig.at()[:2], []string{"--crawl", s.rig.crawl, m.name})...)
		m.stop()
	}
	t.Logf("one indexer after %v", time.Since(began).Round(time.Millisecond))
	if st := status(t, s.rig.at()...); st.InFlight+st.Queued == 0 {
		t.Error("the crawl was over before all had moved: that proves little")
	}
	// However busy the machine is, there is work until all are restarted: hosts are slow meanwhile.
	slow := func(delay time.Duration) {
		run(t, program(t, "curtsy"), append([]string{"set", "--delay", delay.String()}, s.rig.at()...)...)
	}
	slow(5 * time.Second)
	began = time.Now()
	s.rig.roll()
	t.Logf("all restarted after %v", time.Since(began).Round(time.Millisecond))
	if st := status(t, s.rig.at()...); st.InFlight+st.Queued == 0 {
		t.Error("the crawl was over before all were restarted: that proves little")
	}
	slow(steadyDelay)
	s.rig.done()
	log := s.exact(steadyDelay)
	if n := s.again(log); n > 0 {
		t.Errorf("%d URLs were asked for more than once", n)
	}
	pause, host := longestPause(slices.DeleteFunc(log, func(r requestlog.Request) bool { return r.Start.After(began) }))
	t.Logf("the longest pause of a host with work was %v (%s)", pause.Round(time.Millisecond), host)
	if pause > leaseTime+spare {
		t.Errorf("%s paused for %v, at most %v is allowed", host, pause, leaseTime+spare)
	}
}

// longestPause returns the longest time between two requests to a host.
func longestPause(log []requestlog.Request) (longest time.Duration, host string) {
	slices.SortStableFunc(log, func(a, b requestlog.Request) int { return a.Start.Compare(b.Start) })
	last := map[string]time.Time{}
	for _, r := range log {
		if before, ok := last[r.Host]; ok {
			if d := r.Start.Sub(before); d > longest {
				longest, host = d, r.Host
			}
		}
		last[r.Host] = r.End
	}
	return longest, host
}

// homes waits until the pages of the shards are with these indexers, about equally many each.
func (s *scene) homes(names ...string) {
	s.t.Helper()
	kv, err := s.rig.q.JS.KeyValue(s.t.Context(), crawl.Names(s.rig.crawl).Bucket())
	if err != nil {
		s.t.Fatal(err)
	}
	count, moving := map[string]int{}, false
	testaid.Until(s.t, "the pages are with "+strings.Join(names, ", "), func() bool {
		clear(count)
		moving = false
		for i := range s.rig.spec.Shards {
			e, err := kv.Get(s.t.Context(), crawl.AssignmentKey(i))
			if err != nil {
				continue
			}
			for _, n := range names {
				if strings.Contains(string(e.Value()), `"instance":"`+n+`"`) {
					count[n]++
				}
			}
			moving = moving || strings.Contains(string(e.Value()), `"parked"`)
		}
		fair := !moving
		for _, n := range names {
			fair = fair && count[n] >= s.rig.spec.Shards/len(names)
		}
		return fair
	}, func() string { return fmt.Sprintf("they are with %v, moving: %v", count, moving) })
}

// TestExternalDataLost kills a frontier in the middle of a crawl and removes its directory, and
// later does the same to an indexer. Neither is started again. The others take over the work, and
// in the end everything is accounted for.
func TestExternalDataLost(t *testing.T) {
	t.Parallel()
	s := newScene(t, steady)
	for range 2 {
		s.rig.add(roleFrontier, "--checkpoint", "64KiB")
		s.rig.add(roleIndexer, "--rebuild-after", "5s")
		s.rig.add(roleFetcher)
	}
	byName := map[string]*member{}
	for _, m := range s.rig.members {
		byName[m.name] = m
	}
	s.create(steadyDelay)
	s.reached(0.2)
	lose(t, byName["frontier-1"])
	began := time.Now()
	s.spread("frontier-2")
	t.Logf("the other frontier has all shards after %v", time.Since(began).Round(time.Millisecond))
	s.reached(0.35)
	lost, all := s.stored("indexer-1")
	lose(t, byName["indexer-1"])
	s.homes("indexer-2")
	s.rig.done()
	log := s.exact(steadyDelay)
	n := s.again(log)
	t.Logf("%d pages were on the indexer lost; %d URLs were asked for again", lost, n)
	if n < lost/2 {
		t.Errorf("only %d URLs asked for again: where are the %d pages from?", n, lost)
	}
	// What arrived for its shards while they had no owner counts as lost, too; a frontier that is
	// killed costs one visit per host.
	if most := all + 48*maxVisit/4; n > most {
		t.Errorf("%d URLs asked for again, the shards that were lost have %d", n, all)
	}
}

// stored returns about how many pages an indexer has, and how many its shards will have in total.
func (s *scene) stored(name string) (n, all int) {
	kv, err := s.rig.q.JS.KeyValue(s.t.Context(), crawl.Names(s.rig.crawl).Bucket())
	if err != nil {
		s.t.Fatal(err)
	}
	there := map[int]bool{}
	for i := range s.rig.spec.Shards {
		if e, err := kv.Get(s.t.Context(), crawl.AssignmentKey(i)); err == nil && strings.Contains(string(e.Value()), `"instance":"`+name+`"`) {
			there[i] = true
		}
	}
	for u, e := range s.want {
		if e.Class == simweb.Stored && there[crawl.ShardOf(canon.URL(u).Host(), s.rig.spec.Shards)] {
			all++
		}
	}
	for u := range storedPages(s.t, s.rig.at()...) {
		if there[crawl.ShardOf(canon.URL(u).Host(), s.rig.spec.Shards)] {
			n++
		}
	}
	return n, all
}

func lose(t *testing.T, m *member) {
	t.Helper()
	m.kill()
	if err := os.RemoveAll(m.dir); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s is killed, its directory removed", m.name)
}
