package fetcher

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/version"
	"github.com/curtsy/curtsy/pkg/queue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestNewSaysWhatWouldWork(t *testing.T) {
	for _, tt := range []struct {
		change func(*crawl.Spec)
		want   string
	}{
		{func(s *crawl.Spec) { s.Agent = "" }, "product token is missing"},
		{func(s *crawl.Spec) { s.Agent = "my bot" }, "letters"},
		{func(s *crawl.Spec) { s.Agent = "bot/2" }, "letters"},
		{func(s *crawl.Spec) { s.Contact = "me (at) example" }, "you@example.org"},
		{func(s *crawl.Spec) { s.Contact = "a\r\nX-Evil: b" }, "you@example.org"},
		{func(s *crawl.Spec) { s.Shards = 0 }, "1 to 256"},
		{func(s *crawl.Spec) { s.Name = "a.b" }, "crawl name"},
		{func(s *crawl.Spec) { s.Resolve = []string{"x"} }, "HOST=ADDRESS"},
		{func(s *crawl.Spec) { s.Scope = "galaxy" }, "galaxy"},
		{func(s *crawl.Spec) { s.Seeds = []string{"example.org"} }, "seed"},
		{func(s *crawl.Spec) { s.Exclude = []string{"("} }, "("},
	} {
		spec := testSpec(4, "")
		tt.change(&spec)
		if _, err := New(nil, spec, Options{}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("New: %v, want something about %q", err, tt.want)
		}
	}
	f, err := New(nil, testSpec(4, ""), Options{})
	if err != nil || f.opt.Slots != 64 || f.opt.Name == "" {
		t.Errorf("New: %v", err)
	}
	if err := f.SetSpec(testSpec(5, "")); err == nil {
		t.Error("the number of shards changed")
	}
	spec := testSpec(4, "")
	spec.Agent = "other"
	if err := f.SetSpec(spec); err != nil || f.cfg.Load().Header.Get("User-Agent") != "other/"+version.Product() {
		t.Errorf("SetSpec: %v", err)
	}
}

// slowSite answers every page after a while and counts the requests that began.
func slowSite(t testing.TB, wait time.Duration) (addr string, n *atomic.Int64) {
	n = new(atomic.Int64)
	return origin(t, func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		select {
		case <-time.After(wait):
		case <-r.Context().Done():
		}
		w.WriteHeader(404)
	}), n
}

func manyURLs(t testing.TB, n int) crawl.Visit {
	var urls []string
	for i := range n {
		urls = append(urls, fmt.Sprintf("http://h.test/%d", i))
	}
	return open(visitTo(t, urls...))
}

func TestLeasesAreRenewed(t *testing.T) {
	virtual(t, func(t *testing.T) {
		addr, n := slowSite(t, time.Second)
		d := newDesk(t, 1)
		startFetcher(t, d, testSpec(1, addr), Options{})
		v := manyURLs(t, 20)
		out := d.outcome(d.grant(v))
		if strings.Contains(classes(out), "returned") || n.Load() != 20 {
			t.Errorf("%s after %d requests", classes(out), n.Load())
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.renews == 0 {
			t.Error("never renewed")
		}
	})
}

func TestLostVisitStops(t *testing.T) {
	virtual(t, func(t *testing.T) {
		// After the visit is lost the site answers nothing. The running request is cut off, and no
		// other one comes.
		var n, lost atomic.Int64
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			n.Add(1)
			for r.Context().Err() == nil {
				if time.Sleep(300 * time.Millisecond); lost.Load() == 0 {
					w.WriteHeader(404)
					return
				}
			}
		})
		d := newDesk(t, 1)
		d.lose, d.losing = true, func() { lost.CompareAndSwap(0, max(n.Load(), 1)) }
		startFetcher(t, d, testSpec(1, addr), Options{})
		out := d.outcome(d.grant(manyURLs(t, 40)))
		got := n.Load()
		// One may have begun while the answer was on its way.
		if before := lost.Load(); before == 0 || got > before+1 {
			t.Errorf("%d requests, %d of them before the visit was lost", got, before)
		}
		if !strings.HasSuffix(classes(out), "returned returned") {
			t.Errorf("%s", classes(out))
		}
		time.Sleep(time.Minute)
		if n.Load() != got {
			t.Error("a request was sent after the outcome")
		}
	})
}

