package frontier

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/schedule"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/times"
)

// A crawl is left at one time of the clock and taken up at another: a day earlier, which a clock
// set right may be, or much later. It goes on as if nothing were, but that a robots.txt whose age
// is not known is asked for again. (A bubble's clock begins anew each time.)
func TestAnotherTimeOfTheClock(t *testing.T) {
	for _, tt := range []struct {
		name        string
		write, open time.Duration // since the clock began
	}{{"as it was", time.Hour, time.Hour}, {"a day back", 24 * time.Hour, 0}, {"a day forward", 0, 24 * time.Hour}, {"a year back", 365 * 24 * time.Hour, 0}} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			spec := testSpec("http://a.example/")
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(tt.write)
				b := newBench(t, spec)
				b.crash()
				b.dir = dir
				b.start = store.StartClean
				b.open()
				b.links(0, "", "http://a.example/", "http://b.example/1", "http://c.example/", "http://d.example/")
				for _, v := range b.grant(9) {
					switch v.Host {
					case "a.example":
						b.event(crawl.Event{Visit: v.ID, Robots: []crawl.Robots{robotsOK("http://a.example/")}, Outcome: &crawl.Outcome{Host: v.Host, Requests: 1, Delay: v.Delay,
							Results: []crawl.Result{{URL: v.URLs[0].URL, Class: crawl.Returned}}}})
					case "b.example":
						b.finish(v, crawl.Retry, crawl.ReasonHTTP5xx)
					case "c.example":
						b.unreachable(v, 0, 0)
					case "d.example":
						b.event(crawl.Event{Visit: v.ID, Robots: []crawl.Robots{{Origin: v.URLs[0].URL.Origin(), State: crawl.RobotsPending, Location: "http://e.example/r.txt", Redirects: 1, Status: 301}},
							Outcome: &crawl.Outcome{Host: v.Host, Requests: 1, Delay: v.Delay, Results: []crawl.Result{{URL: v.URLs[0].URL, Class: crawl.Returned}}}})
					}
				}
				b.commit()
				b.crash()
			})
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(tt.open)
				b := newBench(t, spec)
				b.crash()
				b.dir, b.n = dir, 9
				b.start = store.StartClean
				b.open()
				defer b.crash()
				began := time.Now()
				seen := map[string]time.Duration{}
				for len(seen) < 3 && time.Since(began) < 2*time.Hour {
					for _, v := range b.grant(9) {
						seen[string(v.Host)] = time.Since(began)
						for _, r := range v.Robots {
							if tt.write > tt.open && r.Fresh > 0 {
								t.Errorf("the robots.txt of %s counts as fresh for %v: how old it is nobody knows", v.Host, r.Fresh)
							}
						}
						b.finish(v, crawl.Stored, "")
					}
					time.Sleep(time.Second)
				}
				for host, most := range map[string]time.Duration{"a.example": 3 * time.Second, "b.example": 30 * time.Second, "c.example": 6 * time.Minute} {
					if got, ok := seen[host]; !ok || got > most {
						t.Errorf("%s is visited after %v (%v), want %v at most", host, got, ok, most)
					}
				}
				if o := b.s.Ledger.Hosts["d.example"].Origins[0]; o.PendingAt.After(began) {
					t.Errorf("an answer is waited for since %v from now: for that long the crawl does not end", o.PendingAt.Sub(began))
				}
				b.verify()
			})
		})
	}
}

// A shard that owed a lease while the clock was a day ahead does not leave its hosts alone for that
// day once the clock is right: neither those that were visited nor those that never were, and
// neither if it is opened then nor if it runs.
func TestWhatIsOwedIsBroughtDownWithTheClock(t *testing.T) {
	const ahead = 24 * time.Hour
	dir, spec := t.TempDir(), testSpec("http://a.example/")
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(ahead)
		b := newBench(t, spec)
		b.crash()
		b.dir, b.start = dir, store.StartClean
		b.open()
		b.links(0, "", "http://a.example/")
		b.finish(b.grant(1)[0], crawl.Stored, "")
		b.links(0, "", "http://a.example/3", "http://new.example/")
		b.s.Ledger.Phase.Rewound()
		b.s.catchUp(store.StartLease)
		b.commit()
		time.Sleep(times.OwnerLease + time.Minute)
		h, now := b.s.Ledger.Hosts["a.example"], time.Now().Round(0).Add(-ahead)
		if err := b.s.clock.Clamp(now, b.s.Ledger.Phase.RemainingDelay(time.Now())); err != nil {
			t.Fatal(err)
		}
		if h.Due.After(now.Add(time.Minute)) || b.s.Ledger.Meta.DelayedUntil > now.UnixMilli() {
			t.Errorf("due in %v, delayed until %v from now, though the lease is over", h.Due.Sub(now), time.UnixMilli(b.s.Ledger.Meta.DelayedUntil).Sub(now))
		}
		b.crash() // as it was with the wrong clock
	})
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, spec)
		b.crash()
		b.dir, b.n, b.start = dir, 9, store.StartClean
		b.open()
		defer b.crash()
		time.Sleep(3 * time.Second)
		if got := b.grant(9); len(got) != 2 {
			t.Errorf("%d hosts are granted, want both", len(got))
		}
	})
}

