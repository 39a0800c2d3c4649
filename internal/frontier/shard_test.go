package frontier

import (
	"fmt"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/budget"
	"github.com/curtsy/curtsy/internal/frontier/judge"
	"github.com/curtsy/curtsy/internal/frontier/restore"
	"github.com/curtsy/curtsy/internal/frontier/schedule"
	"github.com/curtsy/curtsy/internal/frontier/shard"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/times"
	"github.com/curtsy/curtsy/internal/testaid"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
)

// bench is a shard without a broker: its log is a slice, so that a test can crash it and replay
// what was not committed.
type bench struct {
	t     testing.TB
	dir   string
	id    int       // of the shard
	lines io.Writer // the crawl log
	spec  crawl.Spec
	s     *Shard
	log   []queue.Entry
	n     int // epochs
	start store.Start

	copy     []byte // the last checkpoint
	copyName string
}

func testSpec(seeds ...string) crawl.Spec {
	return crawl.Spec{
		Name: "t", Shards: 1, Scope: "any", MaxDepth: -1, Agent: "curtsy", Delay: time.Second, HoldMax: 10 * time.Minute,
		AllowPrivate: true, Seeds: seeds,
	}
}

func newBench(t testing.TB, spec crawl.Spec) *bench {
	driven(t)
	return newBenchOf(t, spec, 0)
}

// driven skips a test under the race detector if one goroutine drives its shards: then the detector
// has nothing to find.
func driven(t testing.TB) {
	t.Helper()
	if testaid.RaceDetector {
		t.Skip("one goroutine drives this shard")
	}
}

// newBenchOf makes a bench of another shard than the first, or of one next to frontiers that run.
func newBenchOf(t testing.TB, spec crawl.Spec, id int) *bench {
	b := &bench{t: t, dir: t.TempDir(), spec: spec, id: id}
	b.open()
	b.start = store.StartDelay // from now on it was killed
	t.Cleanup(func() { b.crash() })
	return b
}

// outgoing returns the content of a message of the outbox.
func (b *bench) outgoing(m store.OutMessage) []byte {
	b.t.Helper()
	data, err := b.s.Ledger.Outgoing(m)
	if err != nil || len(data) != m.Size {
		b.t.Fatal(len(data), m.Size, err)
	}
	return data
}

// open opens the shard's file and replays the log after it, as an owner of the next epoch.
func (b *bench) open() {
	b.t.Helper()
	j, err := judge.New(b.spec)
	if err != nil {
		b.t.Fatal(err)
	}
	b.n++
	s, err := openShard(b.dir, b.id, j, uint64(b.n), "me", func() bool { return true }, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		b.t.Fatal(err)
	}
	s.Ledger.Metrics = store.NewMetrics(nil)
	s.Visits.Notify = make(chan struct{}, 1)
	s.Ledger.CrawlLog = b.lines
	s.Ledger.Budget = &budget.Budget{}
	s.copies = restore.NewCopies(s.Parts, restore.Deltas{}, nil)
	s.RUPSites.Secret = []byte("a crawl's secret")
	s.WebSub.Secret = s.RUPSites.Secret
	b.s = s
	if err := s.begin(b.start, 0, time.Now()); err != nil {
		b.t.Fatal(err)
	}
	for _, e := range b.log {
		if e.Seq > s.Ledger.Meta.Seq {
			if err := s.apply([]queue.Entry{e}); err != nil {
				b.t.Fatal(err)
			}
		}
	}
	s.catchUp(b.start)
}

// crash forgets everything since the last commit, like a kill would.
func (b *bench) crash() {
	if b.s == nil || b.s.Ledger.DB == nil {
		return
	}
	b.s.Ledger.Tx.Rollback()
	b.s.Ledger.DB.Close()
	b.s = nil
}

func (b *bench) event(ev crawl.Event) {
	b.t.Helper()
	b.eventData(crawl.AppendEvent(nil, &ev))
}

