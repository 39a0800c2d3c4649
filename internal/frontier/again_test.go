package frontier

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/judge"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Possible results of fetching a page.
var (
	same    = crawl.Result{Class: crawl.Stored, Status: 304, NotModified: true}
	gone    = crawl.Result{Class: crawl.Failed, Status: 404, Reason: crawl.ReasonHTTP4xx}
	failing = crawl.Result{Class: crawl.Retry, Status: 503, Reason: crawl.ReasonHTTP5xx}
	noindex = crawl.Result{Class: crawl.Refused, Status: 200, Reason: crawl.ReasonNoindex}
)

// version returns a page with a different body for each n.
func version(n uint64) crawl.Result {
	return crawl.Result{Class: crawl.Stored, Status: 200, Digest: n, ETag: fmt.Sprintf("\"%d\"", n), LastModified: "Tue, 15 Nov 1994 12:45:26 GMT"}
}

// says answers every URL with the same result.
func says(r crawl.Result) func(crawl.VisitURL) crawl.Result {
	return func(u crawl.VisitURL) crawl.Result {
		r := r
		r.Kept = u.Keep && r.Reason == crawl.ReasonHTTP4xx
		return r
	}
}

// freshBench returns a shard with re-crawl and one page, which was stored a moment ago.
func freshBench(t *testing.T, more ...string) *bench {
	spec := testSpec("http://a.example/")
	spec.Recrawl = true
	b := newBench(t, spec)
	b.links(0, "", append([]string{"http://a.example/"}, more...)...)
	for _, v := range b.grant(len(more) + 1) {
		b.answer(v, says(version(1)))
	}
	if st := b.status(); st.Stored != int64(len(more)+1) {
		t.Fatalf("%+v", st)
	}
	return b
}

// nextVisit grants the next visit, and returns how long that took.
func (b *bench) nextVisit() (v crawl.Visit, after time.Duration) {
	b.t.Helper()
	began := time.Now()
	for time.Since(began) < 400*24*time.Hour {
		if vs := b.grant(1); len(vs) > 0 {
			return vs[0], time.Since(began)
		}
		time.Sleep(b.untilDue())
	}
	b.t.Fatal("nothing is ever granted")
	return v, 0
}

// untilDue returns how long match would wait.
func (b *bench) untilDue() time.Duration {
	b.s.Ledger.Mu.Lock()
	defer b.s.Ledger.Mu.Unlock()
	t := b.s.Visits.NextDue(time.Now())
	if t.IsZero() {
		return time.Hour
	}
	return max(time.Until(t), time.Second)
}

func TestAPageIsAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := freshBench(t)
		var waits []time.Duration
		for i, r := range []crawl.Result{same, same, version(2), version(3), version(3), version(4)} {
			v, after := b.nextVisit()
			waits = append(waits, after.Round(time.Hour))
			u := v.URLs[0]
			if len(v.URLs) != 1 || !u.Keep || u.ETag == "" || u.LastModified != "Tue, 15 Nov 1994 12:45:26 GMT" {
				t.Errorf("granted %+v, want the page with its validators", v.URLs)
			}
			if st := b.status(); st.Stored != 1 || st.Queued != 0 || st.InFlight != 0 || st.State != "running" {
				t.Errorf("while it is asked for: %+v, want it stored", st)
			}
			if again := b.grant(1); len(again) > 0 {
				t.Fatalf("two visits to %s at once", v.Host)
			}
			b.answer(v, says(r))
			if st := b.status(); st.Stored != 1 || st.Queued != 0 || st.Again != 1 || st.NextAgain == nil {
				t.Errorf("after %d: %+v", i, st)
			}
			b.verify()
		}
		// A day; then half an octave longer if the page is unchanged, and one and a half octaves
		// shorter if it has changed.
		if got := fmt.Sprint(waits); got != "[24h0m0s 34h0m0s 48h0m0s 17h0m0s 6h0m0s 8h0m0s]" {
			t.Errorf("asked again after %v", waits)
		}
		if r := b.record("http://a.example/"); r.Asked != 6 || r.Changed != 3 || r.Digest != 4 || r.ETag != `"4"` {
			t.Errorf("%+v", r)
		}
	})
}

