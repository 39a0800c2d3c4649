package frontier

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	rand "math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/mirror"
	"github.com/curtsy/curtsy/internal/frontier/mirrors"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/internal/likeness"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// rig is a crawl in simulated time: real shards, their logs, one fetcher that never fails, an
// indexer that keeps the newest message, and a small web. Shards may be killed between any two
// steps.
type rig struct {
	t      *testing.T
	web    map[string]*site // by origin
	shards []*bench
	pages  map[canon.URL]*rigPage
	data   map[string]bool // origins whose data.txt is stored

	requests map[string][]string // by origin: paths, in order
	kill     *rand.Rand          // nil: nothing is killed at random
	killAt   int                 // kill at this point, see point; 0: at none
	saved    bool                // what had changed by then was just committed
	points   int                 // passed so far
	kills    int
}

type rigPage struct {
	visit, aliasVisit crawl.VisitID
	stored            bool
	text              string
	aliasOf           canon.URL
}

// site is one origin of the simulated web.
type site struct {
	robots string // "404", "down", "-> URL", or the file
	pages  map[string]string
	moved  string // every page is a 301 to the same path there
}

func testOriginOf(name string) canon.Origin {
	if !strings.Contains(name, "://") {
		name = "http://" + name
	}
	return canon.URL(name + "/").Origin()
}

func digestOf(text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text))
	return max(h.Sum64(), 1)
}

func hostLine(h string) string { return "User-agent: *\nHost: " + h + "\n" }

func newRig(t *testing.T, shards int, web map[string]*site) *rig {
	spec := testSpec("http://seed.example/")
	spec.Shards = shards
	return newRigWith(t, spec, web)
}

func newRigWith(t *testing.T, spec crawl.Spec, web map[string]*site) *rig {
	g := &rig{t: t, web: map[string]*site{}, pages: map[canon.URL]*rigPage{}, data: map[string]bool{}, requests: map[string][]string{}}
	for name, s := range web {
		g.web[testOriginOf(name).String()] = s
	}
	for id := range spec.Shards {
		b := &bench{t: t, dir: t.TempDir(), id: id, spec: spec}
		b.open()
		b.start = store.StartDelay
		t.Cleanup(func() { b.crash() })
		g.shards = append(g.shards, b)
	}
	return g
}

func (g *rig) shardOf(u canon.URL) *bench { return g.shards[crawl.ShardOf(u.Host(), len(g.shards))] }

func (g *rig) seed(urls ...string) {
	for _, raw := range urls {
		u := mustParse(g.t, raw)
		g.shardOf(u).event(crawl.Event{Links: []crawl.Links{{Seed: true, URLs: []canon.URL{u}}}})
	}
}

// maybeKill sometimes kills a shard: what it had not committed is lost, what it had sent may be
// sent again.
func (g *rig) maybeKill(b *bench) {
	if b.s.Ledger.Unsaved() && g.point(b) {
		return
	}
	if g.kill != nil && g.kill.IntN(25) == 0 {
		g.killed(b)
	}
}

// point is a moment at which a crash has consequences of its own: something has changed and is not
// committed, or was sent and is not recorded as sent. It reports whether the shard was killed
// there.
func (g *rig) point(b *bench) bool {
	if g.points++; g.points != g.killAt {
		return false
	}
	if g.saved {
		b.commit()
	}
	g.killed(b)
	return true
}

func (g *rig) killed(b *bench) {
	g.kills++
	b.crash()
	b.open()
}

// run continues the crawl until there is nothing more to do, or d has passed. Upkeep is only done
// if its time comes within d.
func (g *rig) run(d time.Duration) {
	g.t.Helper()
	end := time.Now().Add(d)
	for n := 0; time.Now().Before(end); n++ {
		if n > 20_000 {
			g.t.Fatal("no end of work")
		}
		if g.step() {
			time.Sleep(500 * time.Millisecond)
			continue
		}
		next := end
		for _, b := range g.shards {
			for _, t := range []time.Time{b.s.Visits.NextDue(time.Now()), b.s.Mirrors.MirrorsDue} {
				if !t.IsZero() && t.Before(next) {
					next = t
				}
			}
		}
		time.Sleep(max(time.Until(next), 250*time.Millisecond))
	}
}

