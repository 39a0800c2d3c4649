package frontier

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/budget"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/judge"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/times"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simnet/broker"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
)

// A regression: ledger.OriginOf marked the host dirty without adding it to s.dirty; from then on
// the record of the host was never written again, and its origins, counters, Due, Retry-After and
// robots facts were lost with the next restart, clean or not.
func TestHostWithANewOriginIsStillSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/")
		b.commit()
		b.links(3, "", "https://a.example/x") // a second origin, after a commit
		v := b.grant(1)[0]
		b.event(crawl.Event{Visit: v.ID, Outcome: &crawl.Outcome{Host: v.Host, Requests: 1, Overloads: 1, Delay: v.Delay, RetryAfter: time.Hour,
			Results: []crawl.Result{{URL: v.URLs[0].URL, Class: crawl.Returned}}}})
		b.commit()
		b.crash()
		b.open()
		h := b.s.Ledger.Hosts["a.example"]
		if len(h.Origins) != 2 || h.Queued != 2 {
			t.Errorf("after a restart: %d origins, %d queued; want 2 and 2", len(h.Origins), h.Queued)
		}
		time.Sleep(time.Minute)
		if got := b.grant(1); len(got) != 0 {
			t.Error("asked a minute after the restart: Retry-After of an hour is forgotten")
		}
		defer func() {
			if p := recover(); p != nil {
				b.s.Ledger.Mu.Unlock() // as apply left it
				t.Errorf("a link to a known URL of that origin: panic: %v", p)
			}
		}()
		b.links(0, "", "https://a.example/x")
	})
}

// record returns the record of a URL in the file.
func (b *bench) record(raw string) urls.Record {
	b.t.Helper()
	u := mustParse(b.t, raw)
	r, err := urls.DecodeRecord(b.s.URLs.Lookup(b.s.Ledger.Hosts[u.Host()], u))
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

// A regression: JustVisited used the delay of the last *finished* visit, not the known Crawl-delay
// of robots.txt.
func TestCrawlDelayHoldsAfterACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/")
		v := b.grant(1)[0]
		// The visit has read robots.txt and reported it; it is still requesting pages when
		// everything is killed.
		b.event(crawl.Event{Visit: v.ID, Robots: []crawl.Robots{{
			Origin: v.URLs[0].URL.Origin(), State: crawl.RobotsParsed, Status: 200, Fresh: 24 * time.Hour,
			HasCrawlDelay: true, CrawlDelay: time.Minute, Digest: make([]byte, 32), Body: []byte("User-agent: *\nCrawl-delay: 60\n"),
		}}})
		b.commit()
		b.crash()
		b.open()
		time.Sleep(10 * time.Second)
		if got := b.grant(1); len(got) != 0 {
			t.Error("visited 10 s after the crash; its Crawl-delay is 60 s, and the last request may have been right before")
		}
	})
}

// After an unclean start old visits may send until the quiet time ends; the delay must begin after
// it, not at the same time.
func TestDelayFollowsTheQuietTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/")
		b.s.Ledger.Phase.Rewound()
		b.s.catchUp(store.StartLease) // fetchers of another process may have visits
		time.Sleep(times.OwnerLease + 10*time.Millisecond)
		if got := b.grant(1); len(got) != 0 {
			t.Error("granted 10 ms after the last moment an old visit may have sent a request; want one full delay (1 s)")
		}
	})
}

// A regression: after a kill before its first commit, a frontier has Seq 0 and is the owner in the
// record itself, which counted as clean.
func TestKilledBeforeItsFirstCommit(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		_, q := broker.Open(t)
		spec := testSpec("http://a.example/")
		if err := EnsureStreams(t.Context(), q, spec, StreamLimits{Events: 16 << 20, Pages: 16 << 20}); err != nil {
			t.Fatal(err)
		}
		kv, err := q.OpenBucket(t.Context(), crawl.Names("t").Bucket(), 0)
		if err != nil {
			t.Fatal(err)
		}
		// The previous owner: it granted a visit from memory and was killed. All it left is its
		// record and the log.
		if _, err := queue.Own(t.Context(), kv, "frontier.0", queue.OwnOptions{Owner: "f1", SameDir: true}); err != nil {
			t.Fatal(err)
		}
		if err := asker.Seed(t.Context(), q, spec, []canon.URL{"http://a.example/"}); err != nil {
			t.Fatal(err)
		}
		run(t, q, spec, Options{Dir: t.TempDir(), Instance: "f1", Term: 500 * time.Millisecond})
		for end := time.Now().Add(1500 * time.Millisecond); time.Now().Before(end); {
			if v := take(t, q, 1); len(v) != 0 {
				t.Fatalf("%s granted at once, while a visit of the epoch before may go on for a lease", v[0].Host)
			}
		}
	})
}

