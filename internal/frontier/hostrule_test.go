package frontier

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/judge"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/canon"
)

// rule changes the operator's rules of hosts, like SetSpec.
func (b *bench) rule(hosts map[canon.Host]crawl.HostRule) {
	b.t.Helper()
	b.spec.Hosts = hosts
	j, err := judge.New(b.spec)
	if err != nil {
		b.t.Fatal(err)
	}
	b.s.Ledger.Mu.Lock()
	defer b.s.Ledger.Mu.Unlock()
	_ = b.s.Ledger.Guarded(func() error { b.s.Specs.Change(j); return nil })
}

// granted waits for a visit and returns how long that took.
func (b *bench) granted(most time.Duration) (crawl.Visit, time.Duration) {
	b.t.Helper()
	began := time.Now()
	for {
		if v := b.grant(1); len(v) > 0 {
			return v[0], time.Since(began)
		}
		if time.Since(began) > most {
			b.t.Fatalf("no visit within %v", most)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestPausedHostGetsNoVisit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/", "http://b.example/")
		b.rule(map[canon.Host]crawl.HostRule{"a.example": {Paused: true}})
		b.links(1, "http://b.example/", "http://a.example/2")
		if v := b.grant(10); len(v) != 1 || v[0].Host != "b.example" {
			t.Fatalf("%v: want b.example alone", v)
		}
		if v, err := b.s.Visits.Download(canon.Origin{Scheme: "http", Host: "a.example", Port: 80}, "", time.Now()); v != nil || err != nil {
			t.Errorf("a download from the paused host: %v, %v", v, err)
		}
		info := b.s.Account.HostInfo(b.s.Ledger.Hosts["a.example"], time.Now())
		if !info.Paused || info.State != "paused" || info.Queued != 2 {
			t.Errorf("%+v", info)
		}
		if st := b.status(); st.PausedHosts != 1 || st.PausedURLs != 2 {
			t.Errorf("%d hosts paused, with %d URLs; want 1 with 2", st.PausedHosts, st.PausedURLs)
		}
		if st := b.status(); st.Shards[0].DueSoon < 2 {
			t.Error("the crawl would be done while a host with a queue is paused")
		}
		// It is still paused after a crash, and however much time passes.
		b.commit()
		b.crash()
		b.open()
		time.Sleep(time.Hour)
		for _, v := range b.grant(10) {
			if v.Host == "a.example" {
				t.Fatal("a visit to a paused host")
			}
		}
		b.rule(nil)
		if v := b.grant(10); len(v) != 1 || v[0].Host != "a.example" {
			t.Fatalf("%v: want a.example, which was resumed", v)
		}
		b.verify()
	})
}

func TestResumedHostKeepsItsDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/", "http://a.example/2")
		v := b.grant(1)[0]
		b.event(crawl.Event{Visit: v.ID, Outcome: &crawl.Outcome{
			Host: v.Host, Requests: 1, Delay: v.Delay, RetryAfter: time.Minute, Overloads: 1,
			Results: []crawl.Result{{URL: v.URLs[0].URL, Class: crawl.Retry, Reason: crawl.ReasonOverload}},
		}})
		b.rule(map[canon.Host]crawl.HostRule{"a.example": {Paused: true}})
		b.rule(nil)
		if _, took := b.granted(time.Hour); took < time.Minute {
			t.Errorf("granted after %v, and Retry-After was a minute", took)
		}
	})
}

