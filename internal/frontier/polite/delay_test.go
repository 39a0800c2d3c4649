package polite

import (
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/judge"
	"github.com/curtsy/curtsy/internal/frontier/mirror"
	"github.com/curtsy/curtsy/pkg/canon"
)

// testHost returns a host in memory, with one origin, under a spec. There is no file.
func testHost(t *testing.T, spec crawl.Spec) (*Polite, *hosts.Host, *hosts.Origin) {
	t.Helper()
	l := hosts.New(hosts.Options{Judge: judge.Judge{Spec: spec}})
	h := &hosts.Host{ID: 1, Name: "a.example", At: -1}
	l.Show(h)
	i, ok := l.OriginOf(h, canon.Origin{Scheme: "http", Host: h.Name, Port: 80})
	if !ok {
		t.Fatal("no origin")
	}
	f := hosts.NewFeatures(l)
	f.Register(nil)
	return New(f, l), h, &h.Origins[i]
}

// crawlDelay has an origin's robots.txt ask for a delay.
func crawlDelay(o *hosts.Origin, d time.Duration) {
	o.RenewRobots(&crawl.Robots{CrawlDelay: d, HasCrawlDelay: true, Fresh: time.Hour}, time.Now())
}

// TestDelayOf: of all delays that are asked for the longest counts, within bounds.
func TestDelayOf(t *testing.T) {
	t.Parallel()
	const s, m = time.Second, time.Minute
	for _, c := range []struct {
		name     string
		spec     time.Duration
		operator time.Duration
		robots   time.Duration
		backoff  int
		private  bool
		want     time.Duration
		source   string
	}{
		{name: "the ordinary delay", spec: s, want: s, source: "configured"},
		{name: "a public host has no less than a second", spec: 0, want: s, source: "default"},
		{name: "a private one may", spec: 0, private: true, want: 0, source: "configured"},
		{name: "robots.txt asks for more", spec: s, robots: 7 * s, want: 7 * s, source: "crawl-delay"},
		{name: "robots.txt asks for less", spec: 9 * s, robots: 7 * s, want: 9 * s, source: "configured"},
		{name: "robots.txt asks for a week", spec: s, robots: 7 * 24 * time.Hour, want: LongestDelay, source: "crawl-delay"},
		{name: "the operator asks for more", spec: s, robots: 7 * s, operator: m, want: m, source: "operator"},
		{name: "overloaded once", spec: s, backoff: 1, want: 2 * s, source: "backoff"},
		{name: "overloaded three times", spec: s, backoff: 3, want: 8 * s, source: "backoff"},
		{name: "overloaded, but slow already", spec: s, robots: m, backoff: 3, want: m, source: "crawl-delay"},
		{name: "overloaded for long", spec: s, backoff: 12, want: 10 * m, source: "backoff"},
		{name: "a private host that is overloaded", spec: 0, private: true, backoff: 2, want: 2 * s, source: "backoff"},
	} {
		p, h, o := testHost(t, crawl.Spec{Delay: c.spec, Hosts: map[canon.Host]crawl.HostRule{"a.example": {Delay: c.operator}}})
		h.VisitedWith(c.private, c.spec)
		if c.robots > 0 {
			crawlDelay(o, c.robots)
		}
		for n := range uint64(c.backoff) {
			h.BeginReport(crawl.VisitID{Epoch: 1, N: n + 1})
			p.BackOff(h, &crawl.Outcome{Overloads: 2})
		}
		if got := p.DelayOf(h); got.D != c.want || got.Source != c.source {
			t.Errorf("%s: %v (%s), want %v (%s)", c.name, got.D, got.Source, c.want, c.source)
		}
	}
}

// TestGrantDelay: while the address of a host is unknown and may be private, the fetcher decides
// whether a public host's least delay applies.
func TestGrantDelay(t *testing.T) {
	t.Parallel()
	p, h, _ := testHost(t, crawl.Spec{AllowPrivate: true})
	if d := p.GrantDelay(h); d != 0 || h.Private {
		t.Errorf("%v for a host that was never visited, private %v", d, h.Private)
	}
	h.BeginReport(crawl.VisitID{Epoch: 1, N: 1})
	h.AddReport(&crawl.Outcome{Requests: 1})
	if d := p.GrantDelay(h); d != time.Second {
		t.Errorf("%v for a host that turned out to be public", d)
	}
	p, h, _ = testHost(t, crawl.Spec{})
	if d := p.GrantDelay(h); d != time.Second {
		t.Errorf("%v where private addresses are forbidden", d)
	}
}