func run(t *testing.T, q *queue.Conn, spec crawl.Spec, o Options) *Frontier {
	t.Helper()
	o.StopGrace = 50 * time.Millisecond
	f, err := New(q, spec, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	if err := asker.WaitReady(t.Context(), q, spec); err != nil {
		t.Fatal(err)
	}
	return f
}

// In one process a shard that fails and is opened again has fetchers that still run: their visits
// have not ended.
func TestReopenedShardKnowsThatItsFetchersRun(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		_, q := broker.Open(t)
		spec := testSpec("http://a.example/")
		if err := EnsureStreams(t.Context(), q, spec, StreamLimits{Events: 16 << 20, Pages: 16 << 20}); err != nil {
			t.Fatal(err)
		}
		f := run(t, q, spec, Options{Dir: t.TempDir(), Instance: "f1", Embedded: true})
		if err := asker.Seed(t.Context(), q, spec, []canon.URL{"http://a.example/"}); err != nil {
			t.Fatal(err)
		}
		var first []crawl.Visit
		for len(first) == 0 {
			first = take(t, q, 1)
		}
		granted := time.Now()
		f.mu.Lock()
		s := f.shards[0]
		f.mu.Unlock()
		s.Ledger.Mu.Lock()
		s.Ledger.Fail(errors.New("a commit failed"))
		s.Ledger.Mu.Unlock()
		for time.Since(granted) < 3*time.Second {
			m, err := q.NC.Request(crawl.Names("t").VisitRequest("f1"), crawl.AppendVisitRequest(nil, crawl.VisitRequest{Fetcher: "x", Max: 1}), time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			if g, _ := crawl.DecodeGrants(m.Data); len(g.Visits) > 0 {
				t.Fatalf("visit %v to %s granted %v after visit %v, which is unanswered and has its lease",
					g.Visits[0].ID, g.Visits[0].Host, time.Since(granted).Round(time.Millisecond), first[0].ID)
			}
		}
	})
}

// A frontier that is stopped while it starts has not failed, whatever it waits for at that moment.
func TestStoppedWhileItBegins(t *testing.T) {
	for _, streams := range []bool{false, true} {
		for steps := range 40 {
			simnet.Test(t, func(t *testing.T) {
				_, q := broker.Open(t)
				spec := testSpec("http://h0.example/")
				if streams {
					if err := EnsureStreams(t.Context(), q, spec, StreamLimits{Events: 1 << 20, Pages: 16 << 20}); err != nil {
						t.Fatal(err)
					}
				}
				f, err := New(q, spec, Options{Dir: t.TempDir(), Instance: "f1", StopGrace: time.Second})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					for range steps { // it gets a little further each time
						runtime.Gosched()
					}
					cancel()
				}()
				if err := f.Run(ctx); err != nil {
					t.Errorf("after %d steps: %v", steps, err)
				}
			})
		}
	}
}

// A regression: the handler of "hosts" sent with the lock of the shard held, and sending waits for
// the client.
func TestSlowClientBlocksNothing(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		_, q := broker.Open(t)
		spec := testSpec("http://h0.example/")
		if err := EnsureStreams(t.Context(), q, spec, StreamLimits{Events: 64 << 20, Pages: 16 << 20}); err != nil {
			t.Fatal(err)
		}
		run(t, q, spec, Options{Dir: t.TempDir(), Instance: "f1", Embedded: true})
		var seeds []canon.URL
		for i := range 12000 {
			seeds = append(seeds, canon.URL(fmt.Sprintf("http://h%d.example/", i)))
		}
		if err := asker.Seed(t.Context(), q, spec, seeds); err != nil {
			t.Fatal(err)
		}
		waitFor(t, func() bool { st, err := asker.Status(t.Context(), q, spec); return err == nil && st.Hosts == 12000 })
		reading, more := make(chan bool), make(chan bool)
		gathered := make(chan bool)
		n := 0
		go func() {
			defer close(gathered)
			_ = ask.Gather(t.Context(), q.NC, crawl.Names("t"), "hosts", struct{}{}, 1, func(json.RawMessage) error {
				if n++; n == 1 {
					close(reading)
					<-more // like `curtsy hosts | less`
				}
				return nil
			})
		}()
		<-reading
		time.Sleep(500 * time.Millisecond)
		if _, err := q.NC.Request(crawl.Names("t").Renew(0), crawl.AppendRenew(nil, crawl.Renew{Fetcher: "x"}), time.Minute); err != nil {
			t.Errorf("renewing while somebody reads a list of hosts: %v", err)
		}
		if _, err := q.NC.Request(crawl.Names("t").VisitRequest("f1"), crawl.AppendVisitRequest(nil, crawl.VisitRequest{Fetcher: "x", Max: 1}), time.Minute); err != nil {
			t.Errorf("taking while somebody reads a list of hosts: %v", err)
		}
		close(more)
		<-gathered
	})
}