// Without an answer to renewals the lease runs out: no request starts after it, the running one is
// cut off, and what was found is published all the same.
func TestLeaseRunsOut(t *testing.T) {
	virtual(t, func(t *testing.T) {
		// began: Unix ns, when the first request came, which is when the lease began
		var n, cut, began atomic.Int64
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			began.CompareAndSwap(0, time.Now().UnixNano())
			if n.Add(1) > 2 { // this one hangs until the lease is over
				<-r.Context().Done()
				cut.Add(1)
				return
			}
			w.WriteHeader(404)
		})
		d := newDesk(t, 1)
		startFetcher(t, d, testSpec(1, addr), Options{})
		d.deaf = true
		out := d.outcome(d.grant(manyURLs(t, 40)))
		// After an answer that is cut off, the origin gets a moment.
		if took := time.Since(time.Unix(0, began.Load())); took < 10*time.Second || took > 10*time.Second+30*time.Millisecond {
			t.Errorf("the outcome came after %v of a lease of 10 s", took)
		}
		if !strings.HasPrefix(classes(out), "failed/http-4xx failed/http-4xx") || !strings.HasSuffix(classes(out), "returned returned") {
			t.Error(classes(out))
		}
		synctest.Wait()
		if cut.Load() != 1 || n.Load() != 3 {
			t.Errorf("%d requests, %d of them cut off, want the third", n.Load(), cut.Load())
		}
	})
}

// A grant that arrived late has only the rest of its lease, which is counted from the request for
// it.
func TestLeaseCountsFromAsking(t *testing.T) {
	virtual(t, func(t *testing.T) {
		addr, n := slowSite(t, 0)
		d := newDesk(t, 1)
		d.slow = 1500 * time.Millisecond
		startFetcher(t, d, testSpec(1, addr), Options{})
		v := manyURLs(t, 3)
		v.Lease = 1400 * time.Millisecond
		out := d.outcome(d.grant(v))
		if n.Load() != 0 || classes(out) != "returned returned returned" || out.Requests != 0 {
			t.Errorf("%d requests, %s", n.Load(), classes(out))
		}
	})
}

// While a shard moves, nobody answers for it, or its old owner still listens and does not answer.
// Renewals are repeated, so that the new owner knows of the visit before its lease ends.
func TestRenewedAsSoonAsSomebodyAnswers(t *testing.T) {
	for name, silence := range map[string]func(d *desk) (end func()){
		"the old owner says nothing": func(d *desk) func() {
			deaf := func(on bool) { d.mu.Lock(); d.deaf = on; d.mu.Unlock() }
			deaf(true)
			return func() { deaf(false) }
		},
		"nobody listens": func(d *desk) func() {
			d.renewing[0].Unsubscribe()
			return func() { d.subscribe(d.name.Renew(0), d.renew) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				const lease = 6 * time.Second
				begun := time.Now()
				// The visit outlasts its first lease.
				addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
					time.Sleep(max(lease+lease/6-time.Since(begun), 0))
					w.WriteHeader(404)
				})
				d := newDesk(t, 1)
				startFetcher(t, d, testSpec(1, addr), Options{})
				v := manyURLs(t, 3)
				v.Lease = lease
				end := silence(d)
				id := d.grant(v)
				time.Sleep(lease / 2) // the first renewal is due after a third
				end()
				if out := d.outcome(id); strings.Contains(classes(out), "returned") {
					t.Error(classes(out))
				}
			})
		})
	}
}