// There is a delay between any two visits to a host, whatever they are for; new pages come first.
func TestWhatIsNewComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := freshBench(t, "http://a.example/2", "http://a.example/3")
		time.Sleep(30 * time.Hour)
		b.links(1, "http://a.example/", "http://a.example/new")
		v, _ := b.nextVisit()
		var got []string
		for _, u := range v.URLs {
			got = append(got, u.URL.PathQuery())
		}
		if fmt.Sprint(got) != "[/new / /2 /3]" || v.URLs[0].ETag != "" || v.URLs[0].Keep {
			t.Errorf("granted %v", got)
		}
		if st := b.status(); st.InFlight != 1 || st.Stored != 3 {
			t.Errorf("%+v, want one in flight and three stored", st)
		}
		b.answer(v, says(version(1)))
		b.links(1, "http://a.example/", "http://a.example/newer")
		if again := b.grant(1); len(again) > 0 {
			t.Error("granted before the delay was over")
		}
		b.verify()
	})
}

// Without re-crawl no page is fetched again. When it is switched on, the pages that were stored
// before are, and when it is switched off, none are any more.
func TestRecrawlIsSwitchedWhileRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 2500
		b := storedBench(t, n)
		v, _ := b.nextVisit()
		b.finish(v, crawl.Stored, "")
		quiet := func(what string) {
			t.Helper()
			time.Sleep(100 * 24 * time.Hour)
			if vs := b.grant(1); len(vs) > 0 {
				t.Fatalf("%s: %+v is granted", what, vs[0].URLs)
			}
			if st := b.status(); st.Again != 0 || st.NextAgain != nil || st.Shards[0].DueSoon != 0 {
				t.Errorf("%s: %+v", what, st)
			}
		}
		quiet("without re-crawl")
		b.respec(func(s *crawl.Spec) { s.Recrawl = true })
		if st := b.status(); st.Shards[0].DueSoon == 0 {
			t.Error("done before all are planned")
		}
		if stretches := b.refillAll(); stretches < 3 {
			t.Errorf("planned in %d stretches", stretches)
		}
		b.verify()
		// Robots and 4xx too.
		if st := b.status(); st.Again != n+3 || st.Stored != n+1 || st.Queued != 0 {
			t.Errorf("%+v, want all asked for again", st)
		}
		v, after := b.nextVisit()
		if len(v.URLs) != polite.MaxVisitURLs || after > time.Minute {
			t.Errorf("%d URLs granted after %v", len(v.URLs), after)
		}
		b.finish(v, crawl.Stored, "")
		b.respec(func(s *crawl.Spec) { s.Recrawl = false })
		quiet("switched off")
		b.respec(func(s *crawl.Spec) { s.Recrawl, s.RecrawlMax = true, 3*24*time.Hour })
		b.crash() // before it is planned
		b.open()
		b.refillSome()
		b.commit()
		b.refillSome()
		b.crash() // in the middle of it
		b.open()
		b.refillAll()
		b.verify()
		if v, after = b.nextVisit(); after > time.Minute {
			t.Errorf("switched on again: granted after %v", after)
		}
	})
}

// New bounds also apply to what is planned already.
func TestRecrawlBoundsChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := freshBench(t)
		b.respec(func(s *crawl.Spec) { s.RecrawlMax = 2 * time.Hour })
		b.refillAll()
		v, after := b.nextVisit()
		if after.Round(time.Minute) != 2*time.Hour {
			t.Errorf("asked again after %v, want --recrawl-max", after)
		}
		b.answer(v, says(version(2)))
		b.respec(func(s *crawl.Spec) { s.RecrawlMin, s.RecrawlMax = 90*time.Hour, 100*time.Hour })
		b.refillAll()
		if _, after := b.nextVisit(); after.Round(time.Minute) != 90*time.Hour {
			t.Errorf("asked again after %v, want --recrawl-min", after)
		}
	})
}

func TestADeletedPageIsFetchedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := freshBench(t)
		v, _ := b.nextVisit()
		b.answer(v, says(gone))
		if st := b.status(); st.Stored != 1 || st.Failed != 0 {
			t.Errorf("%+v: removed at the first 404", st)
		}
		if x := b.explain("http://a.example/"); x.State != "stored" || !strings.Contains(x.Detail, "if the next fetch finds the same") || x.NextDue == nil {
			t.Errorf("explained as %+v", x)
		}
		b.commit()
		b.crash()
		b.open()
		v, after := b.nextVisit()
		if after < urls.VerifyGone-time.Minute || after > urls.VerifyGone+time.Minute || v.URLs[0].Keep || v.URLs[0].ETag == "" {
			t.Errorf("asked again after %v as %+v", after, v.URLs[0])
		}
		b.answer(v, says(failing)) // has no effect
		if v, _ = b.nextVisit(); v.URLs[0].Keep {
			t.Error("a failure in between makes it forget that the page was gone")
		}
		b.answer(v, says(gone))
		if st := b.status(); st.Stored != 0 || st.Failed != 1 || st.ByReason["http-4xx"] != 1 || b.s.Ledger.Hosts["a.example"].Stored != 0 {
			t.Errorf("%+v: seen to be gone twice", st)
		}
		b.verify()
		// As rarely as possible.
		if v, after = b.nextVisit(); after < 29*24*time.Hour || v.URLs[0].ETag != "" || v.URLs[0].Keep {
			t.Errorf("asked again after %v as %+v", after, v.URLs[0])
		}
		b.answer(v, says(version(7)))
		if st := b.status(); st.Stored != 1 || st.Failed != 0 {
			t.Errorf("%+v: it is back", st)
		}
		b.verify()
	})
}

// A page that comes back in time counts as never deleted.
func TestAPageThatComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := freshBench(t)
		v, _ := b.nextVisit()
		b.answer(v, says(gone))
		v, _ = b.nextVisit()
		b.answer(v, says(same))
		if r := b.record("http://a.example/"); r.Gone || r.Class != crawl.Stored || r.Detail != "" {
			t.Errorf("%+v", r)
		}
		if v, _ = b.nextVisit(); !v.URLs[0].Keep {
			t.Error("the next 404 removes it at once")
		}
	})
}

func TestAFailureKeepsTheCopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := freshBench(t)
		b.respec(func(s *crawl.Spec) { s.RecrawlMin = time.Minute })
		b.refillAll()
		v, _ := b.nextVisit()
		var waits []time.Duration
		for range 4 {
			b.answer(v, says(failing))
			if st := b.status(); st.Stored != 1 || st.Queued != 0 || len(st.ByReason) != 0 {
				t.Fatalf("%+v", st)
			}
			var after time.Duration
			v, after = b.nextVisit()
			waits = append(waits, after.Round(time.Minute))
			if v.URLs[0].ETag == "" || !v.URLs[0].Keep {
				t.Errorf("%+v: asked without its validators", v.URLs[0])
			}
		}
		if fmt.Sprint(waits) != "[5m0s 20m0s 1h20m0s 5h20m0s]" {
			t.Errorf("asked again after %v", waits)
		}
		b.answer(v, says(crawl.Result{Class: crawl.Refused, Reason: crawl.ReasonAddress, Rule: "10.0.0.1"}))
		if x := b.explain("http://a.example/"); x.State != "stored" || !strings.Contains(x.Detail, "10.0.0.1") {
			t.Errorf("explained as %+v", x)
		}
		v, _ = b.nextVisit()
		b.answer(v, says(same))
		if r := b.record("http://a.example/"); r.Attempts != 1 || r.Detail != "" {
			t.Errorf("%+v", r)
		}
		b.verify()
	})
}

