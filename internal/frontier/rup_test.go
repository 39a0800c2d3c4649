package frontier

import (
	"fmt"
	rand "math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/updates"
	"github.com/curtsy/curtsy/internal/testaid"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/rup"
)

const (
	testDay  = 24 * time.Hour
	testMail = "curtsy@crawler.example"
)

func daily() *rup.Info {
	return &rup.Info{CGI: "http://a.example/cgi-bin/rup?x=1", Latency: []rup.Unit{rup.Week, rup.Day}, MaxQuerySpan: rup.Span{N: 7, Unit: rup.Day}}
}

// A site that asks by mail for confirmation gets it once, whether that mail is faster than its
// answer or not; a mail that asks at another address, or for a POST to another host, is ignored.
func TestRUPConfirm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRUPWorld(t, updatesSpec(testMail), 1, daily())
		ask := func(address, link string) {
			w.b.event(crawl.Event{Reports: []crawl.Report{{Origin: canon.URL(w.base).Origin(), Address: address, Parts: 1, Received: time.Now(), Confirm: canon.URL(link)}}})
		}
		const link = "http://a.example/cgi-bin/rup/confirm?token=ABC"
		w.b.links(0, "", w.base)
		w.early = func(address string) { ask(address, link) }
		w.run(time.Hour)
		if actions, _ := w.asked(); fmt.Sprint(actions) != "[info Register post]" || fmt.Sprint(w.posted) != "[http://a.example/cgi-bin/rup/confirm token=ABC]" {
			t.Errorf("asked %v, posted %v", actions, w.posted)
		}
		r := w.site()
		if r.Confirm != "" || !r.Registered() || r.Strange != 0 {
			t.Errorf("%+v", r)
		}
		ask("curtsy+x@crawler.example", link)
		ask(r.Address, "http://b.example/?token=ABC")
		ask(r.Address, "http://a.example/confirm")
		w.run(time.Hour)
		if actions, _ := w.asked(); len(actions) != 0 || r.Strange != 3 {
			t.Errorf("asked %v, strange %d", actions, r.Strange)
		}
		ask(r.Address, link+"D")
		w.run(time.Hour)
		if actions, _ := w.asked(); fmt.Sprint(actions) != "[post]" || w.posted[len(w.posted)-1] != "http://a.example/cgi-bin/rup/confirm token=ABCD" {
			t.Errorf("asked %v, posted %v", actions, w.posted)
		}
	})
}

// A site is asked once, we register, and from then on only what it reports is requested.
func TestRUPByMail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRUPWorld(t, updatesSpec(testMail), 200, daily())
		w.b.links(0, "", w.base)
		w.run(time.Hour)
		actions, pages := w.asked()
		if fmt.Sprint(actions) != "[info Register]" || len(pages) != 201 {
			t.Fatalf("asked %v and %d pages", actions, len(pages))
		}
		r := w.site()
		if !r.Registered() || !strings.HasPrefix(r.Address, "curtsy+") || r.Agreed.String() != "day" {
			t.Fatalf("%+v", r)
		}
		for day := range 5 {
			w.change(day)
			w.change(200 + day) // new
			w.remove(100 + day)
			w.run(testDay)
			actions, pages := w.asked()
			slices.Sort(pages)
			if want := []canon.URL{w.url(day), w.url(100 + day), w.url(200 + day)}; !slices.Equal(pages, want) || fmt.Sprint(actions) != "[info]" {
				t.Errorf("day %d: asked %v and for %v, want %v", day, actions, pages, want)
			}
			for i, want := range map[int]crawl.Class{day: crawl.Stored, 100 + day: crawl.Failed, 200 + day: crawl.Stored} {
				if got := w.b.record(string(w.url(i))).Class; got != want {
					t.Errorf("day %d: %s is %v, want %v", day, w.url(i), got, want)
				}
			}
		}
		if r := w.site(); r.Seq.Last != 5 || r.Gaps != 0 || r.Report.Reported != 15 || r.Report.Sooner != 15 || w.b.channel(crawl.SourceRUP).Confirmed != 10 {
			t.Errorf("%+v, %+v", r.Report, r.Seq)
		}
		// One more to a wrong address, one that came before, and one with a number far ahead.
		w.b.event(crawl.Event{Reports: []crawl.Report{
			{Origin: canon.URL(w.base).Origin(), Address: "curtsy+x@crawler.example", Number: 6, Parts: 1, Received: time.Now()},
			{Origin: canon.URL(w.base).Origin(), Address: w.site().Address, Number: 5, Parts: 1, Received: time.Now()},
			{Origin: canon.URL(w.base).Origin(), Address: w.site().Address, Number: 5000, Parts: 1, Received: time.Now()},
		}})
		for outcome, want := range map[string]float64{"applied": 5, "fetched": 0, "held": 1, "ignored": 1, "refused": 1} {
			if n := testutil.ToFloat64(w.b.s.Ledger.Metrics.Reports.WithLabelValues(outcome)); n != want {
				t.Errorf("%v reports are counted as %s, want %v", n, outcome, want)
			}
		}
	})
}

