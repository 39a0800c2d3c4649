package frontier

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/mirror"
	"github.com/curtsy/curtsy/pkg/canon"
)

// URLs of a mirror that were forgotten are not handed to the main host when it becomes a mirror,
// but when they are allowed again.
func TestAMirrorsURLThatIsAllowedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		main := "main.example"
		other := apart(2, "m", main)
		pages := copyPages(2)
		pages["/only"] = "linked from nowhere"
		spec := testSpec("http://" + other + "/")
		spec.Shards, spec.Forgotten = 2, []string{"http://" + other + "/only"}
		g := newRigWith(t, spec, map[string]*site{main: {robots: hostLine(main), pages: pages}, other: {robots: hostLine(main), pages: pages}})
		g.seed("http://"+other+"/", "http://"+other+"/only")
		g.run(time.Hour)
		g.check("mirrors", g.mirrors(), map[string]string{"http://" + other: "mirror of http://" + main + " "})
		if got := g.urls(other)["http://"+other+"/only"]; got != "refused forgotten" {
			t.Fatalf("what is forgotten is %s", got)
		}
		for _, b := range g.shards {
			b.respec(func(s *crawl.Spec) { s.Forgotten = nil })
			b.passes()
			b.commit()
			b.crash()
			b.open()
		}
		g.run(time.Hour)
		if got := g.urls(main)["http://"+main+"/only"]; got != "stored" {
			t.Errorf("what is let in again is %q on the main host, want it stored there", got)
		}
		g.verify()
	})
}

// The target of a redirect on a mirror that a new scope allows is handed to the main host, also if
// the shard is killed as soon as the record is written.
func TestAMirrorsURLThatANewScopeAllows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		main := "main.example"
		other := apart(2, "m", main)
		from := "from.example"
		for crawl.ShardOf(canon.Host(from), 2) != crawl.ShardOf(canon.Host(other), 2) {
			from = "x" + from
		}
		pages := copyPages(2)
		pages["/only"] = "linked from nowhere"
		spec := testSpec("http://" + other + "/")
		spec.Shards, spec.Exclude = 2, []string{"^http://" + other + "/only$"}
		g := newRigWith(t, spec, map[string]*site{
			main: {robots: hostLine(main), pages: pages}, other: {robots: hostLine(main), pages: pages}, from: {robots: "404", moved: "http://" + other},
		})
		g.seed("http://"+other+"/", "http://"+from+"/only")
		g.run(time.Hour)
		g.check("mirrors", g.mirrors(), map[string]string{"http://" + other: "mirror of http://" + main + " "})
		if got := g.urls(from)["http://"+from+"/only"]; got != "redirected redirect" {
			t.Fatalf("%s: want a redirect", got)
		}
		for _, b := range g.shards {
			b.respec(func(s *crawl.Spec) { s.Exclude = nil })
			b.passes()
			b.commit()
			b.crash()
			b.open()
		}
		g.run(time.Hour)
		if got := g.urls(main)["http://"+main+"/only"]; got != "stored" {
			t.Errorf("what the redirect leads to is %q on the main host, want it stored there", got)
		}
		g.verify()
	})
}

// A crawl that is narrowed to one of two twins crawls it, although it was the mirror of the other.
func TestACrawlIsNarrowedToAMirror(t *testing.T) {
	for _, long := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			pages := copyPages(9)
			const www, bare = "www.site.example", "site.example"
			spec := testSpec("http://" + bare + "/")
			spec.Scope = "domain"
			g := newRigWith(t, spec, map[string]*site{www: {robots: "404", pages: pages}, bare: {robots: "404", pages: pages}})
			g.seed("http://" + bare + "/")
			g.run(time.Hour)
			g.seed("http://" + www + "/")
			g.run(time.Hour)
			g.check("mirrors", g.mirrors(), map[string]string{"http://" + www: "mirror of http://" + bare + " www"})
			if long {
				g.run(29 * 24 * time.Hour)
			}
			b := g.shards[0]
			n := g.asked(bare)
			b.respec(func(s *crawl.Spec) { s.Scope, s.Seeds = "host", []string{"http://" + www + "/"} })
			b.passes()
			g.seed("http://"+www+"/", "http://"+www+"/1")
			g.run(3 * 24 * time.Hour)
			g.check("mirrors", g.mirrors(), map[string]string{})
			for u, what := range g.urls(www) {
				if what != "stored" {
					t.Errorf("%s is %s, want it stored: its host is all there is to the crawl", u, what)
				}
			}
			if n != g.asked(bare) {
				t.Error("pages were asked for out of scope")
			}
			g.verify()
			b.respec(func(s *crawl.Spec) { s.Scope = "domain" })
			b.passes()
			g.seed("http://" + www + "/new")
			g.run(time.Hour)
			g.check("mirrors of a wider crawl", g.mirrors(), map[string]string{"http://" + www: "mirror of http://" + bare + " www"})
			g.verify()
		})
	}
}

