package mirror

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/likeness"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// site is one origin of a small web, in which there is no shard, no fetcher and no clock.
type site struct {
	robots   string // "404", "down", or the file
	pages    map[string]string
	stored   map[string]string // pages fetched earlier, as they were then
	moved    string            // every page is a 301 to the same path there
	outside  bool              // of the crawl's scope
	led      int
	slowDown bool // robots.txt does not answer for a while: the auxiliary request is lost
	broken   bool // every page is a 500
}

// world plays the owners of all origins: it delivers auxiliary requests and answers.
type world struct {
	t     *testing.T
	now   time.Time
	sites map[string]*site
	db    map[canon.Origin]*Record
	asks  []crawl.AuxRequest
	// requests counts the page requests that had to be sent, claims the origins whose claim was
	// requested.
	requests, claims map[string]int
}

func newWorld(t *testing.T, sites map[string]*site) *world {
	return &world{t: t, now: time.Unix(1_700_000_000, 0), sites: sites, db: map[canon.Origin]*Record{}, requests: map[string]int{}, claims: map[string]int{}}
}

func originOf(name string) canon.Origin {
	if !strings.Contains(name, "://") {
		name = "http://" + name
	}
	return canon.URL(name + "/").Origin()
}

func (w *world) site(o canon.Origin) *site {
	if s := w.sites[string(o.Host)]; s != nil && o.Scheme == "http" && o.Port == 80 {
		return s
	}
	return w.sites[o.String()]
}

// claim is what a frontier or fetcher finds out about an origin.
func (w *world) claim(o canon.Origin) crawl.Claim {
	s := w.site(o)
	switch {
	case s == nil || s.robots == "down":
		return crawl.Claim{Reason: "dns: no such host"}
	case s.robots == "404":
		return crawl.Claim{Kind: crawl.ClaimNone}
	}
	return claimOf([]byte(s.robots), o)
}

func (w *world) open(o canon.Origin, path string) bool {
	s := w.site(o)
	return s.robots == "404" || robots.Parse([]byte(s.robots)).Rules("curtsy", robotsOrigin(o)).Match(path).Allowed
}

func robotsOrigin(o canon.Origin) robots.Origin {
	return robots.Origin{Scheme: o.Scheme, Host: string(o.Host), Port: o.Port}
}

// claimOf is the claim of a robots.txt.
func claimOf(body []byte, o canon.Origin) crawl.Claim {
	sum := robots.Digest(body)
	c := crawl.Claim{Kind: crawl.ClaimNone, Digest: sum[:]}
	switch claim := robots.Parse(body).Claim(robotsOrigin(o)); claim.Kind {
	case robots.ClaimSelf:
		c.Kind = crawl.ClaimSelf
	case robots.ClaimTarget:
		c.Kind = crawl.ClaimTarget
		c.Target = canon.Origin{Scheme: claim.Target.Scheme, Host: canon.Host(claim.Target.Host), Port: claim.Target.Port}
	}
	return c
}

func digestOf(text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text))
	return max(h.Sum64(), 1)
}

func (w *world) env(x canon.Origin) *Env {
	return &Env{
		X: x, Now: w.now, Refresh: w.now.Add(24 * time.Hour),
		InScope: func(o canon.Origin) bool { s := w.site(o); return s == nil || !s.outside },
		Pages: func(n int, skip []string) (list []Sample) {
			s := w.site(x)
			paths := map[string]bool{}
			for p := range s.pages {
				paths[p] = true
			}
			for p := range s.stored {
				paths[p] = true
			}
			var all []string
			for p := range paths {
				all = append(all, p)
			}
			slices.Sort(all)
			for _, p := range all {
				m := Sample{Path: p, Open: w.open(x, p)}
				if text, ok := s.stored[p]; ok {
					m.Ours = Page{Known: true, Status: 200, Digest: digestOf(text)}
				}
				if (m.Open || m.Ours.Known) && len(list) < n && !slices.Contains(skip, p) {
					list = append(list, m)
				}
			}
			return list
		},
		Moved: func() []string { return []string{"/", "/1", "/2", "/3"} },
		Size: func() crawl.Claim {
			s := w.site(x)
			return crawl.Claim{URLs: len(s.stored), Led: s.led}
		},
	}
}

func (w *world) mirror(name string) *Record {
	x := originOf(name)
	if w.db[x] == nil {
		w.db[x] = new(Record)
	}
	return w.db[x]
}

// step makes one change to an origin and sends the requests that result.
func (w *world) step(x canon.Origin, do func(m *Record, e *Env)) {
	e := w.env(x)
	do(w.mirror(x.String()), e)
	w.asks = append(w.asks, e.Asks...)
}