// step does one round of everything and reports whether anything was done.
func (g *rig) step() (busy bool) {
	for _, b := range g.shards {
		b.s.Ledger.Mu.Lock()
		b.s.Visits.Expire(time.Now())
		err := b.s.Mirrors.Upkeep(time.Now())
		b.s.Ledger.Mu.Unlock()
		for more := true; more && err == nil; {
			b.s.Ledger.Mu.Lock()
			more, err = b.s.Mirrors.ResolveSome(time.Now())
			b.s.Ledger.Mu.Unlock()
			busy = busy || more
			if g.kill != nil && g.kill.IntN(2) == 0 {
				b.commit()
			}
			g.maybeKill(b)
		}
		if err != nil {
			g.t.Fatal(err)
		}
		b.commit()
		g.maybeKill(b)
		for _, m := range b.s.Ledger.CommittedOutbox() {
			busy = true
			if m.Pages {
				g.index(b.outgoing(m))
			} else {
				g.shards[m.Shard].eventData(b.outgoing(m))
				g.maybeKill(g.shards[m.Shard])
			}
			if g.kill != nil && g.kill.IntN(5) == 0 {
				b.commit()
			}
			if g.point(b) { // killed after sending, before that is recorded
				break
			}
			if g.kill != nil && g.kill.IntN(50) == 0 {
				g.killed(b)
				break
			}
			b.s.Ledger.MarkSent(m.N)
		}
		if len(b.s.Ledger.Unsent) > 10_000 {
			g.t.Fatal("messages breed")
		}
		g.maybeKill(b)
		for _, v := range b.grant(8) {
			busy = true
			g.visit(b, v)
			g.maybeKill(b)
		}
	}
	return busy
}

func (g *rig) index(data []byte) {
	list, err := crawl.DecodePages(data)
	if err != nil {
		g.t.Fatal(err)
	}
	for i := range list {
		p := &list[i]
		if p.Kind == crawl.KindData {
			g.data[p.Origin.String()] = p.Deleted == ""
			continue
		}
		have := g.pages[p.URL]
		if have == nil {
			have = new(rigPage)
			g.pages[p.URL] = have
		}
		switch {
		case p.Kind == crawl.KindAlias && p.Visit.Compare(have.visit) > 0 && p.Visit.Compare(have.aliasVisit) > 0:
			have.aliasVisit, have.aliasOf = p.Visit, p.AliasOf
		case p.Kind == crawl.KindPage && p.Visit.Compare(have.visit) > 0:
			have.visit, have.stored, have.text = p.Visit, p.Deleted == "", string(p.Body)
			if have.visit.Compare(have.aliasVisit) > 0 {
				have.aliasOf = ""
			}
		}
	}
}

// stored returns the URLs of stored pages without aliases.
func (g *rig) stored() (urls []string) {
	for u, p := range g.pages {
		if p.stored && p.aliasOf == "" {
			urls = append(urls, string(u))
		}
	}
	slices.Sort(urls)
	return urls
}

func (g *rig) ask(o canon.Origin, path string) *site {
	g.requests[o.String()] = append(g.requests[o.String()], path)
	return g.web[o.String()]
}

func (g *rig) robots(o canon.Origin) crawl.Robots {
	s := g.ask(o, "/robots.txt")
	f := crawl.Robots{Origin: o, Fresh: 24 * time.Hour}
	switch {
	case s == nil || s.robots == "down":
		f.State, f.Reason = crawl.RobotsUnreachable, "dns: no such host"
	case s.robots == "404":
		f.State, f.Status = crawl.RobotsUnavailable, 404
	case strings.HasPrefix(s.robots, "-> "):
		f.State, f.Status, f.Location, f.Redirects = crawl.RobotsPending, 301, s.robots[3:], 1
	default:
		f.State, f.Status, f.Body = crawl.RobotsParsed, 200, []byte(s.robots)
		sum := robots.Digest(f.Body)
		f.Digest = sum[:]
	}
	return f
}

var linkRE = regexp.MustCompile(`<([^>]+)>`)