// checkFresh checks that every page is up to date after several days of changes, whatever happened
// meanwhile.
func (w *rupWorld) checkFresh() {
	w.t.Helper()
	for u, p := range w.pages {
		r := w.b.record(string(u))
		switch {
		case p.gone && r.Class == crawl.Stored:
			w.t.Errorf("%s is deleted on the site, and still stored", u)
		case !p.gone && (r.Class != crawl.Stored || r.Digest != p.version):
			w.t.Errorf("%s is %v, version %d, of %d", u, r.Class, r.Digest, p.version)
		}
	}
}

// Without an address for mails a site is asked once per latency.
func TestRUPByPolling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRUPWorld(t, updatesSpec(""), 100, daily())
		w.b.links(0, "", w.base)
		w.run(time.Hour)
		if actions, pages := w.asked(); fmt.Sprint(actions) != "[info]" || len(pages) != 101 {
			t.Fatalf("asked %v and %d pages", actions, len(pages))
		}
		for day := range 5 {
			w.run(8 * time.Hour)
			w.change(day)
			w.remove(50 + day)
			w.run(16 * time.Hour)
			actions, pages := w.asked()
			slices.Sort(pages)
			if want := []canon.URL{w.url(day), w.url(50 + day)}; !slices.Equal(slices.Compact(pages), want) || len(pages) > 4 || fmt.Sprint(actions) != "[GetIndex info]" && fmt.Sprint(actions) != "[info GetIndex]" {
				t.Errorf("day %d: asked %v and for %v", day, actions, pages)
			}
		}
		w.run(testDay)
		w.checkFresh()
		if r := w.site(); r.Registered() || !r.Polled() || r.Whole != 0 {
			t.Errorf("%+v", r)
		}
	})
}

// With a site that has no modification log, registration is all; one that offers neither is crawled
// like any other, and one that has no /rupinfo.txt is not asked again for a week.
func TestRUPWhatIsOffered(t *testing.T) {
	for _, tt := range []struct {
		name, mail string
		info       *rup.Info
		want       string // in eight days
	}{
		{"no log", testMail, &rup.Info{CGI: "/rup", Latency: []rup.Unit{rup.Week}}, "[info Register info info info info info info info]"},
		{"no log, no mail", "", &rup.Info{CGI: "/rup", Latency: []rup.Unit{rup.Week}}, "[info info info info info info info info]"},
		{"none", testMail, nil, "[info info]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newRUPWorld(t, updatesSpec(tt.mail), 3, tt.info)
				w.b.links(0, "", w.base)
				w.run(7*testDay + 20*time.Hour)
				if got := fmt.Sprint(w.actions); got != tt.want {
					t.Errorf("asked %s, want %s", got, tt.want)
				}
			})
		})
	}
}

