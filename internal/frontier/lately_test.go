package frontier

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/canon"
)

// shopHost returns the host of shop.
func shopHost(n int) canon.Host { return canon.Host(fmt.Sprintf("shop%d.example", n)) }

// Recently evicted hosts are found without the parts of the file that are sorted by name, and so
// are their domains.
func TestRecentlyEvictedHosts(t *testing.T) {
	fewResident(t)
	synctest.Test(t, func(t *testing.T) {
		b := manyShops(t, 20, 2)
		names, domains := b.s.Ledger.Tx.Bucket([]byte("names")), b.s.Ledger.Tx.Bucket(store.BucketDomains)
		found := 0
		for i := range 20 {
			name := shopHost(i)
			if b.s.Ledger.Hosts[name] != nil {
				continue
			}
			if err := names.Delete([]byte(name)); err != nil {
				t.Fatal(err)
			}
			if err := domains.Delete([]byte(name)); err != nil {
				t.Fatal(err)
			}
			h, err := b.s.Ledger.HostNamed(name)
			if err != nil {
				t.Fatal(err)
			}
			if h == nil {
				continue // others have its slot
			}
			if found++; h.Name != name || h.Queued != 2 || h.Domain.Name != string(name) || h.Domain.Hosts != 1 {
				t.Errorf("%s is %+v of %+v", name, h, h.Domain)
			}
		}
		if found < 8 {
			t.Errorf("%d of 16 hosts that left memory lately are known", found)
		}
	})
}

// However many hosts and domains get links, few are in memory, and each domain is there once.
func TestFewRecentlyEvictedHostsAreKept(t *testing.T) {
	fewResident(t)
	synctest.Test(t, func(t *testing.T) {
		b := manyShops(t, 400, 1)
		most := hosts.MaxResident * (1 + hosts.LatelyFor)
		if n := len(b.s.Ledger.Domains.Loaded); n > most || n <= hosts.MaxResident {
			t.Errorf("%d domains in memory, want some and %d at most", n, most)
		}
		b.links(1, "", "http://a.one.example/", "http://b.one.example/")
		b.commit()
		for i := range 40 { // a is displaced from its slot, or not
			b.links(1, "", fmt.Sprintf("http://other%d.example/", i))
			if b.commit(); i%10 != 9 {
				continue
			}
			one, err := b.s.Ledger.HostNamed("a.one.example")
			if err != nil {
				t.Fatal(err)
			}
			two, err := b.s.Ledger.HostNamed("b.one.example")
			if err != nil {
				t.Fatal(err)
			}
			if one.Domain != two.Domain || one.Domain.Hosts != 2 || b.s.Ledger.Domains.Loaded["one.example"] != one.Domain {
				t.Fatalf("one domain is %+v and %+v", one.Domain, two.Domain)
			}
			b.commit()
		}
		b.verify()
	})
}

// What an aborted transaction did is not known any more: the numbers of its hosts are given to
// others.
func TestHostsOfAnAbortedTransaction(t *testing.T) {
	fewResident(t)
	synctest.Test(t, func(t *testing.T) {
		b := manyShops(t, 20, 1)
		log := len(b.log)
		for i := 20; i < 40; i++ {
			b.links(1, "", shop(i))
		}
		if err := b.s.Ledger.PutAway(); err != nil { // they are evicted, and nothing is committed
			t.Fatal(err)
		}
		b.crash()
		b.log = b.log[:log]
		b.open()
		for i := 20; i < 40; i++ {
			if h, err := b.s.Ledger.HostNamed(shopHost(i)); h != nil || err != nil {
				t.Fatalf("%s is known: %+v, %v", shopHost(i), h, err)
			}
		}
		for i := 59; i >= 20; i-- {
			b.links(1, "", shop(i), shop(i)+"more")
		}
		b.commit()
		numbers := map[store.HostID]canon.Host{}
		for i := range 60 {
			h, err := b.s.Ledger.HostNamed(shopHost(i))
			if err != nil || h == nil {
				t.Fatal(h, err)
			}
			if was := numbers[h.ID]; was != "" || h.Name != shopHost(i) {
				t.Errorf("host %d is %s, %s and %s", h.ID, h.Name, shopHost(i), was)
			}
			numbers[h.ID] = h.Name
		}
		if st := b.status(); st.Hosts != 60 || st.Queued != 20+80 {
			t.Errorf("%+v", st)
		}
		b.verify()
	})
}

