package frontier

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/canon"
)

// passes lets all passes run to their end.
func (b *bench) passes() {
	b.t.Helper()
	for range 10_000 {
		more, err := b.s.Passes.Some(time.Now())
		if err != nil {
			b.t.Fatal(err)
		}
		if !more {
			return
		}
	}
	b.t.Fatal("the passes do not end")
}

// visitAll grants and finishes until nothing is queued, and returns how many pages were stored.
func (b *bench) visitAll(most int) (stored int) {
	b.t.Helper()
	for range 10_000 {
		if b.status().Queued == 0 || stored >= most {
			return stored
		}
		for _, v := range b.grant(4) {
			b.finish(v, crawl.Stored, "")
			stored += len(v.URLs)
		}
		time.Sleep(500 * time.Millisecond)
	}
	b.t.Fatalf("the work does not end: %+v", b.status())
	return 0
}

// A domain with a wildcard in DNS has as many names as its owner likes: a limited number is
// accepted, others are refused with a reason of their own, and accepted when pages are stored.
func TestNamesOfADomainAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := testSpec("http://www.evil.example/")
		spec.MaxHosts = 20
		b := newBench(t, spec)
		b.links(0, "", "http://www.evil.example/")
		invent(b, "evil.example", 0, 19, 1)
		if st := b.status(); st.Hosts != 20 || st.Refused != 0 || st.Queued != 20 {
			t.Fatalf("at the limit: %+v", st)
		}
		invent(b, "evil.example", 19, 1, 1)
		if st := b.status(); st.Hosts != 20 || st.Refused != 1 || st.ByReason["hosts"] != 1 {
			t.Fatalf("one past the limit: %+v", st)
		}
		x := b.explain("http://n19.evil.example/")
		if x.State != "refused" || x.Reason != "hosts" || !strings.Contains(x.Detail, "--max-hosts-per-domain") {
			t.Errorf("explain returned %+v", x)
		}
		// Other domains are not affected.
		b.links(1, "", "http://other.example/", "http://www.evil.example/more")
		if st := b.status(); st.Hosts != 21 || st.Queued != 22 {
			t.Errorf("with another domain: %+v", st)
		}
		b.commit()
		b.crash()
		b.open()
		if stored := b.visitAll(1000); stored != 23 {
			t.Errorf("%d pages stored, want all 23: %+v", stored, b.status())
		}
		b.verify()
	})
}

// Names over the limit are bounded too: links to further ones are only counted, and explain states
// it.
func TestRefusedNamesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := testSpec("http://www.evil.example/")
		spec.MaxHosts = 5
		b := newBench(t, spec)
		n := invent(b, "evil.example", 0, 1, 5+5*hosts.ClosedPerHost)
		if st := b.status(); st.Discovered != int64(n) || st.ByReason["hosts"] != 5*hosts.ClosedPerHost {
			t.Fatalf("at the limit: %+v", st)
		}
		invent(b, "evil.example", n, 3, 1)
		if st := b.status(); st.Discovered != int64(n) {
			t.Fatalf("past the limit: %+v", st)
		}
		if x := b.explain(fmt.Sprintf("http://n%d.evil.example/", n)); x.State != "refused" || x.Reason != "hosts" || !strings.Contains(x.Detail, "3 links") {
			t.Errorf("explain returned %+v", x)
		}
		// Of a refused name, a few URLs are remembered.
		for i := range hosts.ClosedURLs + 2 {
			b.links(1, "", fmt.Sprintf("http://n%d.evil.example/%d", n-1, i))
		}
		if st := b.status(); st.Discovered != int64(n-1+hosts.ClosedURLs) {
			t.Errorf("%d URLs known, want %d", st.Discovered, n-1+hosts.ClosedURLs)
		}
		b.verify()
		// A higher limit accepts all of them.
		b.respec(func(s *crawl.Spec) { s.MaxHosts = 1000 })
		b.passes()
		if st := b.status(); st.Refused != 0 || st.Queued != int64(n-1+hosts.ClosedURLs) {
			t.Errorf("with a wider limit: %+v", st)
		}
		b.verify()
	})
}

