package frontier

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/dispatch"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/mirror"
	"github.com/curtsy/curtsy/pkg/canon"
)

const (
	robotsSite   = "http://www.a.example"
	robotsServer = canon.Host("robots.a.example")
	robotsTxt    = "User-agent: *\nDisallow:\nMobile-agent-server: / atp://robots.a.example:5000\n"
)

func dispatchSpec() crawl.Spec {
	spec := testSpec(robotsSite + "/")
	spec.SendRobots = true
	return spec
}

// namesServer makes a site known whose robots.txt names servers.
func (b *bench) namesServer(site, body string) {
	b.t.Helper()
	b.links(0, "", site+"/")
	b.learned(site, body, crawl.VisitID{})
	b.upkeep()
}

// upkeep does what is due, and delivers what that sends.
func (b *bench) upkeep() {
	b.t.Helper()
	if err := b.s.Features.Upkeep(time.Now()); err != nil {
		b.t.Fatal(err)
	}
	b.outboxToLog()
}

// sentRobot waits for a visit that sends a mobile robot, and answers everything else meanwhile with
// pages that are stored.
func (b *bench) sentRobot(within time.Duration) (v crawl.Visit, ok bool) {
	b.t.Helper()
	step := time.Second
	for end := time.Now().Add(within); !time.Now().After(end); time.Sleep(step) {
		b.upkeep()
		b.passes()
		for _, v := range b.grant(4) {
			if len(v.Aux) > 0 && v.Aux[0].Kind == crawl.AuxDispatch {
				return v, true
			}
			b.served(v, nil)
		}
		if time.Since(end.Add(-within)) > time.Hour {
			step = time.Hour
		}
	}
	return v, false
}

// served ends a visit whose pages are stored. verify answers requests that compare a page.
func (b *bench) served(v crawl.Visit, verify func(e crawl.AuxRequest) crawl.Sample) {
	b.t.Helper()
	for _, e := range v.Aux {
		a := crawl.Answer{Aux: e}
		switch {
		case e.Kind == crawl.AuxVerify && verify != nil:
			a.Sample = verify(e)
		case e.Kind == crawl.AuxDispatch:
			a.Dispatch = &crawl.Dispatch{State: crawl.DispatchFailed}
		}
		b.event(crawl.Event{Visit: v.ID, Answers: []crawl.Answer{a}})
	}
	o := &crawl.Outcome{Host: v.Host, Delay: v.Delay, Requests: len(v.URLs) + len(v.Aux), Done: v.Aux}
	for i, u := range v.URLs {
		o.Results = append(o.Results, crawl.Result{URL: u.URL, Class: crawl.Stored, Status: 200, Digest: uint64(i) + 1, FetchedAt: time.Now()})
	}
	ev := crawl.Event{Visit: v.ID, Outcome: o}
	for _, r := range v.Robots {
		switch {
		case r.Fresh > 0:
		case len(r.Digest) > 0:
			ev.Robots = append(ev.Robots, crawl.Robots{Origin: r.Origin, State: crawl.RobotsParsed, Status: 304, Renewed: true, Fresh: 24 * time.Hour})
		default:
			ev.Robots = append(ev.Robots, robotsOK(canon.URL(r.Origin.String()+"/")))
		}
	}
	b.event(ev)
	b.outboxToLog()
}

// plan asks for the plan of a dispatch.
func (b *bench) plan(e crawl.AuxRequest) crawl.DispatchPlan {
	b.t.Helper()
	p, err := b.s.Dispatches.Plan(crawl.DispatchQuery{Origin: e.Origin, About: e.About, Hop: e.Hop}, time.Now())
	if err != nil {
		b.t.Fatal(err)
	}
	return p
}

// brings reports pages that a mobile robot brought, as its fetcher does: links, the progress, and
// the results, in one event.
func (b *bench) brings(e crawl.AuxRequest, d *crawl.Dispatch, pages ...string) {
	b.t.Helper()
	b.event(bringing(b.t, e, d, pages...))
}

func bringing(t testing.TB, e crawl.AuxRequest, d *crawl.Dispatch, pages ...string) crawl.Event {
	t.Helper()
	l := crawl.Links{FoundOn: canon.URL(e.Origin.String() + "/robots.txt"), Depth: 1, Source: crawl.SourceRobot}
	o := &crawl.Outcome{Host: e.Origin.Host, Partial: true}
	for _, p := range pages {
		u := mustParse(t, p)
		l.URLs = append(l.URLs, u)
		o.Results = append(o.Results, crawl.Result{URL: u, Class: crawl.Stored, Status: 200, Digest: crawl.PathHash(u.PathQuery()), FetchedAt: time.Now()})
	}
	d.State, d.AgentID = crawl.DispatchRunning, "run-1"
	d.Requests++
	d.Received += 1000
	d.Offset += 1000
	d.Pages += int64(len(pages))
	d.Documents += int64(len(pages))
	progress := *d
	return crawl.Event{Visit: d.Visit, Links: []crawl.Links{l}, Answers: []crawl.Answer{{Aux: e, Dispatch: &progress}}, Outcome: o}
}

// ends ends a dispatch and its visit. sample are pages that are compared.
func (b *bench) ends(v crawl.Visit, d *crawl.Dispatch, state string, sample ...string) {
	b.t.Helper()
	d.State = state
	for _, p := range sample {
		u := canon.URL(p)
		d.Sample = append(d.Sample, crawl.DispatchSample{URL: u, Digest: crawl.PathHash(u.PathQuery()), Type: "text/html"})
	}
	over := *d
	b.event(crawl.Event{Visit: v.ID, Answers: []crawl.Answer{{Aux: v.Aux[0], Dispatch: &over}}})
	b.event(crawl.Event{Visit: v.ID, Outcome: &crawl.Outcome{Host: v.Host, Requests: d.Requests, Delay: v.Delay, Done: v.Aux[:1]}})
	b.outboxToLog()
}

// asBrought answers a request that compares a page as the robot brought it.
func asBrought(e crawl.AuxRequest) crawl.Sample {
	return crawl.Sample{Status: 200, Digest: crawl.PathHash(e.URL.PathQuery()), Type: "text/html"}
}

// compares answers the requests that compare pages until no dispatch is under way.
func (b *bench) compares(within time.Duration, verify func(e crawl.AuxRequest) crawl.Sample) {
	b.t.Helper()
	for end := time.Now().Add(within); b.working() > 0 && time.Now().Before(end); time.Sleep(time.Second) {
		b.upkeep()
		for _, v := range b.grant(4) {
			b.served(v, verify)
		}
	}
	if n := b.working(); n > 0 {
		b.t.Fatalf("%d dispatches are still under way after %v: %+v", n, within, b.info())
	}
}

func (b *bench) working() int {
	m := b.s.Dispatches.Sum()
	if m == nil {
		return 0
	}
	return m.Outstanding + m.Verifying
}

// info is what `curtsy hosts` shows of the site's first dispatch.
func (b *bench) info() (d crawl.DispatchInfo) {
	b.t.Helper()
	for _, d := range b.infos(canon.URL(robotsSite + "/").Host()) {
		return d
	}
	return d
}

func (b *bench) infos(host canon.Host) []crawl.DispatchInfo {
	b.t.Helper()
	h, err := b.s.Ledger.HostNamed(host)
	if err != nil || h == nil {
		b.t.Fatal(h, err)
	}
	return b.s.Account.HostInfo(h, time.Now()).Dispatches
}

func pagesAt(site string, from, n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("%s/%d", site, from+i))
	}
	return list
}

