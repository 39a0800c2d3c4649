package frontier

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/mirror"
	"github.com/curtsy/curtsy/internal/frontier/mirrors"
	"github.com/curtsy/curtsy/internal/frontier/times"
	"github.com/curtsy/curtsy/internal/likeness"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// site is one origin of a small web for testing only the state machine: without shard, fetcher and
// clock.
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

// mirrorWorld plays the owners of all origins: it delivers auxiliary requests and answers.
type mirrorWorld struct {
	t     *testing.T
	now   time.Time
	sites map[string]*site
	db    map[canon.Origin]*mirror.Record
	asks  []crawl.AuxRequest
	// requests counts the page requests that had to be sent, claims the origins whose claim was
	// requested.
	requests, claims map[string]int
}

func newMirrorWorld(t *testing.T, sites map[string]*site) *mirrorWorld {
	return &mirrorWorld{t: t, now: time.Unix(1_700_000_000, 0), sites: sites, db: map[canon.Origin]*mirror.Record{}, requests: map[string]int{}, claims: map[string]int{}}
}

func testOriginOf(name string) canon.Origin {
	if !strings.Contains(name, "://") {
		name = "http://" + name
	}
	return canon.URL(name + "/").Origin()
}

func (w *mirrorWorld) site(o canon.Origin) *site {
	if s := w.sites[string(o.Host)]; s != nil && o.Scheme == "http" && o.Port == 80 {
		return s
	}
	return w.sites[o.String()]
}

// claim is what a frontier or fetcher finds out about an origin.
func (w *mirrorWorld) claim(o canon.Origin) crawl.Claim {
	s := w.site(o)
	switch {
	case s == nil || s.robots == "down":
		return crawl.Claim{Reason: "dns: no such host"}
	case s.robots == "404":
		return crawl.Claim{Kind: crawl.ClaimNone}
	}
	return mirrors.ClaimOf([]byte(s.robots), o)
}

func (w *mirrorWorld) open(o canon.Origin, path string) bool {
	s := w.site(o)
	return s.robots == "404" || robots.Parse([]byte(s.robots)).Rules("curtsy", hosts.RobotsOrigin(o)).Match(path).Allowed
}

func digestOf(text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text))
	return max(h.Sum64(), 1)
}

func (w *mirrorWorld) env(x canon.Origin) *mirror.Env {
	return &mirror.Env{
		X: x, Now: w.now, Refresh: w.now.Add(24 * time.Hour),
		InScope: func(o canon.Origin) bool { s := w.site(o); return s == nil || !s.outside },
		Pages: func(n int, skip []string) (list []mirror.Sample) {
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
				m := mirror.Sample{Path: p, Open: w.open(x, p)}
				if text, ok := s.stored[p]; ok {
					m.Ours = mirror.Page{Known: true, Status: 200, Digest: digestOf(text)}
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

func (w *mirrorWorld) mirror(name string) *mirror.Record {
	x := testOriginOf(name)
	if w.db[x] == nil {
		w.db[x] = new(mirror.Record)
	}
	return w.db[x]
}

// step makes one change to an origin and sends the requests that result.
func (w *mirrorWorld) step(x canon.Origin, do func(m *mirror.Record, e *mirror.Env)) {
	e := w.env(x)
	do(w.mirror(x.String()), e)
	w.asks = append(w.asks, e.Asks...)
}

// read reads the robots.txt of the origins.
func (w *mirrorWorld) read(names ...string) {
	for _, name := range names {
		x := testOriginOf(name)
		if c := w.claim(x); c.Kind == crawl.ClaimSelf || c.Kind == crawl.ClaimTarget || c.Kind == crawl.ClaimNone && w.db[x] != nil {
			w.step(x, func(m *mirror.Record, e *mirror.Env) { m.Read(e, c) })
		}
	}
}

// run delivers auxiliary requests until none is left.
func (w *mirrorWorld) run() {
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
			w.step(ask.Origin, func(m *mirror.Record, e *mirror.Env) { m.Claimed(e, to, c) })
		case crawl.AuxSample:
			got := w.fetch(to, ask)
			w.step(ask.Origin, func(m *mirror.Record, e *mirror.Env) { m.Sampled(e, ask.URL, ask.Hop, got) })
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
				w.step(ask.Origin, func(m *mirror.Record, e *mirror.Env) { m.Claimed(e, to, c) })
			case ask.Hop == crawl.TwinYield:
				w.step(to, func(m *mirror.Record, e *mirror.Env) { m.Yield(e, ask.Origin) })
			case ask.Hop == crawl.TwinYields:
				w.step(to, func(m *mirror.Record, e *mirror.Env) { m.Yields(e, ask.Origin) })
			}
		}
	}
}

func (w *mirrorWorld) fetch(o canon.Origin, ask crawl.AuxRequest) crawl.Sample {
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
func (w *mirrorWorld) later(d time.Duration) {
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
			w.now = mirror.Latest(w.now, end)
			return
		}
		w.now = mirror.Latest(w.now, due)
		w.step(x, func(m *mirror.Record, e *mirror.Env) { m.Tick(e) })
		w.run()
	}
}