func TestStop(t *testing.T) {
	virtual(t, func(t *testing.T) {
		addr, n := slowSite(t, 100*time.Millisecond)
		d := newDesk(t, 1)
		_, stop := startFetcher(t, d, testSpec(1, addr), Options{})
		v := manyURLs(t, 40)
		v.Delay = 50 * time.Millisecond
		id := d.grant(v)
		for n.Load() < 2 {
			time.Sleep(time.Millisecond)
		}
		start := time.Now()
		stop()
		if took := time.Since(start); took > 100*time.Millisecond { // until the answer comes
			t.Errorf("stopping took %v", took)
		}
		out := d.outcome(id)
		// The running request was finished, and none was begun.
		if got := n.Load(); int(got) != out.Requests || !strings.HasPrefix(classes(out), strings.Repeat("failed/http-4xx ", int(got))+"returned") {
			t.Errorf("%d requests, %s", got, classes(out))
		}
	})
}

// Stopping does not wait for a slow origin: after half of the grace its connection is closed.
func TestStopCutsOff(t *testing.T) {
	virtual(t, func(t *testing.T) {
		addr, n := slowSite(t, time.Minute/2)
		d := newDesk(t, 1)
		_, stop := startFetcher(t, d, testSpec(1, addr), Options{})
		id := d.grant(manyURLs(t, 2))
		for n.Load() < 1 {
			time.Sleep(time.Millisecond)
		}
		start := time.Now()
		stop()
		if took := time.Since(start); took != 5*time.Second/2+25*time.Millisecond {
			t.Errorf("stopping took %v", took)
		}
		if out := d.outcome(id); classes(out) != "returned returned" || out.Requests != 1 {
			t.Errorf("%+v", out)
		}
	})
}

// A log that accepts nothing makes a visit wait. The end of the fetcher drops it, and Run returns.
func TestNobodyToTell(t *testing.T) {
	virtual(t, func(t *testing.T) {
		addr, _ := slowSite(t, 10*time.Millisecond)
		d := newDesk(t, 1)
		reg := prometheus.NewRegistry()
		f, stop := startFetcher(t, d, testSpec(1, addr), Options{Registerer: reg})
		if err := d.q.JS.DeleteStream(t.Context(), d.name.EventsStream(0)); err != nil {
			t.Fatal(err)
		}
		d.grant(manyURLs(t, 3))
		for f.StageSeconds()["fetch"] == 0 {
			time.Sleep(time.Millisecond)
		}
		synctest.Wait()
		start := time.Now()
		stop()
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("stopping took %v", took)
		}
		all, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, m := range all {
			if m.GetName() == "curtsy_fetcher_visits_dropped_total" {
				found = m.GetMetric()[0].GetCounter().GetValue() == 1
			}
			for _, s := range m.GetMetric() {
				for _, l := range s.GetLabel() {
					if !slices.Contains([]string{"stage", "class", "reason", "code", "state"}, l.GetName()) {
						t.Errorf("label %s of %s", l.GetName(), m.GetName())
					}
				}
			}
		}
		if !found {
			t.Error("the dropped visit was not counted")
		}
	})
}

// Frontiers come and go; a fetcher asks those that own a shard.
func TestFollowsOwners(t *testing.T) {
	virtual(t, func(t *testing.T) {
		addr, _ := slowSite(t, 0)
		d := newDesk(t, 2)
		var asked atomic.Int64
		d.subscribe(d.name.VisitRequest("other"), func(m *nats.Msg) {
			asked.Add(1)
			m.Respond(crawl.AppendGrants(nil, crawl.Grants{Wait: 5 * time.Millisecond}))
		})
		startFetcher(t, d, testSpec(2, addr), Options{})
		d.outcome(d.grant(manyURLs(t, 1)))
		put := func(key, owner string, clean bool) {
			b, _ := json.Marshal(queue.Record{Epoch: 2, Owner: owner, Clean: clean})
			if _, err := d.kv.Put(t.Context(), key, b); err != nil {
				t.Fatal(err)
			}
		}
		put("frontier.1", "other", false)
		put("indexer.1", "nobody", false)
		wait := func(what string, ok func() bool) {
			t.Helper()
			for end := time.Now().Add(ample); !ok(); time.Sleep(5 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal(what)
				}
			}
		}
		wait("the new owner was not asked", func() bool { return asked.Load() > 2 })
		d.outcome(d.grant(manyURLs(t, 1)))
		put("frontier.1", "other", true)
		wait("an owner that let go is still asked", func() bool {
			before := asked.Load()
			time.Sleep(50 * time.Millisecond)
			return asked.Load() == before
		})
		d.outcome(d.grant(manyURLs(t, 1)))
	})
}