// Each row of the example matrices of the draft of 1997 drives a dispatch, or its absence
// (formats §3).
func TestEachRowOfTheMatricesDrivesADispatch(t *testing.T) {
	const site = "http://www.fict.org"
	for name, c := range map[string]struct {
		lines string
		rows  map[string]string // path → server
	}{
		"first": {"/ none\n/dir1 atp://www.fict.org:544\n/dir1/dir2 atp://www.fict.org:543", map[string]string{
			"/": "", "/x": "", "/dir1": "atp://www.fict.org:544", "/dir1/a": "atp://www.fict.org:544",
			"/dir1/dir2": "atp://www.fict.org:543", "/dir1/dir2/a": "atp://www.fict.org:543",
		}},
		"second": {"/ atp://www.fict.org:8001\n/home/ none\n/home/user1/ atp://user1.fict.org:854\n/home/user2/ atp://user2.fict.org:831", map[string]string{
			"/index.html": "atp://www.fict.org:8001", "/services/": "atp://www.fict.org:8001",
			"/services/index.html": "atp://www.fict.org:8001", "/robots.txt": "atp://www.fict.org:8001",
			"/home/": "", "/home/user1/": "atp://user1.fict.org:854", "/home/user1/index.html": "atp://user1.fict.org:854",
			"/home/user2/": "atp://user2.fict.org:831", "/home/user2/index.html": "atp://user2.fict.org:831",
			"/home/user3/": "", "/home/user3/index.html": "", "/": "atp://www.fict.org:8001",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				spec := dispatchSpec()
				spec.Seeds = []string{site + "/"}
				b := newBench(t, spec)
				body := "User-agent: *\nDisallow:\n"
				for line := range strings.Lines(c.lines) {
					body += "Mobile-agent-server: " + strings.TrimSpace(line) + "\n"
				}
				b.namesServer(site, body)
				sent := map[string]string{} // path → server
				for range 8 {
					v, ok := b.sentRobot(20 * time.Minute)
					if !ok {
						break
					}
					sent[v.Aux[0].About.PathQuery()] = crawl.AgentAddress(v.Aux[0].URL)
					d := b.plan(v.Aux[0]).Before
					b.ends(v, &d, crawl.DispatchDone)
				}
				// The robot that reads a row's document is that of the longest path above it with
				// the server that the robots.txt names for the row.
				f := b.s.Ledger.RobotsFile(b.s.Ledger.Hosts["www.fict.org"], &b.s.Ledger.Hosts["www.fict.org"].Origins[0])
				servers := map[string]bool{}
				for row, want := range c.rows {
					got := ""
					for path, server := range sent {
						if target, _ := f.AgentServer(row); target == server && strings.HasPrefix(row+"/", path) {
							got = server
						}
					}
					if got != want {
						t.Errorf("%s: a robot is sent to %q, want %q; of all: %v", row, got, want, sent)
					}
					if want != "" {
						servers[want] = true
					}
				}
				if len(sent) != len(servers) {
					t.Errorf("robots are sent for %v, want one for each of %v", sent, servers)
				}
			})
		})
	}
}

// A dispatch from its beginning to its end: pages of the site wait for the robot, what it brings
// counts as the results of one visit, a sample of it is fetched the ordinary way and compared, and
// the rest is fetched as always.
func TestDispatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, dispatchSpec())
		b.links(1, robotsSite+"/", pagesAt(robotsSite, 0, 4)...)
		b.namesServer(robotsSite, robotsTxt)
		v, ok := b.sentRobot(time.Minute)
		if !ok || v.Host != robotsServer || len(v.Robots) != 0 || len(v.Aux) != 1 {
			t.Fatalf("%+v, %v", v, ok)
		}
		e := v.Aux[0]
		if e.About != robotsSite+"/" || crawl.AgentAddress(e.URL) != "atp://robots.a.example:5000" || e.Origin.String() != robotsSite {
			t.Errorf("%+v", e)
		}
		time.Sleep(time.Minute)
		if got := b.grant(4); len(got) != 0 {
			t.Errorf("%+v, want the pages of the site to wait for the robot", got)
		}
		if n := b.status().Shards[0].Aux; n != 1 {
			t.Errorf("%d auxiliary requests are awaited, want the dispatch", n)
		}
		if x := b.explain(robotsSite + "/0"); x.Detail != "waiting for a mobile robot, which was sent to atp://robots.a.example:5000" {
			t.Errorf("explain: %q", x.Detail)
		}
		p := b.plan(e)
		if !p.Wanted || p.Visit.IsZero() || p.Pages != 0 || p.AgentID != "" || len(p.Next) != 0 || p.Robots.State != crawl.RobotsParsed ||
			string(p.Robots.Body) != robotsTxt {
			t.Errorf("%+v", p)
		}
		wantKnown(t, p.Known, []string{"/", "/0", "/1", "/2", "/3"})
		d := p.Before
		b.brings(e, &d, append(pagesAt(robotsSite, 0, 3), robotsSite+"/new")...)
		b.brings(e, &d, robotsSite+"/new/2")
		if x := b.explain(robotsSite + "/new"); x.State != "stored" || *x.Depth != 1 || *x.FoundOn != robotsSite+"/robots.txt" || x.Robot == nil ||
			x.Robot.Server != "atp://robots.a.example:5000" || x.Robot.Verified {
			t.Errorf("%+v, %+v", x, x.Robot)
		}
		if got := b.info(); got.State != "running" || got.Pages != 5 || got.Requests != 2 || got.BytesReceived != 2000 || got.Line != 3 || got.Sent != 1 {
			t.Errorf("%+v", got)
		}
		b.ends(v, &d, crawl.DispatchDone, robotsSite+"/0", robotsSite+"/new")
		if got := b.info(); got.State != "verifying" || got.Sampled != 5 {
			t.Errorf("%+v", got)
		}
		asked := []string{}
		b.compares(time.Hour, func(e crawl.AuxRequest) crawl.Sample {
			asked = append(asked, e.URL.PathQuery())
			return asBrought(e)
		})
		slices.Sort(asked)
		// Eight are compared at least, if there are so many: here all that were brought.
		if !slices.Equal(asked, []string{"/0", "/1", "/2", "/new", "/new/2"}) {
			t.Errorf("compared %v", asked)
		}
		if got := b.info(); got.State != "done" || got.Confirmed != 5 || got.Next != nil || got.DroppedUntil != nil {
			t.Errorf("%+v", got)
		}
		if x := b.explain(robotsSite + "/new"); x.Robot == nil || !x.Robot.Verified {
			t.Errorf("%+v", x.Robot)
		}
		if _, ok := b.sentRobot(20 * time.Minute); ok {
			t.Error("a crawl that does not fetch pages again sent a second robot")
		}
		st := b.status()
		if st.Stored != 7 || st.Queued != 0 || st.Shards[0].Aux != 0 || st.MobileRobots == nil || st.MobileRobots.Pages != 5 || st.MobileRobots.Confirmed != 5 {
			t.Errorf("%+v, %+v", st, st.MobileRobots)
		}
	})
}

func wantKnown(t *testing.T, got []crawl.KnownPage, paths []string) {
	t.Helper()
	var all []uint64
	for _, k := range got {
		all = append(all, k.Path)
	}
	for _, p := range paths {
		if !slices.Contains(all, crawl.PathHash(p)) {
			t.Errorf("%s is not among the known pages", p)
		}
	}
	if len(got) != len(paths) {
		t.Errorf("%d pages are known, want %v", len(got), paths)
	}
}

// Whatever a crash loses between two steps of a dispatch, the next owner continues it: each page
// counts once, each page of the sample is compared, and one robot is sent.
func TestDispatchSurvivesACrashAtEachStep(t *testing.T) {
	for crashAt := range 12 {
		for _, committed := range []bool{false, true} {
			t.Run(fmt.Sprint(crashAt, committed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { dispatchWithCrash(t, crashAt, committed) })
			})
		}
	}
}

