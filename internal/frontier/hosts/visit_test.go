package hosts

import (
	"slices"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// TestVisit: a visit loses the URLs that are not in the queue any more, and its host is visited
// from its beginning on.
func TestVisit(t *testing.T) {
	t.Parallel()
	l := testLedger(t, testPath(t))
	h, _ := testHost(t, l, "a.example")
	if !h.Fresh {
		t.Fatal("a new host counts as visited")
	}
	l.TakeUnscheduled()
	v := &Visit{ID: crawl.VisitID{Epoch: 1, N: 1}, Host: h}
	for n := range uint64(3) {
		v.Add(canon.URL("http://a.example/"), n)
	}
	v.Filled(5)
	h.BeginVisit(v)
	if h.Visit != v || h.Fresh || v.URLs != 5 || v.Queued != 3 {
		t.Errorf("begun: %+v of %+v", v, h)
	}
	if !v.Remove(1) || v.Remove(1) || v.Remove(7) || len(v.List) != 2 || v.List[1].Order != 2 || v.Queued != 3 {
		t.Errorf("after one was removed: %+v", v)
	}
	until := time.Now().Add(time.Minute)
	if v.Renew(until); !v.Until.Equal(until) {
		t.Error("not renewed")
	}
	h.EndVisit()
	if all := l.TakeUnscheduled(); h.Visit != nil || !slices.Equal(all, []*Host{h}) {
		t.Errorf("ended: %v, to be scheduled %v", h.Visit, all)
	}
	h.ResumeVisit(v)
	if all := l.TakeUnscheduled(); h.Visit != v || !slices.Equal(all, []*Host{h}) {
		t.Errorf("resumed: %v, to be scheduled %v", h.Visit, all)
	}
	if h.Untouched() {
		t.Error("a host with a visit may be evicted as one that was never visited")
	}
}

// TestSchedule places hosts, moves them and removes them: the first is always the one that is due
// first.
func TestSchedule(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	var q Schedule
	all := make([]Host, 50)
	for i := range all {
		all[i].At = -1
		q.Place(&all[i], now.Add(time.Duration(i*37%50)*time.Second))
	}
	for i := range all {
		if i%2 == 0 {
			q.Place(&all[i], now.Add(time.Duration(i*11%50)*time.Second))
		}
	}
	q.Remove(&all[7])
	q.Remove(&all[7])
	last := now
	for n := len(all) - 1; n > 0; n-- {
		if len(q) != n {
			t.Fatalf("%d hosts, want %d", len(q), n)
		}
		h := q[0]
		if h.When.Before(last) || h == &all[7] {
			t.Errorf("due at %v after %v", h.When, last)
		}
		last = h.When
		if q.Remove(h); h.At != -1 {
			t.Error("a removed host has a position")
		}
	}
}

// TestQuota: auxiliary requests and pages take turns, unless a request is urgent.
func TestQuota(t *testing.T) {
	t.Parallel()
	var q quota
	for i, step := range []struct {
		hurry, forAux bool
	}{{false, true}, {false, false}, {true, true}, {false, false}} {
		if step.hurry {
			q.Hurry()
		}
		if q.ForAux() != step.forAux {
			t.Errorf("step %d: for auxiliary requests %v", i, q.ForAux())
		}
		q.TookVisit(q.ForAux())
		if i == 1 { // a visit for pages: an auxiliary one comes next
			q.TookVisit(true)
		}
	}
	if q.ForCrawl() {
		t.Error("a download must not wait for the crawl after a visit of the crawl")
	}
	if q.TookDownload(); !q.ForCrawl() {
		t.Error("two downloads follow one another while the crawl is due")
	}
}

// TestAux: a request that is kept is in the file, one that is offered is not.
func TestAux(t *testing.T) {
	t.Parallel()
	l := testLedger(t, testPath(t))
	h, o := visited(t, l)
	kept := crawl.AuxRequest{Kind: crawl.AuxRobots, URL: "http://a.example/robots.txt", Origin: o.Origin}
	offered := crawl.AuxRequest{Kind: crawl.AuxSitemap, URL: "http://a.example/s.xml", Origin: o.Origin, Hop: 2}
	if err := h.KeepAux(kept); err != nil {
		t.Fatal(err)
	}
	h.OfferAux(offered)
	offered.Hop = 1
	h.FoundNearer(offered)
	if !slices.Equal(h.Aux, []crawl.AuxRequest{kept, offered}) {
		t.Errorf("wanted: %+v", h.Aux)
	}
	commit(t, l)
	l = reopened(t, l)
	f := NewFeatures(l)
	f.Register(nil)
	if err := f.LoadAux(); err != nil {
		t.Fatal(err)
	}
	h, _ = testHost(t, l, "a.example")
	if !slices.Equal(h.Aux, []crawl.AuxRequest{kept}) {
		t.Errorf("after a restart: %+v", h.Aux)
	}
	h.WithdrawAux(func(e crawl.AuxRequest) bool { return e.Kind == crawl.AuxSitemap })
	if len(h.Aux) != 1 {
		t.Error("another kind was withdrawn")
	}
	if err := f.DropAux(h, kept, time.Now()); err != nil || len(h.Aux) != 0 {
		t.Errorf("dropped: %+v, %v", h.Aux, err)
	}
}
