package frontier

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/schedule"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/times"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simnet/broker"
	"github.com/curtsy/curtsy/pkg/canon"
)

func (b *bench) download(url canon.URL) *crawl.Visit {
	b.t.Helper()
	v, err := b.s.Visits.Download(url.Origin(), "", time.Now())
	if err != nil {
		b.t.Fatal(err)
	}
	return v
}

// ended ends a visit for downloads in which so many requests were sent.
func (b *bench) ended(v *crawl.Visit, requests int) {
	b.t.Helper()
	ev := crawl.Event{Visit: v.ID, Outcome: &crawl.Outcome{Host: v.Host, Delay: v.Delay, Requests: requests, Private: true}}
	for _, r := range v.Robots {
		ev.Robots = append(ev.Robots, robotsOK(canon.URL(r.Origin.String()+"/")))
	}
	b.event(ev)
}

// A visit for downloads is a visit like any other: never at the same time as another, never before
// the delay of the host is over; and it alternates with visits of the crawl.
func TestDownloadsShareTheHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/1", "http://a.example/2")
		v := b.grant(1)
		if len(v) != 1 || b.download("http://a.example/d.csv") != nil {
			t.Fatal("a download beside a visit")
		}
		b.finish(v[0], crawl.Stored, "")
		if b.download("http://a.example/d.csv") != nil {
			t.Fatal("a download before the delay is over")
		}
		time.Sleep(time.Second)
		d := b.download("http://a.example/d.csv")
		if d == nil || len(d.URLs) != 0 || d.Delay != time.Second || d.Lease != times.Lease || len(d.Robots) != 1 || d.Robots[0].Origin != canon.URL("http://a.example/").Origin() {
			t.Fatalf("got %+v", d)
		}
		b.links(0, "", "http://a.example/3")
		if len(b.grant(1)) > 0 || b.download("http://a.example/d.csv") != nil {
			t.Fatal("another visit beside a download")
		}
		if r := b.s.Visits.Renew([]crawl.VisitID{d.ID}, time.Now()); len(r.Lost) > 0 {
			t.Error("a download's visit is not renewed")
		}
		b.ended(d, 1)
		time.Sleep(time.Second)
		if b.download("http://a.example/d.csv") != nil {
			t.Error("downloads do not let the crawl have its turn")
		}
		if v = b.grant(1); len(v) != 1 {
			t.Fatal("the crawl does not take its turn")
		}
		b.finish(v[0], crawl.Stored, "")
		time.Sleep(time.Second)
		b.links(0, "", "http://a.example/4")
		if d = b.download("http://a.example/d.csv"); d == nil {
			t.Fatal("the crawl does not let downloads have their turn")
		}
		b.ended(d, 1)
		time.Sleep(time.Second + schedule.DownloadQuota)
		if d = b.download("http://a.example/d.csv"); d == nil {
			t.Error("a crawl that does not come for its turn keeps the downloads away")
		}
	})
}

func TestDownloadOfAnUnknownHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		d := b.download("https://files.example/d.csv")
		if d == nil || d.Host != "files.example" || d.Robots[0].State != crawl.RobotsUnknown {
			t.Fatalf("got %+v", d)
		}
		if st := b.status(); st.Discovered != 0 || st.InFlight != 0 {
			t.Errorf("a download counts as a URL: %+v", st)
		}
		time.Sleep(times.OwnerLease + time.Millisecond)
		b.s.Visits.Expire(time.Now()) // its holder is lost
		if b.download("https://files.example/d.csv") != nil {
			t.Error("after a visit that nobody ended the delay is not waited for")
		}
		time.Sleep(time.Second)
		if d = b.download("https://files.example/d.csv"); d == nil {
			t.Fatal("no download after that")
		}
		ev := crawl.Event{Visit: d.ID, Outcome: &crawl.Outcome{Host: d.Host, Delay: d.Delay, Requests: 1, RetryAfter: time.Minute},
			Robots: []crawl.Robots{{Origin: d.Robots[0].Origin, State: crawl.RobotsUnreachable, Status: 503}}}
		b.event(ev)
		time.Sleep(59 * time.Second)
		if b.download("https://files.example/d.csv") != nil {
			t.Error("a download while the host wants to be left alone")
		}
		b.s.Ledger.Judge.Spec.Paused = true
		time.Sleep(24 * time.Hour)
		if b.download("https://files.example/d.csv") != nil {
			t.Error("a download while the crawl is paused")
		}
		b.s.Ledger.Judge.Spec.Paused = false
		if b.download("https://files.example/d.csv") == nil {
			t.Error("no download a day later")
		}
	})
}

