package frontier

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simnet/broker"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

// crew is several frontiers of one crawl in this process, each with its own directory and
// connection, and what a fetcher would do.
type crew struct {
	t    testing.TB
	srv  *embedded.Server
	q    *queue.Conn // of the test itself
	kv   jetstream.KeyValue
	spec crawl.Spec
	term time.Duration
	opt  Options
	by   map[string]*member
	log  *slog.Logger
}

type member struct {
	f    *Frontier
	q    *queue.Conn
	dir  string
	stop func() // like SIGTERM
	kill func() // like SIGKILL, seen from outside
}

func newCrew(t testing.TB, spec crawl.Spec) *crew {
	t.Helper()
	return newCrewWith(t, spec, StreamLimits{Events: 16 << 20, Pages: 16 << 20})
}

func newCrewWith(t testing.TB, spec crawl.Spec, limits StreamLimits) *crew {
	t.Helper()
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	if os.Getenv("FRONTIER_LOG") != "" {
		log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	c := &crew{t: t, srv: broker.Start(t), spec: spec, term: time.Second, by: map[string]*member{}, log: log}
	c.q = broker.Dial(t, c.srv)
	if err := EnsureStreams(t.Context(), c.q, spec, limits); err != nil {
		t.Fatal(err)
	}
	kv, err := c.q.OpenBucket(t.Context(), crawl.Names(spec.Name).Bucket(), 0)
	if err != nil {
		t.Fatal(err)
	}
	c.kv = kv
	return c
}

// start runs a frontier; one that ran before gets its directory again.
func (c *crew) start(name string) *member {
	c.t.Helper()
	m := &member{q: broker.Dial(c.t, c.srv)}
	if old := c.by[name]; old != nil {
		m.dir = old.dir
	} else {
		m.dir = c.t.TempDir()
	}
	o := c.opt
	o.Dir, o.Instance, o.Term, o.Log = m.dir, name, c.term, c.log.With("frontier", name)
	f, err := New(m.q, c.spec, o)
	if err != nil {
		c.t.Fatal(err)
	}
	m.f = f
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	var once sync.Once
	end := func(wantErr bool) {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil && !wantErr {
				c.t.Errorf("%s: %v", name, err)
			}
		})
	}
	m.stop = func() { end(false) }
	m.kill = func() {
		m.q.NC.Close()
		end(true)
	}
	c.t.Cleanup(m.stop)
	c.by[name] = m
	return m
}

func (c *crew) record(shard int) (r queue.Record) {
	c.t.Helper()
	e, err := c.kv.Get(c.t.Context(), fmt.Sprintf("frontier.%d", shard))
	if err != nil {
		c.t.Fatal(err)
	}
	if err := json.Unmarshal(e.Value(), &r); err != nil {
		c.t.Fatal(err)
	}
	return r
}

// settled waits until every shard is owned by one of these, evenly, and has caught up.
func (c *crew) settled(names ...string) {
	c.t.Helper()
	until(c.t, 30*time.Second, fmt.Sprintf("shards evenly with %v", names), func() bool {
		n := map[string]int{}
		for _, name := range names {
			for _, s := range c.by[name].f.open() {
				s.Ledger.Mu.Lock()
				if s.Ledger.Phase.Active() && s.Ledger.Valid() {
					n[name]++
				}
				s.Ledger.Mu.Unlock()
			}
		}
		sum, least, most := 0, c.spec.Shards, 0
		for _, name := range names {
			sum, least, most = sum+n[name], min(least, n[name]), max(most, n[name])
		}
		return sum == c.spec.Shards && most-least <= 1
	})
}

