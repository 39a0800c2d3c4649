package fetcher

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/scope"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/simweb/requestlog"
	"github.com/curtsy/curtsy/pkg/canon"
)

// toy is the smallest frontier that can finish a crawl. It is in memory, behind a desk, and forgets
// nothing.
type toy struct {
	d     *desk
	delay time.Duration

	mu     sync.Mutex
	hosts  map[canon.Host]*toyHost
	state  map[canon.URL]crawl.Class
	reason map[canon.URL]crawl.Reason
	tries  map[canon.URL]int
	busy   int
	skip   func(canon.URL) bool // URLs that would never end
}

type toyHost struct {
	queue   []crawl.VisitURL
	aux     []crawl.AuxRequest
	robots  map[canon.Origin]*crawl.Robots
	fails   map[canon.Origin]int
	due     time.Time
	visit   crawl.VisitID
	urls    map[canon.URL]crawl.VisitURL
	held    bool
	private bool
}

func newToy(d *desk, delay time.Duration, seeds []string, skip func(canon.URL) bool) *toy {
	f := &toy{d: d, delay: delay, skip: skip, hosts: map[canon.Host]*toyHost{}, state: map[canon.URL]crawl.Class{},
		reason: map[canon.URL]crawl.Reason{}, tries: map[canon.URL]int{}}
	d.seen = f.apply
	for _, s := range seeds {
		f.add(crawl.VisitURL{URL: mustURL(d.t, s)})
	}
	return f
}

func (f *toy) host(h canon.Host) *toyHost {
	if f.hosts[h] == nil {
		f.hosts[h] = &toyHost{robots: map[canon.Origin]*crawl.Robots{}, fails: map[canon.Origin]int{}}
	}
	return f.hosts[h]
}

func (f *toy) add(u crawl.VisitURL) {
	if _, ok := f.state[u.URL]; ok {
		return
	}
	if _, trap := scope.Trap(u.URL); trap || f.skip(u.URL) {
		return
	}
	f.state[u.URL] = crawl.Queued
	h := f.host(u.URL.Host())
	h.queue = append(h.queue, u)
}

func (f *toy) apply(_ int, e *crawl.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range e.Links {
		for _, u := range l.URLs {
			f.add(crawl.VisitURL{URL: u, FoundOn: l.FoundOn, Depth: l.Depth, Redirects: l.Redirects})
		}
	}
	facts := e.Robots
	for _, a := range e.Answers {
		facts = append(facts, a.Robots)
	}
	for _, r := range facts {
		h := f.host(r.Origin.Host)
		h.robots[r.Origin] = &r
		switch {
		case r.State == crawl.RobotsPending:
			u := mustURL(f.d.t, r.Location)
			t := f.host(u.Host())
			t.aux = append(t.aux, crawl.AuxRequest{Kind: crawl.AuxRobots, URL: u, Origin: r.Origin, Hop: r.Redirects})
		case r.State == crawl.RobotsUnreachable:
			h.fails[r.Origin]++
			h.held = h.fails[r.Origin] >= 3
			h.due = time.Now().Add(max(100*time.Millisecond, r.RetryAfter))
		}
		h.held = h.held || r.CrawlDelay > 10*time.Minute
	}
	if e.Outcome == nil {
		return
	}
	h := f.host(e.Outcome.Host)
	for _, r := range e.Outcome.Results {
		u := h.urls[r.URL]
		switch {
		case r.Class == crawl.Retry && f.tries[r.URL] < 2:
			f.tries[r.URL]++
			f.reason[r.URL] = r.Reason
			h.queue = append(h.queue, u)
		case r.Class == crawl.Retry:
			f.state[r.URL] = crawl.Failed
		case r.Class == crawl.Returned:
			h.queue = append(h.queue, u)
		default:
			f.state[r.URL], f.reason[r.URL] = r.Class, r.Reason
		}
	}
	for _, done := range e.Outcome.Done {
		h.aux = slices.DeleteFunc(h.aux, func(e crawl.AuxRequest) bool { return e == done })
	}
	if e.Outcome.Partial {
		return
	}
	if e.Visit != h.visit {
		f.d.t.Errorf("outcome of visit %v of %s, outstanding is %v", e.Visit, e.Outcome.Host, h.visit)
	}
	h.visit = crawl.VisitID{}
	f.busy--
	h.private = e.Outcome.Private
	end := time.Now().Add(-e.Outcome.SinceEnd)
	for _, t := range []time.Time{end.Add(e.Outcome.Delay), end.Add(e.Outcome.RetryAfter)} {
		if t.After(h.due) {
			h.due = t
		}
	}
}