// If a frontier grants more visits than requested, no more are carried out than there are slots.
func TestMoreGrantsThanHands(t *testing.T) {
	virtual(t, func(t *testing.T) {
		addr, _ := slowSite(t, 0)
		d := newDesk(t, 1)
		d.generous = true
		startFetcher(t, d, testSpec(1, addr), Options{Slots: 1})
		a, b := manyURLs(t, 1), manyURLs(t, 1)
		b.Host = "g.test"
		ida := d.grant(a)
		d.grant(b)
		d.outcome(ida)
		d.outcome(d.grant(manyURLs(t, 1))) // it continues
	})
}

// A visit keeps the spec that it began with, whenever a new one comes.
func TestSetSpecDuringVisits(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var mu sync.Mutex
		agents := make(map[string]string) // by host
		var n int                         // requests
		var spec crawl.Spec
		var f *Fetcher
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			if was, ok := agents[r.Host]; ok && was != r.UserAgent() {
				t.Errorf("%s saw %s, then %s", r.Host, was, r.UserAgent())
			}
			agents[r.Host] = r.UserAgent()
			if n++; n%2 == 0 { // while visits are running
				spec.Agent = string([]byte{'a' + byte(n/2%26)})
				if err := f.SetSpec(spec); err != nil {
					t.Error(err)
				}
			}
			w.WriteHeader(404)
		})
		d := newDesk(t, 1)
		spec = testSpec(1, addr)
		f, _ = startFetcher(t, d, spec, Options{Slots: 4})
		var ids []crawl.VisitID
		for i := range 20 {
			v := visitTo(t, fmt.Sprintf("http://h%d.test/a", i), fmt.Sprintf("http://h%d.test/b", i))
			v.Delay = 5 * time.Millisecond
			ids = append(ids, d.grant(v))
		}
		for _, id := range ids {
			if out := d.outcome(id); out.Requests != 3 {
				t.Errorf("%d requests, %s", out.Requests, classes(out))
			}
		}
		mu.Lock()
		defer mu.Unlock()
		different := make(map[string]bool)
		for _, a := range agents {
			different[a] = true
		}
		if len(different) < 4 {
			t.Errorf("agents %v", different)
		}
	})
}

// A server that takes only small messages would make us fetch some pages for ever.
func TestSmallMessages(t *testing.T) {
	virtual(t, func(t *testing.T) {
		srv, err := server.NewServer(&server.Options{DontListen: true, JetStream: true, StoreDir: t.TempDir(), MaxPayload: 256 << 10, NoLog: true, NoSigs: true})
		if err != nil {
			t.Fatal(err)
		}
		srv.Start()
		defer func() { srv.Shutdown(); srv.WaitForShutdown() }()
		q, err := queue.Dial(t.Context(), queue.Options{InProcess: srv}, quiet())
		if err != nil {
			t.Fatal(err)
		}
		defer q.Close()
		f, err := New(q, testSpec(1, ""), Options{Log: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "max_payload") {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestRunEndsBeforeTheCrawlExists(t *testing.T) {
	virtual(t, func(t *testing.T) {
		d := newDesk(t, 1)
		spec := testSpec(1, "")
		spec.Name = "unborn"
		f, err := New(d.q, spec, Options{Log: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := f.Run(ctx); err != nil {
			t.Error(err)
		}
	})
}