// The clock is set forward, as it often is soon after a machine was started. A host that asked for
// an hour before this process began is left alone for the rest of that hour, and hosts that were
// never visited for what is owed them after an unclean start.
func TestAClockSetForwardShortensNoWait(t *testing.T) {
	const ahead = 3 * time.Hour
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/", "http://a.example/2")
		v := b.grant(1)[0]
		b.event(crawl.Event{Visit: v.ID, Outcome: &crawl.Outcome{Host: v.Host, Requests: 1, Delay: v.Delay, Overloads: 1, RetryAfter: time.Hour,
			Results: []crawl.Result{{URL: v.URLs[0].URL, Class: crawl.Retry, Reason: crawl.ReasonOverload, Status: 503}}}})
		b.commit()
		b.crash()
		b.open()
		time.Sleep(time.Minute)
		b.s.Ledger.Meta.DelayedUntil = time.Now().UnixMilli()

		now := time.Now().Round(0).Add(ahead) // as the clock shows it then
		if err := b.s.clock.Set(ahead, now); err != nil {
			t.Fatal(err)
		}
		h := b.s.Ledger.Hosts[v.Host]
		if left := h.Due.Sub(now); left != 59*time.Minute || h.DueReason != hosts.DueRetryAfter {
			t.Errorf("%s is left alone for another %v (%s), want 59m", v.Host, left, h.DueReason)
		}
		if left := time.UnixMilli(b.s.Ledger.Meta.DelayedUntil).Sub(now); left < -time.Second {
			t.Errorf("hosts never visited count as visited %v ago", -left)
		}
		b.s.Visits.Schedule(now)
		if granted, _, err := b.s.Visits.Grant(1, schedule.MaxGrantBytes, now); len(granted) != 0 || err != nil {
			t.Errorf("granted: %v, %v", granted, err)
		}
	})
}

// set has the clock of a bench set forward: for its shard so much time is skipped.
func (b *bench) set(ahead time.Duration) {
	b.t.Helper()
	if err := b.s.clock.Set(ahead, time.Now().Round(0).Add(ahead)); err != nil {
		b.t.Fatal(err)
	}
	time.Sleep(ahead)
}

// The clock is set forward. A feed is read no sooner by that, whether or not the shard was opened
// since.
func TestAClockSetForwardReadsNoFeed(t *testing.T) {
	for _, anew := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, feedSpec())
			b.links(0, "", "http://a.example/")
			b.announces("http://a.example/", 1, testFeed)
			v, _ := b.nextAux(crawl.AuxFeed, time.Minute)
			b.reads(v, crawl.Feed{Status: 200, Read: true, Entries: 1, Digest: 1})
			if anew {
				b.again()
			}
			left := time.Until(*b.updates(crawl.SourceFeed).Next)
			b.set(3 * time.Hour)
			if now := time.Until(*b.updates(crawl.SourceFeed).Next); now < left-time.Second || now > left {
				t.Errorf("anew %v: the feed is read in %v, want %v", anew, now, left)
			}
			if _, ok := b.nextAux(crawl.AuxFeed, left-time.Minute); ok {
				t.Errorf("anew %v: the feed is read at once", anew)
			}
			if _, ok := b.nextAux(crawl.AuxFeed, time.Hour); !ok {
				t.Errorf("anew %v: the feed is not read", anew)
			}
		})
	}
}

// A hub that asked for five hours is left alone for five hours.
func TestAClockSetForwardAsksNoHub(t *testing.T) {
	for _, anew := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			b := hubbed(t, webSubSpec())
			if _, ok := b.posted(time.Hour, crawl.RUP{Status: 503, Reason: "busy", Retry: true, RetryAfter: 5 * time.Hour}); !ok {
				t.Fatal("the hub is not asked")
			}
			if anew {
				b.again()
			}
			b.set(6 * time.Hour)
			if f, ok := b.posted(4*time.Hour, crawl.RUP{Status: 202}); ok {
				t.Errorf("anew %v: a hub that asked for five hours is asked within four: %v", anew, f)
			}
			if _, ok := b.posted(3*time.Hour, crawl.RUP{Status: 202}); !ok {
				t.Errorf("anew %v: the hub is not asked again", anew)
			}
		})
	}
}

// A site that is polled is asked no sooner when the clock is set forward.
func TestAClockSetForwardAsksNoSite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRUPWorld(t, updatesSpec(""), 2, daily())
		w.b.links(0, "", w.base)
		w.run(time.Hour)
		w.b.again()
		if !w.site().Polled() {
			t.Fatalf("%+v", w.site())
		}
		left := time.Until(w.site().Poll)
		w.b.set(36 * time.Hour)
		if now := time.Until(w.site().Poll); now < left-time.Second || now > left {
			t.Errorf("the site is asked in %v, want %v", now, left)
		}
	})
}
