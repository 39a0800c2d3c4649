package mirror

import (
	"fmt"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/frontier/times"
)

// Formats §2.4 step 5, and the 30 days of step 1.
func TestMirrorsInTime(t *testing.T) {
	day := 24 * time.Hour
	page := map[string]string{"/": "root", "/1": "one"}
	fresh := func(t *testing.T) *world {
		w := newWorld(t, map[string]*site{
			"a.example": {robots: hostLine("b.example"), stored: page},
			"b.example": {robots: "404", pages: page},
		})
		w.read("a.example")
		w.run()
		w.want("a.example", "mirror of b.example by pages 2/2")
		return w
	}
	t.Run("a dropped Host line dissolves at once", func(t *testing.T) {
		w := fresh(t)
		w.sites["a.example"].robots = "User-agent: *\nDisallow: /x\n"
		w.read("a.example")
		w.want("a.example", "main")
	})
	t.Run("noticed at the next refresh", func(t *testing.T) {
		w := fresh(t)
		w.sites["a.example"].robots = "404"
		w.later(25 * time.Hour)
		w.want("a.example", "main")
	})
	t.Run("a changed one too", func(t *testing.T) {
		w := fresh(t)
		w.sites["c.example"] = &site{robots: "404", pages: page}
		w.sites["a.example"].robots = hostLine("c.example")
		x := originOf("a.example")
		w.step(x, func(m *Record, e *Env) { m.Read(e, w.claim(x)) })
		if m := w.mirror("a.example"); m.Mirrored() || m.Reason != whyPending {
			t.Errorf("%+v before there is evidence for the new main host", m)
		}
		w.run()
		w.want("a.example", "mirror of c.example by pages 2/2")
	})
	t.Run("the end of a chain changes", func(t *testing.T) {
		w := fresh(t)
		w.sites["b.example"].robots = hostLine("c.example")
		w.sites["c.example"] = &site{robots: "404", pages: map[string]string{"/": "else"}}
		w.later(25 * time.Hour)
		w.want("a.example", "unconfirmed: content-differs")
	})
	t.Run("evidence is renewed every 30 days", func(t *testing.T) {
		w := fresh(t)
		w.later(29 * day)
		if n := w.requests["http://b.example"]; n != 2 {
			t.Errorf("%d page requests to the main host in 29 days, want the first two", n)
		}
		w.later(2 * day)
		if n := w.requests["http://b.example"]; n != 4 {
			t.Errorf("%d page requests after 31 days, want two more", n)
		}
		w.want("a.example", "mirror of b.example by pages 2/2")
		w.sites["b.example"].pages = map[string]string{"/": "sold"}
		w.later(28 * day)
		w.want("a.example", "mirror of b.example by pages 2/2")
		w.later(2 * day)
		w.want("a.example", "unconfirmed: content-differs")
	})
	t.Run("evidence that cannot be renewed has expired", func(t *testing.T) {
		w := fresh(t)
		w.sites["b.example"].robots = "User-agent: *\nDisallow: /\n"
		w.later(29 * day)
		w.want("a.example", "mirror of b.example by pages 2/2")
		w.later(2 * day)
		w.want("a.example", "unconfirmed: no-evidence")
	})
	t.Run("a main host that is away for 30 days", func(t *testing.T) {
		w := fresh(t)
		w.sites["b.example"].robots = "down"
		w.later(30 * day)
		w.want("a.example", "mirror of b.example by pages 2/2")
		w.later(2 * day)
		w.want("a.example", "unconfirmed: target-unreachable")
	})
	t.Run("and one that is back in time", func(t *testing.T) {
		w := fresh(t)
		w.sites["b.example"].robots = "down"
		w.later(29 * day)
		w.sites["b.example"].robots = "404"
		w.later(2 * day)
		w.sites["b.example"].robots = "down"
		w.later(29 * day)
		w.want("a.example", "mirror of b.example by pages 2/2")
	})
	t.Run("a target that cannot be had is asked for with each refresh, for 30 days", func(t *testing.T) {
		w := newWorld(t, map[string]*site{"a.example": {robots: hostLine("b.example"), stored: page}})
		w.read("a.example")
		w.run()
		w.later(10 * day)
		w.want("a.example", "unconfirmed: target-unreachable")
		w.sites["b.example"] = &site{robots: "404", pages: page}
		w.later(day + time.Hour)
		w.want("a.example", "mirror of b.example by pages 2/2")

		w = newWorld(t, map[string]*site{"a.example": {robots: hostLine("b.example"), stored: page}})
		w.read("a.example")
		w.run()
		w.later(32 * day)
		w.sites["b.example"] = &site{robots: "404", pages: page}
		w.later(10 * day)
		w.read("a.example")
		w.run()
		w.want("a.example", "unconfirmed: target-unreachable") // nothing is requested any more
		w.sites["a.example"].robots += "# and now?\n"
		w.read("a.example")
		w.run()
		w.want("a.example", "mirror of b.example by pages 2/2")
	})
	t.Run("other pages are compared again after 30 days, or with another file", func(t *testing.T) {
		w := newWorld(t, map[string]*site{
			"a.example": {robots: hostLine("b.example"), stored: page}, "b.example": {robots: "404", pages: map[string]string{"/": "else"}},
		})
		w.read("a.example")
		w.run()
		w.sites["b.example"].pages = page
		w.later(29 * day)
		w.want("a.example", "unconfirmed: content-differs")
		w.later(2 * day)
		w.want("a.example", "mirror of b.example by pages 2/2")
	})
	t.Run("the first page stored is evidence soon", func(t *testing.T) {
		w := newWorld(t, map[string]*site{
			"a.example": {robots: "User-agent: *\nAllow: /1\nHost: b.example\n"}, "b.example": {robots: "404", pages: page},
		})
		w.read("a.example")
		w.run()
		w.want("a.example", "unconfirmed: no-evidence")
		w.sites["a.example"].stored = map[string]string{"/1": "one"}
		w.step(originOf("a.example"), func(m *Record, e *Env) { m.Stored(e) })
		if m := w.mirror("a.example"); m.Trial == "" && !m.Soon {
			t.Error("the crawl would end before the page is compared")
		}
		w.later(10 * time.Second)
		w.want("a.example", "mirror of b.example by pages 1/1")
	})
	t.Run("an auxiliary request that gets lost", func(t *testing.T) {
		w := newWorld(t, map[string]*site{
			"a.example": {robots: hostLine("b.example"), stored: page}, "b.example": {robots: "404", pages: page, slowDown: true},
		})
		w.read("a.example")
		w.run()
		if m := w.mirror("a.example"); m.Trial != trialClaim {
			t.Fatalf("%+v, want an answer awaited", m)
		}
		w.later(2 * time.Hour)
		w.want("a.example", "unconfirmed: target-unreachable")
		w.sites["b.example"].slowDown = false
		w.later(25 * time.Hour)
		w.want("a.example", "mirror of b.example by pages 2/2")
	})
}

