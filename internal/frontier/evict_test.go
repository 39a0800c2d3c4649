package frontier

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/restore"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/times"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/pkg/canon"
)

// fewResident makes a shard keep few hosts in memory during a test: four that were never visited,
// and sixteen that were.
func fewResident(t *testing.T) {
	was := hosts.MaxResident
	hosts.MaxResident = 4
	t.Cleanup(func() { hosts.MaxResident = was })
}

// evicted returns how many hosts with work are evicted, and until when the first of them is.
func (b *bench) evicted() (n int, until time.Time) {
	b.t.Helper()
	err := b.s.Ledger.EachEvicted(func(r hosts.EvictedHost) {
		if n++; n == 1 {
			until = r.Until
		}
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return n, until
}

// shop returns the URL of the nth of many hosts.
func shop(n int) string { return fmt.Sprintf("http://shop%d.example/", n) }

// manyShops makes a spec, and n hosts with so many URLs each.
func manyShops(t *testing.T, n, urls int) *bench {
	spec := testSpec(shop(0))
	spec.Scope = "any"
	b := newBench(t, spec)
	for i := range n {
		for j := range urls {
			b.links(1, "", fmt.Sprintf("%s%d", shop(i), j))
		}
	}
	b.commit()
	return b
}

// Hosts that were visited are evicted, whether they are done or only their turn is over. Everything
// that is queued is visited, no host before its delay is over, also when the process is killed
// again and again.
func TestVisitedHostsAreEvicted(t *testing.T) {
	for _, kills := range []bool{false, true} {
		t.Run(fmt.Sprintf("kills=%v", kills), func(t *testing.T) {
			fewResident(t)
			synctest.Test(t, func(t *testing.T) {
				const hosts, urls = 200, 25
				b := manyShops(t, hosts, urls)
				last := map[canon.Host]time.Time{}
				most, done := 0, 0
				for round := 0; done < hosts*urls; round++ {
					if round > 20_000 {
						t.Fatalf("the work does not end: %+v", b.status())
					}
					for _, v := range b.grant(8) {
						if since := time.Since(last[v.Host]); !last[v.Host].IsZero() && since < v.Delay {
							t.Fatalf("%s granted %v after its last response, delay %v", v.Host, since, v.Delay)
						}
						last[v.Host] = time.Now()
						done += len(v.URLs)
						b.finish(v, crawl.Stored, "")
					}
					b.commit()
					most = max(most, len(b.s.Ledger.Hosts))
					if kills && round%50 == 49 {
						b.crash()
						b.open()
						for name := range last {
							last[name] = time.Now() // all count as visited just now
						}
						if n := len(b.s.Ledger.Hosts); n > 30 {
							t.Fatalf("%d hosts in memory after a start", n)
						}
					}
					time.Sleep(100 * time.Millisecond)
				}
				b.passes()
				if st := b.status(); st.Stored != hosts*urls || st.Queued != 0 || st.Shards[0].DueSoon != 0 || done != hosts*urls {
					t.Errorf("%+v: %d granted", st, done)
				}
				if most > 40 {
					t.Errorf("%d hosts in memory at once", most)
				}
				if n, _ := b.evicted(); n != 0 {
					t.Errorf("%d hosts with work are evicted at the end", n)
				}
				b.verify()
				// A host that gets a link is loaded again.
				b.links(1, "", shop(7)+"new")
				b.commit()
				time.Sleep(2 * time.Second)
				if vs := b.grant(9); len(vs) != 1 || vs[0].URLs[0].URL != canon.URL(shop(7)+"new") || len(vs[0].Robots) != 1 || vs[0].Robots[0].State != crawl.RobotsUnavailable {
					t.Errorf("granted %+v", vs)
				}
			})
		})
	}
}

// A postponed host is evicted, is reported as postponed, and does not keep the crawl from ending;
// it is loaded when its time has come.
func TestPostponedHostsAreEvicted(t *testing.T) {
	fewResident(t)
	synctest.Test(t, func(t *testing.T) {
		const hosts = 100
		b := manyShops(t, hosts, 2)
		down := map[canon.Host]bool{}
		for len(down) < hosts {
			vs := b.grant(8)
			for _, v := range vs {
				down[v.Host] = true
				b.event(crawl.Event{Visit: v.ID, Robots: []crawl.Robots{{Origin: v.URLs[0].URL.Origin(), State: crawl.RobotsUnreachable, Status: 503, RetryAfter: 3 * time.Hour}},
					Outcome: &crawl.Outcome{Host: v.Host, Requests: 1, Delay: v.Delay}})
			}
			b.commit()
			if len(vs) == 0 {
				time.Sleep(100 * time.Millisecond)
			}
		}
		if n := len(b.s.Ledger.Hosts); n > 30 {
			t.Errorf("%d hosts in memory", n)
		}
		n, until := b.evicted()
		if wait := time.Until(until); n < hosts-30 || wait < 2*time.Hour || wait > 3*time.Hour {
			t.Fatalf("%d are evicted, the first for %v", n, wait)
		}
		time.Sleep(time.Minute)
		st := b.status()
		if st.Queued != 2*hosts || st.Shards[0].DueSoon != 0 {
			t.Errorf("%+v", st)
		}
		reported := 0
		for _, h := range st.Postponed {
			if h.Queued != 2 || h.Reason != "retry-after" || time.Until(h.Until) < 2*time.Hour {
				t.Errorf("postponed: %+v", h)
			}
			reported++
		}
		if reported < 10 {
			t.Errorf("%d hosts are reported as postponed", reported)
		}
		rows := map[string]int{}
		err := questions.Hosts.Each(t.Context(), asked(b), nil, func(h crawl.HostInfo) error {
			rows[fmt.Sprintf("%d queued, postponed %v", h.Queued, h.NextDue != nil)]++
			return nil
		})
		if len(rows) != 1 || err != nil {
			t.Errorf("hosts are listed as %v (%v)", rows, err)
		}
		if due := b.s.Visits.NextDue(time.Now()); time.Until(due) < time.Hour || time.Until(due) > 3*time.Hour {
			t.Errorf("the next is due in %v", time.Until(due))
		}
		if vs := b.grant(8); len(vs) > 0 {
			t.Fatalf("%s granted while all are postponed", vs[0].Host)
		}
		time.Sleep(3 * time.Hour)
		again := map[canon.Host]bool{}
		for range 10_000 {
			if len(again) == hosts {
				break
			}
			for _, v := range b.grant(8) {
				again[v.Host] = true
				b.finish(v, crawl.Stored, "")
			}
			b.commit()
			time.Sleep(100 * time.Millisecond)
		}
		if len(again) != hosts {
			t.Errorf("%d of %d hosts visited again", len(again), hosts)
		}
	})
}

// An evicted host does not follow changes of the spec: it follows them when it is loaded.
func TestEvictedHostsFollowTheSpecWhenLoaded(t *testing.T) {
	// stopped has 60 hosts that were visited a moment ago, of which all but the last ones are
	// evicted with work, and returns the evicted ones.
	stopped := func(t *testing.T) (b *bench, evicted map[canon.Host]bool) {
		fewResident(t)
		b = manyShops(t, 60, 200)
		for seen := 0; seen < 60; {
			for _, v := range b.grant(8) {
				seen++
				b.finish(v, crawl.Stored, "")
			}
			b.commit()
		}
		evicted = map[canon.Host]bool{}
		err := b.s.Ledger.EachEvicted(func(r hosts.EvictedHost) {
			h, err := b.s.Ledger.Peek(r.ID)
			if err != nil {
				t.Fatal(err)
			}
			evicted[h.Name] = true
		})
		if len(evicted) < 30 || err != nil {
			t.Fatalf("%d are evicted (%v)", len(evicted), err)
		}
		return b, evicted
	}
	// first returns after how long the first of some hosts is granted.
	first := func(t *testing.T, b *bench, of map[canon.Host]bool, most time.Duration) time.Duration {
		t.Helper()
		for began := time.Now(); time.Since(began) < most; time.Sleep(100 * time.Millisecond) {
			for _, v := range b.grant(8) {
				if of[v.Host] {
					return time.Since(began)
				}
				b.finish(v, crawl.Stored, "")
			}
			b.commit()
		}
		t.Fatalf("none of %d hosts is granted within %v", len(of), most)
		return 0
	}
	t.Run("the operator slows all down", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b, evicted := stopped(t)
			b.respec(func(s *crawl.Spec) { s.Delay = 40 * time.Second })
			if got := first(t, b, evicted, time.Hour); got < 40*time.Second {
				t.Errorf("granted after %v", got)
			}
		})
	})
	t.Run("he slows one down", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b, evicted := stopped(t)
			for name := range evicted {
				b.rule(map[canon.Host]crawl.HostRule{name: {Delay: time.Minute}})
				evicted = map[canon.Host]bool{name: true}
				break
			}
			if got := first(t, b, evicted, time.Hour); got < time.Minute {
				t.Errorf("granted after %v", got)
			}
		})
	})
	t.Run("he pauses one", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b, evicted := stopped(t)
			for name := range evicted {
				b.rule(map[canon.Host]crawl.HostRule{name: {Paused: true}})
				evicted = map[canon.Host]bool{name: true}
				break
			}
			for range 600 {
				for _, v := range b.grant(8) {
					if evicted[v.Host] {
						t.Fatalf("%s is granted while it is paused", v.Host)
					}
					b.finish(v, crawl.Stored, "")
				}
				b.commit()
				time.Sleep(100 * time.Millisecond)
			}
			b.rule(nil)
			first(t, b, evicted, time.Hour)
		})
	})
	t.Run("another owner starts", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b, evicted := stopped(t)
			time.Sleep(time.Minute) // all are due
			b.start = store.StartLease
			b.crash()
			hosts.MaxResident = 100 // memory suffices for all
			b.open()
			if got := first(t, b, evicted, time.Hour); got < 11*time.Second {
				t.Errorf("granted after %v: a lease, and a delay after it", got)
			}
		})
	})
	t.Run("the clock was ahead", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b, evicted := stopped(t)
			if err := hosts.SeeEvicted(b.s.Ledger.Tx, func(at *time.Time, _ times.Kind) {
				if !at.IsZero() {
					*at = at.AddDate(1, 0, 0)
				}
			}); err != nil {
				t.Fatal(err)
			}
			if _, until := b.evicted(); time.Until(until) < 300*24*time.Hour {
				t.Fatalf("the first is evicted for %v", time.Until(until))
			}
			b.s.Ledger.Changes++ // otherwise there is nothing to commit
			b.commit()
			b.start = store.StartClean
			b.crash()
			b.open()
			if got := first(t, b, evicted, time.Hour); got > time.Minute {
				t.Errorf("granted after %v", got)
			}
		})
	})
	t.Run("the clock is set while it runs", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b, evicted := stopped(t)
			_, was := b.evicted()
			if err := b.s.Ledger.ShiftEvicted(time.Hour); err != nil {
				t.Fatal(err)
			}
			if _, until := b.evicted(); !until.Equal(was.Add(time.Hour)) {
				t.Errorf("the first is evicted until %v, want an hour after %v", until, was)
			}
			if err := b.s.Ledger.ShiftEvicted(-time.Hour); err != nil {
				t.Fatal(err)
			}
			b.verify()
			first(t, b, evicted, time.Minute)
		})
	})
	t.Run("another machine's clock", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b, _ := stopped(t)
			n, was := b.evicted()
			if err := restore.ShiftTimes(b.s.Ledger.Tx, -time.Hour); err != nil {
				t.Fatal(err)
			}
			if got, until := b.evicted(); got != n || !until.Equal(was.Add(-time.Hour)) {
				t.Errorf("%d are evicted, the first until %v; it was %d, %v", got, until, n, was)
			}
			b.verify()
		})
	})
}