func dispatchWithCrash(t *testing.T, crashAt int, committed bool) {
	b := newBench(t, dispatchSpec())
	at := 0
	step := func() {
		if at == crashAt {
			if committed {
				b.commit()
			}
			b.crash()
			b.open()
		}
		at++
	}
	b.links(1, robotsSite+"/", pagesAt(robotsSite, 0, 2)...)
	step()
	b.namesServer(robotsSite, robotsTxt)
	step()
	v, ok := b.sentRobot(time.Minute)
	if !ok {
		t.Fatal("no robot is sent")
	}
	step()
	e := v.Aux[0]
	d := b.plan(e).Before
	step()
	events := []crawl.Event{bringing(t, e, &d, pagesAt(robotsSite, 0, 2)...), bringing(t, e, &d, pagesAt(robotsSite, 10, 2)...)}
	for _, ev := range events {
		b.event(ev)
		step()
	}
	b.event(events[0]) // published twice
	if got := b.plan(e); !got.Wanted || got.Offset != 2000 || got.AgentID != "run-1" || got.Before.Pages != 4 || got.Visit != d.Visit {
		t.Errorf("the plan of the next fetcher: %+v", got)
	}
	step()
	b.ends(v, &d, crawl.DispatchDone)
	step()
	b.ends(v, &d, crawl.DispatchDone) // published twice
	step()
	compared := map[canon.URL]int{}
	for range 3 {
		for _, v := range b.grant(4) {
			b.served(v, func(e crawl.AuxRequest) crawl.Sample { compared[e.URL]++; return asBrought(e) })
			step()
		}
		b.upkeep()
		time.Sleep(2 * time.Second)
	}
	b.compares(2*time.Hour, func(e crawl.AuxRequest) crawl.Sample { compared[e.URL]++; return asBrought(e) })
	if _, ok := b.sentRobot(20 * time.Minute); ok {
		t.Error("a second robot is sent")
	}
	b.verify()
	st := b.status()
	if st.Stored != 5 || st.Discovered != 5 || st.MobileRobots.Pages != 4 || st.MobileRobots.Sent != 1 {
		t.Errorf("%+v, %+v", st, st.MobileRobots)
	}
	if got := b.info(); got.State != "done" || got.Confirmed != 4 || len(compared) != 4 {
		t.Errorf("%+v, compared %v", got, compared)
	}
}

// An owner that begins with a checkpoint from before a robot was sent continues with it, because
// its reports say what it needs to know. Reports of any other dispatch than the current one have no
// effect.
func TestReportsOfOtherDispatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, dispatchSpec())
		b.namesServer(robotsSite, robotsTxt)
		v, _ := b.sentRobot(time.Minute)
		e := v.Aux[0]
		d := b.plan(e).Before
		for _, other := range []crawl.AuxRequest{
			{Kind: e.Kind, URL: e.URL, Origin: e.Origin, About: e.About, Hop: e.Hop - 1},
			{Kind: e.Kind, URL: e.URL, Origin: e.Origin, About: e.About, Hop: e.Hop + 1},
			{Kind: e.Kind, URL: e.URL, Origin: e.Origin, About: e.About + "x/", Hop: e.Hop},
			{Kind: e.Kind, URL: "http://other.a.example/", Origin: e.Origin, About: e.About, Hop: e.Hop},
			{Kind: e.Kind, URL: e.URL, Origin: canon.URL("http://unknown.example/").Origin(), About: e.About, Hop: e.Hop},
			{Kind: e.Kind, URL: e.URL, Origin: canon.URL("https://www.a.example/").Origin(), About: e.About, Hop: e.Hop},
		} {
			b.event(crawl.Event{Answers: []crawl.Answer{{Aux: other, Dispatch: &crawl.Dispatch{State: crawl.DispatchDone, Visit: d.Visit}}}})
			b.event(crawl.Event{Answers: []crawl.Answer{{Aux: other}}})
			if p := b.plan(other); p.Wanted && other.URL == e.URL {
				t.Errorf("%+v has a plan", other)
			}
		}
		if got := b.info(); got.State != "queued" {
			t.Fatalf("%+v, want the robot to be out still", got)
		}
		b.brings(e, &d, robotsSite+"/1")
		late := d
		b.brings(e, &d, robotsSite+"/2")
		late.Offset = 1 << 20
		b.event(crawl.Event{Answers: []crawl.Answer{{Aux: e, Dispatch: &late}}})
		if p := b.plan(e); p.Offset != d.Offset {
			t.Errorf("a late report moves the offset to %d", p.Offset)
		}
	})
}

func TestADispatchIsAdopted(t *testing.T) {
	for _, state := range []string{crawl.DispatchRunning, crawl.DispatchDone} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, dispatchSpec())
			b.links(0, "", robotsSite+"/")
			// The owner that sent the robot left no checkpoint with it: only its reports are in the
			// log.
			u, _ := crawl.AgentServerURL("atp://robots.a.example:5000")
			e := crawl.AuxRequest{Kind: crawl.AuxDispatch, URL: u, Origin: canon.URL(robotsSite + "/").Origin(), About: robotsSite + "/", Hop: 7}
			d := crawl.Dispatch{Visit: crawl.VisitID{Epoch: 1, N: 5}, Limit: 100}
			if state == crawl.DispatchRunning {
				b.brings(e, &d, robotsSite+"/1")
				p := b.plan(e)
				if !p.Wanted || p.Visit != d.Visit || p.Pages != 100 || p.Offset != 1000 || b.s.Ledger.Reserved != 99 {
					t.Fatalf("%+v, %d pages are reserved", p, b.s.Ledger.Reserved)
				}
			} else {
				b.brings(e, &crawl.Dispatch{}, robotsSite+"/1") // without a visit it is not adopted
				if p := b.plan(e); p.Wanted {
					t.Fatalf("%+v", p)
				}
			}
			d.State, d.Pages = crawl.DispatchDone, 1
			d.Sample = []crawl.DispatchSample{{URL: robotsSite + "/1", Digest: 1}}
			b.event(crawl.Event{Answers: []crawl.Answer{{Aux: e, Dispatch: &d}}})
			if m := b.working(); b.s.Ledger.Reserved != 0 || m != 0 && b.s.Ledger.Hosts["www.a.example"].Origins[0].Dispatch == nil {
				t.Errorf("%d pages are reserved, %d under way", b.s.Ledger.Reserved, m)
			}
			b.commit()
			b.crash()
			b.open()
			if a := b.s.Ledger.Hosts["www.a.example"].Aux; len(a) != 1 || a[0].Kind != crawl.AuxVerify || a[0].Hop != 7 {
				t.Errorf("%+v, want the page to be compared", a)
			}
		})
	}
}

