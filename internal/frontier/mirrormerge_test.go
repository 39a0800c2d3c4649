package frontier

import (
	"fmt"
	"maps"
	rand "math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/judge"
	"github.com/curtsy/curtsy/internal/frontier/mirror"
	"github.com/curtsy/curtsy/internal/frontier/mirrors"
	"github.com/curtsy/curtsy/internal/testaid"
	"github.com/curtsy/curtsy/pkg/canon"
)

// copyPages returns the pages of a small site, with relative links between them.
func copyPages(n int) map[string]string {
	pages := map[string]string{"/": "root"}
	for i := 1; i <= n; i++ {
		pages["/"] += fmt.Sprintf(" </%d>", i)
		pages[fmt.Sprintf("/%d", i)] = fmt.Sprintf("page %d </%d> </>", i, i%n+1)
	}
	return pages
}

// linksTo returns a page with links to paths of hosts.
func linksTo(hosts []string, paths ...string) string {
	var b strings.Builder
	for _, h := range hosts {
		for _, p := range paths {
			fmt.Fprintf(&b, "<http://%s%s> ", h, p)
		}
	}
	return b.String()
}

// mirrorWeb is every kind of mirror there is, and what formats §2.4 makes of it.
func mirrorWeb(shards int) (web map[string]*site, mirrors map[string]string, stored []string) {
	main := "main.example"
	a := apart(shards, "a", main)
	b := apart(shards, "b", main, a)
	c1, c2, c3 := apart(shards, "c", main), "cc.example", apart(shards, "ccc", "cc.example")
	pages := copyPages(4)
	allowed := func(host string) string { return "User-agent: *\nAllow: /1\nAllow: /2\nHost: " + host + "\n" }
	web = map[string]*site{
		main: {robots: hostLine(main), pages: pages},
		a:    {robots: hostLine(main), pages: pages},
		b:    {robots: hostLine(main), pages: pages},

		c1: {robots: allowed(c2), pages: pages},
		c2: {robots: hostLine(c3), pages: pages},
		c3: {robots: "404", pages: pages},

		"y1.example": {robots: hostLine("y2.example"), pages: pages},
		"y2.example": {robots: hostLine("y1.example"), pages: pages},

		"dead.example": {robots: hostLine("nowhere.example"), pages: pages},

		"thief.example": {robots: "User-agent: *\nAllow: /1\nHost: " + main + "\n", pages: map[string]string{"/1": "buy this"}},

		"http://tls.example":  {robots: hostLine("https://tls.example"), pages: pages},
		"https://tls.example": {robots: hostLine("https://tls.example"), pages: pages},

		"away.example": {robots: "-> http://file.example/a.txt", pages: pages},
		"file.example": {robots: "404"},
	}
	// The target of the redirect of away's robots.txt.
	web["http://file.example"] = &site{robots: hostLine(main)}
	delete(web, "file.example")
	var hosts []string
	for name := range web {
		if !strings.Contains(name, "://") && name != main {
			hosts = append(hosts, name)
		}
	}
	slices.Sort(hosts)
	web["seed.example"] = &site{robots: "404", pages: map[string]string{
		"/":     linksTo(append(hosts, "tls.example"), "/", "/1", "/2") + "</more>",
		"/more": linksTo(hosts, "/3", "/4") + "<http://tls.example/1> <http://tls.example/3>",
	}}
	mirrors = map[string]string{
		"http://" + a:          "mirror of http://" + main + " ",
		"http://" + b:          "mirror of http://" + main + " ",
		"http://" + c1:         "mirror of http://" + c3 + " ",
		"http://" + c2:         "unconfirmed: no-evidence",
		"http://y1.example":    "unconfirmed: cycle",
		"http://y2.example":    "unconfirmed: cycle",
		"http://dead.example":  "unconfirmed: target-unreachable",
		"http://thief.example": "unconfirmed: content-differs",
		"http://tls.example":   "mirror of https://tls.example ",
		"http://away.example":  "mirror of http://" + main + " ",
		// Its robots.txt is read before the file that it provides to the other.
		"http://file.example": "mirror of http://" + main + " ",
	}
	stored = []string{"http://seed.example/", "http://seed.example/more", "http://thief.example/1"}
	for _, o := range []string{"http://" + main, "http://" + c3, "https://tls.example"} {
		for p := range pages {
			stored = append(stored, o+p)
		}
	}
	slices.Sort(stored)
	return web, mirrors, stored
}