// A mirror whose main host leaves the scope is no mirror any more, at once, and is one again when
// the main host is in scope again.
func TestAMainHostLeavesTheScope(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const main, other = "main.example", "other.example"
		pages := copyPages(3)
		g := newRig(t, 1, map[string]*site{main: {robots: hostLine(main), pages: pages}, other: {robots: hostLine(main), pages: pages}})
		g.seed("http://" + other + "/")
		g.run(time.Hour)
		merged := map[string]string{"http://" + other: "mirror of http://" + main + " "}
		g.check("mirrors", g.mirrors(), merged)
		b := g.shards[0]
		b.respec(func(s *crawl.Spec) { s.Exclude = []string{"^http://" + main} })
		b.passes()
		g.check("mirrors of a narrower crawl", g.mirrors(), map[string]string{"http://" + other: "unconfirmed: out-of-scope"})
		n := len(g.requests["http://"+main])
		g.run(30 * 24 * time.Hour)
		if got := len(g.requests["http://"+main]); got != n {
			t.Errorf("%d requests out of scope", got-n)
		}
		if got := g.urls(other)["http://"+other+"/"]; got != "refused robots" {
			t.Errorf("its root is %s, want it closed by its own robots.txt", got)
		}
		b.respec(func(s *crawl.Spec) { s.Exclude = nil })
		b.passes()
		g.run(time.Hour)
		g.check("mirrors of a wider crawl", g.mirrors(), merged)
		g.verify()
	})
}

// Twins of which one was out of scope are compared when a new scope includes both.
func TestACrawlIsWidenedToATwin(t *testing.T) {
	const www, bare = "www.site.example", "site.example"
	for _, first := range []string{www, bare} {
		synctest.Test(t, func(t *testing.T) {
			pages := copyPages(9)
			spec := testSpec("http://" + first + "/")
			spec.Scope = "host"
			g := newRigWith(t, spec, map[string]*site{www: {robots: "404", pages: pages}, bare: {robots: "404", pages: pages}})
			b := g.shards[0]
			g.seed("http://" + first + "/")
			g.run(time.Hour)
			b.respec(func(s *crawl.Spec) { s.Scope = "domain" })
			b.passes()
			g.seed("http://"+www+"/", "http://"+bare+"/", "http://"+first+"/new")
			g.run(time.Hour)
			if got := g.mirrors(); len(got) != 1 {
				t.Errorf("begun with %s: mirrors %v, want one of the twins", first, got)
			}
			g.verify()
		})
	}
}

// The name of a mirror may exceed the limit of names of its domain: its URLs still belong to the
// main host, and none is left when the name is accepted.
func TestAMirrorWhoseNameIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := testSpec("http://www.evil.example/")
		spec.MaxHosts = 5
		b := newBench(t, spec)
		n := invent(b, "evil.example", 0, 1, 10)
		closed := fmt.Sprintf("n%d.evil.example", n-1)
		h, err := b.s.Ledger.HostNamed(canon.Host(closed))
		if err != nil || !h.Closed {
			t.Fatalf("%+v, %v", h, err)
		}
		// Its robots.txt was read for another host, which named it.
		b.event(crawl.Event{Robots: []crawl.Robots{{Origin: testOriginOf(closed), State: crawl.RobotsParsed, Status: 200, Fresh: 24 * time.Hour,
			Body: []byte(hostLine("main.example"))}}})
		err = b.s.Mirrors.Step(h, 0, time.Now(), func(m *mirror.Record, e *mirror.Env) { m.Confirm(e, testOriginOf("main.example"), "", "robots.txt") })
		for more := true; more && err == nil; {
			more, err = b.s.Mirrors.ResolveSome(time.Now())
		}
		if err != nil {
			t.Fatal(err)
		}
		b.links(1, "http://www.evil.example/", "http://"+closed+"/new")
		b.respec(func(s *crawl.Spec) { s.MaxHosts = 1000 })
		b.passes()
		for _, path := range []string{"/", "/new"} {
			if x := b.explain("http://main.example" + path); x.State != "queued" {
				t.Errorf("%s is %s on the main host", path, x.State)
			}
			if r := b.record("http://" + closed + path); r.Class != crawl.Refused || r.Reason != crawl.ReasonMirror {
				t.Errorf("%s is %v, %s on the mirror", path, r.Class, r.Reason)
			}
		}
		b.verify()
	})
}