func TestOperatorsDelay(t *testing.T) {
	for _, c := range []struct {
		operator, crawlDelay, want time.Duration
		source                     string
	}{
		{5 * time.Second, 0, 5 * time.Second, "operator"},
		{5 * time.Second, 10 * time.Second, 10 * time.Second, "crawl-delay"},
		{100 * time.Millisecond, 0, time.Second, "configured"},
	} {
		t.Run(fmt.Sprint(c.operator, c.crawlDelay), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, testSpec("http://a.example/1"))
				b.links(0, "", "http://a.example/1", "http://a.example/2", "http://a.example/3")
				v := b.grant(1)[0]
				r := robotsOK("http://a.example/")
				if c.crawlDelay > 0 {
					r.State, r.Status, r.CrawlDelay, r.HasCrawlDelay = crawl.RobotsParsed, 200, c.crawlDelay, true
					r.Body = fmt.Appendf(nil, "User-agent: *\nCrawl-delay: %d\n", int(c.crawlDelay.Seconds()))
				}
				b.event(crawl.Event{Visit: v.ID, Robots: []crawl.Robots{r}, Outcome: &crawl.Outcome{
					Host: v.Host, Requests: 1, Delay: v.Delay,
					Results: []crawl.Result{{URL: v.URLs[0].URL, Class: crawl.Stored, Status: 200}},
				}})
				// Set between two visits: a whole delay begins at this moment.
				b.rule(map[canon.Host]crawl.HostRule{"a.example": {Delay: c.operator}})
				v, took := b.granted(time.Minute)
				if v.Delay != c.want || took < c.want {
					t.Errorf("granted after %v with a delay of %v, want %v", took, v.Delay, c.want)
				}
				info := b.s.Account.HostInfo(b.s.Ledger.Hosts["a.example"], time.Now())
				if info.DelaySource != c.source || info.OperatorDelayS != c.operator.Seconds() {
					t.Errorf("%+v, want source %s", info, c.source)
				}
				b.event(crawl.Event{Visit: v.ID, Outcome: &crawl.Outcome{Host: v.Host, Requests: 1, Delay: v.Delay}})
				if _, took := b.granted(time.Minute); took < c.want {
					t.Errorf("granted again after %v, want %v", took, c.want)
				}
			})
		})
	}
}

// A delay that is set while no frontier owns the shard is kept as well, and waited for once.
func TestOperatorsDelayWithoutAnOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/1"))
		for i := range 40 {
			b.links(0, "", fmt.Sprintf("http://a.example/%d", i))
		}
		b.finish(b.grant(1)[0], crawl.Stored, "")
		reopen := func() {
			if err := b.s.close(true); err != nil {
				t.Fatal(err)
			}
			b.start = store.StartClean
			b.open()
		}
		b.spec.Hosts = map[canon.Host]crawl.HostRule{"a.example": {Delay: 30 * time.Second}}
		reopen()
		v, took := b.granted(time.Minute)
		if took < 30*time.Second || v.Delay != 30*time.Second {
			t.Errorf("granted after %v with a delay of %v", took, v.Delay)
		}
		b.finish(v, crawl.Stored, "")
		time.Sleep(29 * time.Second)
		reopen()
		if _, took := b.granted(time.Minute); took > 2*time.Second {
			t.Errorf("granted %v after a delay that had nearly passed", took)
		}
	})
}

// A longer delay of all hosts that is set while no frontier owns the shard is kept as well, by
// hosts in memory and by evicted ones.
func TestDelayOfAllWithoutAnOwner(t *testing.T) {
	for _, n := range []int{1, 100} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			fewResident(t)
			synctest.Test(t, func(t *testing.T) {
				b := manyShops(t, n, 40)
				last := map[canon.Host]time.Time{}
				for len(last) < n {
					for _, v := range b.grant(8) {
						b.finish(v, crawl.Stored, "")
						last[v.Host] = time.Now()
					}
					b.commit()
				}
				b.spec.Delay = 30 * time.Second
				if err := b.s.close(true); err != nil {
					t.Fatal(err)
				}
				b.start = store.StartClean
				b.open()
				seen := map[canon.Host]bool{}
				for began := time.Now(); len(seen) < n && time.Since(began) < 10*time.Minute; time.Sleep(100 * time.Millisecond) {
					for _, v := range b.grant(8) {
						if since := time.Since(last[v.Host]); since < 30*time.Second {
							t.Fatalf("%s granted %v after its last response, with a delay of %v", v.Host, since, v.Delay)
						}
						b.finish(v, crawl.Stored, "")
						last[v.Host], seen[v.Host] = time.Now(), true
					}
					b.commit()
				}
				if len(seen) < n {
					t.Errorf("%d of %d hosts granted", len(seen), n)
				}
			})
		})
	}
}