// Each page is stored once, under the host that its owner chose; killing shards in the middle of it
// changes nothing.
func TestMirrorsAreMerged(t *testing.T) {
	for _, shards := range []int{1, 4} {
		t.Run(fmt.Sprintf("%d shards", shards), func(t *testing.T) {
			var want map[string]string
			for seed := range uint64(testaid.Runs(6, 3)) {
				synctest.Test(t, func(t *testing.T) {
					web, mirrors, stored := mirrorWeb(shards)
					g := newRig(t, shards, web)
					if seed > 0 {
						g.kill = rand.New(rand.NewPCG(seed, 1))
					}
					g.seed("http://seed.example/")
					g.run(time.Hour)
					g.check("mirrors", g.mirrors(), mirrors)
					if got := g.stored(); !slices.Equal(got, stored) {
						t.Errorf("stored\n%q, want\n%q", got, stored)
					}
					if want == nil {
						want = g.urls()
					}
					g.check("URLs", g.urls(), want)
					g.verify()
					for _, origin := range []string{"a0.example", "b0.example", "http://tls.example", "away.example", "dead.example", "y1.example"} {
						if n := g.asked(origin); n > 0 {
							t.Errorf("%d page requests to %s, which is closed: %q", n, origin, g.requests["http://"+origin])
						}
					}
					if seed > 0 {
						t.Logf("%d kills", g.kills)
					}
				})
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
		})
	}
}

// lateWeb is a site with a mirror that does not claim it yet, and whose pages are all stored.
func lateWeb(shards int) (web map[string]*site, main, mirror string) {
	main, mirror = "main.example", apart(shards, "late", "main.example")
	web = map[string]*site{
		main:   {robots: "User-agent: *\nDisallow: /4\n", pages: copyPages(6)},
		mirror: {robots: "404", pages: copyPages(6)},
	}
	return web, main, mirror
}

// A mirror that is detected late: pages stored before are merged, and everything is as before when
// the Host line is removed. The shard is killed in every step of both.
func TestAMergeAndItsEnd(t *testing.T) {
	defer func(n int) { mirrors.MirrorStretch = n }(mirrors.MirrorStretch)
	mirrors.MirrorStretch = 2
	for _, shards := range []int{1, 3} {
		for seed := range uint64(testaid.Runs(6, 3)) {
			t.Run(fmt.Sprintf("%d shards/%d", shards, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					web, main, mirror := lateWeb(shards)
					g := newRig(t, shards, web)
					if seed > 0 {
						g.kill = rand.New(rand.NewPCG(seed, 2))
					}
					g.seed("http://"+mirror+"/", "http://"+main+"/")
					g.run(time.Hour)
					var own []string
					for p := range copyPages(6) {
						own = append(own, "http://"+mirror+p)
						if p != "/4" {
							own = append(own, "http://"+main+p)
						}
					}
					slices.Sort(own)
					if got := g.stored(); !slices.Equal(got, own) {
						t.Fatalf("stored %q, want the pages of both: %q", got, own)
					}

					// It claims it, and a new page of it is found.
					site := g.web["http://"+mirror]
					site.robots = hostLine(main)
					time.Sleep(25 * time.Hour)
					before := g.asked(mirror)
					g.seed("http://" + mirror + "/new?x=1")
					g.run(time.Hour)
					g.check("mirrors", g.mirrors(), map[string]string{"http://" + mirror: "mirror of http://" + main + " "})
					for u, p := range g.pages {
						if p.stored && u.Host() == canon.Host(mirror) && string(p.aliasOf) != "http://"+main+u.PathQuery() {
							t.Errorf("%s is stored under its own name (alias of %q)", u, p.aliasOf)
						}
					}
					got := g.urls()
					for u, what := range got {
						want := ""
						switch {
						case strings.Contains(u, mirror):
							want = "refused mirror"
						case u == "http://"+main+"/4":
							// formats §2.5: the main host's own rules decide
							want = "refused robots"
						case u == "http://"+main+"/new?x=1":
							want = "failed http-4xx"
						default:
							want = "stored"
						}
						if what != want {
							t.Errorf("%s is %s, want %s", u, what, want)
						}
					}
					if got["http://"+main+"/new?x=1"] == "" {
						t.Error("a URL known of the mirror alone was not handed on")
					}
					if n := g.asked(mirror); n != before {
						t.Errorf("%d page requests to the mirror since its claim", n-before)
					}
					g.verify()

					// The claim is removed, which the upkeep notices.
					site.robots = "404"
					g.run(30 * time.Hour)
					g.check("mirrors", g.mirrors(), map[string]string{})
					if got := g.stored(); !slices.Equal(got, own) {
						t.Errorf("stored %q after the merge was dissolved, want the pages of both again: %q", got, own)
					}
					if got := g.urls(mirror); got["http://"+mirror+"/new?x=1"] != "failed http-4xx" || len(got) != len(copyPages(6))+1 {
						t.Errorf("%q, want its URLs asked for again", got)
					}
					g.verify()
				})
			})
		}
	}
}