// Without --updates, without re-crawl, and for a mirror nothing is requested.
func TestRUPNotWanted(t *testing.T) {
	for name, change := range map[string]func(*crawl.Spec){
		"off":        func(s *crawl.Spec) { s.Updates = false },
		"no recrawl": func(s *crawl.Spec) { s.Recrawl = false },
		"site off":   func(s *crawl.Spec) { s.UpdatesOff = []string{"http://a.example"} },
		"forgotten":  func(s *crawl.Spec) { s.Forgotten = []string{"a.example"} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newRUPWorld(t, updatesSpec(testMail), 3, daily())
				w.b.respec(change)
				w.b.links(0, "", w.base)
				w.run(2 * testDay)
				if len(w.actions) > 0 {
					t.Errorf("asked %v", w.actions)
				}
			})
		})
	}
}

// A report that never arrives is noticed by the number of the next one, or by silence, and its
// changes are obtained with GetIndex.
func TestRUPLostReport(t *testing.T) {
	for name, tt := range map[string]struct {
		lost []int64
		want string
	}{
		"the next arrives": {[]int64{2}, "[Register GetSequenceNumber GetIndex]"},
		"silence, twice":   {[]int64{2, 3}, "[Register GetSequenceNumber GetIndex GetSequenceNumber GetIndex]"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newRUPWorld(t, updatesSpec(testMail), 100, daily())
				w.lose = func(n int64) bool { return slices.Contains(tt.lost, n) }
				w.b.links(0, "", w.base)
				w.run(time.Hour)
				for day := range 4 {
					w.change(day)
					w.remove(50 + day)
					w.change(100 + day)
					w.run(testDay)
				}
				w.run(8 * time.Hour)
				w.checkFresh()
				actions, pages := w.asked()
				got := fmt.Sprint(slices.DeleteFunc(actions, func(a string) bool { return a == "info" }))
				if got != tt.want {
					t.Errorf("asked %s, want %s", got, tt.want)
				}
				if n := len(pages); n > 101+12+8 {
					t.Errorf("%d pages were asked for", n)
				}
				if r := w.site(); r.Whole != 0 || r.Seq.Last != 4 || len(r.Seq.Missing) > 0 {
					t.Errorf("%+v, %+v", r, r.Seq)
				}
			})
		})
	}
}

// Changes that a site does not remember any more are found by fetching all its pages.
func TestRUPGapTooOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		info := daily()
		info.MaxQuerySpan = rup.Span{N: 1, Unit: rup.Day}
		w := newRUPWorld(t, updatesSpec(testMail), 300, info)
		w.lose = func(n int64) bool { return n == 2 }
		w.b.links(0, "", w.base)
		w.run(time.Hour)
		for day := range 4 {
			w.change(day)
			w.remove(50 + day)
			w.run(testDay)
			if day == 2 {
				w.checkFresh() // all was requested as soon as that was known to be necessary
			}
		}
		w.run(3 * testDay)
		w.checkFresh()
		if r := w.site(); r.Whole != 1 || r.Anew != nil || r.Seq.Last < 7 || len(r.Seq.Missing) > 0 {
			t.Errorf("%+v, %+v", r, r.Seq)
		}
		if n := len(w.visited); n < 2*300 || n > 2*300+60 {
			t.Errorf("%d pages were asked for, in all", n)
		}
	})
}

