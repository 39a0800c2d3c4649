package simweb

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const home = "http://h0000.sim.test"

// Every kind of robots.txt has its answer, and forbids what its text forbids. The paths that must
// be forbidden or not are written by hand, from RFC 9309.
func TestRobotsKinds(t *testing.T) {
	for _, c := range []struct {
		kind          Robots
		status        int    // 0: no answer
		has           string // in the file
		forbidden     string // paths, separated by spaces
		open          string
		queuedBecause bool
	}{
		{kind: RobotsNone, status: 404, open: "/ /private/secret-1.html"},
		{kind: RobotsAllowAll, status: 200, has: "Disallow:\n", open: "/ /private/secret-1.html"},
		{kind: RobotsClosed, status: 200, has: "Disallow: /\n", forbidden: "/ /any /data.txt"},
		{kind: RobotsSubtree, status: 200, forbidden: "/private/ /private/secret-1.html", open: "/ /privately.html /private/open/door.html /private"},
		{kind: RobotsWildcard, status: 200, forbidden: "/run/report.cgi /list?sort=name /tmp1/draft.html /tmp/a/draft-2.html /tmp-public/draft.html",
			open: "/ /run/report.cgi.html /list?page=2 /tmp1/final.html /tmp-public/draft-ok.html"},
		{kind: RobotsAgent, status: 200, forbidden: "/not-for-us/a.html /nor-this/b.html", open: "/ /news/today.html"},
		{kind: RobotsOdd, status: 200, has: "\ufeff#", forbidden: "/odd/a.html /odd/b.html /odd/c.html /odd/d.html",
			open: "/ /odd/e.html /odd/f.html /odd/before.html /odd/noindex.html"},
		{kind: RobotsServerError, status: 500, forbidden: "/ /any", queuedBecause: true},
		{kind: RobotsTimeout, forbidden: "/ /any", queuedBecause: true},
		{kind: RobotsReset, forbidden: "/ /any", queuedBecause: true},
		{kind: RobotsTruncated, forbidden: "/ /any", queuedBecause: true},
		{kind: RobotsTooMany, status: 429, forbidden: "/ /any", queuedBecause: true},
		{kind: RobotsUnauthorized, status: 401, open: "/ /any"},
		{kind: RobotsForbidden, status: 403, open: "/ /any"},
		{kind: RobotsGone, status: 410, open: "/ /any"},
		{kind: RobotsPage, status: 200, has: "<html>", open: "/ /any"},
		{kind: RobotsHuge, status: 200, forbidden: "/huge/early.html", open: "/ /huge/crossing.html /huge/late.html"},
		{kind: RobotsHostSelf, status: 200, has: "Host: h0000.sim.test\n", forbidden: "/private/", open: "/ /private/open/"},
		{kind: RobotsSitemap, status: 200, has: "Sitemap: " + home + "/sitemap-index.xml\n", open: "/ /any"},
		{kind: RobotsPatient, status: 200, has: "Crawl-delay: 3600\n", forbidden: "/private/", open: "/", queuedBecause: true},
		// the file of h0001, and its Host line
		{kind: RobotsRedirect, status: 302, forbidden: "/", open: "/private/open/door.html"},
		{kind: RobotsMirror, status: 200, has: "Host: h0001.sim.test\n", forbidden: "/ /notes/p1.html", open: "/private/open/door.html"},
		{kind: RobotsRedirectChain, status: 301, forbidden: "/private/", open: "/ /private/open/"},
		{kind: RobotsRedirectLong, status: 301, open: "/ /private/"},
		{kind: RobotsRedirectLoop, status: 302, open: "/ /private/"},
	} {
		t.Run(string(c.kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, client := start(t, Config{Hosts: 2, PagesPerHost: 4, Behaviors: map[int]Behavior{
					0: {Robots: c.kind, Peer: 1}, 1: {Robots: RobotsHostSelf},
				}})
				res, body, err := get(t, client, home+"/robots.txt")
				switch {
				case c.status == 0 && err == nil:
					t.Errorf("an answer with status %d, want no complete answer", res.StatusCode)
				case c.status != 0 && (err != nil || res.StatusCode != c.status):
					t.Errorf("answer %v, error %v, want status %d", res, err, c.status)
				case !strings.Contains(body, c.has):
					t.Errorf("no %q in the file:\n%s", c.has, body)
				}
				for p := range strings.FieldsSeq(c.forbidden) {
					if !srv.Forbidden(home+p, "curtsy") {
						t.Errorf("%s is not forbidden", p)
					}
				}
				for p := range strings.FieldsSeq(c.open + " /robots.txt") {
					if srv.Forbidden(home+p, "curtsy") {
						t.Errorf("%s is forbidden", p)
					}
				}
				if want := srv.Expect("curtsy")[home+"/"]; (want.Class == StaysQueued) != c.queuedBecause {
					t.Errorf("the home page is expected to be %v; StaysQueued should be %v", want, c.queuedBecause)
				}
			})
		})
	}
}

