package simweb

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestNaiveCrawlerOnPresets(t *testing.T) {
	t.Run("default mix", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			checkCrawl(t, Config{Hosts: MixSize() + 3, PagesPerHost: 10, CrossLinks: 2, Seed: 3, Mix: func(i int) Behavior {
				b := DefaultMix(i)
				b.Stall = 50 * time.Millisecond
				return b
			}})
		})
	})
	t.Run("demo", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			checkCrawl(t, Demo())
		})
	})
	t.Run("mixed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			checkCrawl(t, Mixed(30, 5))
		})
	})
	t.Run("bench", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			cfg := Bench(5, 40, 4)
			cfg.LogLimit = 0
			checkCrawl(t, cfg)
		})
	})
	t.Run("every feature on one host", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			checkCrawl(t, one(Behavior{Robots: RobotsHostSelf, Features: Features(), Stall: 50 * time.Millisecond}))
		})
	})
}

func TestDemoShowsEveryRefusalAndNoHold(t *testing.T) {
	w := New(Demo())
	seen := map[string]int{}
	want := w.Expect("curtsy")
	for _, e := range want {
		seen[string(e.Class)+" "+e.Reason]++
	}
	for _, reason := range []string{
		"refused robots", "refused mirror", "refused noindex", "refused type", "refused redirects", "refused address", "refused scope",
		"refused too-long", "failed http-4xx", "failed encoding", "failed location", "redirected ", "stored ",
	} {
		if seen[reason] == 0 {
			t.Errorf("the demo shows no %q: %v", reason, seen)
		}
	}
	for kind := range seen {
		if strings.HasPrefix(kind, string(StaysQueued)) {
			t.Errorf("the demo holds a host: %s", kind)
		}
	}
	t.Logf("%d URLs, %d numbered pages: %v", len(want), w.Pages(), seen)
	if n := w.Pages(); n < 120 || n > 180 {
		t.Errorf("%d pages, want about 150", n)
	}
}