// A merge, and its end, with a kill at every step, one after the other: the mirror database, the
// records, the counts and the notices to the indexer are the same.
func TestAMergeKilledAtEveryStep(t *testing.T) {
	defer func(n int) { mirrors.MirrorStretch = n }(mirrors.MirrorStretch)
	mirrors.MirrorStretch = 2
	for _, shards := range []int{1, 3} {
		// play merges and dissolves, and returns the state after each, and the number of points
		// passed.
		play := func(killAt int, saved bool) (results []string, points int) {
			synctest.Test(t, func(t *testing.T) {
				web, main, mirror := lateWeb(shards)
				web[main].pages, web[mirror].pages = copyPages(4), copyPages(4)
				g := newRig(t, shards, web)
				result := func() {
					text := fmt.Sprintf("%q\n%q\n%q\n", g.mirrors(), g.stored(), g.urls())
					for _, u := range slices.Sorted(maps.Keys(g.pages)) {
						text += fmt.Sprintf("%s of %q\n", u, g.pages[u].aliasOf)
					}
					results = append(results, text)
					g.verify()
				}
				g.seed("http://"+mirror+"/", "http://"+main+"/")
				g.run(time.Hour)
				g.points, g.killAt, g.saved = 0, killAt, saved
				g.web["http://"+mirror].robots = hostLine(main)
				time.Sleep(25 * time.Hour)
				before := g.asked(mirror)
				g.seed("http://" + mirror + "/new")
				g.run(time.Hour)
				result()
				if n := g.asked(mirror) - before; n > 0 {
					t.Errorf("%d page requests to the mirror", n)
				}
				g.web["http://"+mirror].robots = "404"
				g.run(30 * time.Hour)
				result()
				if points = g.points; killAt > 0 && killAt <= points && g.kills != 1 {
					t.Errorf("%d kills", g.kills)
				}
			})
			return results, points
		}
		want, points := play(0, false)
		if points < 40 || !strings.Contains(want[0], "mirror of") || strings.Contains(want[1], "mirror of") {
			t.Fatalf("%d points; undisturbed:\n%s", points, strings.Join(want, "\n"))
		}
		every := testaid.Volume(1, 5)
		for k := 0; k < 2*points; k += every {
			saved := k%2 == 1
			if got, _ := play(k/2+1, saved); !slices.Equal(got, want) {
				t.Errorf("%d shards: killed at step %d of %d:\n%s\nwant\n%s", shards, k/2+1, points, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if t.Failed() {
				t.Fatalf("step %d of %d, committed before: %v", k/2+1, points, saved)
			}
		}
		t.Logf("%d shards: killed at each of %d steps, before and after a commit; done: 1 of %d", shards, points, every)
	}
}

// A visit in progress whose origin turns out to be a mirror is not renewed: its remaining URLs
// belong to the main host.
func TestAMergeEndsTheCurrentVisit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages := copyPages(9)
		g := newRig(t, 1, map[string]*site{"a.example": {robots: "404", pages: pages}, "b.example": {robots: "404", pages: pages}})
		b := g.shards[0]
		for p := range pages {
			g.seed("http://a.example" + p)
		}
		visits := b.grant(1)
		if len(visits) != 1 || len(visits[0].URLs) < 2 {
			t.Fatalf("%+v", visits)
		}
		id := visits[0].ID
		lost := func() []crawl.VisitID {
			b.s.Ledger.Mu.Lock()
			defer b.s.Ledger.Mu.Unlock()
			return b.s.Visits.Renew([]crawl.VisitID{id}, time.Now()).Lost
		}
		if got := lost(); len(got) > 0 {
			t.Errorf("lost at once: %v", got)
		}
		a := testOriginOf("a.example")
		b.s.Ledger.Mu.Lock()
		err := b.s.Mirrors.Step(b.s.Ledger.Hosts[a.Host], 0, time.Now(), func(m *mirror.Record, e *mirror.Env) { m.Confirm(e, testOriginOf("b.example"), mirror.ByTwin, "") })
		for more := true; more && err == nil; {
			more, err = b.s.Mirrors.ResolveSome(time.Now())
		}
		b.s.Ledger.Mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		if got := lost(); len(got) != 1 {
			t.Error("a visit for URLs of a mirror is prolonged")
		}
		g.visit(b, visits[0]) // its results are still reported
		g.run(time.Hour)
		for u, p := range g.pages {
			if p.stored && (u.Host() == a.Host) != (p.aliasOf != "") {
				t.Errorf("%s is stored, an alias of %q", u, p.aliasOf)
			}
		}
		g.verify()
	})
}