// Nothing is requested from an origin out of scope, whatever claims it.
func TestAClaimForAHostOutOfScope(t *testing.T) {
	page := map[string]string{"/": "root"}
	w := newWorld(t, map[string]*site{
		"a.example": {robots: hostLine("b.example"), stored: page},
		"b.example": {robots: hostLine("c.example"), stored: page},
		"c.example": {robots: hostLine("c.example"), pages: page, outside: true},
	})
	w.read("a.example")
	w.run()
	w.want("a.example", "unconfirmed: out-of-scope")
	if n := w.claims["http://c.example"]; n > 0 {
		t.Errorf("%d requests for a robots.txt out of scope", n)
	}
	w.sites["b.example"].robots = hostLine("b.example")
	w.later(25 * time.Hour)
	w.want("a.example", "mirror of b.example by robots.txt")
}

// A host that names another whose pages cannot be fetched causes a few requests to it from time to
// time, but not for every page of its own.
func TestAFalseClaimCausesFewRequests(t *testing.T) {
	pages := map[string]string{}
	for i := range 10 {
		pages[fmt.Sprintf("/cgi?%d", i)] = prose(fmt.Sprint(i), 50)
	}
	w := newWorld(t, map[string]*site{
		"a.example": {robots: "User-agent: *\nAllow: /\nHost: b.example\n", pages: pages, stored: pages},
		"b.example": {robots: "404", broken: true},
	})
	w.read("a.example")
	w.run()
	w.want("a.example", "unconfirmed: no-evidence")
	for range 1000 {
		w.step(originOf("a.example"), func(m *Record, e *Env) { m.Stored(e) })
		w.later(10 * time.Second)
	}
	if n := w.requests["http://b.example"]; n > 60 {
		t.Errorf("%d requests to the host that was named, for 1000 pages of the one that names it", n)
	}
	w.sites["b.example"].broken, w.sites["b.example"].pages = false, pages
	w.later(25 * time.Hour)
	w.want("a.example", "mirror of b.example by pages 5/5")
}

// A shard that moves to a machine with another clock, or after a while: what must be waited for is
// waited for, and known data gets no younger.
func TestMirrorTimesShift(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	for _, c := range []struct {
		trial                   string
		d                       time.Duration
		known, gone, asked, due time.Duration
	}{
		{"", 10 * time.Hour, 0, 10 * time.Hour, 10 * time.Hour, 0},
		{"", -10 * time.Hour, -10 * time.Hour, -10 * time.Hour, -10 * time.Hour, -10 * time.Hour},
		{trialClaim, 10 * time.Hour, 0, 10 * time.Hour, 10 * time.Hour, 10 * time.Hour},
	} {
		m := &Record{Trial: c.trial, Since: at, Proved: at, Compared: at, Gone: at, Asked: at, Due: at, Merge: Merge{From: at}}
		z := new(Record)
		m.Times(times.ShiftBy(c.d))
		z.Times(times.ShiftBy(c.d))
		for _, x := range []struct {
			name string
			got  time.Time
			want time.Duration
		}{
			{"since", m.Since, c.known}, {"proved", m.Proved, c.known}, {"compared", m.Compared, c.known},
			{"from", m.From, c.known},
			{"gone", m.Gone, c.gone}, {"asked", m.Asked, c.asked}, {"due", m.Due, c.due},
		} {
			if got := x.got.Sub(at); got != x.want {
				t.Errorf("trial %q, %v: %s moved by %v, want %v", c.trial, c.d, x.name, got, x.want)
			}
		}
		if !z.Since.IsZero() || !z.Due.IsZero() || !z.Gone.IsZero() {
			t.Errorf("%+v: times that are none", z)
		}
	}
}
