package frontier

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// What was forgotten of a mirror is not handed on when it becomes one, and is when it is let in
// again.
func TestAMirrorsURLThatIsLetInAgain(t *testing.T) {
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

// A redirect's target on a mirror that another scope lets in is handed on, also when the shard is
// killed as soon as it is written that it was.
func TestAMirrorsURLThatAnotherScopeLetsIn(t *testing.T) {
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