// A fetcher that was killed had handed pages over whose outcome is never published. Their URLs are
// never requested again if their origin turns out to be a mirror before that: the pages must not
// stay under its name.
func TestAMergeAfterALostOutcome(t *testing.T) {
	for _, expired := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			pages := copyPages(9)
			g := newRig(t, 1, map[string]*site{"a.example": {robots: "404", pages: pages}, "b.example": {robots: "404", pages: pages}})
			b := g.shards[0]
			for p := range pages {
				g.seed("http://a.example" + p)
			}
			b.commit()
			visits := b.grant(1)
			for _, u := range visits[0].URLs {
				g.index(crawl.AppendPages(nil, []crawl.Page{{URL: u.URL, Visit: visits[0].ID, Body: []byte(pages[u.URL.PathQuery()])}}))
			}
			if expired {
				time.Sleep(time.Minute)
				b.s.Ledger.Mu.Lock()
				b.s.Visits.Expire(time.Now())
				b.s.Ledger.Mu.Unlock()
			} else {
				b.crash()
				b.open()
			}
			for i := range 5 {
				// Nearer to a seed than what was granted.
				b.links(0, "", fmt.Sprintf("http://a.example/later/%d", i))
			}
			a := testOriginOf("a.example")
			b.s.Ledger.Mu.Lock()
			err := b.s.Mirrors.Step(b.s.Ledger.Hosts[a.Host], 0, time.Now(), func(m *mirror.Record, e *mirror.Env) { m.Confirm(e, testOriginOf("b.example"), mirror.ByTwin, "") })
			b.s.Ledger.Mu.Unlock()
			if err != nil {
				t.Fatal(err)
			}
			g.run(time.Hour)
			if n := g.asked("a.example"); n > 0 {
				t.Errorf("%d page requests to the mirror", n)
			}
			if got := g.stored(); len(got) != len(pages) || strings.Contains(strings.Join(got, " "), "a.example") {
				t.Errorf("expired %v: stored %q, want the pages of the main host", expired, got)
			}
			g.verify()
		})
	}
}