// Reports that are not trusted change nothing except what is shown about them.
func TestRUPForgedReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRUPWorld(t, updatesSpec(testMail), 50, daily())
		w.b.links(0, "", w.base, "http://b.example/x")
		w.run(2 * time.Hour)
		w.asked()
		before, stored := w.requests, w.b.status().Stored
		report := func(n int, base, lines string) string {
			return fmt.Sprintf("SequenceNumber: %d\nURLBase: %s\n\n%s", n, base, lines)
		}
		real := w.site().Address
		lines := "Change[2030-01-01]: p00001, p00002\nNew: fresh\nDelete: p00003\n"
		w.deliver("curtsy+someoneelse@crawler.example", report(1, w.base, lines))
		w.deliver("", report(1, w.base, lines))
		w.deliver(strings.ToUpper(real), report(1, w.base, lines))
		w.deliver(real, report(1, "http://b.example/", "Delete: x\nNew: y\n"))
		// A number far ahead: the site is asked first, and answers 0.
		w.deliver(real, report(1_000_000, w.base, lines))
		w.deliver(real, report(0, w.base, lines))
		for i := range 500 { // a flood
			w.deliver("curtsy+x@crawler.example", report(i, w.base, lines))
		}
		w.run(2 * time.Hour)
		actions, pages := w.asked()
		if fmt.Sprint(actions) != "[GetSequenceNumber]" || len(pages) > 0 || w.requests != before+1 || w.b.status().Stored != stored {
			t.Errorf("asked %v and for %v", actions, pages)
		}
		if r := w.site(); r.Strange != 503 || r.Seq.Last != 0 || r.Report.Reported != 0 {
			t.Errorf("%+v %+v", r, r.Seq)
		}
		// A forged report does not block the real one.
		w.change(5)
		w.run(testDay)
		w.checkFresh()
	})
}

// The site itself may report as much as it likes: its pages are requested at its delay, each at
// most once an hour, and no page of another site.
func TestRUPFloodOfReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := updatesSpec(testMail)
		spec.Delay = time.Second
		w := newRUPWorld(t, spec, 50, daily())
		w.b.links(0, "", w.base)
		w.run(2 * time.Hour)
		w.asked()
		var all []string
		for i := range 50 {
			all = append(all, fmt.Sprintf("p%05d", i))
		}
		for n := range 200 {
			w.deliver(w.site().Address, fmt.Sprintf("SequenceNumber: %d\nURLBase: %s\n\nChange: %s, http://b.example/x\n", n+1, w.base, strings.Join(all, ", ")))
			w.run(time.Minute)
		}
		if _, pages := w.asked(); len(pages) > 50*5 {
			t.Errorf("%d requests in 200 minutes", len(pages))
		}
		if r := w.site(); r.Report.Refused != 1 || r.Seq.Last != 200 {
			t.Errorf("%+v", r.Report)
		}
	})
}

// A registration is ended, and changed, as the operator wishes.
func TestRUPUnregisterAndPrefer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRUPWorld(t, updatesSpec(testMail), 10, daily())
		w.b.links(0, "", w.base)
		w.run(time.Hour)
		first := w.site().Address
		w.asked()
		step := func(change func(*crawl.Spec), want string) {
			t.Helper()
			w.b.respec(change)
			w.run(time.Hour)
			if actions, _ := w.asked(); fmt.Sprint(actions) != want {
				t.Errorf("asked %v, want %s", actions, want)
			}
		}
		step(func(s *crawl.Spec) { s.UpdatesPrefer = map[string]string{"http://a.example": "week"} }, "[ModifyPreferences]")
		if r := w.site(); r.Agreed.String() != "week" || r.Address != first {
			t.Errorf("%+v", r)
		}
		step(func(s *crawl.Spec) { s.UpdatesMail = "robot@other.example" }, "[ModifyPreferences]")
		if r := w.site(); !strings.HasPrefix(r.Address, "robot+") || len(w.regs) != 1 || w.regs[rup.EmailKey(r.Address)].Latency.String() != "week" {
			t.Errorf("%+v, %+v", r, w.regs)
		}
		step(func(s *crawl.Spec) { s.UpdatesOff = []string{"http://a.example"} }, "[Unregister]")
		if r := w.site(); r.Registered() || len(w.regs) != 0 {
			t.Errorf("%+v, %+v", r, w.regs)
		}
		step(func(s *crawl.Spec) { s.UpdatesOff, s.UpdatesPrefer = nil, nil }, "[Register]")
		if r := w.site(); r.Agreed.String() != "day" || r.N != 3 {
			t.Errorf("%+v", r)
		}
		step(func(s *crawl.Spec) { s.UpdatesMail = "" }, "[Unregister]")
		step(func(s *crawl.Spec) { s.UpdatesMail = testMail }, "[Register]")
		step(func(s *crawl.Spec) { s.Updates = false }, "[Unregister]")
		if w.run(3 * testDay); len(w.actions) > 0 || len(w.regs) > 0 {
			t.Errorf("asked %v when nothing was wanted", w.actions)
		}
	})
}

