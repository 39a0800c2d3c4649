package frontier

import (
	"container/heap"
	"fmt"
	rand "math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/ledger"
	"github.com/curtsy/curtsy/internal/racing"
	"github.com/curtsy/curtsy/pkg/canon"
)

// A host can be asked once in every delay and response time: that is a slot. This is what the
// production scheduler makes of their slots, in simulated time: shards with their files,
// matching of takes and due hosts, and fetchers that keep delays as internal/fetcher's gate does.

var crowdHosts = racing.Volume(2000, 200)

const (
	crowdWarmUp = 15 * time.Second
	crowdSpan   = 45 * time.Second // warm-up included
	crowdHands  = 64
	// What the way takes: a request to the frontier or back, and a message through the log.
	crowdHop = time.Millisecond
	crowdLog = 3 * time.Millisecond
)

func TestSlotUse(t *testing.T) {
	fixed := func(d time.Duration) func(*rand.Rand) time.Duration {
		return func(*rand.Rand) time.Duration { return d }
	}
	for _, c := range []struct {
		name  string
		delay func(host int) time.Duration // what its robots.txt asks for; 0: the configured second
		takes func(*rand.Rand) time.Duration
	}{
		{"one delay", func(int) time.Duration { return 0 }, fixed(100 * time.Millisecond)},
		{"mixed delays", func(h int) time.Duration { return []time.Duration{0, 0, 2, 5, 15}[h%5] * time.Second },
			func(rng *rand.Rand) time.Duration {
				return 20*time.Millisecond + time.Duration(rng.ExpFloat64()*float64(200*time.Millisecond))
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			began := time.Now()
			synctest.Test(t, func(t *testing.T) {
				w := newCrowd(t, c.delay, c.takes)
				w.run(crowdSpan)
				if use := w.share(crowdSpan); use < 0.97 || use > 1 {
					t.Errorf("%.2f %% of the slots used, want at least 97", 100*use)
				} else {
					t.Logf("%.2f %% of the slots of %d hosts used, %d requests in %d visits", 100*use, crowdHosts, w.requests, w.visits)
				}
			})
			t.Logf("took %v", time.Since(began).Round(time.Millisecond))
		})
	}
}

// crowd is a frontier, many hosts, and fetchers with hands enough for all of them. Like the
// model it is one goroutine that goes from event to event; the bubble's clock, by which the
// shard goes, is moved along.
type crowd struct {
	t      *testing.T
	rng    *rand.Rand
	takes  func(*rand.Rand) time.Duration
	start  time.Time
	events eventHeap
	made   int

	b      *bench
	f      *Frontier
	parked []*crowdTake
	timer  int // the number of match's timer: an earlier one is nothing
	hosts  map[canon.Host]*crowdHost

	requests, visits int
	used             time.Duration // of all slots after the warm-up
}

// crowdHost is a web server.
type crowdHost struct {
	asks  time.Duration // in its robots.txt
	delay time.Duration
	began time.Time // the last request
	ended time.Time
	busy  bool
}

// crowdFetcher is a fetcher with its hands, one taker, and its gate.
type crowdFetcher struct {
	free   int
	asking bool
	ends   map[canon.Host]time.Time
}

// crowdTake is a fetcher's wish, parked at the frontier.
type crowdTake struct {
	f     *crowdFetcher
	max   int
	until time.Time
}

func newCrowd(t *testing.T, delay func(int) time.Duration, takes func(*rand.Rand) time.Duration) *crowd {
	b := newBench(t, testSpec("http://h0.example/"))
	b.s.ledger.DB.DB().NoSync = true // the disk is not what is measured
	c := &crowd{
		t: t, rng: rand.New(rand.NewPCG(6, 4)), takes: takes, start: time.Now(), b: b, hosts: map[canon.Host]*crowdHost{},
		f: &Frontier{met: b.s.ledger.Metrics, shards: map[int]*shard{0: b.s}, log: b.s.ledger.Log},
	}
	urls := int(crowdSpan/time.Second) + 5
	for i := range crowdHosts {
		l := crawl.Links{}
		for u := range urls {
			l.URLs = append(l.URLs, canon.URL(fmt.Sprintf("http://h%d.example/%d.html", i, u)))
		}
		b.event(crawl.Event{Links: []crawl.Links{l}})
		c.hosts[l.URLs[0].Host()] = &crowdHost{asks: delay(i), delay: max(delay(i), b.spec.Delay)}
	}
	b.log = nil
	return c
}

func (c *crowd) in(d time.Duration, do func()) {
	c.made++
	heap.Push(&c.events, event{time.Since(c.start) + max(d, 0), c.made, do})
}

func (c *crowd) run(span time.Duration) {
	for range crowdHosts/crowdHands + 1 {
		f := &crowdFetcher{free: crowdHands, ends: map[canon.Host]time.Time{}}
		c.take(f)
	}
	c.keepCommitted()
	for len(c.events) > 0 {
		e := heap.Pop(&c.events).(event)
		if e.at > span {
			break
		}
		time.Sleep(e.at - time.Since(c.start))
		e.do()
	}
	for _, h := range c.hosts {
		if h.busy {
			c.slot(h.began, time.Now())
		}
	}
}