// A regression: all auxiliary requests of one host were put into one visit, however many and long
// they are: over the payload limit of NATS, that answer never arrived, and neither did its other
// visits.
func TestGrantFitsIntoAMessage(t *testing.T) {
	b := newBench(t, testSpec("http://a.example/"))
	long := strings.Repeat("x", 1900)
	for i := range 1000 {
		b.event(crawl.Event{Aux: []crawl.AuxRequest{{Kind: crawl.AuxRobots, URL: canon.URL(fmt.Sprintf("http://victim.example/%d%s", i, long)),
			Origin: canon.Origin{Scheme: "http", Host: canon.Host(fmt.Sprintf("h%d.example", i)), Port: 80}, Hop: 1}}})
	}
	v := b.grant(16)
	if n := len(crawl.AppendGrants(nil, crawl.Grants{Visits: v})); n > crawl.MaxPayloadBytes {
		t.Errorf("auxiliary requests: %d visits in an answer of %d bytes, the limit is %d", len(v), n, crawl.MaxPayloadBytes)
	}
}

func TestGrantOfLongURLsFitsIntoAMessage(t *testing.T) {
	spec := testSpec()
	spec.Delay = 0
	for i := range 16 {
		spec.Hurry = append(spec.Hurry, fmt.Sprintf("h%d.example", i))
	}
	b := newBench(t, spec)
	long := strings.Repeat("x", 600)
	for i := range 16 {
		var urls []string
		for j := range 64 {
			urls = append(urls, fmt.Sprintf("http://h%d.example/%d%s", i, j, long))
		}
		b.links(1, "http://h.example/?"+long, urls...)
	}
	v := b.grant(16)
	if n := len(crawl.AppendGrants(nil, crawl.Grants{Visits: v})); n > crawl.MaxPayloadBytes {
		t.Errorf("%d visits in an answer of %d bytes, the limit is %d", len(v), n, crawl.MaxPayloadBytes)
	}
}

// A regression: a dropped auxiliary request (because a thousand others wait for the same host) left
// its origin pending for ever.
func TestDroppedAuxRequestIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		for i := range hosts.MaxAux {
			b.event(crawl.Event{Aux: []crawl.AuxRequest{{Kind: crawl.AuxRobots, URL: "http://b.example/r.txt",
				Origin: canon.Origin{Scheme: "http", Host: canon.Host(fmt.Sprintf("h%d.example", i)), Port: 80}, Hop: 1}}})
		}
		b.links(0, "", "http://a.example/")
		a := b.s.Ledger.Hosts["a.example"]
		b.event(crawl.Event{Robots: []crawl.Robots{{Origin: mustParse(t, "http://a.example/").Origin(), State: crawl.RobotsPending, Location: "http://b.example/r.txt", Redirects: 1, Status: 301}}})
		b.commit()
		for _, m := range b.s.Ledger.CommittedOutbox() {
			ev, _ := crawl.DecodeEvent(b.outgoing(m))
			b.event(ev)
			b.s.Ledger.MarkSent(m.N)
		}
		v := b.grant(5)
		b.event(crawl.Event{Visit: v[0].ID, Outcome: &crawl.Outcome{Host: "b.example", Requests: 1000, Delay: time.Second, Done: v[0].Aux}})
		time.Sleep(48 * time.Hour)
		b.commit()
		if v := b.grant(5); len(v) == 0 && len(b.s.Ledger.CommittedOutbox()) == 0 {
			t.Errorf("two days later nobody has asked again for the robots.txt of %s: state %v", a.Name, crawl.RobotsPending)
		}
	})
}