func until(t testing.TB, d time.Duration, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(d); !ok(); {
		if time.Now().After(end) {
			t.Fatalf("waited %v for: %s", d, what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// holder returns which frontier grants for a shard now, or nil.
func (c *crew) holder(shard int) (string, *Shard) {
	for name, m := range c.by {
		for _, s := range m.f.open() {
			if s.Ledger.ID == shard && s.Ledger.Valid() {
				return name, s
			}
		}
	}
	return "", nil
}

// take requests visits from all frontiers, like a fetcher does.
func (c *crew) take(n int) (all []crawl.Visit) {
	c.t.Helper()
	for _, name := range slices.Sorted(maps.Keys(c.by)) {
		m, err := c.q.NC.Request(crawl.Names(c.spec.Name).VisitRequest(name), crawl.AppendVisitRequest(nil, crawl.VisitRequest{Fetcher: "x", Max: n}), 2*time.Second)
		if err != nil {
			continue // stopped
		}
		g, err := crawl.DecodeGrants(m.Data)
		if err != nil {
			c.t.Fatal(err)
		}
		all = append(all, g.Visits...)
	}
	return all
}

// renew renews the lease of a visit; ok is false if there is no answer.
func (c *crew) renew(v crawl.Visit) (lost, ok bool) {
	c.t.Helper()
	m, err := c.q.NC.Request(crawl.Names(c.spec.Name).Renew(v.Shard), crawl.AppendRenew(nil, crawl.Renew{Fetcher: "x", Visits: []crawl.VisitID{v.ID}}), time.Second)
	if err != nil {
		return false, false
	}
	r, err := crawl.DecodeRenewed(m.Data)
	if err != nil {
		c.t.Fatal(err)
	}
	return len(r.Lost) > 0, true
}

func (c *crew) seed(urls ...canon.URL) {
	c.t.Helper()
	if err := asker.Seed(c.t.Context(), c.q, c.spec, urls); err != nil {
		c.t.Fatal(err)
	}
}

// hostIn returns the nth name of a host of a shard.
func hostIn(shards, shard, n int) canon.Host {
	for i := 0; ; i++ {
		h := canon.Host(fmt.Sprintf("h%d.example", i))
		if crawl.ShardOf(h, shards) == shard {
			if n--; n < 0 {
				return h
			}
		}
	}
}

func crewSpec(shards int) crawl.Spec {
	spec := testSpec()
	spec.Shards, spec.Delay = shards, time.Second
	return spec
}

// A third frontier joins two: its share of the shards moves to it in order, with the visits in
// progress.
func TestShardsMoveToANewFrontier(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		c := newCrew(t, crewSpec(6))
		c.start("a")
		c.settled("a")
		var urls []canon.URL
		for i := range 6 {
			urls = append(urls, canon.URL("http://"+hostIn(6, i, 0)+"/1"), canon.URL("http://"+hostIn(6, i, 0)+"/2"), canon.URL("http://"+hostIn(6, i, 1)+"/"))
		}
		c.seed(urls...)
		c.start("b")
		c.settled("a", "b")
		out := map[canon.Host]crawl.Visit{}
		until(t, time.Minute, "a visit to every host", func() bool {
			for _, v := range c.take(4) {
				if _, twice := out[v.Host]; twice {
					t.Fatalf("%s granted twice", v.Host)
				}
				out[v.Host] = v
			}
			return len(out) == 12
		})
		// The visits of the second hosts end; those of the first ones continue while their shards
		// move.
		for i := range 6 {
			answer(t, c.q, out[hostIn(6, i, 1)], crawl.Stored)
		}
		began := time.Now()
		c.start("d")
		c.settled("a", "b", "d")
		moved := 0
		for i := range 6 {
			name, s := c.holder(i)
			if name != "d" {
				continue
			}
			moved++
			s.Ledger.Mu.Lock()
			quiet, n := s.Ledger.Phase.Until, len(s.Visits.Outstanding)
			s.Ledger.Mu.Unlock()
			if !quiet.IsZero() || n != 1 {
				t.Errorf("shard %d moved with %d visits, quiet until %v; want one visit and no quiet time", i, n, quiet)
			}
			for _, name := range []string{"a", "b", "d"} {
				f := c.by[name].f
				if err := f.files.DropStale(t.Context(), i, f.claims.has); err != nil {
					t.Error(err)
				}
				if _, err := os.Stat(f.files.Path(i)); (err == nil) != (name == "d") {
					t.Errorf("%s has a file of shard %d, which is d's: %v", name, i, err == nil)
				}
			}
			v := out[hostIn(6, i, 0)]
			if lost, ok := c.renew(v); lost || !ok {
				t.Errorf("shard %d: visit %v is not renewed by its new owner (answered: %v)", i, v.ID, ok)
			}
		}
		if moved != 2 {
			t.Errorf("%d shards moved, want 2", moved)
		}
		if d := time.Since(began); d > time.Minute {
			t.Errorf("moving took %v", d)
		}
		// No host is granted again during its visit.
		more := canon.URL("http://" + hostIn(6, 0, 0) + "/3")
		c.seed(more)
		for end := time.Now().Add(time.Second); time.Now().Before(end); {
			if vs := c.take(4); len(vs) > 0 {
				t.Fatalf("granted %s while a visit to it is out", vs[0].Host)
			}
		}
		for i := range 6 {
			answer(t, c.q, out[hostIn(6, i, 0)], crawl.Stored)
		}
		until(t, time.Minute, "all stored but one", func() bool {
			st, err := asker.Status(t.Context(), c.q, c.spec)
			return err == nil && st.Stored == 18 && st.InFlight == 0 && st.Queued == 1 && st.Discovered == 19
		})
	})
}

// The total number of pages stays within --max-pages while shards move with visits in progress.
func TestPageBudgetWithMovingShards(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		spec := crewSpec(4)
		spec.Delay, spec.MaxPages = 0, 60
		var urls []canon.URL
		for i := range 300 {
			urls = append(urls, canon.URL(fmt.Sprintf("http://h%d.example/%d", i%40, i)))
			spec.Hurry = append(spec.Hurry, fmt.Sprintf("h%d.example", i%40))
		}
		c := newCrew(t, spec)
		c.start("a")
		c.settled("a")
		c.seed(urls...)
		stored := func() int64 {
			st, err := asker.Status(t.Context(), c.q, c.spec)
			if err != nil {
				return 0
			}
			if st.Stored > spec.MaxPages {
				t.Fatalf("%d pages stored, --max-pages %d", st.Stored, spec.MaxPages)
			}
			return st.Stored
		}
		var out []crawl.Visit
		n := 0
		crawlSome := func(visits int) {
			for range visits {
				out = append(out, c.take(1)...)
				for len(out) > 4 { // four are always in progress
					class := crawl.Stored
					if n++; n%3 == 0 {
						class = crawl.Failed
					}
					answer(t, c.q, out[0], class)
					out = out[1:]
				}
			}
			stored()
		}
		crawlSome(2)
		c.start("b")
		c.settled("a", "b")
		crawlSome(2)
		c.start("d")
		c.settled("a", "b", "d")
		crawlSome(2)
		c.by["a"].stop()
		delete(c.by, "a")
		c.settled("b", "d")
		crawlSome(2)
		c.by["d"].stop()
		delete(c.by, "d")
		c.settled("b")
		until(t, 30*time.Second, "the limit is reached", func() bool {
			out = append(out, c.take(4)...)
			for _, v := range out {
				answer(t, c.q, v, crawl.Stored)
			}
			out = nil
			return stored() == spec.MaxPages
		})
		time.Sleep(time.Second)
		stored()
	})
}