// TestLongerDelays: a delay that became longer after the last visit counts from now on. It does not
// count for a host that was never visited, and never shortens a wait.
func TestLongerDelays(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	p, h, o := testHost(t, crawl.Spec{Delay: time.Second, Hosts: map[canon.Host]crawl.HostRule{"a.example": {Delay: time.Minute}}})
	p.Slowed(h, now)
	p.Lengthened(h, now)
	if !h.Due.IsZero() {
		t.Errorf("a host that was never visited is due at %v", h.Due)
	}
	h.BeginReport(crawl.VisitID{Epoch: 1, N: 1})
	h.VisitedWith(false, time.Second)
	if p.Slowed(h, now); h.Due.Sub(now) != time.Minute {
		t.Errorf("slowed by the operator, it is due after %v", h.Due.Sub(now))
	}
	crawlDelay(o, time.Hour)
	if p.Lengthened(h, now); h.Due.Sub(now) != time.Hour {
		t.Errorf("with a longer Crawl-delay it is due after %v", h.Due.Sub(now))
	}
	h.VisitedWith(false, time.Hour)
	if p.Lengthened(h, now.Add(time.Minute)); h.Due.Sub(now) != time.Hour {
		t.Errorf("the last visit knew of it, and it is due after %v", h.Due.Sub(now))
	}
}

// TestFrom: when an origin may be visited, by what is known of its robots.txt.
func TestFrom(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var never time.Time
	for _, c := range []struct {
		name  string
		is    func(o *hosts.Origin)
		state crawl.RobotsState
		from  time.Time
	}{
		{"nothing is known", func(*hosts.Origin) {}, crawl.RobotsUnknown, never},
		{"a file", func(o *hosts.Origin) { crawlDelay(o, time.Second) }, crawl.RobotsParsed, never},
		{"one that asks for more than we can keep", func(o *hosts.Origin) { crawlDelay(o, time.Hour) }, crawl.RobotsParsed, now.Add(time.Hour)},
		{"another host is asked", func(o *hosts.Origin) { o.AwaitRobots("http://b.example/", 1, now) }, crawl.RobotsPending, now.Add(mirror.PendingMax)},
		{"it did not answer", func(o *hosts.Origin) { o.AwaitRobots("http://b.example/", 1, now.Add(-2*mirror.PendingMax)) }, crawl.RobotsUnknown, never},
		{"it failed", func(o *hosts.Origin) { o.RobotsFailed(now, 500, 0) }, crawl.RobotsUnreachable, now.Add(RetryRobots.First)},
		{"it failed, and asks for more", func(o *hosts.Origin) { o.RobotsFailed(now, 503, time.Hour) }, crawl.RobotsUnreachable, now.Add(time.Hour)},
	} {
		_, h, o := testHost(t, crawl.Spec{Delay: time.Second})
		c.is(o)
		state, _ := State(o, now)
		if from := From(o, now); state != c.state || from.Sub(c.from).Abs() > time.Second {
			t.Errorf("%s: %v, from %v, want %v, from %v", c.name, state, from, c.state, c.from)
		}
		if slow := SlowOrigin(h) != nil; slow != (c.name == "one that asks for more than we can keep") {
			t.Errorf("%s: counts as slow %v", c.name, slow)
		}
	}
}

// TestAuxReady: auxiliary requests wait for what their kind waits for.
func TestAuxReady(t *testing.T) {
	t.Parallel()
	now := time.Now()
	p, h, o := testHost(t, crawl.Spec{Delay: time.Second})
	p.features.Register([]hosts.Feature{{Aux: map[crawl.AuxKind]hosts.AuxKind{
		crawl.AuxSitemap: {From: PageFrom}, crawl.AuxRobots: {From: AtOnce},
	}}})
	for _, kind := range []crawl.AuxKind{crawl.AuxSitemap, crawl.AuxRobots} {
		h.OfferAux(crawl.AuxRequest{Kind: kind, URL: "http://a.example/x", Origin: o.Origin})
	}
	if n := len(p.AuxReady(h, 9, now)); n != 2 || !p.AuxQuota(h, now) {
		t.Errorf("%d are ready", n)
	}
	if n := len(p.AuxReady(h, 1, now)); n != 1 {
		t.Errorf("%d are ready, of one that is asked for", n)
	}
	o.RobotsFailed(now, 500, 0)
	if list := p.AuxReady(h, 9, now); len(list) != 1 || list[0].Kind != crawl.AuxRobots {
		t.Errorf("while robots.txt fails: %+v", list)
	}
	if n := p.AuxDueBy(h, now, now, 0); n != 1 {
		t.Errorf("%d are due by now", n)
	}
	if n := p.AuxDueBy(h, now.Add(time.Hour), now, 0); n != 2 {
		t.Errorf("%d are due within an hour", n)
	}
}