// fakeKV is a bucket of one key.
type fakeKV struct {
	jetstream.KeyValue
	v   []byte
	rev uint64
}

type fakeEntry struct {
	jetstream.KeyValueEntry
	v   []byte
	rev uint64
}

func (e fakeEntry) Value() []byte { return e.v }

func (e fakeEntry) Revision() uint64 { return e.rev }

func (k *fakeKV) Get(context.Context, string) (jetstream.KeyValueEntry, error) {
	if k.rev == 0 {
		return nil, jetstream.ErrKeyNotFound
	}
	return fakeEntry{v: k.v, rev: k.rev}, nil
}

func (k *fakeKV) Create(_ context.Context, _ string, v []byte, _ ...jetstream.KVCreateOpt) (uint64, error) {
	k.v, k.rev = v, k.rev+1
	return k.rev, nil
}

func (k *fakeKV) Update(_ context.Context, _ string, v []byte, _ uint64) (uint64, error) {
	k.v, k.rev = v, k.rev+1
	return k.rev, nil
}

func (b *bench) limit(n int64) {
	b.s.Ledger.Budget = &budget.Budget{Log: slog.New(slog.DiscardHandler).Error}
	b.s.Ledger.Budget.Open(context.Background(), &fakeKV{})
	b.s.Ledger.Budget.SetLimit(n, 0)
}

func pagesOf(n int) (urls []string) {
	for i := range n {
		urls = append(urls, fmt.Sprintf("http://a.example/%d", i))
	}
	return urls
}

// A regression: what a visit without an outcome had reserved of the page budget was lost: nothing
// was granted any more, and the crawl never ended.
func TestExpiredVisitFreesItsPageBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.limit(5)
		b.links(0, "", pagesOf(10)...)
		if v := b.grant(1); len(v) != 1 || len(v[0].URLs) != 5 {
			t.Fatal(v)
		}
		time.Sleep(times.OwnerLease + time.Second)
		b.s.Visits.Expire(time.Now())
		time.Sleep(time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_ = b.s.keepCommitted(ctx) // which updates the budget
		if v := b.grant(1); len(v) == 0 {
			t.Errorf("nothing granted with %+v stored of --max-pages 5", b.s.Ledger.Meta.Counts.Stored)
		}
	})
}

// A regression: a shard whose only host is postponed for a day kept a part of the budget that other
// shards need.
func TestPostponedHostsKeepNoPageBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.limit(800)
		b.links(0, "", "http://a.example/", "http://a.example/2")
		v := b.grant(1)[0]
		b.event(crawl.Event{Visit: v.ID, Outcome: &crawl.Outcome{Host: v.Host, Requests: 1, Overloads: 1, Delay: time.Second, RetryAfter: 24 * time.Hour,
			Results: []crawl.Result{{URL: v.URLs[0].URL, Class: crawl.Returned}, {URL: v.URLs[1].URL, Class: crawl.Returned}}}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_ = b.s.keepCommitted(ctx)
		if used, reserved := b.s.Ledger.Budget.Slots(0); reserved > used {
			t.Errorf("%d of 800 slots kept for a host that is postponed for a day", reserved-used)
		}
	})
}

// A limit set (or a log read again) while pages are stored and visits are out must count them.
func TestMaxPagesSetLaterIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.limit(0)
		b.links(0, "", pagesOf(40)...)
		all := func(stop int64) {
			for range 20 {
				for _, v := range b.grant(1) {
					b.finish(v, crawl.Stored, "")
				}
				if b.status().Stored >= stop {
					return
				}
				time.Sleep(10 * time.Second)
			}
		}
		all(10)
		b.s.Ledger.Budget.SetLimit(15, 0) // like SetSpec does
		all(40)
		if n := b.status().Stored; n > 15 {
			t.Errorf("%d pages stored, --max-pages 15", n)
		}
	})
}

func TestMaxPagesIsKeptWhenTheLogIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.limit(10)
		b.links(0, "", pagesOf(40)...)
		v := b.grant(1)[0]
		if err := b.s.rewind(queue.Position{Seq: 1, Time: time.Now()}); err != nil {
			t.Fatal(err)
		}
		b.s.catchUp(store.StartDelay) // updates the budget, with a visit outstanding
		b.finish(v, crawl.Stored, "")
		for range 10 {
			time.Sleep(10 * time.Second)
			for _, v := range b.grant(1) {
				b.finish(v, crawl.Stored, "")
			}
		}
		if n := b.status().Stored; n > 10 {
			t.Errorf("%d pages stored, --max-pages 10", n)
		}
	})
}