// A site whose server sent another page than the site serves: the server is dropped for 30 days,
// everything that it sent is fetched again, and curtsy hosts shows why.
func TestAServerThatLiesIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := dispatchSpec()
		spec.Recrawl, spec.RecrawlMin = true, 60*24*time.Hour
		b := newBench(t, spec)
		b.namesServer(robotsSite, robotsTxt)
		v, _ := b.sentRobot(time.Minute)
		d := b.plan(v.Aux[0]).Before
		b.brings(v.Aux[0], &d, pagesAt(robotsSite, 0, 10)...)
		b.ends(v, &d, crawl.DispatchDone, robotsSite+"/3", robotsSite+"/4")
		dropped := time.Now()
		asked := 0
		b.compares(time.Hour, func(e crawl.AuxRequest) crawl.Sample {
			if e.URL == robotsSite+"/4" {
				asked++
				return crawl.Sample{Status: 200, Digest: 99, Type: "text/html"}
			}
			return asBrought(e)
		})
		if asked != 2 {
			t.Errorf("the page that differs was requested %d times", asked)
		}
		got := b.info()
		if got.DroppedUntil == nil || got.DroppedUntil.Sub(dropped) < dispatch.DroppedFor || got.DropReason != "/4 is another page than the one that it sent: its content differs" {
			t.Fatalf("%+v", got)
		}
		x := b.explain(robotsSite + "/7")
		if x.Robot == nil || x.Robot.DroppedUntil == nil || x.Robot.DropReason != got.DropReason {
			t.Errorf("explain: %+v", x.Robot)
		}
		// A crash before the pass is over does not lose the rest of it.
		b.commit()
		b.crash()
		b.open()
		b.passes()
		if r := b.record(robotsSite + "/7"); r.Class != crawl.Queued || r.Digest != 0 {
			t.Errorf("%+v, want nothing to be known of the copy", r)
		}
		again := map[canon.URL]bool{}
		for range 60 {
			for _, v := range b.grant(4) {
				for _, u := range v.URLs {
					again[u.URL] = u.ETag == "" && u.LastModified == ""
				}
				b.served(v, asBrought)
			}
			time.Sleep(time.Second)
		}
		for _, p := range pagesAt(robotsSite, 0, 10) {
			if !again[canon.URL(p)] {
				t.Errorf("%s was not fetched again without conditions", p)
			}
		}
		if x := b.explain(robotsSite + "/7"); x.Robot != nil || x.State != "stored" {
			t.Errorf("%+v", x)
		}
		if st := b.status(); st.MobileRobots.Dropped != 1 || len(b.s.Ledger.Hosts["www.a.example"].Aux) > 0 {
			t.Errorf("%+v", st.MobileRobots)
		}
		if _, ok := b.sentRobot(dispatch.DroppedFor - 2*time.Hour); ok {
			t.Fatalf("a robot is sent %v after the server was dropped", time.Since(dropped))
		}
	})
}

// What follows from comparing a page with what the site serves, at most twice.
func TestComparedPages(t *testing.T) {
	const u = robotsSite + "/1"
	digest := crawl.PathHash("/1")
	ok := func(digest, likeness uint64, directives uint8) crawl.Sample {
		return crawl.Sample{Status: 200, Digest: digest, Likeness: likeness, Directives: directives, Type: "text/html"}
	}
	sent := crawl.DispatchSample{URL: u, Digest: digest, Likeness: 0xff00ff00ff00ff00, Directives: uint8(crawl.NoSnippet), Type: "text/html"}
	snippet := uint8(crawl.NoSnippet)
	changed := ok(9, 0, snippet)
	changed.Modified = time.Now().Add(1000 * time.Hour)
	other := ok(digest, 0, snippet)
	other.Type = "text/plain"
	for name, c := range map[string]struct {
		answers []crawl.Sample
		want    string // confirmed, unclear, or a part of why it is dropped
	}{
		"the same bytes":                   {[]crawl.Sample{ok(digest, 0, snippet)}, "confirmed"},
		"hardly another text":              {[]crawl.Sample{ok(9, 0xff00ff00ff00ff01, snippet)}, "confirmed"},
		"another media type":               {[]crawl.Sample{other}, "unclear"},
		"changed since":                    {[]crawl.Sample{changed}, "unclear"},
		"another page":                     {[]crawl.Sample{ok(9, 1, snippet), ok(9, 1, snippet)}, "content differs"},
		"other directives":                 {[]crawl.Sample{ok(digest, 0, 0), ok(digest, 0, 0)}, "directives differ"},
		"another page each time":           {[]crawl.Sample{ok(9, 1, snippet), ok(10, 0xffffffff, snippet)}, "unclear"},
		"once another page":                {[]crawl.Sample{ok(9, 1, snippet), ok(digest, 0, snippet)}, "confirmed"},
		"it does not exist":                {[]crawl.Sample{{Status: 404}, {Status: 404}}, "status 404"},
		"it leads elsewhere":               {[]crawl.Sample{{Status: 301, Location: "x"}, {Status: 302}}, "status 302"},
		"busy, then the same":              {[]crawl.Sample{{Status: 503, Again: true}, {Status: 429, Again: true}, ok(digest, 0, snippet)}, "confirmed"},
		"no response three times":          {[]crawl.Sample{{Reason: "connect"}, {Reason: "timeout"}, {Reason: "robots: /1"}}, "unclear"},
		"another page, then none":          {[]crawl.Sample{ok(9, 1, snippet), {Status: 500}, ok(9, 1, snippet)}, "content differs"},
		"a page that is gone, then there":  {[]crawl.Sample{{Status: 404}, ok(9, 1, snippet)}, "unclear"},
		"directives that differ each time": {[]crawl.Sample{ok(9, 1, 0), ok(9, 1, snippet)}, "unclear"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, dispatchSpec())
				b.namesServer(robotsSite, robotsTxt)
				v, _ := b.sentRobot(time.Minute)
				d := b.plan(v.Aux[0]).Before
				b.brings(v.Aux[0], &d, u)
				d.Sample = []crawl.DispatchSample{sent}
				b.ends(v, &d, crawl.DispatchDone)
				n := 0
				b.compares(24*time.Hour, func(crawl.AuxRequest) crawl.Sample { n++; return c.answers[n-1] })
				if n != len(c.answers) {
					t.Errorf("%d requests, want %d", n, len(c.answers))
				}
				got := b.info()
				switch c.want {
				case "confirmed":
					if got.Confirmed != 1 || got.Unclear != 0 || got.DroppedUntil != nil {
						t.Errorf("%+v", got)
					}
				case "unclear": // nothing could be confirmed
					if got.Unclear != 1 || !strings.Contains(got.DropReason, "could not be verified: of 1 pages, 0 were confirmed") {
						t.Errorf("%+v", got)
					}
				default:
					if !strings.Contains(got.DropReason, c.want) || got.DroppedUntil == nil {
						t.Errorf("%+v, want %q", got, c.want)
					}
				}
			})
		})
	}
}

// Reports of the first request for a page arrive again while the second is under way. They neither
// withdraw it nor count as its answer: the page, which differs each time, is unclear.
func TestReportsOfAComparisonArriveTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, dispatchSpec())
		b.namesServer(robotsSite, robotsTxt)
		v, _ := b.sentRobot(time.Minute)
		d := b.plan(v.Aux[0]).Before
		b.brings(v.Aux[0], &d, pagesAt(robotsSite, 1, 3)...)
		b.ends(v, &d, crawl.DispatchDone, pagesAt(robotsSite, 1, 3)...)
		digest := uint64(90)
		sample := func(e crawl.AuxRequest) crawl.Sample {
			if e.URL == robotsSite+"/1" {
				digest++
				return crawl.Sample{Status: 200, Digest: digest, Type: "text/html"}
			}
			return asBrought(e)
		}
		verifies := func() (list []crawl.AuxRequest) {
			for _, e := range b.s.Ledger.Hosts["www.a.example"].Aux {
				if e.URL == robotsSite+"/1" {
					list = append(list, e)
				}
			}
			return list
		}
		var reports []crawl.Event // of the visit that requests it first
		for len(reports) == 0 {
			time.Sleep(time.Second)
			b.upkeep()
			for _, v := range b.grant(4) {
				if !slices.ContainsFunc(v.Aux, func(e crawl.AuxRequest) bool { return e.URL == robotsSite+"/1" }) {
					b.served(v, sample)
					continue
				}
				for _, e := range v.Aux {
					reports = append(reports, crawl.Event{Visit: v.ID, Answers: []crawl.Answer{{Aux: e, Sample: sample(e)}}})
				}
				reports = append(reports, crawl.Event{Visit: v.ID, Outcome: &crawl.Outcome{Host: v.Host, Delay: v.Delay, Requests: len(v.Aux), Done: v.Aux}})
				for _, ev := range reports {
					b.event(ev)
				}
			}
		}
		if got := verifies(); len(got) != 1 {
			t.Fatalf("%+v, want the page to be requested a second time", got)
		}
		for _, ev := range reports {
			b.event(ev)
		}
		if got := verifies(); len(got) != 1 {
			t.Fatalf("%+v, want the second request to stay", got)
		}
		b.compares(time.Hour, sample)
		if got := b.info(); got.DroppedUntil != nil || got.Unclear != 1 {
			t.Errorf("%+v", got)
		}
	})
}