// visit does what a fetcher does, at once.
func (g *rig) visit(b *bench, v crawl.Visit) {
	facts := map[canon.Origin]*crawl.Robots{}
	ev := crawl.Event{Visit: v.ID}
	for i := range v.Robots {
		f := &v.Robots[i]
		if f.State != crawl.RobotsPending && f.Fresh <= 0 {
			got := g.robots(f.Origin)
			ev.Robots = append(ev.Robots, got)
			f = &got
		}
		facts[f.Origin] = f
	}
	if len(ev.Robots) > 0 {
		b.event(ev)
	}
	o := &crawl.Outcome{Host: v.Host, Delay: v.Delay, Requests: 1, Private: true}
	for _, e := range v.Aux {
		a, ok := g.auxRequest(e, facts)
		if !ok {
			continue
		}
		g.shards[e.ReplyShard].event(crawl.Event{Visit: v.ID, Answers: []crawl.Answer{a}})
		o.Done = append(o.Done, e)
	}
	for _, u := range v.URLs {
		o.Results = append(o.Results, g.fetch(v, u, facts[u.URL.Origin()]))
	}
	b.event(crawl.Event{Visit: v.ID, Outcome: o})
}

func allowed(f *crawl.Robots, u canon.URL) bool {
	return f != nil && (f.State == crawl.RobotsUnavailable || f.State == crawl.RobotsParsed &&
		robots.Parse(f.Body).Rules("curtsy", hosts.RobotsOrigin(u.Origin())).Match(u.PathQuery()).Allowed)
}

func (g *rig) auxRequest(e crawl.AuxRequest, facts map[canon.Origin]*crawl.Robots) (a crawl.Answer, ok bool) {
	a.Aux = e
	o := e.URL.Origin()
	f := facts[o]
	switch e.Kind {
	case crawl.AuxRobots:
		a.Robots = g.robots(o)
		if a.Robots.State == crawl.RobotsPending {
			g.t.Fatal("a second hop")
		}
		a.Robots.Origin = e.Origin
	case crawl.AuxClaim:
		switch f.State {
		case crawl.RobotsPending, crawl.RobotsUnknown:
			return a, false
		case crawl.RobotsUnreachable:
			a.Claim.Reason = f.Reason
		case crawl.RobotsUnavailable:
			a.Claim.Kind = crawl.ClaimNone
		default:
			a.Claim = mirrors.ClaimOf(f.Body, o)
		}
	case crawl.AuxSample:
		if !allowed(f, e.URL) {
			a.Sample.Reason = "robots: not allowed"
			break
		}
		s := g.ask(o, e.URL.PathQuery())
		text, ok := s.pages[e.URL.PathQuery()]
		switch {
		case s.moved != "":
			a.Sample = crawl.Sample{Status: 301, Location: s.moved + e.URL.PathQuery()}
		case !ok:
			a.Sample = crawl.Sample{Status: 404, Reason: "HTTP 404"}
		default:
			a.Sample = crawl.Sample{Status: 200, Digest: digestOf(text), Likeness: likeness.OfText([]byte(text))}
		}
	default:
		g.t.Fatalf("a fetcher got an auxiliary request of kind %d", e.Kind)
	}
	return a, true
}