// A shard that is killed, moved or replayed from its log continues where it was: nothing is sent
// twice, nothing is lost.
func TestRUPCrashes(t *testing.T) {
	for name, breakIt := range map[string]func(b *bench){
		"killed":       func(b *bench) { b.crash(); b.open() },
		"after commit": func(b *bench) { b.commit(); b.crash(); b.open() },
		"moved":        func(b *bench) { b.commit(); b.copyState(); b.lose() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newRUPWorld(t, updatesSpec(testMail), 60, daily())
				w.b.links(0, "", w.base)
				w.run(time.Hour)
				for day := range 5 {
					w.change(day)
					w.remove(30 + day)
					w.run(11 * time.Hour)
					breakIt(w.b)
					w.run(13 * time.Hour)
				}
				w.run(30 * time.Hour)
				w.checkFresh()
				if r := w.site(); r.Report.Reported < 10 || r.Whole != 0 || len(r.Seq.Missing) > 0 || len(w.regs) != 1 {
					t.Errorf("%+v, %+v, %d registrations", r, r.Seq, len(w.regs))
				}
				if n := len(w.visited); n > 61+2*10+20 {
					t.Errorf("%d pages were asked for", n)
				}
			})
		})
	}
}

// At random: pages change and are deleted, reports are lost, the site is down for hours, the shard
// is killed, committed or moved. When all is calm again, every page is up to date, and no more
// requests were sent than necessary.
func TestRUPAtRandom(t *testing.T) {
	for seed := range uint64(testaid.Runs(12, 4)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 66))
				info := daily()
				info.MaxQuerySpan.N = 1 + int(seed%4)
				mail := testMail
				if seed%3 == 2 {
					mail = ""
				}
				w := newRUPWorld(t, updatesSpec(mail), 80, info)
				w.lose = func(int64) bool { return rng.IntN(4) == 0 }
				w.b.links(0, "", w.base)
				w.run(time.Hour)
				for range 60 {
					switch k := rng.IntN(10); {
					case k < 4:
						i := rng.IntN(120)
						// If the report was lost, a link to it is found.
						if w.pages[w.url(i)] == nil {
							home := w.pages[canon.URL(w.base)]
							home.version++
							home.changed = time.Now()
							w.log = append(w.log, rup.Entry{URL: w.base, Kind: rup.Change, Date: time.Now().UTC()})
						}
						w.change(i)
					case k < 5:
						if i := rng.IntN(80); w.pages[w.url(i)].version > 0 && !w.pages[w.url(i)].gone {
							w.remove(i)
						}
					case k < 6:
						w.down = !w.down
					case k < 7:
						w.b.commit()
						w.b.copyState()
						w.b.lose()
					case k < 8:
						w.b.commit()
					default:
						w.b.crash()
						w.b.open()
					}
					w.run(time.Duration(rng.IntN(8*60)) * time.Minute)
				}
				w.lose, w.down = func(int64) bool { return false }, false
				w.run(12 * testDay)
				w.checkFresh()
				if n := len(w.actions); n > 250 {
					t.Errorf("%d requests of RUP in about 22 days: %v", n, w.actions)
				}
				if len(w.regs) > 3 {
					t.Errorf("%d registrations", len(w.regs))
				}
			})
		})
	}
}

