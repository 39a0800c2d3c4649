package mirror

import (
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

func TestRedirectAliases(t *testing.T) {
	page := map[string]string{"/": "root"}
	moved := func(w *world, from, to string) {
		w.step(originOf(from), func(m *Record, e *Env) { m.MovedAway(e, originOf(to)) })
		w.run()
	}
	fresh := func(t *testing.T, b *site) *world {
		w := newWorld(t, map[string]*site{"a.example": {robots: "404", moved: "http://b.example"}, "b.example": b})
		w.read("b.example")
		moved(w, "a.example", "b.example")
		return w
	}
	t.Run("to a site that is there", func(t *testing.T) {
		w := fresh(t, &site{robots: "404", pages: page})
		w.want("a.example", "mirror of b.example by redirect")
		w.later(35 * 24 * time.Hour)
		w.want("a.example", "mirror of b.example by redirect")
		if n := w.requests["http://a.example"]; n != 4 {
			t.Errorf("%d requests to see that it still redirects, want 4", n)
		}
		w.sites["a.example"].moved = "http://c.example"
		w.later(30 * 24 * time.Hour)
		w.want("a.example", "main")
	})
	t.Run("it stops", func(t *testing.T) {
		w := fresh(t, &site{robots: "404", pages: page})
		w.sites["a.example"].moved, w.sites["a.example"].pages = "", page
		w.later(31 * 24 * time.Hour)
		w.want("a.example", "main")
	})
	t.Run("to a site closed to us", func(t *testing.T) {
		fresh(t, &site{robots: "User-agent: *\nDisallow: /\n", pages: page}).want("a.example", "mirror of b.example by redirect")
	})
	t.Run("to nothing", func(t *testing.T) {
		fresh(t, &site{robots: "down"}).want("a.example", "main")
	})
	t.Run("to one that redirects back", func(t *testing.T) {
		w := fresh(t, &site{robots: "404", moved: "http://a.example"})
		moved(w, "b.example", "a.example")
		w.want("a.example", "main")
		w.want("b.example", "main")
	})
	t.Run("to one that names it", func(t *testing.T) {
		w := fresh(t, &site{robots: hostLine("a.example"), pages: page})
		w.run()
		w.want("a.example", "main")
	})
	t.Run("to one that comes to name it: never both", func(t *testing.T) {
		w := fresh(t, &site{robots: "404", pages: page, stored: page})
		w.sites["b.example"].robots, w.sites["a.example"].robots = hostLine("a.example"), hostLine("a.example")
		w.read("a.example", "b.example")
		w.run()
		w.want("a.example", "mirror of b.example by redirect")
		w.want("b.example", "unconfirmed: cycle")
	})
}

func TestTwins(t *testing.T) {
	some, more := map[string]string{"/": "root", "/1": "one"}, map[string]string{"/": "root", "/1": "one", "/2": "two"}
	type pair struct{ www, bare *site }
	play := func(t *testing.T, p pair) *world {
		w := newWorld(t, map[string]*site{"www.a.example": p.www})
		if p.bare != nil {
			w.sites["a.example"] = p.bare
		}
		// Whichever is noticed first, and twice.
		for range 2 {
			for _, name := range []string{"a.example", "www.a.example"} {
				w.step(originOf(name), func(m *Record, e *Env) {
					m.Claim = w.claim(e.X).Kind
					m.Twin(e)
				})
			}
			w.run()
		}
		return w
	}
	for _, c := range []struct {
		name      string
		p         pair
		www, bare string
	}{
		{"as large: without www", pair{&site{robots: "404", pages: some, stored: some}, &site{robots: "404", pages: some, stored: some}},
			"mirror of a.example by www 2/2", "main"},
		{"the larger is main", pair{&site{robots: "404", pages: more, stored: more}, &site{robots: "404", pages: more, stored: some}},
			"main", "mirror of www.a.example by www 3/3"},
		{"the one that others redirect to is main", pair{&site{robots: "404", pages: more, stored: some, led: 2}, &site{robots: "404", pages: more, stored: more}},
			"main", "mirror of www.a.example by www 3/3"},
		{"only one is known", pair{&site{robots: "404", pages: some, stored: some}, nil}, "main", "main"},
		{"other pages", pair{&site{robots: "404", pages: some, stored: some}, &site{robots: "404", pages: map[string]string{"/": "x"}, stored: map[string]string{"/": "x"}}}, "main", "main"},
		{"a contrary claim of the one", pair{&site{robots: hostLine("www.a.example"), pages: some, stored: some}, &site{robots: "404", pages: some, stored: some}}, "main", "main"},
		{"a contrary claim of the other", pair{&site{robots: "404", pages: some, stored: some}, &site{robots: hostLine("a.example"), pages: some, stored: some}}, "main", "main"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := play(t, c.p)
			w.want("www.a.example", c.www)
			w.want("a.example", c.bare)
			if c.p.bare != nil && strings.HasPrefix(c.www+c.bare, "main"+"mirror") {
				w.later(31 * 24 * time.Hour)
				w.want("a.example", c.bare)
				c.p.www.pages, c.p.www.stored = map[string]string{"/": "new owner"}, nil
				w.later(30 * 24 * time.Hour)
				w.want("a.example", "main")
			}
		})
	}
	t.Run("never both", func(t *testing.T) {
		w := play(t, pair{&site{robots: "404", pages: more, stored: more}, &site{robots: "404", pages: more, stored: some}})
		w.want("a.example", "mirror of www.a.example by www 3/3")
		// The owner of the other was restored from an old copy, and decides again with other
		// figures.
		w.db[originOf("www.a.example")] = &Record{Claim: crawl.ClaimNone, State: OfMain, Main: originOf("a.example"), By: ByTwin}
		w.db[originOf("a.example")].State = ""
		w.step(originOf("a.example"), func(m *Record, e *Env) { m.Yield(e, originOf("www.a.example")) })
		w.run()
		w.want("www.a.example", "main")
		w.want("a.example", "mirror of www.a.example by www 3/3")
	})
}

