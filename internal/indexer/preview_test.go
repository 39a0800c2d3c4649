package indexer

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simnet"
)

// What a wider scope is said to let in is what is offered once it is set.
func TestLinksJudgedAreLinksOffered(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.spec.Scope, w.spec.Seeds, w.spec.Agent, w.spec.MaxDepth = "host", []string{"https://a.example/"}, "curtsy", -1
		x, _ := w.start(Options{Dir: t.TempDir()})
		for i := range 5 {
			var links strings.Builder
			for j := range 10 { // half of them are on the page before as well
				fmt.Fprintf(&links, `<a href="https://b.example/%d">x</a><a href="https://a.example/%d">x</a>`, 5*i+j, j)
			}
			w.hand(page(fmt.Sprintf("https://a.example/page%d", i), uint64(i+1), links.String()))
		}
		w.settled(x)
		wider := w.spec
		wider.Seeds = append(slices.Clone(wider.Seeds), "https://b.example/")
		judged := func(next crawl.Spec) (all crawl.SpecEffect) {
			if err := x.previewLinks(t.Context(), next, func(part crawl.SpecEffect) error { all.Merge(part); return nil }); err != nil {
				t.Fatal(err)
			}
			return all
		}
		said := judged(wider)
		if said.Known != 5 || said.Looked != 5 || said.Adds.Count() != 30 {
			t.Errorf("%d of %d pages let in %.0f URLs, want 30", said.Looked, said.Known, said.Adds.Count())
		}
		if same := judged(w.spec); same.Adds.Count() != 0 {
			t.Errorf("the same scope lets in %.0f", same.Adds.Count())
		}
		if err := x.SetSpec(wider); err != nil {
			t.Fatal(err)
		}
		w.settled(x)
		eventually(t, "as many are offered", func() bool {
			offered := map[string]bool{}
			w.events(0, func(ev *crawl.Event) []string {
				for _, l := range ev.Links {
					for _, u := range l.URLs {
						if u.Host() == "b.example" {
							offered[string(u)] = true
						}
					}
				}
				return nil
			})
			return len(offered) == int(said.Adds.Count())
		})
	})
}