// What is found on a mirror after the merge goes to the main host, and is charged to the mirror.
func TestLaterLinksGoToTheMainHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mirror := apart(2, "m", "main.example")
		web := map[string]*site{
			"main.example": {robots: hostLine("main.example"), pages: copyPages(3)},
			mirror:         {robots: hostLine("main.example")},
		}
		spec := testSpec("http://" + mirror + "/")
		spec.Shards, spec.MaxPagesPerHost, spec.MaxDepth = 2, 8, 3
		g := newRigWith(t, spec, web)
		g.seed("http://" + mirror + "/")
		g.run(time.Hour)
		if got := len(g.stored()); got != 4 {
			t.Fatalf("%d pages stored, want the main host's 4", got)
		}
		deep := mustParse(t, "http://"+mirror+"/deep")
		home := g.shardOf(deep)
		home.event(crawl.Event{Links: []crawl.Links{{Depth: 4, URLs: []canon.URL{deep}}}})
		g.run(time.Minute)
		if got := g.urls("main.example"); got["http://main.example/deep"] != "" {
			t.Errorf("%q: a URL too deep was handed on", got)
		}
		home.event(crawl.Event{Links: []crawl.Links{{Depth: 2, URLs: []canon.URL{deep}}}})
		g.run(time.Minute)
		if got := g.urls("main.example"); got["http://main.example/deep"] != "failed http-4xx" {
			t.Errorf("%q: a URL found nearer was not handed on", got)
		}
		for i := range 20 {
			home.links(1, "", fmt.Sprintf("http://%s/invented/%d", mirror, i))
		}
		g.run(time.Hour)
		if n := g.asked("main.example"); n != 4+1+6 {
			t.Errorf("%d pages asked of the main host, want its 4, the deep one and what is left of the mirror's 8", n)
		}
		x, err := home.s.Account.Explain("", mustParse(t, "http://"+mirror+"/invented/19"), time.Now())
		if err != nil || x.State != "refused" || x.Reason != "mirror" || !strings.Contains(x.Detail, "limit of 8 URLs") {
			t.Errorf("%+v, %v: want a note that the mirror has reached its budget", x, err)
		}
		g.verify()
	})
}

// A site that has moved permanently is recognised after four requests; its other pages cost none.
func TestAMovedSiteIsAnAlias(t *testing.T) {
	for seed := range uint64(4) {
		synctest.Test(t, func(t *testing.T) {
			pages := copyPages(40)
			old := apart(2, "old", "new.example")
			g := newRig(t, 2, map[string]*site{
				old:             {robots: "404", moved: "http://new.example"},
				"new.example":   {robots: "404", pages: pages},
				"login.example": {robots: "404", moved: "http://new.example", pages: nil},
			})
			if seed > 0 {
				g.kill = rand.New(rand.NewPCG(seed, 3))
			}
			g.seed("http://"+old+"/", "http://login.example/", "http://login.example/2", "http://login.example/3")
			for i := 1; i <= 40; i++ {
				g.seed(fmt.Sprintf("http://%s/%d", old, i))
			}
			g.run(time.Hour)
			g.check("mirrors", g.mirrors(), map[string]string{"http://" + old: "mirror of http://new.example redirect"})
			if n := g.asked(old); n > 20 && seed == 0 {
				t.Errorf("%d page requests to a site that has moved", n)
			}
			if got := len(g.stored()); got != len(pages) {
				t.Errorf("%d pages stored, want %d, once each", got, len(pages))
			}
			g.verify()

			// 40 days later it belongs to another site.
			was := g.urls(old)
			g.web["http://"+old].moved, g.web["http://"+old].pages = "", map[string]string{}
			for p := range pages {
				g.web["http://"+old].pages[p] = "mine now"
			}
			g.run(40 * 24 * time.Hour)
			g.check("mirrors", g.mirrors(), map[string]string{})
			for u, what := range g.urls(old) {
				if want := strings.Replace(was[u], "refused mirror", "stored", 1); what != want {
					t.Errorf("%s is %s, want what was collapsed asked for again: %s", u, what, want)
				}
			}
			g.verify()
		})
	}
}