// Pages that a server calls unchanged are compared with the stored digest, and with nothing else:
// a server that says so of everything, whatever the site serves by now, is dropped.
func TestUnchangedPagesAreCompared(t *testing.T) {
	const u = robotsSite + "/1"
	digest := crawl.PathHash("/1")
	for name, c := range map[string]struct {
		served  uint64
		dropped bool
	}{"as it was": {digest, false}, "another page by now": {9, true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, dispatchSpec())
				b.namesServer(robotsSite, robotsTxt)
				v, _ := b.sentRobot(time.Minute)
				d := b.plan(v.Aux[0]).Before
				d.Unchanged, d.Sample = 1, []crawl.DispatchSample{{URL: u, Digest: digest}}
				b.ends(v, &d, crawl.DispatchDone)
				requests := 0
				b.compares(24*time.Hour, func(crawl.AuxRequest) crawl.Sample {
					requests++
					return crawl.Sample{Status: 200, Digest: c.served, Directives: uint8(crawl.NoSnippet), Type: "text/html"}
				})
				if got := b.info(); requests == 0 || (got.DroppedUntil != nil) != c.dropped {
					t.Errorf("%d requests, %+v", requests, got)
				}
			})
		})
	}
}

// Without a sample of the fetcher, a hundredth of all that came is compared, wherever in the bundle
// it was.
func TestSampleOfAllThatCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, dispatchSpec())
		b.namesServer(robotsSite, robotsTxt)
		v, _ := b.sentRobot(time.Minute)
		d := b.plan(v.Aux[0]).Before
		for i := range 10 {
			b.brings(v.Aux[0], &d, pagesAt(robotsSite, 1000+600*i, 600)...)
		}
		b.ends(v, &d, crawl.DispatchDone)
		late := 0
		b.compares(24*time.Hour, func(e crawl.AuxRequest) crawl.Sample {
			if e.URL.PathQuery() >= "/4000" {
				late++
			}
			return asBrought(e)
		})
		if got := b.info(); got.Sampled != 60 || got.Confirmed != 60 || late == 0 || late == 60 {
			t.Errorf("%d of them late: %+v", late, got)
		}
	})
}

// When the next robot is sent: after one that brought what is there not before a day, and only with
// re-crawl; after a failure an hour later and then less and less often, or when the server says; a
// week after a refusal.
func TestWhenTheNextRobotIsSent(t *testing.T) {
	type answer struct {
		d    crawl.Dispatch
		next time.Duration // 0: never
	}
	failed := func(after time.Duration) crawl.Dispatch {
		return crawl.Dispatch{State: crawl.DispatchFailed, Reason: "connect", RetryAfter: after}
	}
	const h = time.Hour
	for name, c := range map[string]struct {
		recrawl time.Duration
		answers []answer
	}{
		"once":          {0, []answer{{crawl.Dispatch{State: crawl.DispatchDone}, 0}}},
		"each day":      {h, []answer{{crawl.Dispatch{State: crawl.DispatchDone}, 24 * h}, {crawl.Dispatch{State: crawl.DispatchDone}, 24 * h}}},
		"each three":    {72 * h, []answer{{crawl.Dispatch{State: crawl.DispatchDone}, 72 * h}}},
		"failures":      {0, []answer{{failed(0), h}, {failed(0), 2 * h}, {failed(0), 4 * h}, {failed(0), 8 * h}, {failed(0), 16 * h}, {failed(0), 24 * h}, {failed(0), 24 * h}}},
		"retry after":   {0, []answer{{failed(30 * h), 30 * h}, {failed(1000 * h), 7 * 24 * h}}},
		"refused":       {0, []answer{{crawl.Dispatch{State: crawl.DispatchRefused, Status: 403}, 7 * 24 * h}}},
		"cut, nothing":  {0, []answer{{crawl.Dispatch{State: crawl.DispatchCut}, h}}},
		"cut":           {h, []answer{{crawl.Dispatch{State: crawl.DispatchCut, Unchanged: 3}, 24 * h}}},
		"another state": {0, []answer{{crawl.Dispatch{State: "exploded"}, h}, {crawl.Dispatch{State: crawl.DispatchDone}, 0}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				spec := dispatchSpec()
				spec.Recrawl, spec.RecrawlMin = c.recrawl > 0, c.recrawl
				b := newBench(t, spec)
				b.namesServer(robotsSite, robotsTxt)
				v, ok := b.sentRobot(time.Minute)
				for i, a := range c.answers {
					if !ok {
						t.Fatalf("no robot is sent at %d", i)
					}
					b.ends(v, &a.d, a.d.State)
					over := time.Now()
					b.commit()
					b.crash() // a restart changes nothing
					b.open()
					next := b.info().Next
					if (next == nil) != (a.next == 0) || next != nil && next.Sub(over) != a.next {
						t.Errorf("after answer %d: the next is due %v, want %v later", i, next, a.next)
					}
					if v, ok = b.sentRobot(max(a.next, 30*24*h) + 2*h); ok != (a.next > 0) {
						t.Fatalf("after answer %d a robot is sent: %v", i, ok)
					}
					if ok && (time.Since(over) < a.next || time.Since(over) > a.next+2*h) {
						t.Errorf("after answer %d: the next is sent %v later, want %v", i, time.Since(over), a.next)
					}
				}
			})
		})
	}
}

// The pages of a site wait ten minutes for a sign of life of the robot; then they are fetched. What
// it brings later counts for URLs that no newer visit has reported.
func TestPagesWaitForASignOfLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, dispatchSpec())
		b.links(1, robotsSite+"/", pagesAt(robotsSite, 0, 200)...)
		b.namesServer(robotsSite, robotsTxt)
		v, _ := b.sentRobot(time.Minute)
		d := b.plan(v.Aux[0]).Before
		waits := func(want time.Duration) crawl.Visit {
			t.Helper()
			began := time.Now()
			for ; time.Since(began) < time.Hour; time.Sleep(time.Second) {
				b.upkeep()
				for _, v := range b.grant(4) {
					if v.Host == "www.a.example" {
						if got := time.Since(began); got < want || got > want+2*time.Second {
							t.Errorf("the pages waited %v, want %v", got, want)
						}
						return v
					}
				}
			}
			t.Fatal("the pages of the site are not fetched")
			return v
		}
		time.Sleep(9 * time.Minute)
		b.brings(v.Aux[0], &d, robotsSite+"/0")
		first := waits(dispatch.Patience)
		if n := b.status().Shards[0].Aux; n != 0 {
			t.Errorf("%d auxiliary requests are awaited, want none after so long", n)
		}
		stored := map[canon.URL]bool{}
		for _, u := range first.URLs {
			stored[u.URL] = true
		}
		o := &crawl.Outcome{Host: first.Host, Requests: len(first.URLs), Delay: first.Delay}
		for _, u := range first.URLs {
			o.Results = append(o.Results, crawl.Result{URL: u.URL, Class: crawl.Failed, Reason: crawl.ReasonHTTP4xx, Status: 404})
		}
		b.event(crawl.Event{Visit: first.ID, Outcome: o})
		last := robotsSite + "/150"
		if stored[canon.URL(last)] {
			t.Fatal("too many pages in one visit")
		}
		b.brings(v.Aux[0], &d, string(first.URLs[0].URL), last)
		if x := b.explain(string(first.URLs[0].URL)); x.State != "failed" || x.Visit != first.ID.String() {
			t.Errorf("an older visit than that of the site's page counts: %+v", x)
		}
		if x := b.explain(last); x.State != "stored" || x.Visit != d.Visit.String() {
			t.Errorf("%+v", x)
		}
		waits(dispatch.Patience) // it has given a sign of life again
		// After a day the dispatch is given up.
		time.Sleep(dispatch.GiveUp)
		b.upkeep()
		if got := b.info(); got.Reason != "there was no answer" || got.State == "running" {
			t.Errorf("%+v", got)
		}
	})
}

