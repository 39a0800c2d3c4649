package frontier

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/pkg/queue"
)

// Whatever the state of a URL was, it is refused when it is forgotten, whether that happens at once
// or while the shard is killed; and all URLs are queued when they are allowed again.
func TestForgetting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 2500
		b := storedBench(t, n) // and one refused, one failed, one queued
		b.respec(func(s *crawl.Spec) { s.Recrawl = true })
		b.refillAll()
		b.links(0, "", "http://b.example/", "http://b.example/x/1", "http://b.example/x/2", "http://b.example/xyz")
		all := b.status().Discovered
		b.respec(func(s *crawl.Spec) { s.Forgotten = []string{"a.example", "http://b.example/x/"} })
		if x := b.explain("http://a.example/7"); x.State != "refused" || x.Reason != "forgotten" || !strings.Contains(x.Detail, "--undo a.example") || x.NextDue != nil {
			t.Errorf("explained at once as %+v", x)
		}
		for _, v := range b.grant(5) {
			for _, u := range v.URLs {
				if u.URL != "http://b.example/" && u.URL != "http://b.example/xyz" {
					t.Errorf("%s is granted", u.URL)
				}
			}
		}
		if st := b.status(); st.Shards[0].DueSoon == 0 {
			t.Errorf("done before all is forgotten: %+v", st)
		}
		b.refillSome()
		b.commit()
		b.refillSome()
		b.crash()
		b.open()
		b.refillSome()
		b.copyState()
		b.refillSome()
		b.lose()
		b.refillAll()
		b.verify()
		if st := b.status(); st.Refused != n+5 || st.ByReason["forgotten"] != n+5 || st.Queued+st.InFlight != 2 || st.Again != 0 || st.Discovered != all {
			t.Errorf("%+v, want all but two forgotten", st)
		}
		if h := b.s.Ledger.Hosts["a.example"]; h.Stored != 0 || h.Queued != 0 {
			t.Errorf("%+v", h)
		}
		if r := b.record("http://a.example/7"); r.StoredCopy != (urls.StoredCopy{}) || r.Again != (urls.Again{}) {
			t.Errorf("%+v", r)
		}

		b.links(0, "", "http://a.example/new", "http://b.example/x/new", "http://b.example/new")
		if st := b.status(); st.ByReason["forgotten"] != n+7 || st.Queued+st.InFlight != 3 {
			t.Errorf("%+v: new URLs are judged as they come", st)
		}
		if x := b.explain("http://b.example/x/never-seen"); x.Reason != "forgotten" || x.Seen {
			t.Errorf("explained as %+v", x)
		}

		b.respec(func(s *crawl.Spec) { s.Forgotten = []string{"http://b.example/x/"} })
		b.refillSome()
		b.commit()
		b.crash()
		b.open()
		b.refillAll()
		b.verify()
		if st := b.status(); st.ByReason["forgotten"] != 3 || st.Refused != 3 || st.Queued+st.InFlight != n+3+1+3 {
			t.Errorf("%+v, want a.example queued again", st)
		}
		if x := b.explain("http://a.example/7"); x.State != "queued" {
			t.Errorf("explained as %+v", x)
		}
		v, _ := b.nextVisit()
		for v.Host != "a.example" {
			v, _ = b.nextVisit()
		}
		if v.URLs[0].ETag != "" || v.URLs[0].Keep {
			t.Errorf("granted with validators of a copy that is no more: %+v", v.URLs[0])
		}
	})
}

// Outcomes of a visit for URLs that were forgotten meanwhile do not count, and neither do later
// reports about them.
func TestForgettingURLsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/1", "http://a.example/2", "http://a.example/3")
		v := b.grant(1)[0]
		b.respec(func(s *crawl.Spec) {
			s.Forgotten = []string{"http://a.example/1", "http://a.example/2", "http://a.example/unknown"}
		})
		b.refillAll()
		if st := b.status(); st.InFlight != 1 || st.ByReason["forgotten"] != 2 {
			t.Errorf("%+v", st)
		}
		v.URLs = append(v.URLs, crawl.VisitURL{URL: "http://a.example/unknown"}) // to this state
		for range 2 {
			b.answer(v, says(version(1)))
		}
		if st := b.status(); st.Stored != 1 || st.ByReason["forgotten"] != 3 || st.Discovered != 4 {
			t.Errorf("%+v", st)
		}
		b.event(crawl.Event{Missing: []crawl.Unheld{{URL: "http://a.example/1", Visit: v.ID}}, StoreFailed: []string{"http://a.example/2"}, StoreLost: "s"})
		b.refillAll()
		if st := b.status(); st.Queued != 1 || st.ByReason["forgotten"] != 3 || st.Refused != 3 {
			t.Errorf("%+v", st)
		}
		b.verify()
	})
}