// run grants visits until nothing is left to do.
func (f *toy) run(limit time.Duration) {
	for end := time.Now().Add(limit); ; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			f.mu.Lock()
			for name, h := range f.hosts {
				f.d.t.Logf("%s: %d queued, %d auxiliary requests, visit %v, due in %v, held %v", name, len(h.queue), len(h.aux), h.visit, time.Until(h.due), h.held)
			}
			f.mu.Unlock()
			f.d.t.Fatalf("the crawl is not done after %v", limit)
		}
		f.mu.Lock()
		now := time.Now()
		idle := f.busy == 0
		for name, h := range f.hosts {
			pending := false
			for _, r := range h.robots {
				pending = pending || r.State == crawl.RobotsPending
			}
			urls := h.queue
			if h.held || pending {
				urls = nil
			}
			if !h.visit.IsZero() || len(urls) == 0 && len(h.aux) == 0 {
				idle = idle && h.visit.IsZero() && !pending
				continue
			}
			idle = false
			if h.due.After(now) {
				continue
			}
			v := crawl.Visit{Host: name, Delay: f.delay, Aux: h.aux, Hurried: true}
			n := min(len(urls), 32)
			v.URLs = slices.Clone(urls[:n])
			h.queue = h.queue[n:]
			if h.held || pending {
				h.queue = append(v.URLs, h.queue...)
			}
			h.urls = map[canon.URL]crawl.VisitURL{}
			for _, u := range v.URLs {
				h.urls[u.URL] = u
			}
			for _, r := range h.robots {
				if r.State != crawl.RobotsUnreachable {
					v.Delay = max(v.Delay, r.CrawlDelay)
					v.Robots = append(v.Robots, *r)
				}
			}
			h.visit = f.d.grant(v)
			f.busy++
		}
		f.mu.Unlock()
		if idle {
			return
		}
	}
}

// classes returns the outcome of each URL, in simweb's words.
func (f *toy) classes() map[string]simweb.Class {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make(map[string]simweb.Class)
	for u, c := range f.state {
		switch {
		case c == crawl.Queued:
			out[string(u)] = simweb.StaysQueued
		default:
			out[string(u)] = simweb.Class(c.String())
		}
	}
	return out
}

// A whole web with every oddity that simweb has: the outcome of each URL, and what each origin
// received.
func TestWholeWeb(t *testing.T) {
	virtual(t, func(t *testing.T) {
		cfg := simweb.Config{Hosts: simweb.MixSize(), PagesPerHost: 5, Listen: simnet.Of(t).Listen}
		web, err := simweb.Start(cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer web.Close()
		d := newDesk(t, 4)
		spec := testSpec(4, "")
		spec.Resolve = []string{web.Resolve()}
		spec.Seeds, spec.Scope, spec.Contact = web.Seeds(), "domain", "test@sim.test"
		const delay = 2 * time.Millisecond
		f := newToy(d, delay, web.Seeds(), func(u canon.URL) bool { return web.Trap(string(u)) })
		_, stop := startFetcher(t, d, spec, Options{})
		f.run(time.Hour)
		stop()
		for _, line := range web.DiffLinks("curtsy", f.classes()) {
			t.Error(line)
		}
		want := web.Expect("curtsy")
		for u, e := range want {
			got := string(f.reason[canon.URL(u)])
			if c := f.state[canon.URL(u)]; (c == crawl.Refused || c == crawl.Failed) && got != e.Reason && e.Reason != "mirror" {
				t.Errorf("%s: reason %s, want %s", u, got, e.Reason)
			}
		}
		opt := requestlog.CheckOptions{Delay: func(string) time.Duration { return delay }, Token: "curtsy"}
		for _, bad := range requestlog.Check(web.Log(), opt) {
			t.Error(bad)
		}
		if len(web.Log()) < 300 {
			t.Errorf("only %d requests", len(web.Log()))
		}
	})
}
