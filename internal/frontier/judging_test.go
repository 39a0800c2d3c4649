package frontier

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/pkg/canon"
)

// refused returns how many records are refused for a reason.
func (b *bench) refused(why crawl.Reason) (n int) {
	b.t.Helper()
	err := b.s.URLs.EachRecord(func(_ *hosts.Host, _ []byte, r *urls.Record) (bool, error) {
		if r.Class == crawl.Refused && r.Reason == why {
			n++
		}
		return false, nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return n
}

// A new spec is carried out in steps. From its first moment nothing is granted that it forbids,
// also after a kill, and the crawl is not done before it is carried out.
func TestASpecChangeIsMadeInSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 3500
		b := newBench(t, testSpec("http://a.example/"))
		var urls []string
		for i := range n {
			urls = append(urls, fmt.Sprintf("http://a.example/%d", i))
		}
		b.links(1, "", urls...)
		b.links(1, "", "http://b.example/1", "http://b.example/2")
		out := b.grant(1)[0]
		if out.Host != "a.example" {
			t.Fatalf("granted %s first", out.Host)
		}
		b.respec(func(s *crawl.Spec) { s.Exclude = []string{"//a[.]example/"} })
		if got := b.refused(crawl.ReasonScope); got > store.PassStretch {
			t.Errorf("%d URLs judged in one step, under the lock; want %d at most", got, store.PassStretch)
		}
		if r := b.s.Visits.Renew([]crawl.VisitID{out.ID}, time.Now()); len(r.Lost) != 1 {
			t.Error("a visit for nothing but what is out of scope now is prolonged")
		}
		forbidden := func(when string) {
			t.Helper()
			for range 5 {
				for _, v := range b.grant(9) {
					for _, u := range v.URLs {
						if u.URL.Host() == "a.example" {
							t.Fatalf("%s: %s is granted, out of scope by now", when, u.URL)
						}
					}
					b.finish(v, crawl.Stored, "")
				}
				time.Sleep(time.Minute)
				b.s.Visits.Expire(time.Now())
			}
			if st := b.status(); st.Shards[0].DueSoon == 0 {
				t.Errorf("%s: done before all is judged: %+v", when, st)
			}
		}
		forbidden("at once")
		b.refillSome()
		b.commit()
		forbidden("after a stretch")
		b.commit()
		before := b.refused(crawl.ReasonScope)
		b.crash()
		b.open()
		if got := b.refused(crawl.ReasonScope); got != before {
			t.Errorf("%d refused after a crash, want the %d committed: the file is opened without a pass over it", got, before)
		}
		forbidden("after a crash")
		b.copyState()
		b.lose()
		forbidden("elsewhere")
		b.refillAll()
		b.verify()
		if got := b.refused(crawl.ReasonScope); got != n {
			t.Errorf("%d refused, want %d", got, n)
		}
		if st := b.status(); st.Shards[0].DueSoon != 0 || st.Queued+st.InFlight != 0 || st.Stored != 2 {
			t.Errorf("%+v, want it done", st)
		}

		// And back again, with another change in between.
		b.respec(func(s *crawl.Spec) { s.Exclude = nil })
		b.refillSome()
		b.respec(func(s *crawl.Spec) { s.MaxDepth = 5 })
		b.refillAll()
		b.verify()
		if st := b.status(); st.Queued+st.InFlight != n {
			t.Errorf("%+v, want %d queued again", st, n)
		}
	})
}

// explain shows the final result while a pass is running.
func TestExplainedDuringAPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/1")
		b.respec(func(s *crawl.Spec) { s.Exclude = []string{"/1$"} })
		if x := b.explain("http://a.example/1"); x.State != "refused" || x.Reason != "scope" {
			t.Errorf("explained as %+v", x)
		}
		b.refillAll()
		b.respec(func(s *crawl.Spec) { s.Exclude = nil })
		if x := b.explain("http://a.example/1"); x.State != "queued" || x.Reason != "" {
			t.Errorf("let in again, explained as %+v", x)
		}
	})
}