// A noindex that appears removes the page at once. The page is still fetched again, because the
// noindex may be removed.
func TestNoindexAppears(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := freshBench(t)
		v, _ := b.nextVisit()
		b.answer(v, says(noindex))
		if st := b.status(); st.Stored != 0 || st.Refused != 1 || st.ByReason["noindex"] != 1 {
			t.Errorf("%+v", st)
		}
		v, after := b.nextVisit()
		if after.Round(time.Hour) != urls.FirstInterval || v.URLs[0].ETag != "" {
			t.Errorf("asked again after %v as %+v", after, v.URLs[0])
		}
		if st := b.status(); st.Refused != 0 || st.InFlight != 1 {
			t.Errorf("%+v: a page that is not stored is queued when it is fetched again", st)
		}
		b.answer(v, says(version(2)))
		if st := b.status(); st.Stored != 1 || st.Refused != 0 {
			t.Errorf("%+v", st)
		}
		b.verify()
	})
}

// A store is lost: no page is requested with validators, and no 304 or failure makes a page count
// as stored that is not.
func TestLostPagesAreFetchedWithoutValidators(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := freshBench(t, "http://a.example/2")
		old, _ := b.nextVisit() // with validators; its outcome comes after the loss
		b.event(crawl.Event{StoreLost: "s1"})
		b.answer(old, says(same))
		if st := b.status(); st.Stored != 0 || st.Queued != 2 {
			t.Errorf("%+v: answered 304 by a visit from before the loss", st)
		}
		b.refillAll()
		v, _ := b.nextVisit()
		b.answer(v, says(version(2)))
		b.verify()

		b.event(crawl.Event{StoreLost: "s2"}) // and the pass has not begun when they are due
		time.Sleep(40 * 24 * time.Hour)
		v, _ = b.nextVisit()
		if len(v.URLs) != 2 || v.URLs[0].ETag != "" || v.URLs[0].Keep {
			t.Errorf("%+v: want both fetched anew", v.URLs)
		}
		if st := b.status(); st.Stored != 0 || st.InFlight != 2 {
			t.Errorf("%+v", st)
		}
		b.refillAll()
		b.verify()
	})
}

// The indexer reports which pages it does not have, before the outcome of that visit or after it,
// and more than once.
func TestPagesThatAreNotStored(t *testing.T) {
	for _, before := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			b := freshBench(t, "http://a.example/2")
			v, _ := b.nextVisit()
			word := crawl.Event{
				Missing: []crawl.Unheld{{URL: "http://a.example/", Visit: v.ID}}, Removed: []crawl.Unheld{{URL: "http://a.example/2", Visit: v.ID}},
			}
			if before {
				b.event(word)
			}
			b.answer(v, says(same))
			b.event(word)
			b.event(word)
			if st := b.status(); st.Stored != 0 || st.Queued+st.InFlight != 1 || st.ByReason["noindex"] != 1 {
				t.Errorf("before the outcome %v: %+v, want one queued and one refused", before, st)
			}
			b.verify()
			v, after := b.nextVisit()
			if after > time.Minute || len(v.URLs) != 1 || v.URLs[0].URL != "http://a.example/" || v.URLs[0].ETag != "" || v.URLs[0].Keep {
				t.Errorf("%+v after %v, want the first page without validators", v.URLs, after)
			}
			b.answer(v, says(version(3)))
			b.event(word)
			if st := b.status(); st.Stored != 1 || st.Refused+st.Queued != 1 {
				t.Errorf("%+v: a repeated report of an earlier visit", st)
			}
			b.verify()
		})
	}
}