// With re-crawl a host is evicted until its pages, or its sitemaps, are due again.
func TestEvictedHostsAreVisitedAgain(t *testing.T) {
	fewResident(t)
	synctest.Test(t, func(t *testing.T) {
		const hosts = 60
		spec := testSpec(shop(0))
		spec.Scope, spec.Recrawl, spec.RecrawlMin, spec.RecrawlMax = "any", true, 2*time.Hour, 4*time.Hour
		b := newBench(t, spec)
		for i := range hosts {
			b.links(1, "", shop(i)+"page")
		}
		for round := range 3 {
			seen := map[canon.Host]bool{}
			for began := time.Now(); len(seen) < hosts; time.Sleep(500 * time.Millisecond) {
				if time.Since(began) > 8*time.Hour {
					t.Fatalf("round %d: %d of %d hosts visited; %+v", round, len(seen), hosts, b.status())
				}
				for _, v := range b.grant(8) {
					seen[v.Host] = true
					b.finish(v, crawl.Stored, "")
				}
				b.commit()
				b.passes()
			}
			st := b.status()
			if st.Again != hosts || st.NextAgain == nil {
				t.Errorf("round %d: %d are asked for again, next %v", round, st.Again, st.NextAgain)
			}
			if n := len(b.s.Ledger.Hosts); n > 30 {
				t.Errorf("round %d: %d hosts in memory", round, n)
			}
		}
		b.verify()
	})
}