// Paused hosts do not take the memory of hosts that wait for their first visit.
func TestPausedHostsTakeNoMemoryFromOthers(t *testing.T) {
	defer func(n int) { hosts.MaxResident = n }(hosts.MaxResident)
	hosts.MaxResident = 8
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		hosts := map[canon.Host]crawl.HostRule{}
		for i := range 40 {
			name := fmt.Sprintf("h%02d.example", i)
			if i < 30 {
				hosts[canon.Host(name)] = crawl.HostRule{Paused: true}
			}
			b.links(0, "", "http://"+name+"/")
		}
		b.rule(hosts)
		seen := map[canon.Host]bool{}
		for range 100 {
			b.commit()
			for _, v := range b.grant(4) {
				if hosts[v.Host].Paused {
					t.Fatalf("%s is paused", v.Host)
				}
				seen[v.Host] = true
				b.finish(v, crawl.Stored, "")
			}
			time.Sleep(time.Second)
		}
		if len(seen) != 10 {
			t.Errorf("%d of 10 hosts were visited", len(seen))
		}
	})
}

func TestRefetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/1", "http://a.example/2")
		v := b.grant(1)[0]
		b.event(crawl.Event{Visit: v.ID, Outcome: &crawl.Outcome{Host: v.Host, Requests: 2, Delay: v.Delay, Results: []crawl.Result{
			{URL: "http://a.example/1", Class: crawl.Stored, Status: 200, FetchedAt: time.Now()},
			{URL: "http://a.example/2", Class: crawl.Failed, Reason: crawl.ReasonHTTP4xx, Status: 404, FetchedAt: time.Now()},
		}}})
		time.Sleep(time.Minute)
		b.event(crawl.Event{Refetch: []string{"http://a.example/1", "http://a.example/2", "http://a.example/unknown", "x://"}})
		again := b.log[len(b.log)-1]
		v, _ = b.granted(time.Minute)
		if len(v.URLs) != 2 {
			t.Fatalf("%v: want both URLs", v.URLs)
		}
		b.finish(v, crawl.Stored, "")
		b.event(crawl.Event{Visit: v.ID})
		if err := b.s.applyEvent(&crawl.Event{Refetch: []string{"http://a.example/1"}}, again.Time); err != nil {
			t.Fatal(err)
		}
		if x := b.explain("http://a.example/1"); x.State != "stored" {
			t.Errorf("applied again, after it was fetched: %s", x.State)
		}
		b.verify()
	})
}

func TestAuditLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		var out bytes.Buffer
		b.s.Ledger.CrawlLog = &out
		b.event(crawl.Event{Audits: []crawl.Audit{{
			ID: "Q1", At: time.Now(), Who: "ada \"the\" operator\n", From: "10.0.0.2", Action: "pause-host", What: "a.example",
		}}})
		b.commit()
		b.commit()
		b.crash()
		b.open()
		b.s.Ledger.CrawlLog = &out
		b.commit()
		var line struct{ Time, Audit, What, Who, From, At, ID string }
		if err := json.Unmarshal(out.Bytes(), &line); err != nil {
			t.Fatalf("%v: want one line: %s", err, out.Bytes())
		}
		if line.Audit != "pause-host" || line.What != "a.example" || line.Who != "ada \"the\" operator\n" || line.From != "10.0.0.2" || line.ID != "Q1" || line.At == "" {
			t.Errorf("%+v", line)
		}
	})
}

// balky is a crawl log that cannot be written while it has an error.
type balky struct {
	bytes.Buffer
	err error
}

func (w *balky) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	return w.Buffer.Write(p)
}

// Lines of the crawl log wait while it cannot be written, up to a megabyte, and are then written
// once, in order, by the next commit, even if nothing else has changed.
func TestLinesWaitForTheirLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		out := balky{err: errors.New("disk full")}
		b.s.Ledger.CrawlLog = &out
		for _, id := range []string{"Q1", "Q2"} {
			b.event(crawl.Event{Audits: []crawl.Audit{{ID: id, At: time.Now(), Who: "ada", Action: "pause-host", What: "a.example"}}})
			b.commit()
		}
		out.err = nil
		b.commit()
		b.commit()
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 2 || !strings.Contains(lines[0], "Q1") || !strings.Contains(lines[1], "Q2") {
			t.Errorf("%q", lines)
		}
		out.err = errors.New("disk full")
		for size, want := range map[int]int{1 << 20: 1 << 20, 1<<20 + 1: 0} {
			b.s.Ledger.Unwritten = bytes.Repeat([]byte{'x'}, size)
			b.commit()
			if got := len(b.s.Ledger.Unwritten); got != want {
				t.Errorf("of %d bytes %d wait, want %d", size, got, want)
			}
		}
		b.s.Ledger.Unwritten = nil
	})
}