// share is which part of the slots there were was used, after the warm-up.
func (c *crowd) share(span time.Duration) float64 {
	return float64(c.used) / (float64(crowdHosts) * float64(span-crowdWarmUp))
}

// slot counts the time from the beginning of a request to the end of the delay after it.
func (c *crowd) slot(from, to time.Time) {
	a, b := max(from.Sub(c.start), crowdWarmUp), min(to.Sub(c.start), crowdSpan)
	c.used += max(b-a, 0)
}

// keepCommitted is the shard's.
func (c *crowd) keepCommitted() {
	c.in(ledger.CommitEvery, func() {
		c.b.s.visits.Expire(time.Now())
		if err := c.b.s.ledger.Commit(true); err != nil {
			c.t.Fatal(err)
		}
		c.keepCommitted()
	})
}

// take is the fetcher's: it asks for visits as long as there are hands free.
func (c *crowd) take(f *crowdFetcher) {
	if f.asking || f.free == 0 {
		return
	}
	f.asking = true
	n := min(f.free, 16)
	f.free -= n
	c.in(crowdHop, func() {
		c.parked = append(c.parked, &crowdTake{f, n, time.Now().Add(park)})
		c.match()
	})
}

// match is the frontier's.
func (c *crowd) match() {
	now := time.Now()
	keep := c.parked[:0]
	for _, t := range c.parked {
		visits, _ := c.f.grant(t.max, now)
		if len(visits) == 0 && now.Before(t.until) {
			keep = append(keep, t)
			continue
		}
		c.in(crowdHop, func() {
			t.f.asking = false
			t.f.free += t.max - len(visits)
			for i := range visits {
				c.visit(t.f, &visits[i])
			}
			c.in(5*time.Millisecond, func() { c.take(t.f) })
			if len(visits) > 0 {
				c.take(t.f)
			}
		})
	}
	c.parked = keep
	next := park
	for _, t := range c.parked {
		next = min(next, t.until.Sub(now))
	}
	if due, _ := c.f.nextDue(); !due.IsZero() && len(c.parked) > 0 {
		next = min(next, due.Sub(now))
	}
	c.timer++
	n := c.timer
	c.in(max(next, 200*time.Microsecond), func() {
		if n == c.timer {
			c.match()
		}
	})
}

// visit carries a visit out: robots.txt first when it is not known, then the pages,
// spaced by the gate.
func (c *crowd) visit(f *crowdFetcher, v *crawl.Visit) {
	c.visits++
	h := c.hosts[v.Host]
	delay, left := v.Delay, len(v.URLs)
	ev := crawl.Event{Visit: v.ID, Outcome: &crawl.Outcome{Host: v.Host, Private: true}}
	robots := v.Robots[0].Fresh <= 0
	told := false
	var renew, next func()
	renew = func() {
		c.in(v.Lease/3, func() {
			if told {
				return
			}
			if r := c.b.s.visits.Renew([]crawl.VisitID{v.ID}, time.Now()); len(r.Lost) > 0 {
				c.t.Fatalf("visit %v to %s was not renewed", v.ID, v.Host)
			}
			renew()
		})
	}
	renew()
	next = func() {
		if left == 0 && !robots {
			// Pages are acknowledged, then the outcome is on its way.
			c.in(crowdLog, func() {
				ev.Outcome.Delay, ev.Outcome.SinceEnd = delay, time.Since(h.ended)
				c.in(crowdLog, func() {
					told = true
					c.b.event(ev)
					c.b.log = nil
					f.free++
					c.take(f)
					c.match() // woken
				})
			})
			return
		}
		wait := time.Duration(0)
		if end := f.ends[v.Host]; !end.IsZero() {
			wait = time.Until(end.Add(delay))
		}
		c.in(wait, func() {
			c.request(h, func(took time.Duration) {
				f.ends[v.Host] = time.Now()
				ev.Outcome.Requests++
				if robots {
					robots = false
					fact := robotsOK(v.URLs[0].URL)
					if h.asks > 0 {
						fact.State, fact.Status, fact.HasCrawlDelay, fact.CrawlDelay = crawl.RobotsParsed, 200, true, h.asks
						fact.Body, fact.Digest = []byte("User-agent: *\n"), make([]byte, 32)
						delay = max(delay, h.asks)
					}
					ev.Robots = append(ev.Robots, fact)
				} else {
					u := v.URLs[len(v.URLs)-left].URL
					ev.Outcome.Results = append(ev.Outcome.Results, crawl.Result{URL: u, Class: crawl.Stored, Status: 200, Took: took, FetchedAt: time.Now()})
					left--
				}
				next()
			})
		})
	}
	next()
}

// request is one as the web server sees it.
func (c *crowd) request(h *crowdHost, done func(took time.Duration)) {
	if h.busy || !h.ended.IsZero() && time.Since(h.ended) < h.delay {
		c.t.Fatalf("asked %v after the last answer (busy: %v), the delay is %v", time.Since(h.ended), h.busy, h.delay)
	}
	took := c.takes(c.rng)
	h.busy, h.began = true, time.Now()
	c.in(took, func() {
		h.busy, h.ended = false, time.Now()
		c.requests++
		c.slot(h.began, h.ended.Add(h.delay))
		done(took)
	})
}