// Work without a due time keeps a host in memory, also after a restart: for example sitemaps that
// must be read.
func TestHostsWithUntimedWorkStayLoaded(t *testing.T) {
	fewResident(t)
	synctest.Test(t, func(t *testing.T) {
		const hosts = 60
		spec := testSpec(shop(0))
		spec.Scope, spec.Sitemaps = "any", true
		b := newBench(t, spec)
		for i := range hosts {
			b.links(1, "", shop(i)+"page", shop(i)+"other")
		}
		b.commit()
		for seen := 0; seen < hosts; {
			for _, v := range b.grant(8) {
				seen++
				b.event(crawl.Event{Visit: v.ID, Robots: []crawl.Robots{{Origin: v.URLs[0].URL.Origin(), State: crawl.RobotsParsed, Status: 200, Fresh: 24 * time.Hour,
					Body: []byte("Sitemap: http://" + string(v.Host) + "/s.xml\n"), Digest: make([]byte, 32)}},
					Outcome: &crawl.Outcome{Host: v.Host, Requests: 1, Delay: v.Delay}})
			}
			b.commit()
		}
		due := func() (n int) {
			for i := range hosts {
				if name := canon.Host(fmt.Sprintf("shop%d.example", i)); b.s.Ledger.Hosts[name] != nil {
					n += len(b.sitemapsOf(name))
				}
			}
			return n
		}
		for range 10 {
			b.outboxToLog()
		}
		if n := due(); n != hosts {
			t.Fatalf("%d sitemaps are to be read", n)
		}
		b.crash()
		b.open()
		b.passes()
		if n := due(); n != hosts {
			t.Errorf("%d sitemaps are to be read after a start", n)
		}
	})
}

// Of the hosts that were never visited, those that were found first stay in memory, in whichever
// order they get links.
func TestHostsFoundLastAreEvicted(t *testing.T) {
	fewResident(t)
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://www.seed.example/"))
		for round := range 3 {
			for i := range 20 {
				b.links(1, "", fmt.Sprintf("%s%d", shop(i), round))
			}
		}
		b.commit()
		for i := range 20 {
			if h := b.s.Ledger.Hosts[shopHost(i)]; (h != nil) != (i < hosts.MaxResident) {
				t.Errorf("%s, met as number %d of 20: in memory is %v", shopHost(i), i+1, h != nil)
			}
		}
		b.verify()
	})
}
