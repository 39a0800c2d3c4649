package frontier

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// refillSome lets the pass over the records continue a little.
func (b *bench) refillSome() (more bool) {
	b.t.Helper()
	b.s.Ledger.Mu.Lock()
	defer b.s.Ledger.Mu.Unlock()
	more, err := b.s.Passes.Some(time.Now())
	if err != nil {
		b.t.Fatal(err)
	}
	return more
}

// refillAll lets it run to its end.
func (b *bench) refillAll() (stretches int) {
	b.t.Helper()
	for stretches = 1; b.refillSome(); stretches++ {
	}
	return stretches
}

// storedBench makes a shard with n stored pages on one host, two refused, one failed and one more
// queued.
func storedBench(t *testing.T, n int) *bench {
	spec := testSpec("http://a.example/")
	spec.Delay = 0
	b := newBench(t, spec)
	var urls []string
	for i := range n {
		urls = append(urls, fmt.Sprintf("http://a.example/%d", i))
	}
	b.links(0, "", urls...)
	for b.status().Stored < int64(n) {
		for _, v := range b.grant(1) {
			b.finish(v, crawl.Stored, "")
		}
		time.Sleep(10 * time.Second)
	}
	b.links(0, "", "http://a.example/refused", "http://a.example/failed")
	v := b.grant(1)[0]
	b.event(crawl.Event{Visit: v.ID, Probes: []crawl.Probe{{Origin: v.URLs[0].URL.Origin(), State: crawl.ProbeRead, Status: 200, Fresh: 24 * time.Hour}},
		Outcome: &crawl.Outcome{Host: v.Host, Requests: 2, Results: []crawl.Result{
			{URL: v.URLs[0].URL, Class: crawl.Refused, Reason: crawl.ReasonRobots},
			{URL: v.URLs[1].URL, Class: crawl.Failed, Reason: crawl.ReasonHTTP4xx, Status: 404}}}})
	b.links(0, "", "http://a.example/queued")
	return b
}

// A store is lost: all pages in it are fetched again, once, and nothing else is.
func TestALostStoreIsFetchedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 2500
		b := storedBench(t, n)
		before := b.status()
		lost := crawl.Event{StoreLost: "s1"}
		b.event(lost)
		if st := b.status(); st.Shards[0].DueSoon == 0 || st.Stored != n {
			t.Errorf("before the pass: %+v, want work to do", st)
		}
		if stretches := b.refillAll(); stretches < 3 {
			t.Errorf("%d records in %d stretches", n, stretches)
		}
		b.verify()
		st := b.status()
		if st.Stored != 0 || st.Queued != n+1 || st.Refused != 1 || st.Failed != 1 || st.Discovered != before.Discovered || st.Bytes != before.Bytes {
			t.Errorf("%+v, want %d queued, the others unchanged: %+v", st, n+1, before)
		}
		if h := b.s.Ledger.Hosts["a.example"]; h.Stored != 0 || !h.Origins[0].DataDue.IsZero() {
			t.Errorf("%d pages of the host still count as stored; its data.txt is due %v", h.Stored, h.Origins[0].DataDue)
		}
		b.event(lost) // reported again
		for b.status().Stored < n+1 {
			for _, v := range b.grant(1) {
				b.finish(v, crawl.Stored, "")
			}
			b.refillAll()
			time.Sleep(10 * time.Second)
		}
		b.event(lost)
		b.refillAll()
		if st := b.status(); st.Stored != n+1 || st.Queued != 0 {
			t.Errorf("%+v: a repeated report must change nothing", st)
		}
		b.event(crawl.Event{StoreLost: "s2"})
		b.event(lost)
		b.refillAll()
		if st := b.status(); st.Stored != 0 || st.Queued != n+1 {
			t.Errorf("%+v: another store, all again", st)
		}
		b.verify()
	})
}

// The pass continues where it was, whether the shard was killed or restored elsewhere.
func TestTheSearchForLostPagesSurvivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 3500
		b := storedBench(t, n)
		b.event(crawl.Event{StoreLost: "s1"})
		b.refillSome()
		b.commit()
		b.refillSome()
		b.crash()
		b.open()
		if l := b.s.Ledger.Meta.Lost; !l.Running || len(l.Next) == 0 {
			t.Fatalf("after a kill: %+v, want the pass to go on", l)
		}
		b.refillSome()
		b.copyState()
		b.refillSome()
		b.lose()
		b.refillAll()
		b.verify()
		if st := b.status(); st.Stored != 0 || st.Queued != n+1 {
			t.Errorf("%+v", st)
		}
	})
}

// A page was stored, its store is lost, and only then its outcome is published. The page of a visit
// that was granted later goes into the new store.
func TestOutcomesThatComeAfterTheLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/", "http://b.example/"))
		b.links(0, "", "http://a.example/", "http://b.example/")
		vs := b.grant(2)
		var a, c crawl.Visit
		for _, v := range vs {
			if v.Host == "a.example" {
				a = v
			} else {
				c = v
			}
		}
		b.event(crawl.Event{StoreLost: "s1"})
		b.refillAll()
		b.event(crawl.Event{Visit: a.ID, Probes: []crawl.Probe{{Origin: a.URLs[0].URL.Origin(), State: crawl.ProbeRead, Status: 200, Fresh: 24 * time.Hour}}})
		b.finish(a, crawl.Stored, "")
		b.finish(a, crawl.Stored, "") // reported twice
		if st := b.status(); st.Stored != 0 || st.InFlight != 1 || st.Queued != 1 {
			t.Errorf("%+v: a page that is in the lost store counts as stored", st)
		}
		if o := b.s.Ledger.Hosts["a.example"].Origins[0]; o.Data != crawl.ProbeRead || !o.DataDue.IsZero() {
			t.Errorf("its data.txt is %v, due %v", o.Data, o.DataDue)
		}
		time.Sleep(5 * time.Second)
		again := b.grant(2)
		if len(again) != 1 || again[0].Host != "a.example" || again[0].URLs[0].Attempts != 0 {
			t.Fatalf("%+v, want a.example once more", again)
		}
		b.finish(again[0], crawl.Stored, "")
		b.finish(c, crawl.Failed, crawl.ReasonHTTP4xx)
		if st := b.status(); st.Stored != 1 || st.Failed != 1 || st.Queued != 0 {
			t.Errorf("%+v", st)
		}
		b.verify()
	})
}

// Pages that the spec does not allow any more are not fetched again, and explain states it.
func TestLostPagesOutOfScope(t *testing.T) {
	b := newBench(t, testSpec("http://a.example/"))
	b.links(0, "", "http://a.example/", "http://b.example/")
	for _, v := range b.grant(2) {
		b.finish(v, crawl.Stored, "")
	}
	b.commit()
	b.crash()
	b.spec.Scope = "host"
	b.open()
	b.event(crawl.Event{StoreLost: "s1"})
	b.refillAll()
	if st := b.status(); st.Queued != 1 || st.Refused != 1 || st.ByReason["scope"] != 1 {
		t.Errorf("%+v", st)
	}
	b.verify()
}