// Over NATS: a request waits until the host is free, and a frontier that does not own the shard
// grants nothing.
func TestDownloadTake(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		_, q := broker.Open(t)
		spec := testSpec("http://a.example/")
		spec.Delay = 50 * time.Millisecond
		if err := EnsureStreams(t.Context(), q, spec, StreamLimits{Events: 1 << 20, Pages: 1 << 20}); err != nil {
			t.Fatal(err)
		}
		startFrontier(t, q, spec, t.TempDir())
		wish := func() []crawl.Visit {
			t.Helper()
			m, err := q.NC.Request(crawl.Names("t").VisitRequest("f1"), crawl.AppendVisitRequest(nil, crawl.VisitRequest{Fetcher: "d", Max: 1, Downloads: true, Origin: canon.URL("http://a.example/").Origin()}), time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			g, err := crawl.DecodeGrants(m.Data)
			if err != nil {
				t.Fatal(err)
			}
			return g.Visits
		}
		first := wish()
		if len(first) != 1 {
			t.Fatalf("%d visits", len(first))
		}
		began := time.Now()
		if again := wish(); len(again) != 0 || time.Since(began) < grantWait/2 {
			t.Errorf("%d visits beside the first, after %v", len(again), time.Since(began))
		}
		answer(t, q, first[0], crawl.Stored)
		var second []crawl.Visit
		for end := time.Now().Add(time.Minute); len(second) == 0 && time.Now().Before(end); {
			second = wish()
		}
		if len(second) != 1 || second[0].ID.Compare(first[0].ID) <= 0 {
			t.Errorf("after the first was ended: %+v", second)
		}
	})
}

// An embedded frontier that was killed waits for the lease of a visit that it granted to another
// process, and only then.
func TestDownloadsOutliveTheFrontier(t *testing.T) {

	for fetcher, waits := range map[string]bool{"downloads-x": true, "f1": false} {
		t.Run(fetcher, func(t *testing.T) {
			simnet.Test(t, func(t *testing.T) {

				dir := t.TempDir()
				_, q := broker.Open(t)
				spec := testSpec("http://a.example/")
				spec.Name, spec.Shards = "t", 1
				if err := EnsureStreams(t.Context(), q, spec, StreamLimits{Events: 32 << 20, Pages: 64 << 20}); err != nil {
					t.Fatal(err)
				}
				begin := func() (f *Frontier, stop func()) {
					f, err := New(q, spec, Options{Dir: dir, Instance: "f1", Embedded: true, StopGrace: time.Millisecond, Log: slog.New(slog.DiscardHandler)})
					if err != nil {
						t.Fatal(err)
					}
					ctx, cancel := context.WithCancel(t.Context())
					done := make(chan error, 1)
					go func() { done <- f.Run(ctx) }()
					if err := asker.WaitReady(t.Context(), q, spec); err != nil {
						t.Fatal(err)
					}
					return f, func() {
						cancel()
						if err := <-done; err != nil {
							t.Error(err)
						}
					}
				}
				f, stop := begin()
				take := crawl.VisitRequest{Fetcher: fetcher, Max: 1, Downloads: true, Origin: canon.URL("http://d.example/").Origin()}
				m, err := q.NC.Request(crawl.Names("t").VisitRequest("f1"), crawl.AppendVisitRequest(nil, take), time.Minute)
				if err != nil {
					t.Fatal(err)
				}
				if g, err := crawl.DecodeGrants(m.Data); err != nil || len(g.Visits) != 1 {
					t.Fatalf("%+v, %v", g, err)
				}
				// The visit is only handed out after the file has recorded it, whatever happens
				// next.
				err = f.open()[0].Ledger.DB.View(func(tx *bolt.Tx) error {
					if m, err := store.LoadMeta(tx); err != nil || m.Strangers != waits {
						t.Errorf("strangers in the file: %v, %v", m.Strangers, err)
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
				stop() // during the visit: like a kill
				f, stop = begin()
				s := f.open()[0]
				s.Ledger.Mu.Lock()
				quiet := s.Ledger.Phase.Until
				s.Ledger.Mu.Unlock()
				stop()
				if left := time.Until(quiet); quiet.IsZero() == waits || waits && left < times.Lease/2 {
					t.Errorf("quiet until %v", quiet)
				}
			})
		})
	}
}
