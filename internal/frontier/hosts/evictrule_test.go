package hosts

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/canon"
)

// fewResident reduces the limits of memory for a test, which must not be parallel.
func fewResident(t *testing.T, n int) {
	was := MaxResident
	MaxResident = n
	t.Cleanup(func() { MaxResident = was })
}

// resident are the ids of the hosts in memory.
func resident(l *Ledger) (ids []store.HostID) {
	for id := range l.ByID {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// TestNewHostsLeave: of the hosts that were never visited the first stay in memory. The others come
// back in the order in which they were found, when half of those in memory have been visited.
func TestNewHostsLeave(t *testing.T) {
	fewResident(t, 4)
	l := testLedger(t, testPath(t))
	for n := range 10 {
		h, _ := testHost(t, l, canon.Host(fmt.Sprintf("%d.example", n)))
		if n != 2 { // it has no work
			h.URLQueued(0, false)
		}
	}
	commit(t, l)
	if got := resident(l); !slices.Equal(got, []store.HostID{1, 2, 4}) {
		t.Fatalf("in memory: %v", got)
	}
	visit := func(id store.HostID) {
		h := l.ByID[id]
		h.URLDequeued(0, false)
		h.BeginReport(crawl.VisitID{Epoch: 1, N: uint64(id)})
		h.EndReport()
	}
	for _, step := range []struct {
		visited store.HostID
		want    []store.HostID
	}{
		{1, []store.HostID{1, 2, 4, 5, 6}},
		{2, []store.HostID{1, 2, 4, 5, 6}},
		{4, []store.HostID{1, 2, 4, 5, 6, 7, 8}},
	} {
		visit(step.visited)
		commit(t, l)
		if err := l.Load(time.Now()); err != nil {
			t.Fatal(err)
		}
		commit(t, l)
		if got := resident(l); !slices.Equal(got, step.want) {
			t.Errorf("after a visit to %d in memory: %v, want %v", step.visited, got, step.want)
		}
	}
	// One that an event names is in memory until the next commit.
	if h, err := l.HostNamed("2.example"); err != nil || h == nil || l.ByID[3] != h {
		t.Errorf("a named host: %v, %v", h, err)
	}
	commit(t, l)
	if l.ByID[3] != nil {
		t.Error("a host without work stays in memory because it was named")
	}
}

// TestVisitedHostsLeave: hosts that were visited leave when there are too many, first those without
// work now. Those with work come back when it is due.
func TestVisitedHostsLeave(t *testing.T) {
	fewResident(t, 2)
	l := testLedger(t, testPath(t))
	now := time.Now()
	for n := range store.HostID(6) {
		h, _ := testHost(t, l, canon.Host(fmt.Sprintf("%d.example", n)))
		l.Meet(h)
		h.BeginReport(crawl.VisitID{Epoch: 1, N: 1})
		h.EndReport()
		if n%2 == 1 { // the others have no work
			h.URLQueued(0, false)
			l.Due.Place(h, now.Add(time.Duration(6-n)*time.Hour))
		}
	}
	commit(t, l)
	if got := resident(l); len(got) != 2 {
		t.Errorf("in memory: %v", got)
	}
	var index []store.HostID
	if err := l.EachEvicted(func(r EvictedHost) { index = append(index, r.ID) }); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(index, []store.HostID{6, 4}) {
		t.Fatalf("with work, by its time: %v", index)
	}
	l = reopened(t, l)
	l.index.timed = true // as LoadHosts begins
	if loaded, err := l.LoadDue(now.Add(30 * time.Minute)); loaded || err != nil {
		t.Errorf("a host came back before its time: %v", err)
	}
	if loaded, err := l.LoadDue(now.Add(90 * time.Minute)); !loaded || err != nil || l.ByID[6] == nil || l.ByID[6].Evicted {
		t.Errorf("a host did not come back: %v", err)
	}
	if next := l.NextEvicted(); next.Sub(now).Round(time.Minute) != 3*time.Hour {
		t.Errorf("the next one comes back after %v", next.Sub(now))
	}
	commit(t, l)
	l = reopened(t, l)
	if err := LoadHosts(l.Tx, func(h *Host) error { index = append(index, h.ID); return nil }); err != nil || !slices.Contains(index, 6) {
		t.Errorf("the file has in memory: %v, %v", index, err)
	}
}

// TestMustStay: what keeps a host in memory, however many there are.
func TestMustStay(t *testing.T) {
	fewResident(t, 1)
	for name, keep := range map[string]func(h *Host, o *Origin){
		"a visit":                      func(h *Host, _ *Origin) { h.BeginVisit(&Visit{Host: h}) },
		"an auxiliary request":         func(h *Host, _ *Origin) { h.OfferAux(crawl.AuxRequest{}) },
		"a URL that waits":             func(h *Host, _ *Origin) { h.URLQueued(0, true) },
		"a sitemap to be read":         func(h *Host, _ *Origin) { h.QueueSitemap() },
		"a busy address":               func(h *Host, _ *Origin) { h.DelayUntil(time.Now(), DueAddress) },
		"a robots.txt on another host": func(_ *Host, o *Origin) { o.AwaitRobots("http://b.example/", 1, time.Now()) },
		"a security.txt": func(_ *Host, o *Origin) {
			o.KeepFiles(crawl.OriginFiles{SecurityTxt: new(crawl.SecurityTxt)}, crawl.OriginFilesDue{})
		},
		"work that waits for no time":     func(h *Host, _ *Origin) { h.URLQueued(0, false) },
		"nothing, but memory is free":     nil,
		"nothing, and memory is not free": nil,
	} {
		l := testLedger(t, testPath(t))
		others := 3
		if name == "nothing, but memory is free" {
			others = 0
		}
		for n := range others + 1 {
			h, o := testHost(t, l, canon.Host(fmt.Sprintf("%d.example", n)))
			l.Meet(h)
			h.BeginReport(crawl.VisitID{Epoch: 1, N: 1})
			h.EndReport()
			if n == others && keep != nil {
				keep(h, o)
			}
		}
		commit(t, l)
		_, stays := l.Hosts[canon.Host(fmt.Sprintf("%d.example", others))]
		if want := name != "nothing, and memory is not free"; stays != want {
			t.Errorf("%s: stays %v", name, stays)
		}
	}
}
