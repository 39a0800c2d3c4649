package frontier

import (
	"fmt"
	"math"
	rand "math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/internal/likeness"
	"github.com/curtsy/curtsy/internal/testaid"
	"github.com/curtsy/curtsy/pkg/canon"
)

// A site of siteSize pages, one hundredth of which changes in a round, and a delay that allows
// requests for a tenth of them in a round: which changes are found? In each round each page changes
// with a probability of its own, at some moment; a change is found if the page is requested before
// it changes again.
const (
	siteSize   = 2000
	siteRound  = 24 * time.Hour
	siteBudget = siteSize / 10 // requests per round
	siteDelay  = siteRound / siteBudget
	siteFirst  = siteSize / siteBudget // rounds of the first crawl
	siteAfter  = 40                    // rounds after it, which are compared
)

// siteModel defines how the changes of a round are distributed over the pages: the relative
// probability that the page of a rank changes.
type siteModel struct {
	name  string
	share func(rank int, rng *rand.Rand) float64
	least float64 // the minimum ratio of what production finds to what round robin finds
}

// hot is a model in which some pages change, all at the same rate, and all others never do.
func hot(pages int) func(int, *rand.Rand) float64 {
	return func(rank int, _ *rand.Rand) float64 {
		if rank < pages {
			return 1
		}
		return 0
	}
}

// The operator wants each page fetched once a round, which is ten times what the delay allows. The
// gain is limited: round robin fetches a page every tenth round, and misses few changes of pages
// that change more rarely.
func TestChangesAreFound(t *testing.T) {
	driven(t)
	models := []siteModel{
		{"the same 1 % of the pages change every round", hot(siteSize / 100), 6},
		{"2 % change every other round", hot(siteSize / 50), 3},
		{"5 % change every fifth round", hot(siteSize / 20), 1.5},
		{"10 % change every tenth round", hot(siteSize / 10), 1.1},
		{"Zipf, exponent 2", func(rank int, _ *rand.Rand) float64 { return math.Pow(float64(rank+1), -2) }, 2},
		{"Zipf, exponent 1", func(rank int, _ *rand.Rand) float64 { return 1 / float64(rank+1) }, 1.1},
		{"log-normal, sigma 3", func(_ int, rng *rand.Rand) float64 { return math.Exp(3 * rng.NormFloat64()) }, 1.5},
		{"all pages change alike", hot(siteSize), 0.85},
	}
	for _, m := range models[:testaid.Volume(len(models), 1)] {
		t.Run(m.name, func(t *testing.T) {
			for seed := range uint64(testaid.Runs(1, 1)) {
				bounds := []time.Duration{siteRound}
				// Without a bound nothing is required; the result is only logged.
				if testaid.Long {
					bounds = append(bounds, 0)
				}
				for _, most := range bounds {
					var made, found, late, asked, robin, robinLate int
					synctest.Test(t, func(t *testing.T) {
						made, robin, robinLate = newChanging(m, seed).roundRobin()
						found, late, asked = newChanging(m, seed).crawl(t, most)
					})
					t.Logf("seed %d: of %d changes found %d, round robin %d: %.2f times as many; in the second half %.2f; with %.0f %% of the requests",
						seed, made, found, robin, ratio(found, robin), ratio(late, robinLate), 100*ratio(asked, siteAfter*siteBudget))
					if got := ratio(found, robin); got < m.least && most > 0 {
						t.Errorf("seed %d: %.2f times what round robin finds, want %.2f", seed, got, m.least)
					}
				}
			}
		})
	}
}

func ratio(a, b int) float64 { return float64(a) / float64(max(b, 1)) }

// changing is a web server whose pages change at times that it knows in advance.
type changing struct {
	changes [][]time.Duration // of each page, ascending, from the beginning
	made    int               // after the first crawl
}

func newChanging(m siteModel, seed uint64) *changing {
	rng := rand.New(rand.NewPCG(seed, 5))
	p := make([]float64, siteSize)
	for i := range p {
		p[i] = m.share(i, rng)
	}
	// Scale the shares so that 1 % change in a round, none with a probability over 1.
	low, high := 0.0, 1e12
	for range 200 {
		mid, sum := (low+high)/2, 0.0
		for _, x := range p {
			sum += min(1, x*mid)
		}
		if sum > siteSize/100 {
			high = mid
		} else {
			low = mid
		}
	}
	rng.Shuffle(len(p), func(i, j int) { p[i], p[j] = p[j], p[i] })
	w := &changing{changes: make([][]time.Duration, siteSize)}
	for round := range siteFirst + siteAfter {
		for i := range p {
			if rng.Float64() < min(1, p[i]*high) {
				w.changes[i] = append(w.changes[i], time.Duration(round)*siteRound+time.Duration(rng.Int64N(int64(siteRound))))
				if round >= siteFirst {
					w.made++
				}
			}
		}
	}
	return w
}

// version returns how often a page has changed.
func (w *changing) version(page int, at time.Duration) (n int) {
	for n < len(w.changes[page]) && w.changes[page][n] <= at {
		n++
	}
	return n
}

// tally counts the pages found changed.
type tally struct {
	seen               [siteSize]int
	found, late, asked int
}

func (c *tally) look(w *changing, page int, at time.Duration) {
	v := w.version(page, at)
	if at >= siteFirst*siteRound {
		c.asked++
	}
	if v != c.seen[page] && at >= siteFirst*siteRound {
		c.found++
		if at >= (siteFirst+siteAfter/2)*siteRound {
			c.late++
		}
	}
	c.seen[page] = v
}

