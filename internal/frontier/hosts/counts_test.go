package hosts

import (
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/store"
)

// TestCounts moves URLs from class to class and back: all counts are zero again.
func TestCounts(t *testing.T) {
	t.Parallel()
	l := testLedger(t, testPath(t))
	h, o := testHost(t, l, "a.example")
	sums := &l.Meta.Counts
	h.URLQueued(0, false)
	h.URLQueued(0, false)
	h.URLQueued(0, true)
	if h.Queued != 3 || h.Later != 1 || o.Ready != 2 || sums.Queued != 3 || sums.Later != 1 {
		t.Errorf("host %d queued, %d later, %d ready; shard %d queued, %d later", h.Queued, h.Later, o.Ready, sums.Queued, sums.Later)
	}
	h.URLDequeued(0, true)
	h.URLDequeued(0, false)
	h.URLDequeued(0, false)
	if h.Queued != 0 || h.Later != 0 || o.Ready != 0 || sums.Queued != 0 || sums.Later != 0 {
		t.Errorf("host %d queued, %d later, %d ready; shard %d queued, %d later, want none", h.Queued, h.Later, o.Ready, sums.Queued, sums.Later)
	}
	type url struct {
		class  crawl.Class
		reason crawl.Reason
	}
	all := []url{
		{crawl.Stored, ""}, {crawl.Redirected, crawl.ReasonRedirect}, {crawl.Failed, crawl.ReasonTimeout},
		{crawl.Refused, crawl.ReasonRobots}, {crawl.Refused, crawl.ReasonScope}, {crawl.Refused, crawl.ReasonMirror},
	}
	for _, u := range all {
		h.CountURL(u.class, u.reason, 1)
	}
	// robots.txt was asked for the first
	if h.Stored != 1 || h.Domain.Stored != 1 || h.Failed != 1 || h.Refused != 2 {
		t.Errorf("host %d stored, domain %d, %d failed, %d refused unasked", h.Stored, h.Domain.Stored, h.Failed, h.Refused)
	}
	if sums.Stored != 1 || sums.Redirected != 1 || sums.Failed != 1 || sums.Refused != 3 || len(sums.ByReason) != 5 {
		t.Errorf("the shard has %+v", sums)
	}
	for _, u := range all {
		h.CountURL(u.class, u.reason, -1)
	}
	if h.Stored != 0 || h.Domain.Stored != 0 || h.Failed != 0 || h.Refused != 0 || sums.Stored+sums.Redirected+sums.Failed+sums.Refused != 0 || len(sums.ByReason) != 0 {
		t.Errorf("something is left: host %+v, shard %+v", h, sums)
	}
	h.CountURL(crawl.Refused, crawl.ReasonScope, -1) // of an older file, which did not count it
	if h.Refused != 0 {
		t.Errorf("%d refused", h.Refused)
	}
}

// TestAgain: the time of the first URL is known as long as no earlier one was dropped.
func TestAgain(t *testing.T) {
	t.Parallel()
	l := testLedger(t, testPath(t))
	_, o := testHost(t, l, "a.example")
	for i, step := range []struct {
		add, drop, found int64
		n, due           int64
	}{
		{add: 50, n: 1, due: 50},
		{add: 70, n: 2, due: 50},
		{add: 30, n: 3, due: 30},
		{drop: 70, n: 2, due: 30},
		{drop: 30, n: 1, due: 0},
		{add: 20, n: 2, due: 0}, // an earlier one may be in the plan
		{found: 20, n: 2, due: 20},
		{add: 10, n: 3, due: 10},
	} {
		switch {
		case step.add > 0:
			o.AddAgain(step.add)
		case step.drop > 0:
			o.DropAgain(step.drop)
		default:
			o.FoundAgainDue(step.found)
		}
		if o.Again != step.n || o.AgainDue != step.due {
			t.Errorf("step %d: %d URLs, the first at %d", i, o.Again, o.AgainDue)
		}
	}
}

// TestDomainNames: new names are bounded for each page and for each event, and closed names can be
// opened.
func TestDomainNames(t *testing.T) {
	t.Parallel()
	l := testLedger(t, testPath(t))
	d, err := l.DomainOf("x.a.example")
	if err != nil {
		t.Fatal(err)
	}
	accept := func(page, event uint64, n int) (accepted int) {
		for range n {
			if d.BringsNames(page, event) {
				d.BroughtName()
				accepted++
			}
		}
		return accepted
	}
	if n := accept(1, 1, 1000); n != NewHostsPage {
		t.Errorf("a page brought %d names", n)
	}
	if n := accept(2, 1, 1000) + accept(3, 1, 1000); n != NewHostsEvent-NewHostsPage {
		t.Errorf("the other pages of an event brought %d names", n)
	}
	if n := accept(4, 2, 1000); n != NewHostsPage {
		t.Errorf("the page of another event brought %d names", n)
	}
	h, err := l.NewHost("x.a.example", true)
	if err != nil {
		t.Fatal(err)
	}
	if !h.Closed || d.Closed != 1 || d.Hosts != 0 || l.Meta.KnownHosts() != 0 || l.Tx.Bucket(store.BucketClosed).Get(ClosedKey(d, h.ID)) == nil {
		t.Errorf("a closed name: %+v", d)
	}
	l.LeaveNameOut(d)
	if err := l.OpenHost(h); err != nil {
		t.Fatal(err)
	}
	if h.Closed || d.Closed != 0 || d.Hosts != 1 || d.LeftOut != 1 || l.Meta.KnownHosts() != 1 || l.Tx.Bucket(store.BucketClosed).Get(ClosedKey(d, h.ID)) != nil {
		t.Errorf("an opened name: %+v", d)
	}
	h.BeginReport(crawl.VisitID{Epoch: 1, N: 1})
	commit(t, l)
	l = reopened(t, l)
	if h, err = l.HostNamed("x.a.example"); err != nil || h == nil || h.Closed || h.Domain.Hosts != 1 || h.Domain.LeftOut != 1 {
		t.Errorf("after a restart it is %+v of %+v: %v", h, h.Domain, err)
	}
}
