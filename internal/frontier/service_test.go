package frontier

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simnet/broker"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
)

// startFrontier runs a frontier until stop is called.
func startFrontier(t *testing.T, q *queue.Conn, spec crawl.Spec, dir string) (stop func()) {
	t.Helper()
	f, err := New(q, spec, Options{Dir: dir, Instance: "f1", Embedded: true, StopGrace: 50 * time.Millisecond, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("Run: %v", err)
			}
		})
	}
	t.Cleanup(stop)
	if err := asker.WaitReady(t.Context(), q, spec); err != nil {
		t.Fatal(err)
	}
	return stop
}

// take requests visits like a fetcher does.
func take(t *testing.T, q *queue.Conn, n int) []crawl.Visit {
	t.Helper()
	m, err := q.NC.Request(crawl.Names("t").VisitRequest("f1"), crawl.AppendVisitRequest(nil, crawl.VisitRequest{Fetcher: "x", Max: n}), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	g, err := crawl.DecodeGrants(m.Data)
	if err != nil {
		t.Fatal(err)
	}
	return g.Visits
}

func answer(t *testing.T, q *queue.Conn, v crawl.Visit, class crawl.Class) {
	t.Helper()
	o := &crawl.Outcome{Host: v.Host, Delay: v.Delay, Requests: len(v.URLs), Private: true}
	for _, u := range v.URLs {
		o.Results = append(o.Results, crawl.Result{URL: u.URL, Class: class})
	}
	ev := crawl.Event{Visit: v.ID, Outcome: o}
	for _, r := range v.Robots {
		ev.Robots = append(ev.Robots, crawl.Robots{Origin: r.Origin, State: crawl.RobotsUnavailable, Fresh: time.Hour, Status: 404})
	}
	l, err := q.OpenLog(t.Context(), queue.LogConfig{Stream: crawl.Names("t").EventsStream(v.Shard), Subject: crawl.Names("t").EventsSubject(v.Shard)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(t.Context(), crawl.AppendEvent(nil, &ev)); err != nil {
		t.Fatal(err)
	}
}

func TestServiceOverNATS(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		_, q := broker.Open(t)
		spec := testSpec("http://h0.example/")
		spec.Shards, spec.Delay = 4, 20*time.Millisecond
		var seeds []canon.URL
		for i := range 40 {
			seeds = append(seeds, mustParse(t, fmt.Sprintf("http://h%d.example/", i)))
			spec.Seeds = append(spec.Seeds, string(seeds[i]))
		}
		if err := EnsureStreams(t.Context(), q, spec, StreamLimits{Events: 16 << 20, Pages: 16 << 20}); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		stop := startFrontier(t, q, spec, dir)
		if err := asker.Seed(t.Context(), q, spec, seeds); err != nil {
			t.Fatal(err)
		}
		for n := 0; n < 20; {
			for _, v := range take(t, q, 3) {
				answer(t, q, v, crawl.Stored)
				n += len(v.URLs)
			}
		}
		waitFor(t, func() bool {
			st, err := asker.Status(t.Context(), q, spec)
			return err == nil && st.Discovered == 40 && st.Stored >= 20 && st.InFlight == 0
		})
		taken := take(t, q, 5) // a fetcher that is killed with these
		stop()

		r, err := OpenDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		stopped := asker.Stopped(r.Spec(), r.Close, r.Handlers())
		st, err := stopped.Status(t.Context())
		if err != nil || st.Discovered != 40 || st.InFlight != 0 || st.State != "stopped" {
			t.Errorf("files say %+v (%v), want 40 discovered", st, err)
		}
		n := 0
		questions.Hosts.Each(t.Context(), stopped, nil, func(crawl.HostInfo) error { n++; return nil })
		if n != 40 {
			t.Errorf("%d hosts in the files, want 40", n)
		}
		x, err := stopped.Explain(t.Context(), "HTTP://h0.example")
		if err != nil || !x.Seen || x.Canonical != "http://h0.example/" {
			t.Errorf("explain: %+v (%v)", x, err)
		}
		stopped.Close()

		startFrontier(t, q, spec, dir)
		for {
			st, err := asker.Status(t.Context(), q, spec)
			if err != nil {
				t.Fatal(err)
			}
			if st.Stored == 40 {
				break
			}
			for _, v := range take(t, q, 8) {
				answer(t, q, v, crawl.Stored)
			}
		}
		for _, v := range taken {
			answer(t, q, v, crawl.Failed) // much too late: later visits have reported
		}
		waitFor(t, func() bool {
			st, err := asker.Status(t.Context(), q, spec)
			return err == nil && st.Stored == 40 && st.InFlight == 0 && st.Failed == 0
		})
	})
}

// waitFor waits for the effect of a message, at most a minute of virtual time.
func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); {
		if time.Now().After(end) {
			t.Fatal("waited for a minute")
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestPageBudgetIsNeverExceeded(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		_, q := broker.Open(t)
		spec := testSpec("http://h0.example/")
		spec.Shards, spec.Delay, spec.MaxPages = 4, time.Millisecond, 50
		var seeds []canon.URL
		for i := range 200 {
			seeds = append(seeds, mustParse(t, fmt.Sprintf("http://h%d.example/%d", i%20, i)))
			spec.Seeds = append(spec.Seeds, string(seeds[i]))
		}
		if err := EnsureStreams(t.Context(), q, spec, StreamLimits{Events: 16 << 20, Pages: 16 << 20}); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		stop := startFrontier(t, q, spec, dir)
		if err := asker.Seed(t.Context(), q, spec, seeds); err != nil {
			t.Fatal(err)
		}
		// A third of the results are not pages: their part of the budget must be freed.
		class, n := crawl.Stored, 0
		for range 400 {
			vs := take(t, q, 3)
			for _, v := range vs {
				if n++; n%3 == 0 {
					class = crawl.Failed
				} else {
					class = crawl.Stored
				}
				answer(t, q, v, class)
			}
			if n == 30 {
				stop()
				stop = startFrontier(t, q, spec, dir)
			}
			st, err := asker.Status(t.Context(), q, spec)
			if err != nil {
				t.Fatal(err)
			}
			if st.Stored > 50 {
				t.Fatalf("%d pages, --max-pages 50", st.Stored)
			}
			if st.Stored == 50 && st.InFlight == 0 {
				return
			}
		}
		st, _ := asker.Status(t.Context(), q, spec)
		t.Errorf("%+v: the limit was never reached", st)
	})
}