func TestRobotsForOtherAgents(t *testing.T) {
	w := New(one(Behavior{Robots: RobotsAgent, CrawlDelay: 50 * time.Millisecond}))
	for _, c := range []struct {
		token, path string
		forbidden   bool
		delay       time.Duration
	}{
		{"Curtsy", "/", false, 50 * time.Millisecond}, {"curtsy", "/nor-this/b.html", true, 50 * time.Millisecond},
		{"stranger", "/", true, 0}, {"otherbot", "/", false, 0}, {"otherbot", "/news/today.html", true, 0}, {"curtsy-news", "/news/", true, 0},
	} {
		if got := w.Forbidden(home+c.path, c.token); got != c.forbidden {
			t.Errorf("Forbidden(%s, %s) = %v, want %v", c.path, c.token, got, c.forbidden)
		}
		if got := w.CrawlDelay("h0000.sim.test", c.token); got != c.delay {
			t.Errorf("CrawlDelay(%s) = %v, want %v", c.token, got, c.delay)
		}
	}
	if got := len(w.Expect("stranger")); got != 1 {
		t.Errorf("a crawler that is not allowed may know %d URLs, want only the home page", got)
	}
}

func TestCrawlDelayFractions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := start(t, one(Behavior{CrawlDelay: 50 * time.Millisecond, Extra: []string{"Clean-param: sid /"}}))
		_, body := mustGet(t, c, home+"/robots.txt")
		if !strings.Contains(body, "\nCrawl-delay: 0.05\n") || !strings.HasSuffix(body, "\nClean-param: sid /\n") {
			t.Errorf("robots.txt is\n%s\nwant Crawl-delay: 0.05 and the extra line", body)
		}
	})
}

func TestHugeRobotsCrossesTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := start(t, one(Behavior{Robots: RobotsHuge}))
		_, body := mustGet(t, c, home+"/robots.txt")
		at := strings.Index(body, "Disallow: /huge/crossing.html")
		if early := strings.Index(body, "/huge/early"); early < 0 || early > 500 {
			t.Errorf("the early rule is at %d", early)
		}
		if end := at + len("Disallow: /huge/crossing.html"); at >= robotsLimit || end <= robotsLimit {
			t.Errorf("the crossing rule is at %d to %d, want it across %d", at, end, robotsLimit)
		}
		if late := strings.Index(body, "/huge/late"); late < robotsLimit {
			t.Errorf("the late rule is at %d", late)
		}
	})
}

func TestRobotsHops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			kind Robots
			hops int // before the file is answered; -1: never
			has  string
		}{
			{RobotsRedirectChain, 5, "Disallow: /private/"}, {RobotsRedirectLong, 6, "Disallow: /"}, {RobotsRedirectLoop, -1, ""}, {RobotsRedirect, 1, "Disallow: /private/"},
		} {
			_, client := start(t, Config{Hosts: 2, Behaviors: map[int]Behavior{0: {Robots: c.kind, Peer: 1}, 1: {Robots: RobotsSubtree}}})
			at, hops := home+"/robots.txt", 0
			for ; hops < 20; hops++ {
				res, body := mustGet(t, client, at)
				if res.StatusCode == 200 {
					if !strings.Contains(body, c.has) {
						t.Errorf("%s: file is %q", c.kind, body)
					}
					break
				}
				to, err := res.Location()
				if err != nil {
					t.Fatal(err)
				}
				at = to.String()
			}
			if c.hops != hops && !(c.hops < 0 && hops == 20) {
				t.Errorf("%s: %d hops, want %d", c.kind, hops, c.hops)
			}
		}
	})
}

func TestRobotsThatChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, c := start(t, one(Behavior{Robots: RobotsFlapping, Fails: 2, RetryAfter: 3 * time.Second}))
		var got []int
		for range 4 {
			res, _ := mustGet(t, c, home+"/robots.txt")
			got = append(got, res.StatusCode)
			if res.StatusCode == 503 && res.Header.Get("Retry-After") != "3" {
				t.Errorf("Retry-After is %q, want 3", res.Header.Get("Retry-After"))
			}
		}
		if fmt.Sprint(got) != "[503 503 200 200]" {
			t.Errorf("statuses %v, want 503 twice", got)
		}
		if log := srv.Log(); log[0].RetryAfter != 3*time.Second || log[2].RetryAfter != 0 {
			t.Errorf("the log says Retry-After %v, then %v", log[0].RetryAfter, log[2].RetryAfter)
		}
		srv.Reset()
		if res, _ := mustGet(t, c, home+"/robots.txt"); res.StatusCode != 503 {
			t.Errorf("after Reset: status %d, want 503 again", res.StatusCode)
		}
	})
}

func TestRobotsUnchanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := start(t, one(Behavior{Robots: RobotsSubtree}))
		res, _ := mustGet(t, c, home+"/robots.txt")
		if res, _ = mustGet(t, c, home+"/robots.txt", "If-None-Match", res.Header.Get("ETag")); res.StatusCode != 304 {
			t.Errorf("status %d, want 304", res.StatusCode)
		}
	})
}

func TestSlowRobots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := start(t, one(Behavior{Robots: RobotsSlow, Stall: 80 * time.Millisecond}))
		begin := time.Now()
		if res, _ := mustGet(t, c, home+"/robots.txt"); res.StatusCode != 200 || time.Since(begin) < 80*time.Millisecond {
			t.Errorf("status %d after %v, want 200 after 80ms", res.StatusCode, time.Since(begin))
		}
	})
}

func TestCustomRobots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, c := start(t, one(Behavior{
			Robots: RobotsCustom, RobotsText: "User-agent: *\nDisallow: /x\n", Disallow: func(path, _ string) bool { return strings.HasPrefix(path, "/x") },
		}))
		if _, body := mustGet(t, c, home+"/robots.txt"); body != "User-agent: *\nDisallow: /x\n" {
			t.Errorf("robots.txt is %q", body)
		}
		if !srv.Forbidden(home+"/xyz", "any") || srv.Forbidden(home+"/y", "any") {
			t.Error("the rule given is not the rule kept")
		}
	})
}

func TestMirrorServesItsPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, c := start(t, Config{Hosts: 3, Behaviors: map[int]Behavior{0: {}, 1: {Robots: RobotsMirror, Peer: 2}, 2: {Pages: 9}}})
		for _, p := range []string{"/", "/robots.txt", "/notes/p1.html", "/none"} {
			a, x := mustGet(t, c, "http://h0001.sim.test"+p)
			b, y := mustGet(t, c, "http://h0002.sim.test"+p)
			if a.StatusCode != b.StatusCode || x != y {
				t.Errorf("%s differs between mirror and main host", p)
			}
		}
		if got := srv.Expect("curtsy")["http://h0001.sim.test/"]; got.Reason != ReasonMirror {
			t.Errorf("the mirror's home is expected to be %v, want refused as a mirror", got)
		}
		if New(one(Behavior{Robots: RobotsMirror})).Forbidden(home+"/", "curtsy") {
			t.Error("a mirror without a peer should be an open host")
		}
	})
}

func TestSitemaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, c := start(t, one(Behavior{Robots: RobotsSubtree, Features: []Feature{FeatureSitemap}}))
		_, robots := mustGet(t, c, home+"/robots.txt")
		if !strings.Contains(robots, "Sitemap: /sitemap.txt\n") || !strings.Contains(robots, "Disallow: /private/") {
			t.Errorf("robots.txt is\n%s", robots)
		}
		known := 0
		for _, p := range []string{"/sitemap-index.xml", "/sitemap-a.xml", "/sitemap-b.xml.gz", "/sitemap-feeds.xml", "/rss.xml", "/atom.xml", "/sitemap.txt"} {
			res, body := mustGet(t, c, home+p)
			if strings.HasSuffix(p, ".gz") {
				body = gunzip(t, body)
			}
			if res.StatusCode != 200 || !strings.Contains(body, home+"/") {
				t.Errorf("%s: status %d, body %q", p, res.StatusCode, body)
			}
			known += strings.Count(body, home+"/unlinked/")
		}
		expected := 0
		for u, e := range srv.Expect("curtsy") {
			if strings.Contains(u, "/unlinked/") {
				expected++
				if res, _ := mustGet(t, c, u); res.StatusCode != http.StatusOK || !e.Sitemap || e.Class != Stored {
					t.Errorf("%s: status %d, expected %v", u, res.StatusCode, e)
				}
			}
		}
		if known != 10 || expected != 10 {
			t.Errorf("sitemaps name %d pages, %d are expected, want 10", known, expected)
		}
		want := srv.Expect("curtsy")
		if e := want[home+"/private/unlinked.html"]; e.Class != Refused || e.Reason != ReasonRobots {
			t.Errorf("a closed page that a sitemap names: %v", e)
		}
		if got := srv.DiffLinks("curtsy", crawl(t, srv, c)); len(got) != 0 {
			t.Errorf("without sitemaps: %v", got)
		}
		place := New(one(Behavior{Features: []Feature{FeatureSitemapPlace}})).Expect("curtsy")
		if e := place[home+"/unlinked/place-1.html"]; e.Class != Stored || !e.Sitemap {
			t.Errorf("at the conventional place: %v", e)
		}
		for _, kind := range []Robots{RobotsClosed, RobotsReset} {
			for u, e := range New(one(Behavior{Robots: kind, Features: []Feature{FeatureSitemap}})).Expect("curtsy") {
				if e.Sitemap {
					t.Errorf("%s: %s is expected to be known", kind, u)
				}
			}
		}
	})
}