// want checks the state of an origin: "main", "mirror of URL by EVIDENCE", or "unconfirmed:
// REASON".
func (w *mirrorWorld) want(name, want string) {
	w.t.Helper()
	m := w.mirror(name)
	got := m.State
	switch m.State {
	case mirror.OfMain:
		got = fmt.Sprintf("mirror of %s by %s", m.Main.Host, m.Evidence)
	case mirror.Unconfirmed:
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

// The table of formats §2.4, and the steps of its procedure.
func TestMirrorSituations(t *testing.T) {
	page := map[string]string{"/": "root", "/1": "one", "/2": "two"}
	for _, c := range []struct {
		name  string
		sites map[string]*site
		want  map[string]string
		asked map[string]int // page requests
	}{
		{"A: Host B; B: Host B; same file", map[string]*site{
			"a.example": {robots: hostLine("b.example")},
			"b.example": {robots: "User-agent: *\r\nHost: b.example"},
		}, map[string]string{"a.example": "mirror of b.example by robots.txt", "b.example": "main"}, nil},
		{"A: Host B; B: no Host; equal pages, A's stored before", map[string]*site{
			"a.example": {robots: hostLine("b.example"), stored: page},
			"b.example": {robots: "User-agent: *\nDisallow: /2\n", pages: page},
		}, map[string]string{"a.example": "mirror of b.example by pages 2/2"}, map[string]int{"http://b.example": 2}},
		{"A: Host B; B: 404; equal pages, opened by a longer Allow", map[string]*site{
			"a.example": {robots: "User-agent: *\nAllow: /1\nHost: b.example\n", pages: page},
			"b.example": {robots: "404", pages: page},
		}, map[string]string{"a.example": "mirror of b.example by pages 1/1"}, map[string]int{"http://a.example": 1, "http://b.example": 1}},
		{"A: Host B; B: no Host; other pages", map[string]*site{
			"a.example": {robots: hostLine("b.example"), stored: page},
			"b.example": {robots: "404", pages: map[string]string{"/": "another root", "/1": "one"}},
		}, map[string]string{"a.example": "unconfirmed: content-differs"}, nil},
		{"A: Host B; B: no Host; four of five pages are the same", map[string]*site{
			"a.example": {robots: hostLine("b.example"), stored: map[string]string{"/": "a", "/1": "b", "/2": "c", "/3": "d", "/4": "e"}},
			"b.example": {robots: "404", stored: map[string]string{"/": "a", "/1": "b", "/2": "c", "/3": "d", "/4": "E"}, pages: map[string]string{"/4": "E"}},
		}, map[string]string{"a.example": "mirror of b.example by pages 4/5"}, nil},
		{"A: Host B; B: no Host; three of four", map[string]*site{
			"a.example": {robots: hostLine("b.example"), stored: map[string]string{"/": "a", "/1": "b", "/2": "c", "/4": "e"}},
			"b.example": {robots: "404", stored: map[string]string{"/": "a", "/1": "b", "/2": "c"}},
		}, map[string]string{"a.example": "unconfirmed: content-differs"}, nil},
		{"A: Host B; B: no Host; the pages say nearly the same", map[string]*site{
			"a.example": {robots: "User-agent: *\nAllow: /1\nHost: b.example\n", stored: map[string]string{"/1": "old"}, pages: map[string]string{"/1": prose("w", 400) + " at noon"}},
			"b.example": {robots: "404", pages: map[string]string{"/1": prose("w", 400) + " at night"}},
		}, map[string]string{"a.example": "mirror of b.example by pages 1/1"}, nil},
		{"A: Host B; B does not exist", map[string]*site{
			"a.example": {robots: hostLine("b.example"), stored: page},
		}, map[string]string{"a.example": "unconfirmed: target-unreachable"}, nil},
		{"A: Host B; B: Host A", map[string]*site{
			"a.example": {robots: hostLine("b.example"), stored: page},
			"b.example": {robots: hostLine("a.example"), stored: page},
		}, map[string]string{"a.example": "unconfirmed: cycle", "b.example": "unconfirmed: cycle"}, nil},
		{"A: Host B; B and C name each other", map[string]*site{
			"a.example": {robots: hostLine("b.example")}, "b.example": {robots: hostLine("c.example")}, "c.example": {robots: hostLine("b.example")},
		}, map[string]string{"a.example": "unconfirmed: cycle", "b.example": "unconfirmed: cycle", "c.example": "unconfirmed: cycle"}, nil},
		{"A: Host B; B: Host C; C: Host C, same files", map[string]*site{
			"a.example": {robots: "User-agent: *\nHost: c.example\n"}, // names C at once
			"b.example": {robots: hostLine("c.example")},
			"c.example": {robots: hostLine("c.example")},
		}, map[string]string{"a.example": "mirror of c.example by robots.txt", "b.example": "mirror of c.example by robots.txt", "c.example": "main"}, nil},
		{"A: Host B; B: Host C; C: Host C, same pages", map[string]*site{
			"a.example": {robots: hostLine("b.example"), stored: page},
			"b.example": {robots: hostLine("c.example"), stored: page},
			"c.example": {robots: "User-agent: *\nHost: c.example\nDisallow: /x\n", pages: page},
		}, map[string]string{"a.example": "mirror of c.example by pages 3/3", "b.example": "mirror of c.example by pages 3/3", "c.example": "main"}, nil},
		{"a chain whose middle is something else: evidence is between the ends", map[string]*site{
			"a.example": {robots: hostLine("b.example"), stored: page},
			"b.example": {robots: hostLine("c.example"), stored: map[string]string{"/": "other"}},
			"c.example": {robots: "404", pages: page},
		}, map[string]string{"a.example": "mirror of c.example by pages 3/3", "b.example": "unconfirmed: content-differs"}, nil},
		{"five hops", map[string]*site{
			"a.example": {robots: hostLine("1.example"), stored: page}, "1.example": {robots: hostLine("2.example")}, "2.example": {robots: hostLine("3.example")},
			"3.example": {robots: hostLine("4.example")}, "4.example": {robots: hostLine("5.example")}, "5.example": {robots: "404", pages: page},
		}, map[string]string{"a.example": "mirror of 5.example by pages 3/3"}, nil},
		{"six hops", map[string]*site{
			"a.example": {robots: hostLine("0.example"), stored: page}, "0.example": {robots: hostLine("1.example")},
			"1.example": {robots: hostLine("2.example"), stored: page}, "2.example": {robots: hostLine("3.example")},
			"3.example": {robots: hostLine("4.example")}, "4.example": {robots: hostLine("5.example")}, "5.example": {robots: "404", pages: page},
		}, map[string]string{"a.example": "unconfirmed: chain", "1.example": "mirror of 5.example by pages 3/3"}, nil},
		{"A: Host A and Host B", map[string]*site{
			"a.example": {robots: "User-agent: *\nHost: b.example\nHost: a.example\n", stored: page}, "b.example": {robots: "404", pages: page},
		}, map[string]string{"a.example": "main"}, nil},
		{"Host only for another agent", map[string]*site{
			"a.example": {robots: "User-agent: other\nHost: b.example\n\nUser-agent: *\nDisallow: /2\n", stored: page, pages: page},
			"b.example": {robots: "404", pages: page},
		}, map[string]string{"a.example": "mirror of b.example by pages 3/3"}, nil},
		{"http://h: Host: https://h", map[string]*site{
			"http://a.example":  {robots: hostLine("https://a.example")},
			"https://a.example": {robots: hostLine("https://a.example")},
		}, map[string]string{"http://a.example": "mirror of a.example by robots.txt", "https://a.example": "main"}, nil},
		{"no page known and the files differ", map[string]*site{
			"a.example": {robots: hostLine("b.example")}, "b.example": {robots: hostLine("b.example") + "Disallow: /x\n"},
		}, map[string]string{"a.example": "unconfirmed: no-evidence"}, nil},
		{"M's rules forbid the first pages known: others are compared", map[string]*site{
			"a.example": {robots: hostLine("b.example"), stored: copyPages(8)},
			"b.example": {robots: "User-agent: *\nDisallow: /$\nDisallow: /1\nDisallow: /2\nDisallow: /3\nDisallow: /4\nDisallow: /6\n", pages: copyPages(8)},
		}, map[string]string{"a.example": "mirror of b.example by pages 3/3"}, map[string]int{"http://b.example": 3}},
		{"and no end of forbidden pages is tried", map[string]*site{
			"a.example": {robots: hostLine("b.example"), stored: copyPages(60)},
			"b.example": {robots: "User-agent: *\nDisallow: /\nAllow: /9\n", pages: copyPages(60)},
		}, map[string]string{"a.example": "unconfirmed: no-evidence"}, map[string]int{}},
		{"M's rules forbid every page", map[string]*site{
			"a.example": {robots: hostLine("b.example"), stored: page}, "b.example": {robots: "User-agent: *\nDisallow: /\n", pages: page},
		}, map[string]string{"a.example": "unconfirmed: no-evidence"}, nil},
		{"the main host is out of scope: nobody is asked", map[string]*site{
			"a.example": {robots: hostLine("b.example"), stored: page}, "b.example": {robots: hostLine("b.example"), pages: page, outside: true},
		}, map[string]string{"a.example": "unconfirmed: out-of-scope"}, map[string]int{}},
		{"a thief copies the whole site, its robots.txt too: only the thief is gone", map[string]*site{
			"thief.example": {robots: hostLine("m.example"), stored: page}, "m.example": {robots: hostLine("m.example"), stored: page},
		}, map[string]string{"thief.example": "mirror of m.example by robots.txt", "m.example": "main"}, nil},
		{"a thief copies the pages and names itself", map[string]*site{
			"thief.example": {robots: hostLine("thief.example"), stored: page}, "m.example": {robots: "404", stored: page},
		}, map[string]string{"thief.example": "main", "m.example": "main"}, nil},
		{"a liar names a site it has nothing of", map[string]*site{
			"liar.example": {robots: hostLine("m.example"), stored: map[string]string{"/": "buy"}}, "m.example": {robots: hostLine("m.example") + "# m\n", pages: page},
		}, map[string]string{"liar.example": "unconfirmed: content-differs", "m.example": "main"}, map[string]int{"http://m.example": 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newMirrorWorld(t, c.sites)
			var names []string
			for name := range c.sites {
				names = append(names, name)
			}
			slices.Sort(names)
			w.read(names...)
			w.run()
			for name, want := range c.want {
				w.want(name, want)
			}
			for _, name := range names { // Formats §2.5: nobody is anything but by its own word
				if m := w.db[testOriginOf(name)]; m.Mirrored() && m.Claim != crawl.ClaimTarget {
					t.Errorf("%s is a mirror and never claimed it", name)
				}
			}
			if c.asked != nil && fmt.Sprint(w.requests) != fmt.Sprint(c.asked) {
				t.Errorf("page requests %v, want %v", w.requests, c.asked)
			}
			// The same again with each refresh changes nothing, and requests no page again.
			was := fmt.Sprint(w.requests)
			w.later(5 * 24 * time.Hour)
			for name, want := range c.want {
				w.want(name, want)
			}
			if got := fmt.Sprint(w.requests); got != was {
				t.Errorf("page requests %s after five days of refreshes, %s before", got, was)
			}
		})
	}
}

// Formats §2.4 step 5, and the 30 days of step 1.
func TestMirrorsInTime(t *testing.T) {
	day := 24 * time.Hour
	page := map[string]string{"/": "root", "/1": "one"}
	fresh := func(t *testing.T) *mirrorWorld {
		w := newMirrorWorld(t, map[string]*site{
			"a.example": {robots: hostLine("b.example"), stored: page},
			"b.example": {robots: "404", pages: page},
		})
		w.read("a.example")
		w.run()
		w.want("a.example", "mirror of b.example by pages 2/2")
		return w
	}
	t.Run("a dropped Host line dissolves at once", func(t *testing.T) {
		w := fresh(t)
		w.sites["a.example"].robots = "User-agent: *\nDisallow: /x\n"
		w.read("a.example")
		w.want("a.example", "main")
	})
	t.Run("noticed at the next refresh", func(t *testing.T) {
		w := fresh(t)
		w.sites["a.example"].robots = "404"
		w.later(25 * time.Hour)
		w.want("a.example", "main")
	})
	t.Run("a changed one too", func(t *testing.T) {
		w := fresh(t)
		w.sites["c.example"] = &site{robots: "404", pages: page}
		w.sites["a.example"].robots = hostLine("c.example")
		x := testOriginOf("a.example")
		w.step(x, func(m *mirror.Record, e *mirror.Env) { m.Read(e, w.claim(x)) })
		if m := w.mirror("a.example"); m.Mirrored() || m.Reason != mirror.WhyPending {
			t.Errorf("%+v before there is evidence for the new main host", m)
		}
		w.run()
		w.want("a.example", "mirror of c.example by pages 2/2")
	})
	t.Run("the end of a chain changes", func(t *testing.T) {
		w := fresh(t)
		w.sites["b.example"].robots = hostLine("c.example")
		w.sites["c.example"] = &site{robots: "404", pages: map[string]string{"/": "else"}}
		w.later(25 * time.Hour)
		w.want("a.example", "unconfirmed: content-differs")
	})
	t.Run("evidence is renewed every 30 days", func(t *testing.T) {
		w := fresh(t)
		w.later(29 * day)
		if n := w.requests["http://b.example"]; n != 2 {
			t.Errorf("%d page requests to the main host in 29 days, want the first two", n)
		}
		w.later(2 * day)
		if n := w.requests["http://b.example"]; n != 4 {
			t.Errorf("%d page requests after 31 days, want two more", n)
		}
		w.want("a.example", "mirror of b.example by pages 2/2")
		w.sites["b.example"].pages = map[string]string{"/": "sold"}
		w.later(28 * day)
		w.want("a.example", "mirror of b.example by pages 2/2")
		w.later(2 * day)
		w.want("a.example", "unconfirmed: content-differs")
	})
	t.Run("evidence that cannot be renewed has expired", func(t *testing.T) {
		w := fresh(t)
		w.sites["b.example"].robots = "User-agent: *\nDisallow: /\n"
		w.later(29 * day)
		w.want("a.example", "mirror of b.example by pages 2/2")
		w.later(2 * day)
		w.want("a.example", "unconfirmed: no-evidence")
	})
	t.Run("a main host that is away for 30 days", func(t *testing.T) {
		w := fresh(t)
		w.sites["b.example"].robots = "down"
		w.later(30 * day)
		w.want("a.example", "mirror of b.example by pages 2/2")
		w.later(2 * day)
		w.want("a.example", "unconfirmed: target-unreachable")
	})
	t.Run("and one that is back in time", func(t *testing.T) {
		w := fresh(t)
		w.sites["b.example"].robots = "down"
		w.later(29 * day)
		w.sites["b.example"].robots = "404"
		w.later(2 * day)
		w.sites["b.example"].robots = "down"
		w.later(29 * day)
		w.want("a.example", "mirror of b.example by pages 2/2")
	})
	t.Run("a target that cannot be had is asked for with each refresh, for 30 days", func(t *testing.T) {
		w := newMirrorWorld(t, map[string]*site{"a.example": {robots: hostLine("b.example"), stored: page}})
		w.read("a.example")
		w.run()
		w.later(10 * day)
		w.want("a.example", "unconfirmed: target-unreachable")
		w.sites["b.example"] = &site{robots: "404", pages: page}
		w.later(day + time.Hour)
		w.want("a.example", "mirror of b.example by pages 2/2")

		w = newMirrorWorld(t, map[string]*site{"a.example": {robots: hostLine("b.example"), stored: page}})
		w.read("a.example")
		w.run()
		w.later(32 * day)
		w.sites["b.example"] = &site{robots: "404", pages: page}
		w.later(10 * day)
		w.read("a.example")
		w.run()
		w.want("a.example", "unconfirmed: target-unreachable") // nothing is requested any more
		w.sites["a.example"].robots += "# and now?\n"
		w.read("a.example")
		w.run()
		w.want("a.example", "mirror of b.example by pages 2/2")
	})
	t.Run("other pages are compared again after 30 days, or with another file", func(t *testing.T) {
		w := newMirrorWorld(t, map[string]*site{
			"a.example": {robots: hostLine("b.example"), stored: page}, "b.example": {robots: "404", pages: map[string]string{"/": "else"}},
		})
		w.read("a.example")
		w.run()
		w.sites["b.example"].pages = page
		w.later(29 * day)
		w.want("a.example", "unconfirmed: content-differs")
		w.later(2 * day)
		w.want("a.example", "mirror of b.example by pages 2/2")
	})
	t.Run("the first page stored is evidence soon", func(t *testing.T) {
		w := newMirrorWorld(t, map[string]*site{
			"a.example": {robots: "User-agent: *\nAllow: /1\nHost: b.example\n"}, "b.example": {robots: "404", pages: page},
		})
		w.read("a.example")
		w.run()
		w.want("a.example", "unconfirmed: no-evidence")
		w.sites["a.example"].stored = map[string]string{"/1": "one"}
		w.step(testOriginOf("a.example"), func(m *mirror.Record, e *mirror.Env) { m.Stored(e) })
		if m := w.mirror("a.example"); m.Trial == "" && !m.Soon {
			t.Error("the crawl would end before the page is compared")
		}
		w.later(10 * time.Second)
		w.want("a.example", "mirror of b.example by pages 1/1")
	})
	t.Run("an auxiliary request that gets lost", func(t *testing.T) {
		w := newMirrorWorld(t, map[string]*site{
			"a.example": {robots: hostLine("b.example"), stored: page}, "b.example": {robots: "404", pages: page, slowDown: true},
		})
		w.read("a.example")
		w.run()
		if m := w.mirror("a.example"); m.Trial != mirror.TrialClaim {
			t.Fatalf("%+v, want an answer awaited", m)
		}
		w.later(2 * time.Hour)
		w.want("a.example", "unconfirmed: target-unreachable")
		w.sites["b.example"].slowDown = false
		w.later(25 * time.Hour)
		w.want("a.example", "mirror of b.example by pages 2/2")
	})
}

// Nothing is requested from an origin out of scope, whatever claims it.
func TestAClaimForAHostOutOfScope(t *testing.T) {
	page := map[string]string{"/": "root"}
	w := newMirrorWorld(t, map[string]*site{
		"a.example": {robots: hostLine("b.example"), stored: page},
		"b.example": {robots: hostLine("c.example"), stored: page},
		"c.example": {robots: hostLine("c.example"), pages: page, outside: true},
	})
	w.read("a.example")
	w.run()
	w.want("a.example", "unconfirmed: out-of-scope")
	if n := w.claims["http://c.example"]; n > 0 {
		t.Errorf("%d requests for a robots.txt out of scope", n)
	}
	w.sites["b.example"].robots = hostLine("b.example")
	w.later(25 * time.Hour)
	w.want("a.example", "mirror of b.example by robots.txt")
}

// A host that names another whose pages cannot be fetched causes a few requests to it from time to
// time, but not for every page of its own.
func TestAFalseClaimCausesFewRequests(t *testing.T) {
	pages := map[string]string{}
	for i := range 10 {
		pages[fmt.Sprintf("/cgi?%d", i)] = prose(fmt.Sprint(i), 50)
	}
	w := newMirrorWorld(t, map[string]*site{
		"a.example": {robots: "User-agent: *\nAllow: /\nHost: b.example\n", pages: pages, stored: pages},
		"b.example": {robots: "404", broken: true},
	})
	w.read("a.example")
	w.run()
	w.want("a.example", "unconfirmed: no-evidence")
	for range 1000 {
		w.step(testOriginOf("a.example"), func(m *mirror.Record, e *mirror.Env) { m.Stored(e) })
		w.later(10 * time.Second)
	}
	if n := w.requests["http://b.example"]; n > 60 {
		t.Errorf("%d requests to the host that was named, for 1000 pages of the one that names it", n)
	}
	w.sites["b.example"].broken, w.sites["b.example"].pages = false, pages
	w.later(25 * time.Hour)
	w.want("a.example", "mirror of b.example by pages 5/5")
}

// A shard that moves to a machine with another clock, or after a while: what must be waited for is
// waited for, and known data gets no younger.
func TestMirrorTimesShift(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	for _, c := range []struct {
		trial                   string
		d                       time.Duration
		known, gone, asked, due time.Duration
	}{
		{"", 10 * time.Hour, 0, 10 * time.Hour, 10 * time.Hour, 0},
		{"", -10 * time.Hour, -10 * time.Hour, -10 * time.Hour, -10 * time.Hour, -10 * time.Hour},
		{mirror.TrialClaim, 10 * time.Hour, 0, 10 * time.Hour, 10 * time.Hour, 10 * time.Hour},
	} {
		m := &mirror.Record{Trial: c.trial, Since: at, Proved: at, Compared: at, Gone: at, Asked: at, Due: at, Merge: mirror.Merge{From: at}}
		h := &hosts.Host{Origins: []hosts.Origin{{Mirror: m}, {Mirror: new(mirror.Record)}}}
		h.Times(times.ShiftBy(c.d))
		for _, x := range []struct {
			name string
			got  time.Time
			want time.Duration
		}{
			{"since", m.Since, c.known}, {"proved", m.Proved, c.known}, {"compared", m.Compared, c.known},
			{"from", m.From, c.known},
			{"gone", m.Gone, c.gone}, {"asked", m.Asked, c.asked}, {"due", m.Due, c.due},
		} {
			if got := x.got.Sub(at); got != x.want {
				t.Errorf("trial %q, %v: %s moved by %v, want %v", c.trial, c.d, x.name, got, x.want)
			}
		}
		if z := h.Origins[1].Mirror; !z.Since.IsZero() || !z.Due.IsZero() || !z.Gone.IsZero() {
			t.Errorf("%+v: times that are none", z)
		}
	}
}

func TestRedirectAliases(t *testing.T) {
	page := map[string]string{"/": "root"}
	moved := func(w *mirrorWorld, from, to string) {
		w.step(testOriginOf(from), func(m *mirror.Record, e *mirror.Env) { m.MovedAway(e, testOriginOf(to)) })
		w.run()
	}
	fresh := func(t *testing.T, b *site) *mirrorWorld {
		w := newMirrorWorld(t, map[string]*site{"a.example": {robots: "404", moved: "http://b.example"}, "b.example": b})
		w.read("b.example")
		moved(w, "a.example", "b.example")
		return w
	}
	t.Run("to a site that is there", func(t *testing.T) {
		w := fresh(t, &site{robots: "404", pages: page})
		w.want("a.example", "mirror of b.example by redirect")
		w.later(35 * 24 * time.Hour)
		w.want("a.example", "mirror of b.example by redirect")
		if n := w.requests["http://a.example"]; n != 4 {
			t.Errorf("%d requests to see that it still redirects, want 4", n)
		}
		w.sites["a.example"].moved = "http://c.example"
		w.later(30 * 24 * time.Hour)
		w.want("a.example", "main")
	})
	t.Run("it stops", func(t *testing.T) {
		w := fresh(t, &site{robots: "404", pages: page})
		w.sites["a.example"].moved, w.sites["a.example"].pages = "", page
		w.later(31 * 24 * time.Hour)
		w.want("a.example", "main")
	})
	t.Run("to a site closed to us", func(t *testing.T) {
		fresh(t, &site{robots: "User-agent: *\nDisallow: /\n", pages: page}).want("a.example", "mirror of b.example by redirect")
	})
	t.Run("to nothing", func(t *testing.T) {
		fresh(t, &site{robots: "down"}).want("a.example", "main")
	})
	t.Run("to one that redirects back", func(t *testing.T) {
		w := fresh(t, &site{robots: "404", moved: "http://a.example"})
		moved(w, "b.example", "a.example")
		w.want("a.example", "main")
		w.want("b.example", "main")
	})
	t.Run("to one that names it", func(t *testing.T) {
		w := fresh(t, &site{robots: hostLine("a.example"), pages: page})
		w.run()
		w.want("a.example", "main")
	})
	t.Run("to one that comes to name it: never both", func(t *testing.T) {
		w := fresh(t, &site{robots: "404", pages: page, stored: page})
		w.sites["b.example"].robots, w.sites["a.example"].robots = hostLine("a.example"), hostLine("a.example")
		w.read("a.example", "b.example")
		w.run()
		w.want("a.example", "mirror of b.example by redirect")
		w.want("b.example", "unconfirmed: cycle")
	})
}

func TestTwins(t *testing.T) {
	some, more := map[string]string{"/": "root", "/1": "one"}, map[string]string{"/": "root", "/1": "one", "/2": "two"}
	type pair struct{ www, bare *site }
	play := func(t *testing.T, p pair) *mirrorWorld {
		w := newMirrorWorld(t, map[string]*site{"www.a.example": p.www})
		if p.bare != nil {
			w.sites["a.example"] = p.bare
		}
		// Whichever is noticed first, and twice.
		for range 2 {
			for _, name := range []string{"a.example", "www.a.example"} {
				w.step(testOriginOf(name), func(m *mirror.Record, e *mirror.Env) {
					m.Claim = w.claim(e.X).Kind
					m.Twin(e)
				})
			}
			w.run()
		}
		return w
	}
	for _, c := range []struct {
		name      string
		p         pair
		www, bare string
	}{
		{"as large: without www", pair{&site{robots: "404", pages: some, stored: some}, &site{robots: "404", pages: some, stored: some}},
			"mirror of a.example by www 2/2", "main"},
		{"the larger is main", pair{&site{robots: "404", pages: more, stored: more}, &site{robots: "404", pages: more, stored: some}},
			"main", "mirror of www.a.example by www 3/3"},
		{"the one that others redirect to is main", pair{&site{robots: "404", pages: more, stored: some, led: 2}, &site{robots: "404", pages: more, stored: more}},
			"main", "mirror of www.a.example by www 3/3"},
		{"only one is known", pair{&site{robots: "404", pages: some, stored: some}, nil}, "main", "main"},
		{"other pages", pair{&site{robots: "404", pages: some, stored: some}, &site{robots: "404", pages: map[string]string{"/": "x"}, stored: map[string]string{"/": "x"}}}, "main", "main"},
		{"a contrary claim of the one", pair{&site{robots: hostLine("www.a.example"), pages: some, stored: some}, &site{robots: "404", pages: some, stored: some}}, "main", "main"},
		{"a contrary claim of the other", pair{&site{robots: "404", pages: some, stored: some}, &site{robots: hostLine("a.example"), pages: some, stored: some}}, "main", "main"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := play(t, c.p)
			w.want("www.a.example", c.www)
			w.want("a.example", c.bare)
			if c.p.bare != nil && strings.HasPrefix(c.www+c.bare, "main"+"mirror") {
				w.later(31 * 24 * time.Hour)
				w.want("a.example", c.bare)
				c.p.www.pages, c.p.www.stored = map[string]string{"/": "new owner"}, nil
				w.later(30 * 24 * time.Hour)
				w.want("a.example", "main")
			}
		})
	}
	t.Run("never both", func(t *testing.T) {
		w := play(t, pair{&site{robots: "404", pages: more, stored: more}, &site{robots: "404", pages: more, stored: some}})
		w.want("a.example", "mirror of www.a.example by www 3/3")
		// The owner of the other was restored from an old copy, and decides again with other
		// figures.
		w.db[testOriginOf("www.a.example")] = &mirror.Record{Claim: crawl.ClaimNone, State: mirror.OfMain, Main: testOriginOf("a.example"), By: mirror.ByTwin}
		w.db[testOriginOf("a.example")].State = ""
		w.step(testOriginOf("a.example"), func(m *mirror.Record, e *mirror.Env) { m.Yield(e, testOriginOf("www.a.example")) })
		w.run()
		w.want("www.a.example", "main")
		w.want("a.example", "mirror of www.a.example by www 3/3")
	})
}