// The name with www. and the one without: one of them is main, never both and never none.
func TestTwinsAreMerged(t *testing.T) {
	for seed := range uint64(6) {
		for _, larger := range []string{"www.site.example", "site.example"} {
			synctest.Test(t, func(t *testing.T) {
				pages := copyPages(9)
				g := newRig(t, 4, map[string]*site{
					"www.site.example": {robots: "404", pages: pages}, "site.example": {robots: "404", pages: pages},
					"www.other.example": {robots: "404", pages: pages}, "other.example": {robots: "404", pages: map[string]string{"/": "another site", "/1": "x </2>", "/2": "y"}},
					"www.alone.example": {robots: "404", pages: pages},
				})
				if seed > 0 {
					g.kill = rand.New(rand.NewPCG(seed, 4))
				}
				g.seed("http://"+larger+"/", "http://www.other.example/", "http://other.example/", "http://other.example/1", "http://www.alone.example/")
				if seed%2 == 0 {
					g.run(time.Hour) // the other becomes known much later
				}
				twin, _ := mirror.TwinOf(testOriginOf(larger))
				g.seed(twin.String() + "/")
				g.run(time.Hour)
				got := g.mirrors()
				if seed%2 == 0 || len(got) != 1 {
					g.check("mirrors", got, map[string]string{twin.String(): "mirror of http://" + larger + " www"})
				}
				n := 0
				for _, u := range g.stored() {
					if strings.Contains(u, "site.example") {
						n++
					}
				}
				if n != len(pages) {
					t.Errorf("seed %d: %d pages of the twins are stored as their own, want %d: %q %q", seed, n, len(pages), g.stored(), got)
				}
				g.verify()
				if t.Failed() {
					t.FailNow()
				}
			})
		}
	}
}

// The data.txt of a mirror is not used, and its own pages come back if a new scope of the crawl
// excludes the main host.
func TestMirrorsAndTheRestOfTheState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, main, mirror := lateWeb(1)
		g := newRig(t, 1, web)
		g.seed("http://"+mirror+"/", "http://"+main+"/")
		g.run(time.Hour)
		b := g.shards[0]
		o := testOriginOf(mirror)
		b.event(crawl.Event{Probes: []crawl.Probe{{Origin: o, State: crawl.ProbeRead, Status: 200, Fresh: 7 * 24 * time.Hour}}})
		g.data[o.String()] = true
		web[mirror].robots = hostLine(main)
		time.Sleep(25 * time.Hour)
		g.seed("http://" + mirror + "/new")
		g.run(time.Hour)
		if g.data[o.String()] {
			t.Error("the data.txt of a mirror is still used")
		}
		g.data[o.String()] = true // a visit in progress reports it late
		b.event(crawl.Event{Probes: []crawl.Probe{{Origin: o, State: crawl.ProbeRead, Status: 200, Fresh: 7 * 24 * time.Hour}}})
		g.run(time.Minute)
		if g.data[o.String()] {
			t.Error("the data.txt of a mirror is used when news of it come late")
		}
		h := b.s.Ledger.Hosts[canon.Host(mirror)]
		if info := b.s.Account.HostInfo(h, time.Now()); info.MirrorOf == nil || *info.MirrorOf != "http://"+main {
			t.Errorf("hosts say it is a mirror of %v", info.MirrorOf)
		}

		// A page store that is lost: the pages of the mirror are not requested again under its
		// name.
		n := g.asked(mirror)
		b.event(crawl.Event{StoreLost: "another"})
		g.pages = map[canon.URL]*rigPage{}
		for range 20 {
			b.s.Ledger.Mu.Lock()
			_, err := b.s.Passes.RefillSome(time.Now())
			b.s.Ledger.Mu.Unlock()
			if err != nil {
				t.Fatal(err)
			}
		}
		g.run(time.Hour)
		if got := g.asked(mirror); got != n {
			t.Errorf("%d page requests to the mirror after its store was lost", got-n)
		}
		want := len(copyPages(6)) - 1
		if got := len(g.stored()); got != want {
			t.Errorf("%d pages stored again, want the main host's %d", got, want)
		}

		// The crawl is narrowed to the mirror: there is no main host any more.
		spec := b.spec
		spec.Scope, spec.Seeds = "host", []string{"http://" + mirror + "/"}
		j, err := judge.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		b.spec = spec
		b.s.Ledger.Mu.Lock()
		b.s.Specs.Change(j)
		b.s.Ledger.Mu.Unlock()
		g.run(26 * time.Hour)
		g.check("mirrors", g.mirrors(), map[string]string{o.String(): "unconfirmed: out-of-scope"})
		g.verify()
	})
}