func (b *bench) eventData(data []byte) {
	b.t.Helper()
	e := queue.Entry{Position: queue.Position{Seq: uint64(len(b.log) + 1), Time: time.Now()}, Data: data}
	b.log = append(b.log, e)
	if err := b.s.apply([]queue.Entry{e}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) links(depth int, on string, urls ...string) {
	b.t.Helper()
	l := crawl.Links{Depth: depth, FoundOn: canon.URL(on)}
	for _, raw := range urls {
		l.URLs = append(l.URLs, mustParse(b.t, raw))
	}
	b.event(crawl.Event{Links: []crawl.Links{l}})
}

func mustParse(t testing.TB, raw string) canon.URL {
	t.Helper()
	u, err := canon.Parse(raw)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return u
}

func (b *bench) grant(n int) []crawl.Visit {
	b.t.Helper()
	v, _, err := b.s.Visits.Grant(n, schedule.MaxGrantBytes, time.Now())
	if err != nil {
		b.t.Fatal(err)
	}
	return v
}

func (b *bench) commit() {
	b.t.Helper()
	b.s.Ledger.Mu.Lock()
	defer b.s.Ledger.Mu.Unlock()
	if err := b.s.Ledger.Commit(true); err != nil {
		b.t.Fatal(err)
	}
}

// robotsOK is the fact that an origin has no robots.txt.
func robotsOK(u canon.URL) crawl.Robots {
	return crawl.Robots{Origin: u.Origin(), State: crawl.RobotsUnavailable, Status: 404, Fresh: 24 * time.Hour}
}

// finish ends a visit with the same class for all its URLs.
func (b *bench) finish(v crawl.Visit, class crawl.Class, reason crawl.Reason) {
	b.t.Helper()
	o := &crawl.Outcome{Host: v.Host, Delay: v.Delay, Requests: len(v.URLs), Private: true}
	for _, u := range v.URLs {
		o.Results = append(o.Results, crawl.Result{URL: u.URL, Class: class, Reason: reason, Status: 200, FetchedAt: time.Now()})
	}
	ev := crawl.Event{Visit: v.ID, Outcome: o}
	for _, r := range v.Robots {
		ev.Robots = append(ev.Robots, robotsOK(canon.URL(r.Origin.String()+"/")))
	}
	b.event(ev)
}

func (b *bench) status() crawl.Status {
	st := b.s.Account.Status(time.Now())
	if sum := st.Queued + st.InFlight + st.Stored + st.Redirected + st.Refused + st.Failed; sum != st.Discovered {
		b.t.Errorf("discovered %d, classes add up to %d", st.Discovered, sum)
	}
	return st
}

func TestLinksAreSeenOnce(t *testing.T) {
	b := newBench(t, testSpec("http://a.example/"))
	b.links(0, "", "http://a.example/", "http://a.example/x", "http://a.example/x")
	b.links(1, "http://a.example/", "http://a.example/x", "http://b.example/", "https://a.example/x")
	if st := b.status(); st.Discovered != 4 || st.Queued != 4 {
		t.Errorf("status = %+v, want 4 discovered and queued", st)
	}
	b.s.Links.Recent = shard.Recent{} // the store must find them too
	b.links(2, "http://b.example/", "http://a.example/x", "http://b.example/")
	if st := b.status(); st.Discovered != 4 {
		t.Errorf("discovered %d after repeats, want 4", st.Discovered)
	}
}

func TestQueueIsByDepthThenFirstCome(t *testing.T) {
	spec := testSpec("http://a.example/")
	spec.Delay = 0
	b := newBench(t, spec)
	b.links(2, "", "http://a.example/2a", "http://a.example/2b")
	b.links(1, "", "http://a.example/1b", "http://a.example/1a")
	b.links(0, "", "http://a.example/", "https://a.example/0s")
	b.links(1, "", "http://a.example/2b") // found nearer now
	v := b.grant(1)
	if len(v) != 1 {
		t.Fatalf("%d visits, want 1", len(v))
	}
	var got []string
	for _, u := range v[0].URLs {
		got = append(got, u.URL.PathQuery())
	}
	want := "[/ /0s /1b /1a /2b /2a]"
	// 2b was accepted before 1b and 1a: first come, first served within depth 1.
	want = "[/ /0s /2b /1b /1a /2a]"
	if fmt.Sprint(got) != want {
		t.Errorf("order %v, want %s", got, want)
	}
}

func TestOneVisitPerHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/", "http://b.example/"))
		var urls []string
		for i := range 30 {
			urls = append(urls, fmt.Sprintf("http://a.example/%d", i))
		}
		b.links(0, "", append(urls, "http://b.example/")...)
		vs := b.grant(10)
		if len(vs) != 2 {
			t.Fatalf("%d visits, want one for each host", len(vs))
		}
		if again := b.grant(10); len(again) != 0 {
			t.Fatalf("a second visit to %s while the first is outstanding", again[0].Host)
		}
		var a crawl.Visit
		for _, v := range vs {
			if v.Host == "a.example" {
				a = v
			}
		}
		if len(a.URLs) != 10 {
			t.Errorf("%d URLs in a visit at 1 s delay, want the 10 that fit into 10 s", len(a.URLs))
		}
		if st := b.status(); st.InFlight != 11 || st.Queued != 20 {
			t.Errorf("in flight %d, queued %d, want 11 and 20", st.InFlight, st.Queued)
		}
		b.finish(a, crawl.Stored, "")
		if again := b.grant(10); len(again) != 0 {
			t.Error("a visit before the delay after the last response was over")
		}
		time.Sleep(time.Second)
		if again := b.grant(10); len(again) != 1 || again[0].Host != "a.example" {
			t.Errorf("%d visits after the delay, want one to a.example", len(again))
		}
	})
}

func TestOutcomeCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/")
		v := b.grant(1)[0]
		b.finish(v, crawl.Stored, "")
		last := b.log[len(b.log)-1]
		for range 3 { // the same message appended again, as a repeated publish may
			b.log = append(b.log, queue.Entry{Position: queue.Position{Seq: uint64(len(b.log) + 1), Time: time.Now()}, Data: last.Data})
			if err := b.s.apply(b.log[len(b.log)-1:]); err != nil {
				t.Fatal(err)
			}
		}
		if st := b.status(); st.Stored != 1 || st.Discovered != 1 {
			t.Errorf("%+v, want one URL, stored", st)
		}
	})
}

func TestVisitWithoutOutcomeEndsWithItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/")
		v := b.grant(1)[0]
		time.Sleep(times.Lease)
		b.s.Visits.Expire(time.Now())
		if len(b.s.Visits.Outstanding) != 1 {
			t.Fatal("the owner ended a visit while its fetcher may still count on the lease")
		}
		if r := b.s.Visits.Renew([]crawl.VisitID{v.ID}, time.Now()); len(r.Lost) != 0 {
			t.Fatal("a visit within its lease was not renewed")
		}
		time.Sleep(times.OwnerLease + time.Millisecond)
		b.s.Visits.Expire(time.Now())
		if len(b.s.Visits.Outstanding) != 0 {
			t.Fatal("a visit outlived its lease")
		}
		if r := b.s.Visits.Renew([]crawl.VisitID{v.ID}, time.Now()); len(r.Lost) != 1 {
			t.Error("a visit that is over was renewed")
		}
		if got := b.grant(1); len(got) != 0 {
			t.Error("granted again without one full delay")
		}
		time.Sleep(time.Second)
		w := b.grant(1)
		if len(w) != 1 {
			t.Fatal("not granted after lease and delay")
		}
		// The first fetcher did fetch, and its outcome is late: it counts for the URL, and does not
		// free the host.
		b.finish(v, crawl.Stored, "")
		if st := b.status(); st.Stored != 1 {
			t.Errorf("stored %d, want the late outcome to count", st.Stored)
		}
		if b.s.Ledger.Hosts["a.example"].Visit == nil {
			t.Error("a late outcome freed a host that another visit occupies")
		}
		b.finish(w[0], crawl.Failed, crawl.ReasonHTTP4xx)
		if st := b.status(); st.Stored != 0 || st.Failed != 1 || st.Discovered != 1 {
			t.Errorf("%+v: the newest visit has the last word", st)
		}
	})
}

func TestThreeAttemptsWithBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/")
		var waits []time.Duration
		last := time.Now()
		for b.status().Failed == 0 {
			v := b.grant(1)
			if len(v) == 0 {
				time.Sleep(100 * time.Millisecond)
				continue
			}
			waits = append(waits, time.Since(last).Round(time.Second))
			b.finish(v[0], crawl.Retry, crawl.ReasonHTTP5xx)
			last = time.Now()
		}
		if fmt.Sprint(waits) != "[0s 5s 20s]" && fmt.Sprint(waits) != "[1s 5s 20s]" {
			t.Errorf("waits %v, want three attempts, 5 s and 20 s apart", waits)
		}
		if st := b.status(); st.Failed != 1 || st.ByReason["http-5xx"] != 1 || st.Queued != 0 {
			t.Errorf("%+v", st)
		}
	})
}

func TestRetryAfterAppliesAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/", "http://a.example/b")
		v := b.grant(1)[0]
		b.event(crawl.Event{Visit: v.ID, Robots: []crawl.Robots{robotsOK("http://a.example/")}, Outcome: &crawl.Outcome{
			Host: v.Host, Requests: 1, Overloads: 1, Delay: v.Delay, RetryAfter: time.Hour, SinceEnd: time.Second,
			Results: []crawl.Result{{URL: v.URLs[0].URL, Class: crawl.Retry, Reason: crawl.ReasonOverload, Status: 503},
				{URL: v.URLs[1].URL, Class: crawl.Returned}},
		}})
		b.commit()
		b.crash()
		b.open()
		time.Sleep(time.Hour - 2*time.Second)
		if got := b.grant(1); len(got) != 0 {
			t.Fatal("asked again before Retry-After was over")
		}
		if st := b.status(); st.Queued != 2 {
			t.Errorf("%+v, want both URLs queued", st)
		}
		time.Sleep(3 * time.Second)
		if got := b.grant(1); len(got) != 1 {
			t.Error("not asked after Retry-After was over")
		}
	})
}

func TestUnreachableRobotsPostponesTheOrigin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/", "https://a.example/")
		v := b.grant(1)[0]
		if len(v.Robots) != 2 || v.Robots[0].State != crawl.RobotsUnknown {
			t.Fatalf("robots of a new host: %+v, want both origins unknown", v.Robots)
		}
		down := crawl.Robots{Origin: mustParse(t, "http://a.example/").Origin(), State: crawl.RobotsUnreachable, Status: 503, Reason: "HTTP 503"}
		b.event(crawl.Event{Visit: v.ID, Robots: []crawl.Robots{down, robotsOK("https://a.example/")}, Outcome: &crawl.Outcome{
			Host: v.Host, Requests: 3, Delay: v.Delay, Results: []crawl.Result{
				{URL: "http://a.example/", Class: crawl.Returned}, {URL: "https://a.example/", Class: crawl.Stored}},
		}})
		time.Sleep(5*time.Minute - time.Second)
		if got := b.grant(1); len(got) != 0 {
			t.Fatal("asked an unreachable origin within five minutes")
		}
		postponed, why, _ := b.s.Account.Postponed(b.s.Ledger.Hosts["a.example"], time.Now().Add(-4*time.Minute))
		if postponed {
			t.Errorf("five minutes are within hold-max, yet postponed: %s", why)
		}
		time.Sleep(2 * time.Second)
		if got := b.grant(1); len(got) != 1 || got[0].Robots[0].Fresh != 0 {
			t.Error("want a visit that begins with robots.txt")
		}
	})
}

func TestSlowCrawlDelayPostponesTheHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/")
		v := b.grant(1)[0]
		b.event(crawl.Event{Visit: v.ID, Robots: []crawl.Robots{{
			Origin: v.URLs[0].URL.Origin(), State: crawl.RobotsParsed, Status: 200, Fresh: 24 * time.Hour,
			HasCrawlDelay: true, CrawlDelay: time.Hour, Digest: make([]byte, 32), Body: []byte("User-agent: *\nCrawl-delay: 3600\n"),
		}}, Outcome: &crawl.Outcome{Host: v.Host, Requests: 1, Delay: time.Second, Results: []crawl.Result{{URL: v.URLs[0].URL, Class: crawl.Returned}}}})
		time.Sleep(2 * time.Hour)
		if got := b.grant(1); len(got) != 0 {
			t.Fatal("a host over the cap was visited")
		}
		st := b.status()
		if len(st.Postponed) != 1 || st.Shards[0].DueSoon != 0 {
			t.Errorf("%+v, want the host listed as postponed", st)
		}
	})
}