// read reads the robots.txt of the origins.
func (w *world) read(names ...string) {
	for _, name := range names {
		x := originOf(name)
		if c := w.claim(x); c.Kind == crawl.ClaimSelf || c.Kind == crawl.ClaimTarget || c.Kind == crawl.ClaimNone && w.db[x] != nil {
			w.step(x, func(m *Record, e *Env) { m.Read(e, c) })
		}
	}
}

// run delivers auxiliary requests until none is left.
func (w *world) run() {
	for n := 0; len(w.asks) > 0; n++ {
		if n > 1000 {
			w.t.Fatalf("no end of questions: %+v", w.asks[0])
		}
		ask := w.asks[0]
		w.asks = w.asks[1:]
		w.now = w.now.Add(time.Second)
		to := ask.URL.Origin()
		s := w.site(to)
		switch ask.Kind {
		case crawl.AuxClaim:
			w.claims[to.String()]++
			c := w.claim(to)
			if s != nil && s.slowDown {
				continue
			}
			if m := w.db[to]; m.Mirrored() {
				c.Main = m.Main
			}
			// Its robots.txt is read first.
			if to == ask.Origin && c.Kind != crawl.ClaimUnknown {
				w.read(to.String())
			}
			w.step(ask.Origin, func(m *Record, e *Env) { m.Claimed(e, to, c) })
		case crawl.AuxSample:
			got := w.fetch(to, ask)
			w.step(ask.Origin, func(m *Record, e *Env) { m.Sampled(e, ask.URL, ask.Hop, got) })
		case crawl.AuxTwin:
			switch {
			case ask.Hop == crawl.TwinAsk:
				c := crawl.Claim{}
				if s != nil && len(s.stored) > 0 {
					c = w.claim(to)
					c.URLs, c.Led = len(s.stored), s.led
					if m := w.db[to]; m.Mirrored() {
						c.Main = m.Main
					}
				}
				w.step(ask.Origin, func(m *Record, e *Env) { m.Claimed(e, to, c) })
			case ask.Hop == crawl.TwinYield:
				w.step(to, func(m *Record, e *Env) { m.Yield(e, ask.Origin) })
			case ask.Hop == crawl.TwinYields:
				w.step(to, func(m *Record, e *Env) { m.Yields(e, ask.Origin) })
			}
		}
	}
}

func (w *world) fetch(o canon.Origin, ask crawl.AuxRequest) crawl.Sample {
	s := w.site(o)
	path := ask.URL.PathQuery()
	if s == nil || s.robots == "down" {
		return crawl.Sample{Reason: "dns: no such host"}
	}
	if text, ok := s.stored[path]; ok && ask.Hop == 0 {
		return crawl.Sample{Status: 200, Digest: digestOf(text)}
	}
	if !w.open(o, path) {
		return crawl.Sample{Reason: "robots: line 2"}
	}
	w.requests[o.String()]++
	if s.moved != "" {
		return crawl.Sample{Status: 301, Location: s.moved + path}
	}
	if s.broken {
		return crawl.Sample{Status: 500, Reason: "HTTP 500"}
	}
	text, ok := s.pages[path]
	if !ok {
		return crawl.Sample{Status: 404, Digest: digestOf("not found")}
	}
	return crawl.Sample{Status: 200, Digest: digestOf(text), Likeness: likeness.OfText([]byte(text))}
}

// later lets time pass with everything that becomes due in it.
func (w *world) later(d time.Duration) {
	end := w.now.Add(d)
	for {
		var x canon.Origin
		due := end
		for o, m := range w.db {
			if !m.Due.IsZero() && m.Due.Before(due) {
				x, due = o, m.Due
			}
		}
		if x == (canon.Origin{}) {
			w.now = Latest(w.now, end)
			return
		}
		w.now = Latest(w.now, due)
		w.step(x, func(m *Record, e *Env) { m.Tick(e) })
		w.run()
	}
}

// want checks the state of an origin: "main", "mirror of URL by EVIDENCE", or "unconfirmed:
// REASON".
func (w *world) want(name, want string) {
	w.t.Helper()
	m := w.mirror(name)
	got := m.State
	switch m.State {
	case OfMain:
		got = fmt.Sprintf("mirror of %s by %s", m.Main.Host, m.Evidence)
	case Unconfirmed:
		got = "unconfirmed: " + m.Reason
	case "":
		got = "main"
	}
	if got != want {
		w.t.Errorf("%s is %q (%s), want %q", name, got, m.Detail, want)
	}
	if m.Trial != "" {
		w.t.Errorf("%s is still being looked into: %s", name, m.Trial)
	}
}

func hostLine(h string) string { return "User-agent: *\nHost: " + h + "\n" }

func prose(seed string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s%d ", seed, i)
	}
	return b.String()
}

// numbered returns n pages and a root, all different.
func numbered(n int) map[string]string {
	pages := map[string]string{"/": "root"}
	for i := 1; i <= n; i++ {
		pages[fmt.Sprintf("/%d", i)] = fmt.Sprintf("page %d", i)
	}
	return pages
}