// A regression: URLs that wait for another attempt were not refused when the limit of the host was
// reached, and were fetched over it.
func TestHostLimitAppliesToRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := testSpec("http://a.example/")
		spec.MaxPagesPerHost = 1
		b := newBench(t, spec)
		b.links(0, "", "http://a.example/1", "http://a.example/2")
		b.finish(b.grant(1)[0], crawl.Retry, crawl.ReasonHTTP5xx)
		for range 20 {
			time.Sleep(time.Second)
			for _, v := range b.grant(1) {
				b.finish(v, crawl.Stored, "")
			}
		}
		if st := b.status(); st.Stored > 1 {
			t.Errorf("%d pages of a host stored, --max-pages-per-host 1", st.Stored)
		}
	})
}

// A regression: a URL whose state was decided while it was in an outstanding visit (by a late or a
// partial outcome, or a narrower scope) was still counted as in flight, and subtracted from the
// queued.
func TestNoClassIsNegative(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/1", "http://a.example/2")
		v := b.grant(1)[0]
		b.event(crawl.Event{Visit: v.ID, Outcome: &crawl.Outcome{Host: v.Host, Partial: true, Results: []crawl.Result{{URL: v.URLs[0].URL, Class: crawl.Stored}}}})
		if st := b.status(); st.Queued < 0 || st.InFlight != 1 {
			t.Errorf("after half an outcome: queued %d, in flight %d, stored %d; want 0, 1, 1", st.Queued, st.InFlight, st.Stored)
		}
	})
}

// Applying an outcome twice (a repeated publish) must change nothing.
func TestReplayedOutcomeChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/")
		v := b.grant(1)[0]
		ev := crawl.Event{Visit: v.ID, Outcome: &crawl.Outcome{Host: v.Host, Requests: 2, Overloads: 1, Bytes: 1000, Delay: time.Second,
			Results: []crawl.Result{{URL: v.URLs[0].URL, Class: crawl.Retry, Reason: crawl.ReasonOverload}}}}
		b.event(ev)
		h := b.s.Ledger.Hosts["a.example"]
		bytes, fetched, backoff := b.s.Ledger.Meta.Counts.Bytes, h.Fetched, h.Backoff
		b.event(ev)
		if b.s.Ledger.Meta.Counts.Bytes != bytes || h.Fetched != fetched || h.Backoff != backoff {
			t.Errorf("bytes %d → %d, fetched %d → %d, backoff %d → %d", bytes, b.s.Ledger.Meta.Counts.Bytes, fetched, h.Fetched, backoff, h.Backoff)
		}
	})
}

// A visit that lost its lease still publishes its results; its facts from robots.txt are older than
// those of a newer visit, and must not replace them.
func TestLateRobotsFactDoesNotReplaceANewerOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/", "http://a.example/2")
		old := b.grant(1)[0]
		time.Sleep(times.OwnerLease + time.Second)
		b.s.Visits.Expire(time.Now())
		time.Sleep(time.Minute)
		v := b.grant(1)[0]
		o := v.URLs[0].URL.Origin()
		b.event(crawl.Event{Visit: v.ID, Robots: []crawl.Robots{{Origin: o, State: crawl.RobotsParsed, Status: 200, Fresh: 24 * time.Hour,
			Digest: make([]byte, 32), Body: []byte("User-agent: *\nDisallow: /\n")}}})
		b.event(crawl.Event{Visit: old.ID, Robots: []crawl.Robots{robotsOK("http://a.example/")}})
		if state, _ := polite.State(&b.s.Ledger.Hosts["a.example"].Origins[0], time.Now()); state != crawl.RobotsParsed {
			t.Errorf("Disallow: / of visit %v is replaced by %v of the older visit %v", v.ID, state, old.ID)
		}
	})
}

