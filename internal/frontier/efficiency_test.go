package frontier

import (
	"container/heap"
	"fmt"
	rand "math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/testaid"
	"github.com/curtsy/curtsy/pkg/canon"
)

// A host can get one request per delay plus response time: that is a slot. These tests measure how
// many of the slots the production scheduler uses, in simulated time: shards with their files,
// matching of requests for visits and due hosts, and fetchers that keep delays like the gate of
// internal/fetcher.

// crowdHosts is the number of hosts: in `make long` as many as bench/README.md states.
var crowdHosts = crowdSize()

func crowdSize() int {
	if testaid.Long {
		return testaid.Volume(2000, 200)
	}
	return testaid.Volume(400, 200)
}

const (
	crowdWarmUp = 15 * time.Second
	crowdSpan   = 45 * time.Second // warm-up included
	crowdSlots  = 64
	// The time for a request to the frontier or back, and for a message through the log.
	crowdHop = time.Millisecond
	crowdLog = 3 * time.Millisecond
)

func TestSlotUse(t *testing.T) {
	fixed := func(d time.Duration) func(*rand.Rand) time.Duration {
		return func(*rand.Rand) time.Duration { return d }
	}
	for _, c := range []struct {
		name  string
		delay func(host int) time.Duration // of its robots.txt; 0: the configured second
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
				w := newCrowd(t, crowdOf{
					hosts: crowdHosts, shards: 1, span: crowdSpan, warmUp: crowdWarmUp, delay: c.delay, takes: c.takes,
					urls: func(int) int { return int(crowdSpan/time.Second) + 5 },
				})
				w.run()
				if use := w.share(); use < 0.99 || use > 1 {
					t.Errorf("%.2f %% of the slots used, want at least 99", 100*use)
				} else {
					t.Logf("%.2f %% of the slots of %d hosts used, %d requests in %d visits", 100*use, crowdHosts, w.requests, w.visits)
				}
			})
			t.Logf("took %v", time.Since(began).Round(time.Millisecond))
		})
	}
}

// crowdOf defines a crowd.
type crowdOf struct {
	hosts, shards int
	// warmUp is the first part of span, in which nothing is counted.
	span, warmUp time.Duration
	// delay is the delay in the robots.txt of a host; 0: the configured second.
	delay func(host int) time.Duration
	urls  func(host int) int
	takes func(*rand.Rand) time.Duration // the time for an answer
}

// crowd is a frontier, many hosts, and fetchers with enough free slots for all of them. Like the
// model, it is one goroutine that goes from event to event and advances the clock of the bubble,
// which the shard uses.
type crowd struct {
	of     crowdOf
	t      *testing.T
	rng    *rand.Rand
	start  time.Time
	events eventHeap
	made   int

	shards  []*bench
	f       *Frontier
	waiting []*crowdTake // sorted by deadline, the earliest first
	timer   int          // the number of the current timer of match: earlier timers are ignored
	hosts   map[canon.Host]*crowdHost

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
	left  int           // URLs that were not fetched yet
	gate  *crowdFetcher // the fetcher of the last one, which knows when it ended
}

// crowdFetcher is a fetcher with its free slots, one outstanding request for visits, and its gate.
type crowdFetcher struct {
	free   int
	asking bool
}

// crowdTake is a fetcher's request for visits that waits at the frontier.
type crowdTake struct {
	f     *crowdFetcher
	max   int
	until time.Time
}

func newCrowd(t *testing.T, of crowdOf) *crowd {
	c := &crowd{of: of, t: t, rng: rand.New(rand.NewPCG(6, 4)), start: time.Now(), hosts: map[canon.Host]*crowdHost{}}
	spec := testSpec("http://h0.example/")
	spec.Shards = of.shards
	for i := range of.shards {
		b := newBenchOf(t, spec, i)
		b.s.Ledger.DB.DB().NoSync = true // the disk is not measured
		c.shards = append(c.shards, b)
	}
	c.f = &Frontier{shards: map[int]*Shard{}}
	c.f.matcher = newMatcher("a", len(c.shards), c.f.open, c.f.full, c.shards[0].s.Ledger.Log, c.shards[0].s.Ledger.Metrics, nil, nil)
	for i, b := range c.shards {
		c.f.shards[i] = b.s
	}
	for i := range of.hosts {
		l := crawl.Links{}
		for u := range of.urls(i) {
			l.URLs = append(l.URLs, canon.URL(fmt.Sprintf("http://h%d.example/%d.html", i, u)))
		}
		host := l.URLs[0].Host()
		c.apply(c.shardOf(host), crawl.Event{Links: []crawl.Links{l}})
		c.hosts[host] = &crowdHost{asks: of.delay(i), delay: max(of.delay(i), spec.Delay), left: len(l.URLs)}
		if i%1000 == 999 { // the timed commits do not happen, because the clock does not advance
			for _, b := range c.shards {
				b.commit()
			}
		}
	}
	return c
}

func (c *crowd) shardOf(h canon.Host) *bench { return c.shards[crawl.ShardOf(h, len(c.shards))] }

// status returns the sum over all shards.
func (c *crowd) status() (sum crawl.Status) {
	for _, b := range c.shards {
		st := b.status()
		sum.Discovered += st.Discovered
		sum.Queued += st.Queued
		sum.Stored += st.Stored
	}
	return sum
}