type floor struct{ err atomic.Pointer[error] }

func (f *floor) Err() error {
	if err := f.err.Load(); err != nil {
		return *err
	}
	return nil
}

// With too little disk space nothing is granted, the status shows why, the crawl does not count as
// done, and it continues by itself.
func TestNothingIsGrantedOnAFullDisk(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		_, q := broker.Open(t)
		spec := testSpec("http://a.example/")
		if err := EnsureStreams(t.Context(), q, spec, StreamLimits{Events: 16 << 20, Pages: 16 << 20}); err != nil {
			t.Fatal(err)
		}
		reg := prometheus.NewRegistry()
		f, err := New(q, spec, Options{Dir: t.TempDir(), Instance: "f1", Embedded: true, StopGrace: time.Millisecond, Registry: reg})
		if err != nil {
			t.Fatal(err)
		}
		full, why := new(floor), errors.New("the disk of /data has 3 MiB free")
		full.err.Store(&why)
		f.floor = full
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- f.Run(ctx) }()
		defer func() { cancel(); <-done }()
		if err := asker.WaitReady(t.Context(), q, spec); err != nil {
			t.Fatal(err)
		}
		if err := asker.Seed(t.Context(), q, spec, []canon.URL{"http://a.example/"}); err != nil {
			t.Fatal(err)
		}
		waitFor(t, func() bool { st, err := asker.Status(t.Context(), q, spec); return err == nil && st.Queued == 1 })
		if vs := take(t, q, 1); len(vs) != 0 {
			t.Error("a visit granted on a full disk")
		}
		st, finished, err := asker.Done(t.Context(), q, spec)
		if err != nil || finished || st.State != "paused" || st.Trouble != why.Error() {
			t.Errorf("done %v, state %q, trouble %q (%v)", finished, st.State, st.Trouble, err)
		}
		if got := gauge(t, reg, "curtsy_frontier_paused"); got != 1 {
			t.Errorf("curtsy_frontier_paused is %v", got)
		}
		full.err.Store(nil)
		waitFor(t, func() bool { return len(take(t, q, 1)) == 1 })
		if st, err := asker.Status(t.Context(), q, spec); err != nil || st.State != "running" || st.Trouble != "" {
			t.Errorf("state %q, trouble %q (%v) after space was freed", st.State, st.Trouble, err)
		}
	})
}

func gauge(t *testing.T, reg *prometheus.Registry, name string) float64 {
	t.Helper()
	all, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if f.GetName() == name {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

// syncBuffer is a log that may be read while it is written.
type syncBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