// A 304 renews a copy. If the copy is missing (a new file, or a deleted copy) it must not become
// "no rules".
func TestRenewedRobotsNeedsItsCopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/")
		b.event(crawl.Event{Robots: []crawl.Robots{{Origin: canon.URL("http://a.example/").Origin(), State: crawl.RobotsParsed, Status: 304,
			Renewed: true, Digest: []byte(strings.Repeat("d", 32)), ETag: `"1"`, Fresh: 24 * time.Hour}}})
		r := b.grant(1)[0].Robots[0]
		if r.State == crawl.RobotsParsed && len(r.Body) == 0 && len(r.Digest) == 0 {
			t.Errorf("a visit gets: robots.txt parsed, empty, fresh for %v; a fetcher reads that as allow all", r.Fresh)
		}
	})
}

// The Retry-After of a robots.txt that was answered with 429 is stored before the outcome of the
// visit; it applies to the host.
func TestRetryAfterOfRobotsPostponesTheHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/", "https://a.example/")
		v := b.grant(1)[0]
		b.event(crawl.Event{Visit: v.ID, Robots: []crawl.Robots{{Origin: canon.URL("http://a.example/").Origin(), State: crawl.RobotsUnreachable,
			Status: 429, RetryAfter: time.Hour}}})
		// The fetcher is killed here.
		time.Sleep(times.OwnerLease + time.Second)
		b.s.Visits.Expire(time.Now())
		time.Sleep(time.Minute)
		if v := b.grant(1); len(v) != 0 {
			t.Error("the host required a pause of an hour and is visited after a minute")
		}
	})
}

// A regression: meta.Clean was loaded as true after a clean stop and written back as true by the
// first commit.
func TestCleanIsForgottenOnOpening(t *testing.T) {
	b := newBench(t, testSpec("http://a.example/"))
	b.links(0, "", "http://a.example/")
	if err := b.s.close(true); err != nil {
		t.Fatal(err)
	}
	b.open()
	b.grant(1)
	b.links(0, "", "http://a.example/2")
	b.commit() // with a visit outstanding
	b.crash()
	db, err := store.OpenDB(b.dir+"/"+store.FileName(0), true)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.View(func(tx *bolt.Tx) error {
		if m, _ := store.LoadMeta(tx); m.Clean {
			t.Error("the file is marked as closed cleanly, after a kill: a power cut now re-fetches nothing")
		}
		return nil
	})
}

// A regression: a URL that is refused because its host has too many ports is recorded under origin
// 0 and was allowed again by any change of the spec.
func TestTooManyPortsStayRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		for i := range hosts.MaxOrigins + 1 {
			b.links(0, "", fmt.Sprintf("http://a.example:%d/", 1000+i))
		}
		b.commit()
		b.crash()
		b.spec.MaxDepth = 50
		b.open()
		last := b.record(fmt.Sprintf("http://a.example:%d/", 1000+hosts.MaxOrigins))
		if last.Class != crawl.Refused {
			t.Errorf("%s is %v under origin %s", last.URL, last.Class, b.s.Ledger.Hosts["a.example"].Origins[last.Origin].Origin)
		}
	})
}

// A regression: an origin kept a part of the message in which it was first named, and with it the
// whole message.
func TestHostsDoNotKeepMessagesInMemory(t *testing.T) {
	b := newBench(t, testSpec("http://a.example/"))
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	pad := strings.Repeat("x", 500<<10)
	before := heap()
	for i := range 100 {
		ev := crawl.Event{Fetcher: pad, Links: []crawl.Links{{URLs: []canon.URL{canon.URL(fmt.Sprintf("http://h%d.example/", i))}}}}
		e := queue.Entry{Position: queue.Position{Seq: uint64(i + 1), Time: time.Now()}, Data: crawl.AppendEvent(nil, &ev)}
		if err := b.s.apply([]queue.Entry{e}); err != nil {
			t.Fatal(err)
		}
	}
	b.commit()
	if grown := int64(heap() - before); grown > 10<<20 {
		t.Errorf("100 hosts hold %d MiB", grown>>20)
	}
	runtime.KeepAlive(b)
}

// A file that cannot be loaded must be an error; it must not hang: db.Close waits for the
// transaction that load has left open.
func TestBadFileIsAnError(t *testing.T) {
	dir := t.TempDir()
	db, err := store.OpenDB(dir+"/"+store.FileName(0), false)
	if err != nil {
		t.Fatal(err)
	}
	db.Update(func(tx *bolt.Tx) error { return tx.Bucket(store.BucketHosts).Put([]byte{0, 0, 0, 1}, []byte("{")) })
	db.Close()
	j, _ := judge.New(testSpec())
	if _, err := openShard(dir, 0, j, 1, "me", func() bool { return true }, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("opened a file with a malformed host")
	}
}