// The data of a recently evicted host equals its record, whatever happened to it meanwhile: its
// URLs were forgotten, or allowed again, or visited.
func TestRecentlyEvictedHostsThatChanged(t *testing.T) {
	fewResident(t)
	synctest.Test(t, func(t *testing.T) {
		b := manyShops(t, 30, 3)
		b.respec(func(s *crawl.Spec) { s.Forgotten = []string{"shop7.example", "shop8.example"} })
		b.refillAll()
		b.commit()
		b.links(1, "", shop(7)+"new", shop(8)+"0", shop(9)+"new")
		b.commit()
		if st := b.status(); st.ByReason["forgotten"] != 7 || st.Queued != 30*3+1-6 {
			t.Errorf("after two hosts were forgotten: %+v", st)
		}
		b.verify()
		b.respec(func(s *crawl.Spec) { s.Forgotten = []string{"shop8.example"} })
		b.refillAll()
		b.commit()
		b.links(1, "", shop(7)+"newer")
		b.commit()
		if st := b.status(); st.ByReason["forgotten"] != 3 || st.Queued != 30*3+1-3+2 {
			t.Errorf("after one was let in again: %+v", st)
		}
		if n := b.visitAll(40); n < 40 {
			t.Fatalf("%d visited", n)
		}
		b.commit()
		for i := range 30 {
			b.links(1, "", shop(i)+"last")
		}
		b.commit()
		b.verify()
		if want := int(b.status().Queued); b.visitAll(1000) != want {
			t.Errorf("not all %d were visited: %+v", want, b.status())
		}
		b.verify()
	})
}

// A link to a known URL of an evicted host changes nothing and does not load the host. A nearer
// link, a new URL and a URL of a closed name do load it, whatever the cache of numbers has.
func TestKnownLinksLoadNoHost(t *testing.T) {
	fewResident(t)
	for _, emptied := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			const n = 200 // more than the cache of numbers has slots
			spec := testSpec(shop(0))
			spec.Scope, spec.MaxHosts = "any", 5
			b := newBench(t, spec)
			closed := func(i int) string { return fmt.Sprintf("http://n%d.big.example/", i) }
			for i := range n {
				b.links(2, "", shop(i), shop(i)+"x")
			}
			for i := range hosts.MinDomainHosts + 1 {
				b.links(2, "", closed(i))
			}
			b.commit()
			if emptied {
				b.crash()
				b.open()
			}
			b.s.Links.ForgetRecent()
			before := b.status()
			loaded := func(raw string, depth int) bool {
				t.Helper()
				u := mustParse(t, raw)
				if b.s.Ledger.Hosts[u.Host()] != nil {
					t.Fatalf("%s is in memory", u.Host())
				}
				b.links(depth, "", raw)
				return b.s.Ledger.Hosts[u.Host()] != nil
			}
			for i := 20; i < n; i++ {
				if loaded(shop(i), 2) || loaded(shop(i)+"x", 3) {
					t.Fatalf("a known link has loaded %s", shop(i))
				}
			}
			b.commit()
			if st := b.status(); st.Discovered != before.Discovered || st.Queued != before.Queued {
				t.Errorf("known links made %+v of %+v", st, before)
			}
			if !loaded(shop(30)+"x", 1) || b.record(shop(30)+"x").Depth != 1 || b.record(shop(30)).Depth != 2 {
				t.Error("a nearer link has no effect")
			}
			if !loaded(shop(31)+"new", 2) || b.record(shop(31)+"new").Depth != 2 {
				t.Error("a new URL is not known")
			}
			if !loaded(closed(hosts.MinDomainHosts), 2) {
				t.Error("a URL of a closed name did not load its host")
			}
			b.verify()
		})
	}
}