// A page, and a visit, can add a limited number of new names of a domain; others follow as its
// pages are visited.
func TestNewNamesOfAPageAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://www.evil.example/"))
		invent(b, "evil.example", 0, 1, hosts.NewHostsPage)
		if st := b.status(); st.Hosts != hosts.NewHostsPage {
			t.Fatalf("a page at the limit: %+v", st)
		}
		invent(b, "evil.example", 1000, 1, hosts.NewHostsPage+1)
		if st := b.status(); st.Hosts != 2*hosts.NewHostsPage || st.ByReason["hosts"] != 1 {
			t.Fatalf("a page past the limit: %+v", st)
		}
		var ev crawl.Event
		n := 10_000
		for range hosts.NewHostsEvent/100 + 1 {
			l := crawl.Links{Depth: 1}
			for range 100 {
				l.URLs = append(l.URLs, canon.URL(fmt.Sprintf("http://n%d.evil.example/", n)))
				n++
			}
			ev.Links = append(ev.Links, l)
		}
		b.event(ev)
		if st := b.status(); st.Hosts != 2*hosts.NewHostsPage+hosts.NewHostsEvent || st.ByReason["hosts"] != 101 {
			t.Fatalf("a message past the limit: %+v", st)
		}
		if want := int(b.status().Discovered); b.visitAll(1_000_000) != want {
			t.Errorf("not all %d pages were visited: %+v", want, b.status())
		}
	})
}

// Hosts that were never visited are on disk: a start, the status and the list of hosts need no
// memory for each.
func TestHostsNeverVisitedAreEvicted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer func(n int) { hosts.MaxResident = n }(hosts.MaxResident)
		hosts.MaxResident = 10
		b := newBench(t, testSpec("http://www.seed.example/"))
		for i := range 300 {
			b.links(1, "", fmt.Sprintf("http://h%d.example/", i))
		}
		b.commit()
		check := func(when string) {
			t.Helper()
			if len(b.s.Ledger.Hosts) > hosts.MaxResident || len(b.s.Ledger.Domains.Loaded) > hosts.MaxResident*(1+hosts.LatelyFor) {
				t.Errorf("%s: %d hosts and %d domains in memory", when, len(b.s.Ledger.Hosts), len(b.s.Ledger.Domains.Loaded))
			}
			if st := b.status(); st.Hosts != 300 || st.Queued != 300 || st.Shards[0].DueSoon != 300 {
				t.Errorf("%s: %+v", when, st)
			}
			n := 0
			if err := b.hosts(func(hi crawl.HostInfo) error {
				if n++; hi.Queued != 1 || hi.State == "idle" {
					t.Errorf("%s: %+v", when, hi)
				}
				return nil
			}); err != nil || n != 300 {
				t.Errorf("%s: %d hosts listed, %v", when, n, err)
			}
			if len(b.s.Ledger.Hosts) > hosts.MaxResident {
				t.Errorf("%s: %d hosts in memory after they were listed", when, len(b.s.Ledger.Hosts))
			}
		}
		check("at first")
		b.crash()
		b.open()
		check("after a crash")
		if v := b.grant(1); len(v) != 0 {
			t.Errorf("%s is granted before its delay after a crash", v[0].Host)
		}
		// Known ones are found again.
		b.links(2, "", "http://h7.example/", "http://h299.example/more")
		if st := b.status(); st.Hosts != 300 || st.Queued != 301 {
			t.Errorf("after links to sleepers: %+v", st)
		}
		b.verify()
		if n := b.visitAll(1000); n != 301 {
			t.Errorf("%d pages visited, want 301", n)
		}
		b.verify()
	})
}

// In a file from before names were counted, they are counted once, and its hosts that were never
// visited are evicted.
func TestHostsOfAnOlderFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer func(n int) { hosts.MaxResident = n }(hosts.MaxResident)
		b := newBench(t, testSpec("http://www.evil.example/"))
		invent(b, "evil.example", 0, 1, 50)
		for n := 0; n < 7; { // a share is left free for others at first
			for _, v := range b.grant(7 - n) {
				b.finish(v, crawl.Stored, "")
				n++
			}
		}
		// As commit 46b061c left it.
		b.s.Ledger.Meta.Counted, b.s.Ledger.Meta.MaxHosts = false, 0
		if err := b.s.Ledger.PutAway(); err != nil {
			t.Fatal(err)
		}
		b.commit()
		for _, name := range [][]byte{store.BucketDomains, store.BucketClosed, store.BucketWaiting} {
			if err := b.s.Ledger.Tx.DeleteBucket(name); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.s.Ledger.Meta.Save(b.s.Ledger.Tx); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(b.s.Ledger.Flush(), b.s.Ledger.Tx.Commit()); err != nil {
			t.Fatal(err)
		}
		b.s.Ledger.DB.Close()
		b.s = nil
		hosts.MaxResident = 5
		b.open()
		b.passes()
		b.verify()
		if n := len(b.s.Ledger.Hosts); n > 7+hosts.MaxResident {
			t.Errorf("%d hosts in memory", n)
		}
		if st := b.status(); st.Hosts != 50 || st.Stored != 7 || st.Queued != 43 {
			t.Errorf("%+v", st)
		}
		if n := b.visitAll(1000); n != 43 {
			t.Errorf("%d visited", n)
		}
	})
}
