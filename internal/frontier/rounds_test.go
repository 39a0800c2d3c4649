package frontier

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/urls"
)

const day = 24 * time.Hour

// roundsBench is a shard whose first round, of a day, has stored these pages.
func roundsBench(t *testing.T, more ...string) *bench {
	spec := testSpec("http://a.example/")
	spec.SetEvery(day, time.Now())
	b := newBench(t, spec)
	b.links(0, "", append([]string{"http://a.example/"}, more...)...)
	b.refillAll() // nothing is planned yet
	for _, v := range b.grant(len(more) + 1) {
		b.answer(v, says(version(1)))
	}
	b.commit()
	return b
}

// asBefore answers that stored pages are unchanged, and that others do not exist.
func asBefore(u crawl.VisitURL) crawl.Result {
	if u.Keep {
		return same
	}
	return gone
}

func (b *bench) wantRound(number int, over bool) {
	b.t.Helper()
	st := b.status()
	if r := st.Round; r == nil || r.Number != number || r.Over != over || st.State != "running" {
		b.t.Errorf("%+v, %s; want round %d, over: %v", r, st.State, number, over)
	}
}

// All finished URLs are fetched again when the next round begins: not earlier, whatever was killed
// meanwhile, and once, whatever their state was.
func TestRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		b := roundsBench(t, "http://a.example/2", "http://a.example/3")
		b.wantRound(1, true)
		b.links(1, "http://a.example/", "http://a.example/4")
		b.wantRound(1, false)
		v, after := b.nextVisit()
		if after > time.Minute {
			t.Errorf("what is new waits %v for another round", after)
		}
		b.answer(v, says(gone)) // nothing was stored
		b.wantRound(1, true)
		for number := 2; number <= 4; number++ {
			time.Sleep(time.Until(began.Add(time.Duration(number-1)*day - time.Hour)))
			b.commit()
			b.crash()
			b.open()
			time.Sleep(time.Minute)
			if vs := b.grant(1); len(vs) > 0 {
				t.Fatalf("round %d begins early, because of a restart: %+v", number, vs[0].URLs)
			}
			b.wantRound(number-1, true)
			v, _ := b.nextVisit()
			if late := time.Since(began) - time.Duration(number-1)*day; late < 0 || late > time.Minute {
				t.Errorf("round %d begins %v late", number, late)
			}
			b.wantRound(number, false)
			if u := v.URLs[0]; !u.Keep || u.ETag == "" {
				t.Errorf("asked for %+v, without its validators", u)
			}
			b.answer(v, asBefore)
			for fetched := len(v.URLs); fetched < 4; fetched += len(v.URLs) {
				v, _ = b.nextVisit()
				b.answer(v, asBefore)
			}
			b.verify()
			b.wantRound(number, true)
		}
	})
}

// A crawl that was stopped over two beginnings continues with one round, at once.
func TestRoundsThatWereMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := roundsBench(t)
		b.crash()
		time.Sleep(2*day + 6*time.Hour)
		b.open()
		b.refillAll()
		v, after := b.nextVisit()
		if after > time.Minute {
			t.Errorf("what was missed waits %v", after)
		}
		b.answer(v, says(same))
		b.wantRound(3, true)
		if v, after = b.nextVisit(); after < 17*time.Hour || after > 18*time.Hour {
			t.Errorf("the next round begins after %v", after)
		}
	})
}

// A deleted page is requested once more within the round, and then its copy is removed.
func TestGoneInARound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := roundsBench(t)
		v, _ := b.nextVisit()
		b.answer(v, says(gone))
		b.wantRound(2, false)
		v, after := b.nextVisit()
		if after < urls.VerifyGone-time.Minute || after > urls.VerifyGone+time.Minute {
			t.Errorf("looked for once more after %v", after)
		}
		b.answer(v, says(gone))
		if st := b.status(); st.Stored != 0 || st.Failed != 1 {
			t.Errorf("%+v", st)
		}
		if v, after = b.nextVisit(); after < 22*time.Hour || after > 23*time.Hour+time.Minute {
			t.Errorf("it may be back in the next round, not after %v", after)
		}
		b.answer(v, says(version(2)))
		if st := b.status(); st.Stored != 1 {
			t.Errorf("%+v", st)
		}
	})
}

// A new length, or none, also applies to what is planned already.
func TestRoundsChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := roundsBench(t)
		b.respec(func(s *crawl.Spec) { s.SetEvery(2*time.Hour, time.Now()) })
		b.refillAll()
		b.wantRound(1, true)
		v, after := b.nextVisit()
		if after < 119*time.Minute || after > 2*time.Hour {
			t.Errorf("asked again after %v", after)
		}
		b.answer(v, says(same))
		b.respec(func(s *crawl.Spec) { s.SetEvery(0, time.Now()) })
		b.refillAll()
		time.Sleep(30 * day)
		if vs := b.grant(1); len(vs) > 0 || b.status().Round != nil {
			t.Errorf("rounds that were taken away go on: %+v", vs)
		}
	})
}

// Sitemaps are read in each round, however short or long.
func TestSitemapsInEachRound(t *testing.T) {
	for _, every := range []time.Duration{3 * time.Hour, 7 * day} {
		synctest.Test(t, func(t *testing.T) {
			spec := withSitemaps("http://a.example/")
			spec.SetEvery(every, time.Now())
			b := newBench(t, spec)
			b.links(0, "", "http://a.example/")
			b.learned("http://a.example", "Sitemap: /s.xml\n", crawl.VisitID{})
			n, step := 0, every/144
			for range 5 * 144 {
				for _, v := range b.grant(1) {
					if len(v.Aux) == 0 {
						v.Robots = nil
						b.answer(v, says(version(1)))
						continue
					}
					n += len(v.Aux)
					b.read(v, crawl.Sitemap{Status: 200, Read: true, Form: "urlset", Scope: spec.ScopeHash()})
				}
				if err := b.s.Sitemaps.Upkeep(time.Now()); err != nil {
					t.Fatal(err)
				}
				if _, err := b.s.Passes.Some(time.Now()); err != nil {
					t.Fatal(err)
				}
				b.outboxToLog()
				time.Sleep(step)
			}
			if n != 5 {
				t.Errorf("read %d times in five rounds of %v", n, every)
			}
		})
	}
}

// What was fetched while the clock was a year ahead is fetched again in the next round according to
// the correct clock, and not in a year; the same is true with --recrawl.
func TestRoundsAfterAClockThatWasAhead(t *testing.T) {
	for name, every := range map[string]time.Duration{"rounds": day, "recrawl": 0} {
		t.Run(name, func(t *testing.T) {
			dir, spec := t.TempDir(), testSpec("http://a.example/")
			synctest.Test(t, func(t *testing.T) {
				spec.SetEvery(every, time.Now())
				spec.Recrawl = every == 0
				time.Sleep(365 * day)
				b := newBench(t, spec)
				b.crash()
				b.dir, b.start = dir, store.StartClean
				b.open()
				b.links(0, "", "http://a.example/")
				b.refillAll()
				b.answer(b.grant(1)[0], says(version(1)))
				b.commit()
				b.crash()
			})
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, spec)
				b.crash()
				b.dir, b.n, b.start = dir, 9, store.StartClean
				b.open()
				defer b.crash()
				b.passes()
				if _, after := b.nextVisit(); after > 2*day {
					t.Errorf("looked at again after %v", after)
				}
			})
		})
	}
}