// TestRescoped: pages belong to a main host only while they may be crawled there. An origin that
// was refused because of the scope is examined again at once.
func TestRescoped(t *testing.T) {
	page := map[string]string{"/": "root"}
	rescope := func(w *world, outside bool) {
		w.sites["b.example"].outside = outside
		for _, name := range []string{"a.example", "b.example"} {
			w.step(originOf(name), func(m *Record, e *Env) { m.Rescoped(e) })
		}
	}
	t.Run("a claim", func(t *testing.T) {
		w := newWorld(t, map[string]*site{"a.example": {robots: hostLine("b.example"), stored: page}, "b.example": {robots: "404", pages: page}})
		w.read("a.example")
		w.run()
		w.want("a.example", "mirror of b.example by pages 1/1")
		rescope(w, true)
		w.want("a.example", "unconfirmed: out-of-scope")
		rescope(w, false)
		if m := w.mirror("a.example"); !m.Soon {
			t.Error("the crawl would end before the claim is examined again")
		}
		w.later(time.Minute)
		w.want("a.example", "mirror of b.example by pages 1/1")
	})
	t.Run("a redirect", func(t *testing.T) {
		w := newWorld(t, map[string]*site{"a.example": {robots: "404", moved: "http://b.example"}, "b.example": {robots: "404", pages: page}})
		w.step(originOf("a.example"), func(m *Record, e *Env) { m.MovedAway(e, originOf("b.example")) })
		w.run()
		rescope(w, true)
		w.want("a.example", "mirror of b.example by redirect") // it has no pages of its own
	})
	t.Run("a twin", func(t *testing.T) {
		w := newWorld(t, map[string]*site{"www.b.example": {robots: "404", pages: page, stored: page}, "b.example": {robots: "404", pages: page, stored: page}})
		w.step(originOf("www.b.example"), func(m *Record, e *Env) { m.Claim = w.claim(e.X).Kind; m.Twin(e) })
		w.run()
		w.want("www.b.example", "mirror of b.example by www 1/1")
		w.sites["b.example"].outside = true
		w.step(originOf("www.b.example"), func(m *Record, e *Env) { m.Rescoped(e) })
		w.want("www.b.example", "main")
	})
}