// Pages whose events are lost from the log are fetched again, in full.
func TestARewoundLogAsksWithoutValidators(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := freshBench(t, "http://a.example/2")
		v, _ := b.nextVisit()
		if err := b.s.rewind(b.s.position()); err != nil {
			t.Fatal(err)
		}
		b.s.catchUp(store.StartLease)
		b.answer(v, func(u crawl.VisitURL) crawl.Result { // of the previous visit
			if u.URL == "http://a.example/2" {
				return says(gone)(u)
			}
			return same
		})
		if st := b.status(); st.Stored != 0 || st.Failed != 0 || st.Queued+st.InFlight != 2 {
			t.Fatalf("%+v: their pages may be among what is lost", st)
		}
		v, after := b.nextVisit()
		if after > time.Minute || v.URLs[0].ETag != "" {
			t.Errorf("%+v after %v", v.URLs, after)
		}
		b.verify()
	})
}

func TestHints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := freshBench(t, "http://a.example/2", "http://a.example/3")
		sitemap := func(mods ...time.Time) {
			l := crawl.Links{FoundOn: "http://a.example/sitemap.xml", Depth: 1, Source: crawl.SourceSitemap, URLs: []canon.URL{"http://a.example/", "http://a.example/2", "http://a.example/3"}}
			for _, m := range mods {
				l.Mods = append(l.Mods, m.Unix())
			}
			b.event(crawl.Event{Links: []crawl.Links{l}})
		}
		fetched := time.Now()
		time.Sleep(2 * time.Hour)
		changed := time.Now().Add(-time.Hour)
		sitemap(fetched.Add(-time.Hour), changed, time.Now().Add(48*time.Hour))
		v, after := b.nextVisit()
		if after > time.Minute || len(v.URLs) != 1 || v.URLs[0].URL != "http://a.example/2" {
			t.Fatalf("%+v after %v, want the page that is reported as changed", v.URLs, after)
		}
		b.answer(v, says(version(2)))
		sitemap(fetched, changed, fetched)
		if v, after = b.nextVisit(); after < 6*time.Hour {
			t.Errorf("%+v after %v: the same word twice", v.URLs, after)
		}
		b.verify()
		b.respec(func(s *crawl.Spec) { s.Recrawl = false })
		time.Sleep(2 * time.Hour)
		sitemap(time.Now(), time.Now(), time.Now())
		time.Sleep(24 * time.Hour)
		if v := b.grant(1); len(v) > 0 {
			t.Errorf("%+v: a hint without re-crawl", v[0].URLs)
		}
	})
}

// A sitemap that reports every page as changed all the time soon loses its trust.
func TestHintsThatAreWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := freshBench(t)
		n := 0
		for began := time.Now(); time.Since(began) < 50*24*time.Hour; time.Sleep(time.Hour) {
			b.event(crawl.Event{Links: []crawl.Links{{Depth: 1, URLs: []canon.URL{"http://a.example/"}, Mods: []int64{time.Now().Unix()}}}})
			for _, v := range b.grant(1) {
				b.answer(v, says(same))
				n++
			}
		}
		if n < urls.HintsTried || n > urls.HintsTried+10 {
			t.Errorf("asked for %d times in 50 days on the word of a sitemap", n)
		}
	})
}

// Pages that are fetched again are not limited by the limits on pages, but by the limit on bytes.
func TestLimitsAndPagesAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := freshBench(t, "http://a.example/2")
		b.limit(2)
		b.respec(func(s *crawl.Spec) { s.MaxPages, s.MaxPagesPerHost = 2, 2 })
		b.links(0, "", "http://a.example/3", "http://b.example/")
		v, after := b.nextVisit()
		if len(v.URLs) != 2 || v.URLs[0].ETag == "" || after < 20*time.Hour {
			t.Errorf("%+v after %v, want the two that are stored", v.URLs, after)
		}
		b.answer(v, says(same))
		if st := b.status(); st.Stored != 2 || st.ByReason["host-limit"] != 1 || st.Queued != 1 {
			t.Errorf("%+v", st)
		}
		b.s.Ledger.Budget.SetLimit(0, 1)
		b.s.Ledger.Meta.Counts.Bytes = 2
		b.s.Visits.ReportBudget(time.Now())
		time.Sleep(100 * 24 * time.Hour)
		if v := b.grant(1); len(v) > 0 {
			t.Errorf("%+v granted, and no more bytes may be read", v[0].URLs)
		}
		b.verify()
	})
}

