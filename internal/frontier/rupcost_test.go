package frontier

import (
	"fmt"
	rand "math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/testaid"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/rup"
)

// The cost of keeping a site with pages of 18 KB up to date, with some of them changing each day, a
// few being deleted and a few new: with RUP, mailed and polled, compared with re-crawl with only
// conditional requests and with the dates of a sitemap. The frontier is the production code; the
// fetcher is a function, and time is simulated, so the figures are exact and the same on every
// machine. CURTSY_LONG uses the 10,000 pages and five days that the documentation cites.
func TestUpdatesCost(t *testing.T) {
	const changedEach, removedEach, newEach = 80, 10, 10
	pages, rounds := 1000, testaid.Volume(2, 1)
	if testaid.Long {
		pages, rounds = 10_000, 5
	}
	type cost struct {
		requests, reported int
		bytes              int64
		stale              time.Duration
		open               int // changes that were not found when the round ended
	}
	ways := []struct {
		name string
		set  func(w *rupWorld, s *crawl.Spec)
		most float64 // the maximum number of requests per change; 0: any number
	}{
		{"RUP, mailed", func(_ *rupWorld, s *crawl.Spec) { s.Updates, s.UpdatesMail = true, testMail }, 1.1},
		{"RUP, polled", func(_ *rupWorld, s *crawl.Spec) { s.Updates = true }, 0},
		{"IndexNow", func(w *rupWorld, _ *crawl.Spec) { w.submits = true }, 0},
		{"feed, WebSub", func(w *rupWorld, s *crawl.Spec) {
			w.feed, s.Feeds, w.hub, s.Updates, s.UpdatesWebSub = true, true, true, true, "https://crawler.example/"
		}, 0},
		{"feed", func(w *rupWorld, s *crawl.Spec) { w.feed, s.Feeds = true, true }, 0},
		{"sitemap", func(w *rupWorld, s *crawl.Spec) { w.sitemap, s.Sitemaps = true, true }, 0},
		{"conditional GET", func(*rupWorld, *crawl.Spec) {}, 0},
	}
	var table strings.Builder
	fmt.Fprintf(&table, "%-16s %5s %9s %12s %15s %6s\n", "", "round", "requests", "MB", "found after", "unseen")
	for _, way := range ways {
		var all []cost
		synctest.Test(t, func(t *testing.T) {
			spec := updatesSpec("")
			spec.Updates = false
			var info *rup.Info
			if strings.HasPrefix(way.name, "RUP") {
				info = daily()
			}
			w := newRUPWorld(t, spec, pages, info)
			w.b.respec(func(s *crawl.Spec) { way.set(w, s) })
			w.b.links(0, "", w.base)
			w.run(time.Hour)
			if len(w.visited) != pages+1 {
				t.Fatalf("%s: %d pages in the first crawl", way.name, len(w.visited))
			}
			rng := rand.New(rand.NewPCG(6, 3))
			fresh := pages
			for range rounds {
				requests, bytes := w.requests, w.bytes
				var due []canon.URL
				for k := range changedEach + removedEach + newEach { // spread over the day
					w.run(23 * time.Hour / (changedEach + removedEach + newEach))
					switch i := rng.IntN(pages); {
					case k%10 == 3:
						w.change(fresh)
						due = append(due, w.url(fresh))
						fresh++
					case k%10 == 7 && !w.pages[w.url(i)].gone:
						w.remove(i)
						due = append(due, w.url(i))
					case !w.pages[w.url(i)].gone:
						w.change(i)
						due = append(due, w.url(i))
					}
				}
				w.run(time.Hour) // the report of the day comes within it
				c := cost{requests: w.requests - requests, reported: len(due), bytes: w.bytes - bytes}
				for _, u := range due {
					if p := w.pages[u]; p.gone && p.seen <= p.version || !p.gone && p.seen != p.version {
						c.open++
					} else {
						c.stale += p.stale
					}
				}
				if n := len(due) - c.open; n > 0 {
					c.stale /= time.Duration(n)
				}
				all = append(all, c)
			}
		})
		sum := cost{}
		for i, c := range all {
			fmt.Fprintf(&table, "%-16s %5d %9d %12.2f %15v %6d\n", way.name, i+1, c.requests, float64(c.bytes)/1e6, c.stale.Round(time.Minute), c.open)
			sum.requests, sum.bytes = sum.requests+c.requests, sum.bytes+c.bytes
			if limit := float64(c.reported)*way.most + 10; way.most > 0 && float64(c.requests) > limit {
				t.Errorf("%s, round %d: %d requests for %d changes, more than %.1f × that + 10", way.name, i+1, c.requests, c.reported, way.most)
			}
		}
		fmt.Fprintf(&table, "%-16s %5s %9d %12.2f\n", way.name, "all", sum.requests, float64(sum.bytes)/1e6)
	}
	t.Logf("%d pages of %d KB, %d changes a round (a day):\n%s", pages, rupPageSize>>10, changedEach+removedEach+newEach, table.String())
}