// roundRobin requests page after page, as often as the delay allows.
func (w *changing) roundRobin() (made, found, late int) {
	var c tally
	for n := range (siteFirst + siteAfter) * siteBudget {
		c.look(w, n%siteSize, time.Duration(n)*siteDelay)
	}
	return w.made, c.found, c.late
}

// crawl lets a shard decide what to request, from the first link on.
func (w *changing) crawl(t *testing.T, most time.Duration) (found, late, asked int) {
	spec := testSpec("http://a.example/")
	spec.Delay, spec.Recrawl, spec.RecrawlMax = siteDelay, true, most
	b := newBench(t, spec)
	b.s.Ledger.DB.DB().NoSync = true // the disk is not measured
	l := crawl.Links{}
	for i := range siteSize {
		l.URLs = append(l.URLs, canon.URL(fmt.Sprintf("http://a.example/%d", i)))
	}
	b.event(crawl.Event{Links: []crawl.Links{l}})
	var c tally
	for began := time.Now(); time.Since(began) < (siteFirst+siteAfter)*siteRound; {
		for _, v := range b.grant(1) {
			b.answer(v, func(u crawl.VisitURL) crawl.Result {
				var page int
				fmt.Sscanf(string(u.URL), "http://a.example/%d", &page)
				at := time.Since(began)
				c.look(w, page, at)
				return crawl.Result{Class: crawl.Stored, Status: 200, Digest: 1 + uint64(c.seen[page])}
			})
		}
		time.Sleep(siteDelay)
	}
	b.verify()
	return c.found, c.late, c.asked
}

// A clock in a page is not a change. On a site on which half of the pages show the time, real
// changes are found about as well as on one without clocks, after the clocks are recognised, which
// takes four requests each; and a page on which only a number changes, but rarely, is not
// classified as one with a clock.
func TestAClockInAPageIsNoChange(t *testing.T) {
	driven(t)
	const size, hot, delay, days = 400, 8, 36 * time.Minute, 100 // 40 requests a day
	text := func(page, edition, clock int) uint64 {
		words := make([]string, 0, 200)
		for i := range 200 {
			words = append(words, fmt.Sprintf("w%d", (page*31+edition*57+i*7)%5000))
		}
		return likeness.OfText(fmt.Appendf(nil, "%s it is now %d", strings.Join(words, " "), clock))
	}
	run := func(clocks bool) (found int, b *bench) {
		spec := testSpec("http://a.example/")
		spec.Delay, spec.Recrawl = delay, true
		b = newBench(t, spec)
		b.s.Ledger.DB.DB().NoSync = true
		l := crawl.Links{}
		for i := range size {
			l.URLs = append(l.URLs, canon.URL(fmt.Sprintf("http://a.example/%d", i)))
		}
		b.event(crawl.Event{Links: []crawl.Links{l}})
		seen := map[int]int{}
		requests := 0
		for began := time.Now(); time.Since(began) < days*24*time.Hour; time.Sleep(delay) {
			for _, v := range b.grant(1) {
				b.answer(v, func(u crawl.VisitURL) crawl.Result {
					var page int
					fmt.Sscanf(string(u.URL), "http://a.example/%d", &page)
					edition, clock := 0, 0
					switch day := int(time.Since(began) / (24 * time.Hour)); {
					case page < hot: // another text each day
						edition = day
					case page == hot: // another number each day
						clock = day
					case clocks && page%2 == 0:
						requests++
						clock = requests
					}
					if page < hot && edition != seen[page] && time.Since(began) > days/2*24*time.Hour {
						found++
					}
					seen[page] = edition
					r := crawl.Result{Class: crawl.Stored, Status: 200, Digest: 1 + uint64(page)<<32 + uint64(edition)<<16 + uint64(clock)}
					if u.Keep {
						r.Likeness = text(page, edition, clock)
					}
					return r
				})
			}
		}
		b.verify()
		return found, b
	}
	synctest.Test(t, func(t *testing.T) {
		quiet, _ := run(false)
		loud, b := run(true)
		noise := 0
		for i := range size {
			r := b.record(fmt.Sprintf("http://a.example/%d", i))
			if r.Noise == urls.Noisy {
				noise++
			}
			if r.Noise == urls.Noisy && (i%2 == 1 || i <= hot) {
				t.Errorf("page %d is taken for noise: %+v", i, r.Again)
			}
		}
		t.Logf("of %d changes found: %d without clocks, %d where every other page has one; %d of %d pages known to be noisy", hot*days/2, quiet, loud, noise, size)
		if quiet < 200 || loud < quiet*3/4 || noise < size/4 {
			t.Errorf("found %d without clocks, %d with; %d pages are known to be noisy", quiet, loud, noise)
		}
		if r := b.record(fmt.Sprintf("http://a.example/%d", hot)); r.Changed < 5 {
			t.Errorf("the page whose number changes: %+v", r.Again)
		}
	})
}

// answer ends a visit with the result of f for each URL, and with a missing robots.txt.
func (b *bench) answer(v crawl.Visit, f func(crawl.VisitURL) crawl.Result) {
	b.t.Helper()
	o := &crawl.Outcome{Host: v.Host, Delay: v.Delay, Requests: len(v.URLs), Private: true}
	for _, u := range v.URLs {
		r := f(u)
		r.URL = u.URL
		if r.Status != 0 {
			r.FetchedAt = time.Now()
		}
		o.Results = append(o.Results, r)
	}
	ev := crawl.Event{Visit: v.ID, Outcome: o}
	for _, r := range v.Robots {
		ev.Robots = append(ev.Robots, robotsOK(canon.URL(r.Origin.String()+"/")))
	}
	b.event(ev)
}