// A regression: rewinding twice before anything was applied: SeqTime is 0 then, and "since" was
// 1970: everything was queued again, also what was refused for its depth.
func TestRewindTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := testSpec("http://a.example/")
		spec.MaxDepth = 1
		b := newBench(t, spec)
		b.links(0, "", "http://a.example/")
		b.links(5, "http://a.example/", "http://a.example/deep")
		b.finish(b.grant(1)[0], crawl.Stored, "")
		time.Sleep(24 * time.Hour)
		b.links(0, "", "http://a.example/new")
		for range 2 {
			if err := b.s.rewind(queue.Position{Seq: 2}); err != nil {
				t.Fatal(err)
			}
		}
		if r := b.record("http://a.example/deep"); r.Class != crawl.Refused {
			t.Errorf("%s, refused for its depth, is %v", r.URL, r.Class)
		}
		if r := b.record("http://a.example/"); r.Class != crawl.Stored {
			t.Errorf("%s, stored a day ago, is %v", r.URL, r.Class)
		}
	})
}

// A regression: what was fetched recently was decided by comparing the clock of the fetcher with
// that of the broker.
func TestRewindDoesNotUseTheFetchersClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/")
		v := b.grant(1)[0]
		b.event(crawl.Event{Visit: v.ID, Outcome: &crawl.Outcome{Host: v.Host, Requests: 1, Delay: time.Second, Results: []crawl.Result{
			// Its clock is five minutes slow.
			{URL: v.URLs[0].URL, Class: crawl.Stored, FetchedAt: time.Now().Add(-5 * time.Minute)},
		}}})
		if err := b.s.rewind(queue.Position{Seq: 1, Time: time.Now()}); err != nil {
			t.Fatal(err)
		}
		if r := b.record("http://a.example/"); r.Class != crawl.Queued {
			t.Errorf("fetched this very moment, its page perhaps lost with the log's tail, and still %v", r.Class)
		}
	})
}

// The log and the disk of the file fail together when the disk is full: rewind gets a shard without
// a transaction.
func TestRewindOfABrokenShard(t *testing.T) {
	b := newBench(t, testSpec("http://a.example/"))
	b.s.Ledger.Tx.Rollback()
	b.s.Ledger.EndTx() // as a failed commit leaves it
	b.s.Ledger.Fail(errors.New("no space left on device"))
	defer func() {
		b.s.Ledger.DB.Close()
		b.s = nil
		if p := recover(); p != nil {
			t.Errorf("panic: %v", p)
		}
	}()
	if err := b.s.rewind(queue.Position{Seq: 1}); err == nil {
		t.Error("rewound a broken shard")
	}
}

// A regression: while nothing may be granted (paused, no budget left, ownership in doubt) nextDue
// was in the past, and match ran every 200 µs: with an empty budget each run read the KV bucket
// under three locks.
func TestNothingIsDueWhilePaused(t *testing.T) {
	spec := testSpec("http://a.example/")
	spec.Paused = true
	b := newBench(t, spec)
	b.links(0, "", "http://a.example/")
	now := time.Now()
	if got := b.grant(1); len(got) != 0 {
		t.Fatal("granted while paused")
	}
	if d := b.s.Visits.NextDue(time.Now()); !d.IsZero() && !d.After(now) {
		t.Errorf("paused, and due %v ago: match spins", now.Sub(d).Round(time.Millisecond))
	}
}

// A regression: the wait after a failure counted from the time of the broker: with the clock of the
// broker a few minutes slow there was no wait.
func TestUnreachableRobotsWaitsWhateverTheBrokersClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/")
		v := b.grant(1)[0]
		ev := crawl.Event{Visit: v.ID, Robots: []crawl.Robots{{Origin: v.URLs[0].URL.Origin(), State: crawl.RobotsUnreachable, Status: 503}},
			Outcome: &crawl.Outcome{Host: v.Host, Requests: 1, Delay: time.Second, Results: []crawl.Result{{URL: v.URLs[0].URL, Class: crawl.Returned}}}}
		e := queue.Entry{Position: queue.Position{Seq: 2, Time: time.Now().Add(-10 * time.Minute)}, Data: crawl.AppendEvent(nil, &ev)}
		if err := b.s.apply([]queue.Entry{e}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		if v := b.grant(1); len(v) != 0 {
			t.Error("an unreachable robots.txt asked for again after 2 s; want 5 min")
		}
	})
}