// apply applies an event and keeps no copy of it, which only crashes need.
func (c *crowd) apply(b *bench, e crawl.Event) {
	b.event(e)
	b.log = b.log[:0]
}

func (c *crowd) in(d time.Duration, do func()) {
	c.made++
	heap.Push(&c.events, event{time.Since(c.start) + max(d, 0), c.made, do})
}

func (c *crowd) run() {
	for range c.of.hosts/crowdSlots + 1 {
		c.take(&crowdFetcher{free: crowdSlots})
	}
	for _, b := range c.shards {
		c.keepCommitted(b)
	}
	for len(c.events) > 0 {
		e := heap.Pop(&c.events).(event)
		if e.at > c.of.span {
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

// share returns which part of the slots was used, after the warm-up. A host has slots as long as it
// has URLs, and until the delay after the last of them has passed.
func (c *crowd) share() float64 {
	var had time.Duration
	for _, h := range c.hosts {
		to := c.of.span
		if h.left == 0 {
			to = min(to, h.ended.Add(h.delay).Sub(c.start))
		}
		had += max(to-c.of.warmUp, 0)
	}
	return float64(c.used) / float64(had)
}

// slot counts the time from the beginning of a request to the end of the delay after it.
func (c *crowd) slot(from, to time.Time) {
	a, b := max(from.Sub(c.start), c.of.warmUp), min(to.Sub(c.start), c.of.span)
	c.used += max(b-a, 0)
}

// keepCommitted does what the shard's does.
func (c *crowd) keepCommitted(b *bench) {
	c.in(store.CommitEvery, func() {
		if err := b.s.Ledger.Guarded(func() error { return b.s.upkeep(time.Now()) }); err != nil {
			c.t.Fatal(err)
		}
		c.keepCommitted(b)
	})
}

// take does what the fetcher does: it requests visits as long as it has free slots.
func (c *crowd) take(f *crowdFetcher) {
	if f.asking || f.free == 0 {
		return
	}
	f.asking = true
	n := min(f.free, 16)
	f.free -= n
	c.in(crowdHop, func() {
		c.waiting = append(c.waiting, &crowdTake{f, n, time.Now().Add(grantWait)})
		c.match()
	})
}

// match does what the frontier does. If it had nothing for one request, it has nothing for later
// ones either, so then it only checks those whose deadline has passed.
func (c *crowd) match() {
	now := time.Now()
	for dry := false; len(c.waiting) > 0; c.waiting = c.waiting[1:] {
		t := c.waiting[0]
		var visits []crawl.Visit
		if !dry {
			visits, _ = c.f.matcher.grant(t.max, now)
			dry = len(visits) == 0
		}
		if len(visits) == 0 && now.Before(t.until) {
			break
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
	next := grantWait
	if len(c.waiting) > 0 {
		next = min(next, c.waiting[0].until.Sub(now))
	}
	if due, _ := c.f.matcher.nextDue(); !due.IsZero() && len(c.waiting) > 0 {
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

// visit carries a visit out: robots.txt first if it is not known, then the pages, spaced by the
// gate.
func (c *crowd) visit(f *crowdFetcher, v *crawl.Visit) {
	c.visits++
	h, b := c.hosts[v.Host], c.shardOf(v.Host)
	delay, left := v.Delay, len(v.URLs)
	ev := crawl.Event{Visit: v.ID, Outcome: &crawl.Outcome{Host: v.Host, Private: true}}
	robots := v.Robots[0].Fresh <= 0
	reported := false
	var renew, next func()
	renew = func() {
		c.in(v.Lease/3, func() {
			if reported {
				return
			}
			if r := b.s.Visits.Renew([]crawl.VisitID{v.ID}, time.Now()); len(r.Lost) > 0 {
				c.t.Fatalf("visit %v to %s was not renewed", v.ID, v.Host)
			}
			renew()
		})
	}
	renew()
	next = func() {
		if left == 0 && !robots {
			// Pages are acknowledged, then the outcome is published.
			c.in(crowdLog, func() {
				ev.Outcome.Delay, ev.Outcome.SinceEnd = delay, time.Since(h.ended)
				c.in(crowdLog, func() {
					reported = true
					c.apply(b, ev)
					f.free++
					c.take(f)
					c.match() // because of the event
				})
			})
			return
		}
		wait := time.Duration(0)
		if h.gate == f {
			wait = time.Until(h.ended.Add(delay))
		}
		c.in(wait, func() {
			c.request(h, func(took time.Duration) {
				h.gate = f
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
					h.left--
				}
				next()
			})
		})
	}
	next()
}

// request is a request as the web server sees it.
func (c *crowd) request(h *crowdHost, done func(took time.Duration)) {
	if h.busy || !h.ended.IsZero() && time.Since(h.ended) < h.delay {
		c.t.Fatalf("asked %v after the last answer (busy: %v), the delay is %v", time.Since(h.ended), h.busy, h.delay)
	}
	took := c.of.takes(c.rng)
	h.busy, h.began = true, time.Now()
	c.in(took, func() {
		h.busy, h.ended = false, time.Now()
		c.requests++
		c.slot(h.began, h.ended.Add(h.delay))
		done(took)
	})
}