// A visit that began before the robot was sent still counts in full: its requests, its bytes and
// the overload that it met.
func TestAVisitThatBeganBeforeTheRobotWasSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, dispatchSpec())
		b.links(1, robotsSite+"/", pagesAt(robotsSite, 0, 4)...)
		before := b.grant(1)[0]
		b.namesServer(robotsSite, robotsTxt)
		v, _ := b.sentRobot(time.Minute)
		d := b.plan(v.Aux[0]).Before
		if d.Visit.Compare(before.ID) <= 0 {
			t.Fatalf("%v is not newer than %v", d.Visit, before.ID)
		}
		b.brings(v.Aux[0], &d, robotsSite+"/0")
		b.event(crawl.Event{Visit: before.ID, Outcome: &crawl.Outcome{Host: before.Host, Requests: 3, Bytes: 77, Overloads: 1, Delay: time.Second,
			Results: []crawl.Result{{URL: robotsSite + "/0", Class: crawl.Failed, Reason: crawl.ReasonHTTP4xx, Status: 404}}}})
		if got := b.sums("www.a.example"); got[0] != 77 || got[1] != 3 {
			t.Errorf("%v bytes and requests", got)
		}
		if h := b.s.Ledger.Hosts["www.a.example"]; h.Backoff != 1 {
			t.Errorf("the delay was doubled %d times", h.Backoff)
		}
		if x := b.explain(robotsSite + "/0"); x.State != "stored" {
			t.Errorf("%+v, want the page of the newer visit", x)
		}
	})
}

// Which servers are used, and when none is.
func TestWhichServersAreUsed(t *testing.T) {
	line := func(target string) string { return "Mobile-agent-server: / " + target + "\n" }
	for name, c := range map[string]struct {
		body   string
		change func(*crawl.Spec)
		want   string
	}{
		"switched off":              {line("atp://robots.a.example:5000"), func(s *crawl.Spec) { s.SendRobots = false }, ""},
		"of the same domain":        {line("atp://robots.a.example"), nil, "atp://robots.a.example:434"},
		"with TLS":                  {line("atps://robots.a.example:443"), nil, "atps://robots.a.example:443"},
		"the site's own host":       {line("atp://www.a.example:80"), nil, "atp://www.a.example:80"},
		"of another domain":         {line("atp://robots.b.example:5000"), nil, ""},
		"a listed host":             {line("atp://robots.b.example:5000"), func(s *crawl.Spec) { s.RobotServers = []string{"Robots.b.example"} }, "atp://robots.b.example:5000"},
		"a listed address":          {line("atp://robots.b.example:5000"), func(s *crawl.Spec) { s.RobotServers = []string{"robots.b.example:5000"} }, "atp://robots.b.example:5000"},
		"another port of it":        {line("atp://robots.b.example:5001"), func(s *crawl.Spec) { s.RobotServers = []string{"robots.b.example:5000"} }, ""},
		"another scheme":            {line("http://robots.a.example:5000"), nil, ""},
		"none":                      {line("none"), nil, ""},
		"no line":                   {"User-agent: *\nDisallow:\n", nil, ""},
		"with a limit of depth":     {line("atp://robots.a.example"), func(s *crawl.Spec) { s.MaxDepth = 3 }, ""},
		"only planned":              {line("atp://robots.a.example"), func(s *crawl.Spec) { s.PlanOnly = true }, ""},
		"out of scope":              {line("atp://robots.a.example"), func(s *crawl.Spec) { s.Exclude = []string{robotsSite + "/"} }, ""},
		"forgotten":                 {line("atp://robots.a.example"), func(s *crawl.Spec) { s.Forgotten = []string{"www.a.example"} }, ""},
		"paused":                    {line("atp://robots.a.example"), func(s *crawl.Spec) { s.Paused = true }, ""},
		"enough pages of this host": {line("atp://robots.a.example"), func(s *crawl.Spec) { s.MaxPagesPerHost = 1 }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				spec := dispatchSpec()
				spec.Seeds = append(spec.Seeds, "http://b.example/")
				if c.change != nil {
					c.change(&spec)
				}
				b := newBench(t, spec)
				if spec.MaxPagesPerHost > 0 {
					b.links(0, "", robotsSite+"/")
					b.finish(b.grant(1)[0], crawl.Stored, "")
				}
				b.namesServer(robotsSite, c.body)
				got := ""
				if v, ok := b.sentRobot(5 * time.Minute); ok {
					got = crawl.AgentAddress(v.Aux[0].URL)
				}
				if got != c.want {
					t.Errorf("a robot is sent to %q, want %q", got, c.want)
				}
			})
		})
	}
}

// A robot that is out when the operator switches robots off, or when its line disappears, is not
// waited for; its plan says that it is not wanted. Switched on again, it is.
func TestRobotsAreSwitchedOff(t *testing.T) {
	for _, how := range []string{"spec", "line", "visit"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, dispatchSpec())
				b.namesServer(robotsSite, robotsTxt)
				switched := func(on bool) {
					if how == "line" {
						b.learned(robotsSite, map[bool]string{true: robotsTxt, false: "User-agent: *\nDisallow:\n"}[on], crawl.VisitID{})
						return
					}
					b.respec(func(s *crawl.Spec) { s.SendRobots = on })
					b.passes()
				}
				if how == "visit" { // before the visit to the server
					switched(false)
					time.Sleep(2 * time.Second)
					for _, v := range b.grant(4) {
						b.served(v, nil)
					}
					b.outboxToLog()
					if got := b.info(); got.State != "dropped" {
						t.Errorf("%+v", got)
					}
					switched(true)
					if v, ok := b.sentRobot(2 * time.Hour); !ok || !b.plan(v.Aux[0]).Wanted {
						t.Error("no robot is sent after they were switched on")
					}
					return
				}
				v, _ := b.sentRobot(time.Minute)
				switched(false)
				if p := b.plan(v.Aux[0]); p.Wanted {
					t.Errorf("%+v", p)
				}
				h := b.s.Ledger.Hosts["www.a.example"]
				if at := h.Origins[0].AwaitsRobot(); at.After(time.Now()) || b.status().Shards[0].Aux > 0 {
					t.Errorf("the pages wait until %v, %d auxiliary requests", at, b.status().Shards[0].Aux)
				}
				switched(true)
				if p := b.plan(v.Aux[0]); !p.Wanted || !h.Origins[0].AwaitsRobot().After(time.Now()) {
					t.Errorf("%+v, the pages wait until %v", p, h.Origins[0].AwaitsRobot())
				}
			})
		})
	}
}