// A Crawl-delay above the maximum postpones the *host*. Its other origins, and auxiliary requests,
// continued at the ordinary delay.
func TestSlowHostKeepsItsDelayForItsOtherOrigin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/", "https://a.example/")
		v := b.grant(1)[0]
		b.event(crawl.Event{Visit: v.ID, Robots: []crawl.Robots{{
			Origin: v.URLs[0].URL.Origin(), State: crawl.RobotsParsed, Status: 200, Fresh: 24 * time.Hour,
			HasCrawlDelay: true, CrawlDelay: time.Hour, Digest: make([]byte, 32), Body: []byte("User-agent: *\nCrawl-delay: 3600\n"),
		}}})
		// The fetcher is killed; a finished visit would have reported Delay: 1 h, once.
		time.Sleep(times.OwnerLease + time.Second)
		b.s.Visits.Expire(time.Now())
		time.Sleep(2 * time.Second)
		if v := b.grant(1); len(v) != 0 {
			t.Errorf("a host that asks for an hour between requests is visited at %v: %v", v[0].Delay, v[0].URLs[0].URL)
		}
	})
}

func TestSlowHostKeepsItsDelayForAuxRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/")
		v := b.grant(1)[0]
		b.event(crawl.Event{Visit: v.ID, Robots: []crawl.Robots{{
			Origin: v.URLs[0].URL.Origin(), State: crawl.RobotsParsed, Status: 200, Fresh: 24 * time.Hour,
			HasCrawlDelay: true, CrawlDelay: time.Hour, Digest: make([]byte, 32), Body: []byte("User-agent: *\nCrawl-delay: 3600\n"),
		}}, Outcome: &crawl.Outcome{Host: v.Host, Requests: 1, Delay: time.Hour, Results: []crawl.Result{{URL: v.URLs[0].URL, Class: crawl.Returned}}}})
		time.Sleep(time.Hour + time.Second)
		for i := range 2 {
			b.event(crawl.Event{Aux: []crawl.AuxRequest{{Kind: crawl.AuxRobots, URL: "http://a.example/r.txt",
				Origin: canon.Origin{Scheme: "http", Host: canon.Host(fmt.Sprintf("h%d.example", i)), Port: 80}, Hop: 1}}})
		}
		if v := b.grant(1); len(v) == 1 && len(v[0].Aux) > 1 && v[0].Delay < time.Hour {
			t.Errorf("%d auxiliary requests at %v to a host whose Crawl-delay is an hour", len(v[0].Aux), v[0].Delay)
		}
	})
}

// A regression: auxiliary requests are in visits of their own; a host that always had one got no
// page visits.
func TestAuxRequestsDoNotStarvePages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/")
		for i := range 100 {
			b.event(crawl.Event{Aux: []crawl.AuxRequest{{Kind: crawl.AuxRobots, URL: "http://a.example/r.txt",
				Origin: canon.Origin{Scheme: "http", Host: canon.Host(fmt.Sprintf("h%d.example", i)), Port: 80}, Hop: 1}}})
			for _, v := range b.grant(1) {
				if len(v.URLs) > 0 {
					return
				}
				b.event(crawl.Event{Visit: v.ID, Outcome: &crawl.Outcome{Host: v.Host, Requests: 1, Delay: time.Second, Done: v.Aux}})
			}
			time.Sleep(time.Second)
		}
		t.Error("100 visits to a host, and none of them for its page")
	})
}

// A regression: after an unclean restart every host waits for a lease and its delay; with a small
// --hold-max all of them seemed postponed, and the crawl done.
func TestQuietTimePostponesNoHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := testSpec("http://a.example/")
		spec.HoldMax = 2 * time.Second
		b := newBench(t, spec)
		b.links(0, "", "http://a.example/")
		b.s.Ledger.Phase.Rewound()
		b.s.catchUp(store.StartLease)
		if st := b.status(); len(st.Postponed) != 0 || st.Shards[0].DueSoon != 1 {
			t.Errorf("postponed %v, due soon %d during the quiet time", st.Postponed, st.Shards[0].DueSoon)
		}
		time.Sleep(times.OwnerLease + 2*time.Second)
		if len(b.grant(1)) != 1 {
			t.Error("not granted after it")
		}
	})
}
