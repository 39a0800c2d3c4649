package frontier

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/budget"
	"github.com/curtsy/curtsy/internal/frontier/times"
)

// partial returns an outcome in which a visit reports that one of its URLs is stored. The sums are
// those of the visit so far.
func partial(v crawl.Visit, i, requests int, bytes int64) crawl.Event {
	return crawl.Event{Visit: v.ID, Outcome: &crawl.Outcome{
		Host: v.Host, Partial: true, Requests: requests, Bytes: bytes, Delay: v.Delay, Private: true,
		Results: []crawl.Result{{URL: v.URLs[i].URL, Class: crawl.Stored, Status: 200, Bytes: bytes}},
	}}
}

// sums returns the counts of the visits to a host.
func (b *bench) sums(host string) [3]int64 {
	h := b.s.Ledger.Hosts[crawl.Visit{Host: mustParse(b.t, "http://"+host+"/").Host()}.Host]
	return [3]int64{b.s.Ledger.Meta.Counts.Bytes, h.Fetched, int64(h.Backoff)}
}

// What a visit reports while it runs counts at once, and once: reported twice, reported late,
// reported after the end, after a crash of the owner, and by a visit that never ends.
func TestAPartialReportCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/1", "http://a.example/2", "http://a.example/3", "http://a.example/4")
		v := b.grant(1)[0]
		first, second := partial(v, 0, 2, 100), partial(v, 1, 3, 250)
		check := func(when string, want [3]int64, stored, inFlight int64) {
			t.Helper()
			if got := b.sums("a.example"); got != want {
				t.Errorf("%s: bytes, requests, back-off %v, want %v", when, got, want)
			}
			if st := b.status(); st.Stored != stored || st.InFlight != inFlight {
				t.Errorf("%s: %d stored, %d in flight; want %d, %d", when, st.Stored, st.InFlight, stored, inFlight)
			}
		}
		b.event(first)
		check("one reported", [3]int64{100, 2, 0}, 1, 3)
		b.event(first)
		check("reported again", [3]int64{100, 2, 0}, 1, 3)
		b.event(second)
		b.event(first)
		check("the first overtaken by the second", [3]int64{250, 3, 0}, 2, 2)
		if n := len(b.grant(1)); n != 0 {
			t.Fatal("a visit that has reported is not over: no other may be at its host")
		}
		b.commit()
		b.crash()
		b.open()
		b.event(second)
		check("after a crash", [3]int64{250, 3, 0}, 2, 0)

		end := crawl.Event{Visit: v.ID, Outcome: &crawl.Outcome{Host: v.Host, Requests: 5, Bytes: 300, Timeouts: 1, Delay: v.Delay, Private: true,
			Results: []crawl.Result{{URL: v.URLs[2].URL, Class: crawl.Stored, Status: 200}}}}
		b.event(end)
		b.event(end)
		b.event(second)
		check("at its end", [3]int64{300, 5, 1}, 3, 0)

		time.Sleep(time.Minute)
		w := b.grant(1)[0]
		b.event(partial(w, 0, 1, 50))
		time.Sleep(times.OwnerLease + time.Second)
		b.s.Visits.Expire(time.Now())
		check("another, which died", [3]int64{350, 6, 1}, 4, 0)
		b.event(end)
		check("the first's end once more", [3]int64{350, 6, 1}, 4, 0)
	})
}

// A visit with time-outs doubles the delay once, as soon as it reports them: a kill of the fetcher
// afterwards changes nothing.
func TestOverloadDoublesTheDelayOncePerVisit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/1", "http://a.example/2", "http://a.example/3")
		v := b.grant(1)[0]
		ev := partial(v, 0, 1, 0)
		ev.Outcome.Timeouts = 1
		b.event(ev)
		ev = partial(v, 1, 2, 0)
		ev.Outcome.Timeouts = 2
		b.event(ev)
		if n := b.s.Ledger.Hosts["a.example"].Backoff; n != 1 {
			t.Errorf("doubled %d times in one visit", n)
		}
		b.commit()
		b.crash()
		b.open()
		ev.Outcome.Partial, ev.Outcome.Results = false, nil
		b.event(ev)
		if n := b.s.Ledger.Hosts["a.example"].Backoff; n != 1 {
			t.Errorf("at its end the delay is doubled %d times", n)
		}
	})
}

// A host is due one delay after the last request that a visit reported, at the earliest, and one
// full delay after the end of the lease of a visit whose fetcher was killed.
func TestDueAfterAReportingVisitThatWasKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/1", "http://a.example/2")
		v := b.grant(1)[0]
		time.Sleep(4 * time.Second)
		ev := partial(v, 0, 1, 0)
		ev.Outcome.Delay, ev.Outcome.SinceEnd = 8*time.Second, time.Second
		b.event(ev)
		h, end := b.s.Ledger.Hosts["a.example"], time.Now().Add(-time.Second)
		if h.Due.Before(end.Add(8 * time.Second)) {
			t.Errorf("due %v after the request it reported, whose delay is 8s", h.Due.Sub(end))
		}
		time.Sleep(times.OwnerLease)
		b.s.Visits.Expire(time.Now())
		if wait := time.Until(h.Due); wait < 8*time.Second {
			t.Errorf("due %v after its lease, want the delay it reported, 8s", wait)
		}
	})
}

// A page that a visit reports after its lease is stored, and is not expected any more: it counts
// once for --max-pages, not twice.
func TestBudgetOfAVisitThatReportsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/1", "http://a.example/2", "http://a.example/3")
		v := b.grant(1)[0]
		time.Sleep(times.OwnerLease + time.Second)
		b.s.Visits.Expire(time.Now())
		slots := func() int64 { return b.s.Visits.Slots(time.Now()) }
		if n := slots(); n != 3 {
			t.Fatalf("%d slots for three URLs that may still be reported", n)
		}
		b.event(partial(v, 0, 1, 10))
		b.event(partial(v, 0, 1, 10))
		if n := slots(); n != 3 {
			t.Errorf("%d slots for a page and two URLs that may still be reported", n)
		}
		time.Sleep(budget.ExpiredTime + time.Second)
		if n := slots(); n != 1 {
			t.Errorf("%d slots for one page", n)
		}
	})
}

// A visit that expired with nothing left to report does not move with its shard: it would be
// treated as an outstanding visit to no host.
func TestAnEmptyGhostDoesNotMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/1")
		v := b.grant(1)[0]
		b.event(partial(v, 0, 1, 10))
		time.Sleep(times.OwnerLease + time.Second)
		b.s.Visits.Expire(time.Now())
		if n := len(b.s.Visits.Expired); n != 0 {
			t.Errorf("%d ghosts", n)
		}
		b.links(0, "", "http://a.example/2")
		time.Sleep(time.Minute)
		v = b.grant(1)[0]
		time.Sleep(times.OwnerLease + time.Second)
		b.s.Visits.Expire(time.Now())
		b.event(partial(v, 0, 1, 10))
		if n := len(b.s.Visits.Expired); n != 0 {
			t.Errorf("%d ghosts after the only URL was reported", n)
		}
	})
}