// After a checkpoint is restored elsewhere, on a machine with another clock, the database is the
// same.
func TestMirrorsMoveWithTheirShard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, mirrors, _ := mirrorWeb(1)
		g := newRig(t, 1, web)
		g.seed("http://seed.example/")
		b := g.shards[0]
		for i := range 30 {
			g.step()
			time.Sleep(time.Second)
			if i%7 == 3 {
				b.copyState()
			}
			if i%7 == 5 {
				b.lose()
			}
		}
		g.run(time.Hour)
		g.check("mirrors", g.mirrors(), mirrors)
		g.verify()
		b.commit()
		b.copyState()
		was := maps.Clone(g.mirrors())
		b.lose()
		g.check("mirrors", g.mirrors(), was)
	})
}

// The budget of a mirror counts what it has handed to one main host, within a month.
func TestAMirrorsBudgetIsReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {

		web := map[string]*site{
			"one.example":   {robots: hostLine("one.example"), pages: copyPages(3)},
			"two.example":   {robots: hostLine("two.example"), pages: copyPages(3)},
			"other.example": {robots: hostLine("one.example"), pages: copyPages(3)},
		}
		g := newRigWith(t, testSpec("http://other.example/"), web)
		g.seed("http://other.example/")
		x, asked := testOriginOf("other.example").String(), 0
		merged := func(robots, main string) *mirrorRecord {
			t.Helper()
			g.web[x].robots = robots
			g.run(25 * time.Hour) // its robots.txt is outdated
			asked++
			g.shards[0].links(1, "", fmt.Sprintf("http://other.example/%d", 10+asked))
			g.run(25 * time.Hour)
			m := g.shards[0].s.Ledger.Hosts["other.example"].Origins[0].Mirror
			if main != "" && (!m.Mirrored() || m.Main.Host != canon.Host(main)) || main == "" && m.Mirrored() {
				t.Fatalf("it is to be a mirror of %q: %+v", main, m)
			}
			return m
		}
		m := merged(hostLine("one.example"), "one.example")
		m.Sent = 1e6 // as if it had handed over so many
		if m = merged(hostLine("two.example"), "two.example"); m.Sent > mirrors.MirrorLeast || m.StoredPages > 3 {
			t.Errorf("of another main host: %+v", m.Merge)
		}
		m.Sent = 1e6
		merged("User-agent: *\n", "")
		if m = merged(hostLine("two.example"), "two.example"); m.Sent < 1e6 {
			t.Errorf("of the same one two days later: %+v", m.Merge)
		}
		merged("User-agent: *\n", "")
		g.run(30 * 24 * time.Hour)
		if m = merged(hostLine("two.example"), "two.example"); m.Sent > mirrors.MirrorLeast {
			t.Errorf("of the same one a month later: %+v", m.Merge)
		}
	})
}

type mirrorRecord = mirror.Record // a variable below has its name

// Paths that only links to a mirror name are handed over up to a thousand, and ten more for each
// page that the mirror had: inventing them costs nothing.
func TestAMirrorsBudgetFollowsItsPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := apart(2, "m", "main.example")
		web := map[string]*site{
			"main.example": {robots: hostLine("main.example"), pages: copyPages(3)},
			other:          {robots: hostLine("main.example")},
		}
		spec := testSpec("http://" + other + "/")
		spec.Shards = 2
		g := newRigWith(t, spec, web)
		g.seed("http://" + other + "/")
		g.run(time.Hour)
		home := g.shardOf(mustParse(t, "http://"+other+"/"))
		m := home.s.Ledger.Hosts[canon.Host(other)].Origins[0].Mirror
		var urls []string
		for i := range mirrors.MirrorLeast + 20 {
			urls = append(urls, fmt.Sprintf("http://%s/invented/%d", other, i))
		}
		home.links(1, "", urls...)
		if m.Sent != mirrors.MirrorLeast {
			t.Errorf("%d URLs handed on by a mirror of which no page was stored", m.Sent)
		}
	})
}
