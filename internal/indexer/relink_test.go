package indexer

import (
	"slices"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simnet"
)

// TestScopeWidensWhilePagesWait changes the scope while a page that was fetched under the old scope
// was received but is not stored yet. The links that its fetcher left out are sent all the same.
func TestScopeWidensWhilePagesWait(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.spec.Scope, w.spec.Seeds, w.spec.Agent = "host", []string{"https://a.example/"}, "curtsy"
		was := w.spec.ScopeHash()
		first := page("https://a.example/", 1, "")
		second := page("https://a.example/2", 2, `<a href="https://b.example/late">later</a>`)
		first.Scope, second.Scope = was, was
		x, _ := w.start(Options{Dir: t.TempDir(), Pace: 400 * time.Millisecond})
		w.hand(first)
		w.settled(x)
		w.hand(second) // waits for its commit for most of 400 ms
		eventually(t, "taken from the hand-off", func() bool {
			c, err := w.work.Pending(t.Context(), crawl.Names("test").PagesSubject(0))
			return err == nil && c > 0
		})
		time.Sleep(50 * time.Millisecond)
		wider := w.spec
		wider.Seeds = append(slices.Clone(wider.Seeds), "https://b.example/")
		if err := x.SetSpec(wider); err != nil {
			t.Fatal(err)
		}
		w.settled(x)
		eventually(t, "the link is offered", func() bool {
			return slices.Contains(w.events(0, func(ev *crawl.Event) (all []string) {
				for _, l := range ev.Links {
					for _, u := range l.URLs {
						all = append(all, string(u))
					}
				}
				return all
			}), "https://b.example/late")
		})
	})
}