// A fetcher with a newer spec than its frontier.
func TestForgottenByTheFetcherOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := freshBench(t, "http://a.example/2")
		v, _ := b.nextVisit()
		b.links(0, "", "http://a.example/new")
		b.answer(v, says(crawl.Result{Class: crawl.Refused, Reason: crawl.ReasonForgotten}))
		if st := b.status(); st.Stored != 2 || st.Refused != 0 || st.Queued != 1 {
			t.Errorf("%+v", st)
		}
		if v, _ = b.nextVisit(); len(v.URLs) != 3 {
			t.Errorf("%+v", v.URLs)
		}
	})
}

// A page is fetched again while its host is forgotten.
func TestForgettingPagesThatAreFetchedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := freshBench(t)
		v, _ := b.nextVisit()
		b.respec(func(s *crawl.Spec) { s.Forgotten = []string{"a.example"} })
		b.answer(v, says(same))
		if st := b.status(); st.Stored != 0 || st.ByReason["forgotten"] != 1 || st.Again != 0 {
			t.Errorf("%+v", st)
		}
		time.Sleep(100 * 24 * time.Hour)
		if v := b.grant(1); len(v) > 0 {
			t.Errorf("%+v", v)
		}
		b.refillAll()
		b.verify()
	})
}

// After a crash the log is replayed with the current list of what is forgotten.
func TestForgettingAndReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/1", "http://a.example/2")
		b.commit()
		b.finish(b.grant(1)[0], crawl.Stored, "")
		b.links(0, "", "http://a.example/3")
		b.crash()
		b.spec.Forgotten = []string{"a.example"}
		b.open()
		b.refillAll()
		if st := b.status(); st.ByReason["forgotten"] != 3 || st.Refused != 3 || st.Discovered != 3 {
			t.Errorf("%+v", st)
		}
		b.verify()
	})
}

// A part of the log is lost after a page was fetched and forgotten, or excluded. It may not be
// requested, so it is not queued: nothing would take it out of the queue again.
func TestForgettingAndALostLog(t *testing.T) {
	for reason, change := range map[crawl.Reason]func(*crawl.Spec){
		crawl.ReasonForgotten: func(s *crawl.Spec) { s.Forgotten = []string{"http://a.example/1"} },
		crawl.ReasonScope:     func(s *crawl.Spec) { s.Exclude = []string{"http://a.example/1"} },
	} {
		t.Run(string(reason), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, testSpec("http://a.example/"))
				b.links(0, "", "http://a.example/1")
				// It was answered, and waits for another attempt.
				b.finish(b.grant(1)[0], crawl.Failed, crawl.ReasonNetwork)
				b.respec(change)
				b.refillAll()
				if err := b.s.rewind(queue.Position{Seq: 1, Time: time.Now()}); err != nil {
					t.Fatal(err)
				}
				b.s.catchUp(store.StartLease)
				time.Sleep(time.Hour)
				if r := b.record("http://a.example/1"); r.Class != crawl.Refused || r.Reason != reason {
					t.Errorf("%s is %v: %s, and not %s", r.URL, r.Class, r.Reason, reason)
				}
				if visits := b.grant(1); len(visits) > 0 {
					t.Errorf("it is requested: %+v", visits)
				}
				if due := b.s.Visits.NextDue(time.Now()); !due.IsZero() && due.Before(time.Now()) {
					t.Errorf("something is due since %v, and nothing is granted", due)
				}
				b.verify()
			})
		})
	}
}

// Only the hosts concerned are scanned.
func TestForgettingOnlyScansTheHostsConcerned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := storedBench(t, 3000)
		b.links(0, "", "http://b.example/")
		for i := range 50 {
			b.respec(func(s *crawl.Spec) { s.Forgotten = append(s.Forgotten, fmt.Sprintf("h%02d.example", i)) })
		}
		if b.refillSome() || b.s.Passes.Passing() {
			t.Error("hosts that are not known are gone through")
		}
		b.respec(func(s *crawl.Spec) { s.Forgotten = append([]string{"b.example"}, s.Forgotten...) })
		if b.refillSome() {
			t.Error("more than the one URL is looked at")
		}
		if st := b.status(); st.ByReason["forgotten"] != 1 {
			t.Errorf("%+v", st)
		}
	})
}