func (g *rig) fetch(v crawl.Visit, u crawl.VisitURL, f *crawl.Robots) crawl.Result {
	r := crawl.Result{URL: u.URL, Class: crawl.Returned}
	page := crawl.Page{URL: u.URL, Visit: v.ID}
	put := func() { g.index(crawl.AppendPages(nil, []crawl.Page{page})) }
	switch {
	case f.State == crawl.RobotsUnreachable || f.State == crawl.RobotsPending:
		return r
	case !allowed(f, u.URL):
		page.Deleted = crawl.ReasonRobots
		put()
		r.Class, r.Reason = crawl.Refused, crawl.ReasonRobots
		return r
	}
	s := g.ask(u.URL.Origin(), u.URL.PathQuery())
	r.FetchedAt = time.Now()
	text, ok := s.pages[u.URL.PathQuery()]
	switch {
	case s.moved != "":
		r.Class, r.Reason, r.Status, r.Location = crawl.Redirected, crawl.ReasonRedirect, 301, s.moved+u.URL.PathQuery()
		page.Deleted = crawl.ReasonRedirect
		put()
		to := mustParse(g.t, r.Location)
		g.shardOf(to).event(crawl.Event{Visit: v.ID, Links: []crawl.Links{{FoundOn: u.URL, Depth: u.Depth, Redirects: u.Redirects + 1, URLs: []canon.URL{to}}}})
	case !ok:
		r.Class, r.Reason, r.Status = crawl.Failed, crawl.ReasonHTTP4xx, 404
		page.Deleted = crawl.ReasonHTTP4xx
		put()
	default:
		r.Class, r.Status, r.Digest = crawl.Stored, 200, digestOf(text)
		page.Body = []byte(text)
		put()
		for _, m := range linkRE.FindAllStringSubmatch(text, -1) {
			to, err := canon.NewBase(u.URL).Join(m[1])
			if err != nil {
				g.t.Fatal(err)
			}
			g.shardOf(to).event(crawl.Event{Visit: v.ID, Links: []crawl.Links{{FoundOn: u.URL, Depth: u.Depth + 1, URLs: []canon.URL{to}}}})
		}
	}
	return r
}

// mirrors returns the database: origin → state.
func (g *rig) mirrors() map[string]string {
	all := map[string]string{}
	for _, b := range g.shards {
		for _, h := range b.s.Ledger.Hosts {
			for i := range h.Origins {
				m := h.Origins[i].Mirror
				if m == nil || m.State == "" || m.State == mirror.Main {
					continue
				}
				text := "unconfirmed: " + m.Reason
				if m.Mirrored() {
					text = "mirror of " + m.Main.String() + " " + m.By
				}
				if m.Trial != "" || m.Soon {
					text += " (pending)"
				}
				all[h.Origins[i].Origin.String()] = text
			}
		}
	}
	return all
}

// urls returns the state of every URL of some hosts.
func (g *rig) urls(names ...string) map[string]string {
	all := map[string]string{}
	for _, b := range g.shards {
		err := b.s.URLs.EachRecord(func(h *hosts.Host, _ []byte, r *urls.Record) (bool, error) {
			if len(names) == 0 || slices.Contains(names, string(h.Name)) {
				all[string(r.URL)] = strings.TrimSpace(fmt.Sprint(r.Class, " ", r.Reason))
			}
			return false, nil
		})
		if err != nil {
			g.t.Fatal(err)
		}
	}
	return all
}

// check compares the actual with the expected state, and the counts with the records.
func (g *rig) check(what string, got, want map[string]string) {
	g.t.Helper()
	for _, k := range slices.Sorted(maps.Keys(want)) {
		if got[k] != want[k] {
			g.t.Errorf("%s: %s is %q, want %q", what, k, got[k], want[k])
		}
	}
	for _, k := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[k]; !ok {
			g.t.Errorf("%s: %s is %q, want nothing", what, k, got[k])
		}
	}
}

func (g *rig) verify() {
	g.t.Helper()
	for _, b := range g.shards {
		b.verify()
		st := b.status()
		if e := st.Shards[0].Aux; e != 0 || len(b.s.Mirrors.Settling) != 0 || len(b.s.Ledger.Unsent) != 0 {
			g.t.Errorf("shard %d is not done: %d auxiliary requests, %d origins to go through, %d messages", b.id, e, len(b.s.Mirrors.Settling), len(b.s.Ledger.Unsent))
		}
	}
}

// asked counts page requests to an origin.
func (g *rig) asked(origin string) (n int) {
	for _, p := range g.requests[testOriginOf(origin).String()] {
		if p != "/robots.txt" {
			n++
		}
	}
	return n
}

// apart returns a name of a host that is in another shard than the given ones, if there is more
// than one shard.
func apart(shards int, prefix string, others ...string) string {
	for i := range 1000 {
		name := fmt.Sprintf("%s%d.example", prefix, i)
		taken := slices.ContainsFunc(others, func(o string) bool {
			return crawl.ShardOf(canon.Host(o), shards) == crawl.ShardOf(canon.Host(name), shards)
		})
		if !taken {
			return name
		}
	}
	return cmp.Or(prefix) + ".example"
}