// A full re-crawl that a crash interrupts continues, and facts about a site do not count as newer
// because of the time in transit.
func TestRUPAnewAfterACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRUPWorld(t, updatesSpec(testMail), 20, daily())
		w.b.links(0, "", w.base)
		w.run(time.Hour)
		if err := w.b.s.RUPSites.Reindex(w.site(), time.Now()); err != nil {
			t.Fatal(err)
		}
		w.b.commit()
		w.b.crash()
		w.b.open()
		w.run(time.Minute)
		if r := w.site(); r.Anew != nil {
			t.Errorf("not gone on with: %+v", r)
		}
		was := *w.site()
		w.b.commit()
		w.b.copyState()
		time.Sleep(3 * time.Hour)
		w.b.lose()
		if r := w.site(); !r.Good.Equal(was.Good) || !r.Covered.Equal(was.Covered) || !r.Seq.Good.Equal(was.Seq.Good) {
			t.Errorf("three hours on the way, and it is known what changed in them: %v %v %v, was %v %v %v", r.Good, r.Covered, r.Seq.Good,
				was.Good, was.Covered, was.Seq.Good)
		} else if d := r.InfoDue.Sub(was.InfoDue); d < 3*time.Hour {
			t.Errorf("what was waited for is waited for %v longer", d)
		}
	})
}

// While a site's robots.txt may not be requested yet, nothing is requested that needs it.
func TestRUPWaitsForRobots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRUPWorld(t, updatesSpec(""), 3, daily())
		w.b.links(0, "", w.base)
		w.run(time.Hour)
		for range 9 {
			w.b.event(crawl.Event{Robots: []crawl.Robots{{Origin: w.site().Origin(), State: crawl.RobotsUnreachable, Status: 500, Reason: "HTTP 500"}}})
		}
		time.Sleep(23 * time.Hour) // the copy is too old to be used in an hour
		w.b.event(crawl.Event{Robots: []crawl.Robots{{Origin: w.site().Origin(), State: crawl.RobotsUnreachable, Status: 500, Reason: "HTTP 500"}}})
		time.Sleep(2 * time.Hour)
		r := w.site()
		state, ask := polite.State(&r.H.Origins[r.I], time.Now())
		if what, _ := w.b.s.RUPSites.WantNow(r, time.Now()); what == updates.RupNothing || state != crawl.RobotsUnreachable || time.Until(ask) < time.Hour {
			t.Fatalf("the test: wants %d, %v until %v", what, state, ask)
		}
		if what, at := w.b.s.RUPSites.WantOf(r, time.Now()); what != updates.RupNothing || !at.Equal(ask) {
			t.Errorf("wants %d, at %v, want nothing until %v", what, at, ask)
		}
		time.Sleep(time.Until(ask))
		if what, _ := w.b.s.RUPSites.WantOf(r, time.Now()); what == updates.RupNothing {
			t.Error("wants nothing when its robots.txt may be asked for")
		}
	})
}

// An origin that claims to be a mirror is not asked.
func TestRUPOfMirrors(t *testing.T) {
	b := newBench(t, updatesSpec(""))
	b.links(0, "", "http://a.example/", "http://b.example/")
	b.learned("http://a.example", "User-agent: *\nDisallow:\nHost: b.example\n", crawl.VisitID{})
	b.learned("http://b.example", "User-agent: *\nDisallow:\nHost: b.example\n", crawl.VisitID{})
	asked := map[string]bool{}
	for _, h := range b.s.Ledger.Hosts {
		for _, e := range h.Aux {
			if e.Kind == crawl.AuxRUP {
				asked[string(e.URL)] = true
			}
		}
	}
	if len(asked) != 1 || !asked["http://b.example/rupinfo.txt"] {
		t.Errorf("asked %v", asked)
	}
}