// The state moves with the shard, including visits in progress.
func TestPagesAskedForAgainMoveWithTheirShard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := freshBench(t, "http://a.example/2")
		time.Sleep(25 * time.Hour)
		v := b.grant(1)[0]
		if err := b.s.Visits.Save(); err != nil {
			t.Fatal(err)
		}
		b.copyState()
		b.crash()
		b.start = store.StartClean
		b.open()
		if again := b.grant(1); len(again) > 0 {
			t.Fatalf("%+v is granted, and asked for by the visit that came along", again[0].URLs)
		}
		b.answer(v, says(version(2)))
		if st := b.status(); st.Stored != 2 || st.Again != 2 || st.InFlight != 0 {
			t.Errorf("%+v", st)
		}
		b.verify()
		b.start = store.StartLease
		b.copyState()
		b.lose()
		b.verify()
		if v, _ = b.nextVisit(); len(v.URLs) != 2 || v.URLs[0].ETag != `"2"` {
			t.Errorf("%+v", v.URLs)
		}
	})
}

// The robots.txt of one of two origins of a host cannot be fetched: the pages of the other are
// fetched again.
func TestPagesOfAClosedOriginWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := freshBench(t, "https://a.example/")
		down := crawl.Robots{Origin: mustParse(t, "http://a.example/").Origin(), State: crawl.RobotsUnreachable, Status: 503}
		b.respec(func(s *crawl.Spec) { s.RecrawlMin = 48 * time.Hour })
		b.refillAll()
		time.Sleep(48*time.Hour - time.Minute)
		b.event(crawl.Event{Robots: []crawl.Robots{down}})
		v, after := b.nextVisit()
		if len(v.URLs) != 1 || v.URLs[0].URL != "https://a.example/" || len(v.Robots) != 1 {
			t.Errorf("%+v after %v", v.URLs, after)
		}
	})
}