// The queue of a host that has reached its limit of pages is refused in steps, and none of it is
// granted meanwhile.
func TestAFullHostIsRefusedInSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 3500
		spec := testSpec("http://a.example/")
		spec.MaxPagesPerHost = 1
		b := newBench(t, spec)
		var urls []string
		for i := range n {
			urls = append(urls, fmt.Sprintf("http://a.example/%d", i))
		}
		b.links(1, "", urls...)
		b.finish(b.grant(1)[0], crawl.Stored, "")
		if got := b.refused(crawl.ReasonHostLimit); got > store.PassStretch {
			t.Errorf("%d URLs refused in one go, under the lock; want %d at most", got, store.PassStretch)
		}
		for range 3 {
			time.Sleep(time.Minute)
			if got := b.grant(1); len(got) != 0 {
				t.Fatalf("%d URLs granted of a host that has all it may have", len(got[0].URLs))
			}
		}
		if st := b.status(); st.Shards[0].DueSoon == 0 {
			t.Errorf("done before all is refused: %+v", st)
		}
		b.refillSome()
		b.commit()
		b.crash()
		b.open()
		if got := b.grant(1); len(got) != 0 {
			t.Fatal("granted after a crash")
		}
		b.refillAll()
		b.verify()
		if got := b.refused(crawl.ReasonHostLimit); got != n-1 {
			t.Errorf("%d refused, want %d", got, n-1)
		}
		if st := b.status(); st.Shards[0].DueSoon != 0 || st.Queued+st.InFlight != 0 {
			t.Errorf("%+v, want it done", st)
		}
		b.respec(func(s *crawl.Spec) { s.MaxPagesPerHost = 2 })
		b.refillAll()
		b.verify()
		if st := b.status(); st.Queued+st.InFlight != n-1 {
			t.Errorf("%+v, want all queued again", st)
		}
	})
}

// The log does not record that a visit is outstanding: the queue of a host at its limit must not
// depend on it. A late outcome of another visit fills the host; the result is the same with and
// without an outstanding visit.
func TestRefusalsDoNotDependOnVisits(t *testing.T) {
	driven(t)
	spec := testSpec("http://a.example/")
	spec.MaxPagesPerHost, spec.Delay = 1, 10*time.Second
	var dumps []map[string]string
	for _, out := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, spec)
			b.links(0, "", "http://a.example/1", "http://a.example/2", "http://a.example/3")
			late := b.grant(1)[0]
			time.Sleep(time.Minute)
			b.s.Visits.Expire(time.Now())
			if time.Sleep(time.Minute); out && len(b.grant(1)) != 1 {
				t.Fatal("no second visit")
			}
			b.event(crawl.Event{Visit: late.ID, Outcome: &crawl.Outcome{Host: late.Host, Requests: 1, Delay: late.Delay,
				Results: []crawl.Result{{URL: late.URLs[0].URL, Class: crawl.Stored, Status: 200}}}})
			b.refillAll()
			b.verify()
			dumps = append(dumps, dump(t, b.s))
		})
	}
	compare(t, dumps[1], dumps[0])
}

// For every reason it is defined whether another setting allows its URLs again: no advice is given
// that does not work, and no site is requested again for what none of our settings decided.
func TestReasonsThatASettingReverses(t *testing.T) {
	type change func(*crawl.Spec)
	private := func(s *crawl.Spec) { s.AllowPrivate = true }
	contact := func(s *crawl.Spec) { s.Contact = "me@example.org" }
	resolve := func(s *crawl.Spec) { s.Resolve = []string{"*.example=127.0.0.1"} }
	others := func(s *crawl.Spec) { s.Resolve = []string{"b.example=127.0.0.1"} }
	agent := func(s *crawl.Spec) { s.Agent = "another" }
	changes := map[string]change{"private": private, "contact": contact, "resolve": resolve, "resolve of another": others, "agent": agent}
	lets := map[crawl.Reason][]string{
		crawl.ReasonAddress: {"private", "contact", "resolve"},
		crawl.ReasonRobots:  {"agent"},
		crawl.ReasonDNS:     {"resolve"}, crawl.ReasonConnect: {"resolve"}, crawl.ReasonTLS: {"resolve"},
		crawl.ReasonTimeout: {"resolve"}, crawl.ReasonNetwork: {"resolve"},
		crawl.ReasonNoindex: nil, crawl.ReasonType: nil, crawl.ReasonTooLarge: nil, crawl.ReasonRedirect: nil, crawl.ReasonCleanParam: nil,
		crawl.ReasonHTTP4xx: nil, crawl.ReasonHTTP5xx: nil, crawl.ReasonHTTPOther: nil, crawl.ReasonOverload: nil, crawl.ReasonProtocol: nil,
		crawl.ReasonTooSlow: nil, crawl.ReasonHeaders: nil, crawl.ReasonEncoding: nil, crawl.ReasonLocation: nil, crawl.ReasonStoreFailed: nil,
	}
	class := func(why crawl.Reason) crawl.Class {
		switch why {
		case crawl.ReasonAddress, crawl.ReasonRobots, crawl.ReasonNoindex, crawl.ReasonType, crawl.ReasonTooLarge:
			return crawl.Refused
		case crawl.ReasonRedirect, crawl.ReasonCleanParam:
			return crawl.Redirected
		}
		return crawl.Failed
	}
	synctest.Test(t, func(t *testing.T) {
		for why, by := range lets {
			for name, change := range changes {
				spec := testSpec("http://a.example/")
				spec.AllowPrivate = false
				b := newBench(t, spec)
				b.links(0, "", "http://a.example/1")
				b.finish(b.grant(1)[0], class(why), why)
				if r := b.record("http://a.example/1"); r.Class != class(why) || r.Reason != why {
					t.Fatalf("%s: %+v", why, r)
				}
				b.respec(change)
				b.refillAll()
				b.verify()
				want := class(why)
				for _, n := range by {
					if n == name {
						want = crawl.Queued
					}
				}
				if r := b.record("http://a.example/1"); r.Class != want {
					t.Errorf("%s, then another %s: %v, want %v", why, name, r.Class, want)
				}
				b.crash()
			}
		}
	})
}