// Of thousands of origins with servers few are worked on at a time. The others are found when their
// time has come, wherever their hosts are.
func TestManySitesWithServers(t *testing.T) {
	defer func(n int) { hosts.MaxResident = n }(hosts.MaxResident)
	hosts.MaxResident = 2
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, dispatchSpec())
		const n = dispatch.MaxWorking + 50
		for i := range n {
			site := fmt.Sprintf("http://h%d.a.example", i)
			b.links(0, "", site+"/")
			b.learned(site, robotsTxt, crawl.VisitID{})
		}
		sent, most := map[canon.Origin]int{}, 0
		for end := time.Now().Add(3 * time.Hour); time.Now().Before(end) && len(sent) < n; time.Sleep(time.Second) {
			b.upkeep()
			most = max(most, b.working())
			if b.working() < min(dispatch.MaxWorking, n-len(sent)) && len(sent) == 0 {
				continue
			}
			for _, v := range b.grant(1000) {
				for _, e := range v.Aux {
					if e.Kind == crawl.AuxDispatch {
						sent[e.Origin]++
						b.event(crawl.Event{Visit: v.ID, Answers: []crawl.Answer{{Aux: e, Dispatch: &crawl.Dispatch{State: crawl.DispatchDone}}}})
						b.event(crawl.Event{Visit: v.ID, Outcome: &crawl.Outcome{Host: v.Host, Partial: true, Requests: 1, Delay: time.Millisecond, Done: []crawl.AuxRequest{e}}})
					}
				}
				v.Aux = nil
				b.served(v, nil)
			}
		}
		if most != dispatch.MaxWorking {
			t.Errorf("at most %d dispatches were under way, want %d", most, dispatch.MaxWorking)
		}
		for o, k := range sent {
			if k != 1 {
				t.Errorf("%s: %d robots", o, k)
			}
		}
		if len(sent) != n {
			t.Errorf("robots were sent for %d of %d sites", len(sent), n)
		}
		b.commit()
		if k := len(b.s.Ledger.Hosts); k > 100 {
			t.Errorf("%d hosts are in memory at the end", k)
		}
	})
}

// A crawl is not done between the moment at which a robots.txt named a server and the one at which
// a robot is sent there. It is, if there are no pages for the robot.
func TestACrawlIsNotDoneBeforeTheRobotIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, dispatchSpec())
		b.links(0, "", robotsSite+"/")
		v := b.grant(1)[0]
		b.event(crawl.Event{Visit: v.ID, Robots: []crawl.Robots{{Origin: v.URLs[0].URL.Origin(), State: crawl.RobotsParsed, Status: 200, Body: []byte(robotsTxt),
			Digest: make([]byte, 32), Fresh: 24 * time.Hour}}, Outcome: &crawl.Outcome{Host: v.Host, Requests: 2, Delay: time.Second,
			Results: []crawl.Result{{URL: v.URLs[0].URL, Class: crawl.Stored, Status: 200, Digest: 1}}}})
		aux := func() int { return b.s.Dispatches.Pending(time.Now().Add(time.Minute), time.Now()) }
		if n := aux(); n != 1 {
			t.Errorf("%d auxiliary requests are awaited before the robot is sent", n)
		}
		b.respec(func(s *crawl.Spec) { s.Paused = true })
		b.upkeep()
		if n := aux(); n != 1 || b.working() != 0 {
			t.Errorf("paused: %d auxiliary requests are awaited, %d robots are out", n, b.working())
		}
		b.respec(func(s *crawl.Spec) { s.Paused = false })
		b.limit(1)
		b.s.Ledger.Budget.Join(0, 1, 0, yes, false)
		b.upkeep()
		if n := aux(); n != 0 || b.working() != 0 {
			t.Errorf("without pages: %d auxiliary requests are awaited, %d robots are out", n, b.working())
		}
		b.limit(2)
		b.s.Ledger.Budget.Join(0, 1, 0, yes, false)
		time.Sleep(2 * time.Second)
		b.upkeep()
		if n := aux(); n != 1 || b.working() != 1 {
			t.Errorf("with a page: %d auxiliary requests are awaited, %d robots are out", n, b.working())
		}
	})
}

// The plan of a site with very many known URLs comes in parts, at the limit and past it.
func TestPlanInParts(t *testing.T) {
	for _, n := range []int{crawl.MaxKnownPages - 1, crawl.MaxKnownPages} { // and the home page
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, dispatchSpec())
			b.namesServer(robotsSite, strings.ReplaceAll(robotsTxt, " / ", " /docs/ "))
			for i := 0; i < n; i += 1000 {
				b.links(1, "", pagesAt(robotsSite+"/docs", i, min(1000, n-i))...)
			}
			b.links(1, "", robotsSite+"/docs/", robotsSite+"/doc", robotsSite+"/other/docs/", "https://www.a.example/docs/1")
			v, ok := b.sentRobot(time.Minute)
			if !ok {
				t.Fatal("no robot is sent")
			}
			known, parts := map[uint64]bool{}, 0
			q := crawl.DispatchQuery{Origin: v.Aux[0].Origin, About: v.Aux[0].About, Hop: v.Aux[0].Hop}
			for {
				p, err := b.s.Dispatches.Plan(q, time.Now())
				if err != nil || !p.Wanted || len(p.Known) > crawl.MaxKnownPages {
					t.Fatalf("%d known, %v", len(p.Known), err)
				}
				if size := len(crawl.AppendDispatchPlan(nil, p)); size > 300<<10 {
					t.Errorf("a part has %d bytes", size)
				}
				parts++
				for _, k := range p.Known {
					known[k.Path] = true
				}
				if q.After = p.Next; len(q.After) == 0 {
					break
				}
			}
			if len(known) != n+1 || parts != 2 { // the second one may have none
				t.Errorf("%d known pages in %d parts, want %d", len(known), parts, n+1)
			}
		})
	}
}

// A known page whose copy is stored has its digest in the plan; one that was not fetched has none.
func TestPlanHasTheDigestsOfStoredPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, dispatchSpec())
		b.links(0, "", robotsSite+"/1")
		v := b.grant(1)[0]
		b.served(v, nil)
		b.links(2, "", robotsSite+"/2")
		b.namesServer(robotsSite, robotsTxt)
		sent, _ := b.sentRobot(time.Minute)
		for _, k := range b.plan(sent.Aux[0]).Known {
			switch k.Path {
			case crawl.PathHash("/1"):
				if k.Digest != 1 || k.Depth != 0 {
					t.Errorf("%+v", k)
				}
			case crawl.PathHash("/2"):
				if k.Digest != 0 || k.Depth != 2 {
					t.Errorf("%+v", k)
				}
			}
		}
	})
}