// A file from before re-crawl was implemented is opened, for reading and for writing.
func TestAFileFromBeforeRecrawl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/")
		b.finish(b.grant(1)[0], crawl.Stored, "")
		b.commit()
		b.crash()
		db, err := bolt.Open(filepath.Join(b.dir, store.FileName(0)), 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = db.Update(func(tx *bolt.Tx) error {
			for _, name := range [][]byte{store.BucketAgain, store.BucketForget} {
				if err := tx.DeleteBucket(name); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		db.Close()
		j, _ := judge.New(b.spec)
		s := newShard(0, filepath.Join(b.dir, store.FileName(0)), j, slog.New(slog.DiscardHandler))
		if err := s.openReadOnly(); err != nil {
			t.Fatal(err)
		}
		if st := s.Account.Status(time.Now()); st.Stored != 1 {
			t.Errorf("%+v", st)
		}
		s.Ledger.Tx.Rollback()
		s.Ledger.DB.Close()
		b.spec.Recrawl = true
		b.open()
		b.refillAll()
		if v, after := b.nextVisit(); len(v.URLs) != 1 || after.Round(time.Hour) != urls.FirstInterval {
			t.Errorf("%+v after %v", v.URLs, after)
		}
		b.verify()
	})
}

// hosts lists all hosts.
func (b *bench) hosts(each func(crawl.HostInfo) error) error {
	a := answers{shards: func() []*Shard { return []*Shard{b.s} }, spec: func() crawl.Spec { return b.s.Ledger.Judge.Spec }}
	return a.hosts(b.t.Context(), nil, each)
}

func (b *bench) explain(raw string) crawl.Explanation {
	b.t.Helper()
	x, err := b.s.Account.Explain(raw, mustParse(b.t, raw), time.Now())
	if err != nil {
		b.t.Fatal(err)
	}
	return x
}

// If the queue is never empty, one request in four goes to pages that are due to be fetched again,
// whatever the delay is; if none is due, all requests go to the queue.
func TestABusyHostStillRecrawls(t *testing.T) {
	// Visits of 10, 2 and 1.
	for _, delay := range []time.Duration{time.Second, 4 * time.Second, 30 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			spec := testSpec("http://a.example/")
			spec.Recrawl, spec.Delay = true, delay
			b := newBench(t, spec)
			fill := func(what string, n int) {
				l := crawl.Links{Depth: 1}
				for i := range n {
					l.URLs = append(l.URLs, canon.URL(fmt.Sprintf("http://a.example/%s/%d", what, i)))
				}
				b.event(crawl.Event{Links: []crawl.Links{l}})
			}
			fill("old", 100)
			for b.status().Stored < 100 {
				v, _ := b.nextVisit()
				b.answer(v, says(version(1)))
			}
			fill("new", 1000)
			count := func(visits int) (fresh, again int) {
				for range visits {
					v, after := b.nextVisit()
					if after > delay+time.Second {
						t.Fatalf("%v until the next visit", after)
					}
					for _, u := range v.URLs {
						if u.Keep {
							again++
						} else {
							fresh++
						}
					}
					b.answer(v, says(version(1)))
				}
				return fresh, again
			}
			if fresh, again := count(8); again != 0 || fresh == 0 {
				t.Errorf("delay %v: %d new and %d old, and none is due", delay, fresh, again)
			}
			time.Sleep(48 * time.Hour)
			fresh, again := count(40)
			if share := float64(again) / float64(fresh+again); share < 0.19 || share > 0.26 {
				t.Errorf("delay %v: %d new and %d old, want a quarter old", delay, fresh, again)
			}
			b.verify()
		})
	}
}

// A site under maintenance redirects all its pages to a notice: none is removed for that, except
// for those that still redirect when they are fetched once more.
func TestAPageThatRedirectsForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := freshBench(t, "http://a.example/2", "http://a.example/3")
		mending := func(u crawl.VisitURL) crawl.Result {
			if u.URL == "http://a.example/3" {
				return crawl.Result{Class: crawl.Refused, Status: 302, Reason: crawl.ReasonRedirects, Kept: u.Keep}
			}
			return crawl.Result{Class: crawl.Redirected, Status: 302, Reason: crawl.ReasonRedirect, Location: "http://a.example/mending", Kept: u.Keep}
		}
		v, _ := b.nextVisit()
		b.answer(v, mending)
		if st := b.status(); st.Stored != 3 || st.Redirected+st.Refused != 0 {
			t.Errorf("%+v: removed at the first redirect", st)
		}
		v, after := b.nextVisit()
		if len(v.URLs) != 3 || v.URLs[0].Keep || after > urls.VerifyGone+time.Minute {
			t.Errorf("asked again after %v as %+v", after, v.URLs)
		}
		b.answer(v, func(u crawl.VisitURL) crawl.Result {
			if u.URL == "http://a.example/" {
				return same
			}
			return mending(u)
		})
		if st := b.status(); st.Stored != 1 || st.Redirected != 1 || st.Refused != 1 || st.Again != 3 {
			t.Errorf("%+v: two of three still lead elsewhere", st)
		}
		b.verify()
		b.respec(func(s *crawl.Spec) { s.RecrawlMax = 48 * time.Hour })
		b.refillAll()
		for range 4 {
			v, _ = b.nextVisit()
			b.answer(v, says(version(2)))
		}
		if st := b.status(); st.Stored < 3 {
			t.Errorf("%+v: both are back", st)
		}
		b.verify()
	})
}