func TestDepthRefusesAndReopens(t *testing.T) {
	spec := testSpec("http://a.example/")
	spec.MaxDepth = 1
	b := newBench(t, spec)
	b.links(2, "http://a.example/1", "http://a.example/deep")
	if st := b.status(); st.Refused != 1 || st.ByReason["depth"] != 1 {
		t.Fatalf("%+v, want it refused for its depth", st)
	}
	b.links(1, "http://a.example/", "http://a.example/deep")
	if st := b.status(); st.Refused != 0 || st.Queued != 1 || len(st.ByReason) != 0 {
		t.Errorf("%+v, want it let in again", st)
	}
	b.links(2, "http://a.example/1", "http://a.example/deep2")
	b.commit()
	b.crash()
	b.spec.MaxDepth = 5
	b.open()
	b.refillAll()
	if st := b.status(); st.Queued != 2 || st.Refused != 0 {
		t.Errorf("%+v, want a wider limit to let the other in", st)
	}
}

func TestHostLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := testSpec("http://a.example/")
		spec.MaxPagesPerHost = 3
		b := newBench(t, spec)
		b.links(0, "", "http://a.example/1", "http://a.example/2", "http://a.example/3", "http://a.example/4", "http://a.example/5")
		v := b.grant(1)[0]
		if len(v.URLs) != 3 {
			t.Fatalf("%d URLs granted, want no more than the limit", len(v.URLs))
		}
		b.finish(v, crawl.Stored, "")
		b.refillAll()
		if st := b.status(); st.Stored != 3 || st.Refused != 2 || st.ByReason["host-limit"] != 2 || st.Queued != 0 {
			t.Errorf("%+v", st)
		}
	})
}

func TestRobotsRedirectBecomesAnAuxRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/")
		v := b.grant(1)[0]
		o := v.URLs[0].URL.Origin()
		b.event(crawl.Event{Visit: v.ID, Robots: []crawl.Robots{{Origin: o, State: crawl.RobotsPending, Location: "http://b.example/r.txt", Redirects: 1, Status: 301}},
			Outcome: &crawl.Outcome{Host: v.Host, Requests: 1, Delay: time.Second, Results: []crawl.Result{{URL: v.URLs[0].URL, Class: crawl.Returned}}}})
		time.Sleep(time.Minute)
		if got := b.grant(5); len(got) != 0 {
			t.Fatal("a robots-pending origin was visited")
		}
		if out := b.s.Ledger.CommittedOutbox(); len(out) != 0 {
			t.Fatal("an auxiliary request was sent before its state was committed")
		}
		b.commit()
		out := b.s.Ledger.CommittedOutbox()
		if len(out) != 1 {
			t.Fatalf("%d messages in the outbox, want the auxiliary request", len(out))
		}
		ev, err := crawl.DecodeEvent(b.outgoing(out[0]))
		if err != nil {
			t.Fatal(err)
		}
		b.event(ev)
		b.event(ev) // sent twice after a crash
		b.s.Ledger.MarkSent(out[0].N)
		vs := b.grant(5)
		if len(vs) != 1 || vs[0].Host != "b.example" || len(vs[0].Aux) != 1 {
			t.Fatalf("visits %+v, want one to b.example with the auxiliary request, once", vs)
		}
		b.event(crawl.Event{Answers: []crawl.Answer{{Aux: vs[0].Aux[0], Robots: crawl.Robots{State: crawl.RobotsUnavailable, Status: 404, Fresh: time.Hour}}}})
		b.event(crawl.Event{Visit: vs[0].ID, Outcome: &crawl.Outcome{Host: "b.example", Requests: 1, Delay: time.Second, Done: vs[0].Aux}})
		time.Sleep(2 * time.Second)
		vs = b.grant(5)
		if len(vs) != 1 || vs[0].Host != "a.example" || vs[0].Robots[0].State != crawl.RobotsUnavailable {
			t.Fatalf("visits %+v, want a.example open now", vs)
		}
	})
}

func TestEndlessQueriesEnd(t *testing.T) {
	b := newBench(t, testSpec("http://a.example/"))
	b.links(judge.MaxQueryDepth, "", "http://a.example/cal?day=1", "http://a.example/deep")
	b.links(judge.MaxQueryDepth+1, "", "http://a.example/cal?day=2", "http://a.example/deeper")
	if st := b.status(); st.Queued != 3 || st.ByReason["trap"] != 1 {
		t.Errorf("%+v, want the query past the limit refused as a trap, and only that", st)
	}
}