// In a directory from before the settings were recorded with which addresses were judged, they are
// judged again with --allow-private.
func TestAddressesOfAnOlderFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := testSpec("http://a.example/")
		spec.AllowPrivate = false
		b := newBench(t, spec)
		b.links(0, "", "http://a.example/1")
		b.finish(b.grant(1)[0], crawl.Refused, crawl.ReasonAddress)
		b.s.Ledger.Meta.Judging = store.Judging{}
		b.commit()
		b.crash()
		b.spec.AllowPrivate = true
		b.open()
		b.refillAll()
		if r := b.record("http://a.example/1"); r.Class != crawl.Queued {
			t.Errorf("%v: %s, want it queued again", r.Class, r.Reason)
		}
	})
}

// BenchmarkSpecChange narrows and widens a crawl of a million URLs: for how long the shard is
// locked at most, and how much memory that takes.
func BenchmarkSpecChange(b *testing.B) {
	const n = 1_000_000
	bb := newBench(b, testSpec("http://a.example/"))
	for i := 0; i < n; i += 1000 {
		l := crawl.Links{Depth: 3}
		for j := range 1000 {
			l.URLs = append(l.URLs, canon.URL(fmt.Sprintf("http://h%d.example/a/page/of/it/%d", (i/1000)%100, i+j)))
		}
		ev := crawl.Event{Links: []crawl.Links{l}}
		bb.eventData(crawl.AppendEvent(nil, &ev))
		bb.log = bb.log[:0]
	}
	bb.commit()
	var longest time.Duration
	var most uint64
	locked := func(do func()) {
		began := time.Now()
		do()
		longest = max(longest, time.Since(began))
		var ms runtime.MemStats
		runtime.ReadMemStats(&ms)
		most = max(most, ms.HeapAlloc)
	}
	var ms runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&ms)
	base := ms.HeapAlloc
	for i := 0; b.Loop(); i++ {
		locked(func() { bb.respec(func(s *crawl.Spec) { s.MaxDepth = 2 - 3*(i%2) }) })
		for more := true; more; {
			locked(func() { more = bb.refillSome() })
		}
		locked(bb.commit)
	}
	b.ReportMetric(float64(longest.Milliseconds()), "ms-held")
	b.ReportMetric(float64(most-base)/(1<<20), "MiB")
}

// A seed that arrives before the spec which lists it is not lost: the shard that does not know that
// spec yet records it as out of scope, and allows it when the spec arrives. So does a link of a
// page that a fetcher with a newer spec has sent, while entries of sitemaps are dropped.
func TestASeedComesBeforeItsSpec(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := testSpec("http://a.example/")
		spec.Scope = "host"
		b := newBench(t, spec)
		b.event(crawl.Event{Links: []crawl.Links{{Seed: true, URLs: []canon.URL{"http://b.example/", "http://a.example/"}}}})
		b.links(1, "http://a.example/", "http://c.example/")
		if x := b.explain("http://b.example/"); x.State != "refused" || x.Reason != string(crawl.ReasonScope) {
			t.Errorf("before its spec: %+v", x)
		}
		if x := b.explain("http://c.example/"); x.State != "refused" || x.Reason != string(crawl.ReasonScope) {
			t.Errorf("a link out of scope: %+v", x)
		}
		b.event(crawl.Event{Links: []crawl.Links{{Source: crawl.SourceSitemap, URLs: []canon.URL{"http://d.example/"}}}})
		if x := b.explain("http://d.example/"); x.Seen {
			t.Errorf("an entry of a sitemap out of scope: %+v", x)
		}
		for _, v := range b.grant(9) {
			if v.Host == "b.example" {
				t.Error("granted out of scope")
			}
		}
		b.respec(func(s *crawl.Spec) { s.Seeds = append(s.Seeds, "http://b.example/", "http://c.example/x") })
		b.passes()
		if x := b.explain("http://c.example/"); x.State != "queued" {
			t.Errorf("a link, with its spec: %+v", x)
		}
		if x := b.explain("http://b.example/"); x.State != "queued" {
			t.Errorf("with its spec: %+v", x)
		}
	})
}