// A site and the server that it names may be in two shards.
func TestDispatchBetweenTwoShards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := dispatchSpec()
		spec.Shards = 2
		name := func(shard int, prefix string) canon.Host {
			for i := 0; ; i++ {
				if h := canon.Host(fmt.Sprintf("%s%d.a.example", prefix, i)); crawl.ShardOf(h, 2) == shard {
					return h
				}
			}
		}
		site, server := name(0, "www"), name(1, "robots")
		own, its := newBench(t, spec), newBenchOf(t, spec, 1)
		deliver := func() {
			for _, b := range []*bench{own, its} {
				b.commit()
				for _, m := range b.s.Ledger.CommittedOutbox() {
					ev, err := crawl.DecodeEvent(b.outgoing(m))
					if err != nil {
						t.Fatal(err)
					}
					[]*bench{own, its}[m.Shard].event(ev)
					b.s.Ledger.MarkSent(m.N)
				}
			}
		}
		u := "http://" + string(site)
		own.links(0, "", u+"/")
		own.event(crawl.Event{Robots: []crawl.Robots{{Origin: canon.URL(u + "/").Origin(), State: crawl.RobotsParsed, Status: 200,
			Body: []byte("Mobile-agent-server: / atp://" + string(server) + "\n"), Digest: make([]byte, 32), Fresh: 24 * time.Hour}}})
		if err := own.s.Features.Upkeep(time.Now()); err != nil {
			t.Fatal(err)
		}
		deliver()
		deliver() // nothing is sent twice
		vs := its.grant(4)
		if len(vs) != 1 || vs[0].Host != server || len(vs[0].Aux) != 1 || vs[0].Aux[0].ReplyShard != 0 {
			t.Fatalf("%+v", vs)
		}
		e := vs[0].Aux[0]
		if its.status().Shards[0].Outstanding != 1 || its.plan(e).Wanted {
			t.Error("the plan is that of the site's shard")
		}
		d := own.plan(e).Before
		own.event(bringing(t, e, &d, u+"/1"))
		d.State, d.Sample = crawl.DispatchDone, []crawl.DispatchSample{{URL: canon.URL(u + "/1"), Digest: crawl.PathHash("/1"), Type: "text/html"}}
		own.event(crawl.Event{Visit: vs[0].ID, Answers: []crawl.Answer{{Aux: e, Dispatch: &d}}})
		its.event(crawl.Event{Visit: vs[0].ID, Outcome: &crawl.Outcome{Host: server, Requests: 2, Delay: time.Second, Done: vs[0].Aux}})
		for range 10 {
			if err := own.s.Features.Upkeep(time.Now()); err != nil {
				t.Fatal(err)
			}
			for _, v := range own.grant(4) {
				own.served(v, asBrought)
			}
			time.Sleep(time.Second)
		}
		if got := own.infos(site); len(got) != 1 || got[0].State != "done" || got[0].Confirmed != 1 {
			t.Errorf("%+v", got)
		}
		if n := its.status().Shards[0].Aux + own.status().Shards[0].Aux; n != 0 {
			t.Errorf("%d auxiliary requests are awaited at the end", n)
		}
	})
}

// An origin that becomes a mirror has no robot: the one that is out is not waited for, and what one
// brought is not compared any more.
func TestAMirrorHasNoRobots(t *testing.T) {
	for _, ended := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, dispatchSpec())
			b.namesServer(robotsSite, robotsTxt)
			v, _ := b.sentRobot(time.Minute)
			d := b.plan(v.Aux[0]).Before
			b.brings(v.Aux[0], &d, robotsSite+"/1")
			if ended {
				b.ends(v, &d, crawl.DispatchDone)
			}
			h := b.s.Ledger.Hosts["www.a.example"]
			h.Origins[0].KeepMirror(&mirror.Record{State: mirror.OfMain, Main: canon.URL("http://main.example/").Origin()})
			if err := b.s.Features.MirrorChanged(h, 0, time.Now()); err != nil {
				t.Fatal(err)
			}
			if p := b.plan(v.Aux[0]); p.Wanted || len(h.Aux) != 0 || h.Origins[0].AwaitsRobot().After(time.Now()) {
				t.Errorf("ended %v: %+v, %+v", ended, p, h.Aux)
			}
			if !ended {
				b.ends(v, &d, crawl.DispatchDone)
			}
			if n := b.working(); n != 0 || h.Origins[0].Dispatch != nil {
				t.Errorf("ended %v: %d are still under way", ended, n)
			}
			if _, ok := b.sentRobot(time.Hour); ok {
				t.Errorf("ended %v: a robot is sent for a mirror", ended)
			}
			h.Origins[0].KeepMirror(nil)
			if err := b.s.Features.AskOrigin(h, 0, time.Now()); err != nil {
				t.Fatal(err)
			}
			if _, ok := b.sentRobot(2 * time.Hour); !ok {
				t.Errorf("ended %v: no robot is sent for an origin that is a mirror no more", ended)
			}
		})
	}
}

// Of a host with as many auxiliary requests as may wait, one more dispatch fails at once.
func TestAServerOfTooManySites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, dispatchSpec())
		var ev crawl.Event
		for i := range hosts.MaxAux {
			u, _ := crawl.AgentServerURL("atp://robots.a.example:5000")
			site := canon.URL(fmt.Sprintf("http://h%d.a.example/", i))
			ev.Aux = append(ev.Aux, crawl.AuxRequest{Kind: crawl.AuxDispatch, URL: u, Origin: site.Origin(), About: site, Hop: 1, ReplyShard: 0})
		}
		b.event(ev)
		b.namesServer(robotsSite, robotsTxt)
		b.outboxToLog()
		if got := b.info(); got.State != "failed" || got.Reason != "too many auxiliary requests for robots.a.example" || len(b.s.Ledger.Hosts[robotsServer].Aux) != hosts.MaxAux {
			t.Errorf("%+v", got)
		}
	})
}

// The clock is set forward, or the file is opened on another machine: nothing comes sooner by that,
// and nothing later.
func TestAClockSetForwardSendsNoRobot(t *testing.T) {
	for _, anew := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, dispatchSpec())
			b.namesServer(robotsSite, robotsTxt)
			v, _ := b.sentRobot(time.Minute)
			b.ends(v, &crawl.Dispatch{}, crawl.DispatchRefused)
			refused := time.Now()
			if anew {
				b.again()
			}
			const ahead = 30 * 24 * time.Hour
			b.set(ahead)
			if next := b.info().Next; next == nil || next.Sub(refused.Add(ahead)) != dispatch.RefusedFor {
				t.Fatalf("the next is due %v", next)
			}
			if v, ok := b.sentRobot(dispatch.RefusedFor - 2*time.Hour); ok {
				t.Errorf("a robot is sent %v after the refusal: %+v", time.Since(refused)-ahead, v)
			}
			if _, ok := b.sentRobot(4 * time.Hour); !ok {
				t.Error("no robot is sent")
			}
		})
	}
}

// What a robot brought from out of scope is not accepted, whatever the fetcher reports.
func TestARobotBringsNothingOutOfScope(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := dispatchSpec()
		spec.Exclude = []string{robotsSite + "/private/"}
		b := newBench(t, spec)
		b.namesServer(robotsSite, robotsTxt)
		v, _ := b.sentRobot(time.Minute)
		d := b.plan(v.Aux[0]).Before
		b.brings(v.Aux[0], &d, robotsSite+"/private/1", robotsSite+"/1")
		if x, st := b.explain(robotsSite+"/private/1"), b.status(); x.Seen || st.Discovered != 2 || st.Stored != 1 {
			t.Errorf("%+v, %+v", x, st)
		}
	})
}

// Two owners never give the same number, even if the second one does not know what the first did.
func TestNumbersOfDispatchesDiffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, dispatchSpec())
		b.namesServer(robotsSite, robotsTxt[:20])
		b.event(crawl.Event{Robots: []crawl.Robots{{Origin: canon.URL(robotsSite + "/").Origin(), State: crawl.RobotsParsed, Status: 200,
			Body: []byte(robotsTxt), Digest: make([]byte, 32), Fresh: 24 * time.Hour}}})
		b.commit()
		b.copyState()
		numbers := map[int]bool{}
		for range 3 {
			if err := b.s.Features.Upkeep(time.Now()); err != nil {
				t.Fatal(err)
			}
			b.commit()
			for _, m := range b.s.Ledger.CommittedOutbox() {
				ev, err := crawl.DecodeEvent(b.outgoing(m))
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range ev.Aux {
					if e.Kind == crawl.AuxDispatch {
						numbers[e.Hop] = true
					}
				}
			}
			b.lose()
		}
		if len(numbers) != 3 {
			t.Errorf("the numbers %v of three dispatches", numbers)
		}
	})
}
