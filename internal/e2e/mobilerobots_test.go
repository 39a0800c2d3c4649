package e2e

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/fetcher/dispatch"
	"github.com/curtsy/curtsy/internal/mobile/pagereader"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/simweb/agentserver"
)

// robotKey is the key of a crawl that sends mobile robots.
type robotKey struct{ key ed25519.PrivateKey }

func newRobotKey() robotKey {
	return robotKey{ed25519.NewKeyFromSeed(bytes.Repeat([]byte{30}, ed25519.SeedSize))}
}

func (k robotKey) Public() ed25519.PublicKey   { return k.key.Public().(ed25519.PublicKey) }
func (k robotKey) SignMessage(b []byte) []byte { return ed25519.Sign(k.key, b) }

// robotDelay is the delay of these crawls.
const robotDelay = 100 * time.Millisecond

// robotRig starts a crawl that sends mobile robots, with an indexer.
func robotRig(t *testing.T, web *website, change func(*crawl.Spec)) *rig {
	t.Helper()
	spec := specFor(web)
	spec.Delay, spec.SendRobots = robotDelay, true
	if change != nil {
		change(&spec)
	}
	return newRigWith(t, &rig{t: t, net: web.net, spec: spec, index: true}, robotOptions(t))
}

// robotOptions are those of a fetcher that sends the page reader.
func robotOptions(t *testing.T) fetcher.Options {
	robot, err := dispatch.NewRobot(newRobotKey(), pagereader.Module())
	if err != nil {
		t.Fatal(err)
	}
	return fetcher.Options{Robot: robot}
}

// crawlAll crawls to the end and returns what is stored.
func (r *rig) crawlAll(web *website) map[string]crawl.PageInfo {
	r.t.Helper()
	r.seed()
	st := r.wait(48 * time.Hour)
	r.until("the indexer has all pages", func() bool { return int64(len(r.listed())) == st.Stored })
	return r.listed()
}

// asServed checks that each page has the bytes that its site serves.
func asServed(t *testing.T, web *website, all map[string]crawl.PageInfo) {
	t.Helper()
	for u, p := range all {
		if body, ok := web.Body(u); ok && digest(body) != p.SHA256 {
			t.Errorf("%s is stored with other bytes than its site serves", u)
		}
	}
}

func digest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// exchanges counts the requests of a web: those to agent servers, those for pages over HTTP, and
// the octets that the agent servers sent.
func exchanges(web *website) (toAgents, forPages int, octets int64) {
	for _, q := range web.Log() {
		switch {
		case q.Agent:
			toAgents++
			octets += q.Bytes
		case !q.Robots && !slices.Contains([]string{"/data.txt", "/sitemap.xml", "/favicon.ico"}, q.Path) && !strings.HasPrefix(q.Path, "/.well-known/"):
			forPages++
		}
	}
	return toAgents, forPages, octets
}

// dispatches returns what is known of the robots of an origin, by server and path.
func (r *rig) dispatches(origin string) map[string]crawl.DispatchInfo {
	r.t.Helper()
	all := map[string]crawl.DispatchInfo{}
	gather(r, "hosts", nil, func(h crawl.HostInfo) {
		for _, d := range h.Dispatches {
			if d.Origin == origin {
				all[d.Server+" "+d.Path] = d
			}
		}
	})
	return all
}

// bigSite is a site whose pages a robot can read, with and without a server.
func bigSite(pages int, agents ...simweb.AgentServer) simweb.Config {
	return simweb.Config{Seed: 30, Hosts: 1, PagesPerHost: pages, PageBytes: 4 << 10, PageSpread: 0.5, Behaviors: map[int]simweb.Behavior{0: {
		Robots: simweb.RobotsSubtree, Agents: agents,
		Features: []simweb.Feature{simweb.FeatureMarkup, simweb.FeatureNofollow, simweb.FeatureTags, simweb.FeatureTypes, simweb.FeatureCharsets, simweb.FeatureRedirects},
	}}}
}

// A site is crawled by a robot: the same pages are stored, byte for byte, as by requests, and they
// have the same outcomes. The site gets a small part of the requests. The second robot brings only
// what changed.
func TestRobotBringsASite(t *testing.T) { simnet.Test(t, testRobotBringsASite) }

func testRobotBringsASite(t *testing.T) {
	const pages = 800
	plain := serve(t, bigSite(pages))
	p := newRigWith(t, &rig{t: t, net: plain.net, spec: specFor(plain), index: true}, fetcher.Options{})
	want := p.crawlAll(plain)
	before := p.outcomes(plain)
	p.stop()
	p.endNATS()

	web := serve(t, bigSite(pages, simweb.AgentServer{Paths: []string{"/"}, Behavior: agentserver.Behavior{Block: 64 << 10, Pace: time.Millisecond}}))
	r := robotRig(t, web, nil)
	got := r.crawlAll(web)
	asServed(t, plain, want)
	asServed(t, web, got)
	expected := web.Expect(token)
	for u, p := range got {
		if w, is := want[u]; is && !samePage(p, w) {
			t.Errorf("%s: %+v by a robot, %+v by requests", u, p, w)
		} else if !is && !expected[u].Optional {
			t.Errorf("%s is stored by a robot and not by requests", u)
		}
	}
	for u := range want {
		if _, is := got[u]; !is {
			t.Errorf("%s is not stored by a robot, but by requests", u)
		}
	}
	after := r.outcomes(web)
	for u, class := range before {
		if after[u] != class {
			t.Errorf("%s is %s with a robot, %s with requests", u, after[u], class)
		}
	}
	polite(t, web, robotDelay)
	toAgents, forPages, octets := exchanges(web)
	_, without, _ := exchanges(plain)
	documents := web.AgentServer("atp://h0000.sim.test").Counts().Documents
	if toAgents > 6 || forPages+documents > without+40 || documents < pages*9/10 {
		t.Errorf("%d exchanges with the server, which sent %d documents; %d requests for pages, and %d without a robot", toAgents, documents, forPages, without)
	}
	d := r.dispatches("http://h0000.sim.test")["atp://h0000.sim.test:434 /"]
	if d.State != crawl.DispatchDone || d.Confirmed < 8 || d.Confirmed != d.Sampled || d.DroppedUntil != nil {
		t.Errorf("the dispatch is %+v", d)
	}
	t.Logf("without: %d requests for %d pages; with: %d exchanges of %d octets for %d documents, %d requests", without, len(want), toAgents, octets, documents, forPages)

	// A day later.
	for n := range 8 {
		web.Change(fmt.Sprintf("http://h0000.sim.test/%s", numbered(100*n+4)))
	}
	web.ResetLog()
	was := web.AgentServer("atp://h0000.sim.test").Counts()
	r.stop()
	r.endNATS()
	time.Sleep(25 * time.Hour) // a crawl or a broker that waits so long would cost minutes
	r.serveNATS(r.dir)
	r.spec.Recrawl, r.spec.RecrawlMin, r.spec.RecrawlMax = true, 24*time.Hour, 240*time.Hour
	r.start(r.dir, robotOptions(t))
	for range 600 {
		d := r.dispatches("http://h0000.sim.test")["atp://h0000.sim.test:434 /"]
		if d.Sent == 2 && d.State == crawl.DispatchDone {
			break
		}
		time.Sleep(time.Second)
	}
	r.respec(func(s *crawl.Spec) { s.Recrawl = false })
	r.wait(time.Hour)
	var again int64
	for _, q := range web.Log() {
		if q.Agent {
			again += q.Bytes
		}
	}
	now := web.AgentServer("atp://h0000.sim.test").Counts()
	if n := now.Documents - was.Documents; n < 8 || n > 40 {
		t.Errorf("%d documents came the second time, 8 had changed", n)
	}
	if again*25 > octets { // each document has an ETag here, which is sent again
		t.Errorf("%d octets came the second time, %d the first", again, octets)
	}
	r.until("the changed pages are stored", func() bool {
		all := r.listed()
		for n := range 8 {
			u := "http://h0000.sim.test/" + numbered(100*n+4)
			if body, _ := web.Body(u); all[u].SHA256 != digest(body) {
				return false
			}
		}
		return true
	})
	polite(t, web, robotDelay)
	t.Logf("the second time: %d octets, %d documents", again, now.Documents-was.Documents)
	r.accounts()
}

// numbered is the path of a numbered page without its first "/".
func numbered(page int) string {
	return fmt.Sprintf("%s/p%d.html", []string{"guide", "notes", "archive", "garden", "atlas", "letters", "workshop", "history"}[page%8], page)
}

// samePage compares what does not depend on when a page was fetched, and how.
func samePage(a, b crawl.PageInfo) bool {
	return a.URL == b.URL && a.SHA256 == b.SHA256 && a.Size == b.Size && a.Title == b.Title && a.SnippetAllowed == b.SnippetAllowed && a.ContentType == b.ContentType && a.Status == b.Status
}

// outcomes returns the class of each URL that is expected.
func (r *rig) outcomes(web *website) map[string]string {
	r.t.Helper()
	all := map[string]string{}
	for u, e := range web.Expect(token) {
		x := r.explain(u)
		if e.Optional && !x.Seen {
			continue
		}
		all[u] = x.State
		if x.State != string(e.Class) && !slices.Contains(e.Also, simweb.Class(x.State)) {
			r.t.Errorf("%s is %s (%s), want %s", u, x.State, x.Reason, e.Class)
		}
	}
	return all
}

// Each row of the two matrices of the draft (formats §3): a page comes from the server of its row,
// or by a request if there is none.
func TestMatricesOfTheDraft(t *testing.T) { simnet.Test(t, testMatricesOfTheDraft) }

func testMatricesOfTheDraft(t *testing.T) {
	const site = "http://www.fict.sim.test"
	for _, m := range []struct {
		lines   []string
		servers []simweb.AgentServer
		rows    map[string]string // the server of a path, "" for none
	}{
		{
			[]string{"/ none", "/dir1 atp://www.fict.sim.test:544", "/dir1/dir2 atp://www.fict.sim.test:543"},
			[]simweb.AgentServer{{Port: 544}, {Port: 543}},
			map[string]string{
				"/": "", "/x": "", "/dir1/a": ":544", "/dir1/dir2/a": ":543",
				// They are not below the path with a "/", which is what a robot is sent for.
				"/dir1": "", "/dir1/dir2": "",
			},
		},
		{
			[]string{"/ atp://www.fict.sim.test:8001", "/home/ none", "/home/user1/ atp://user1.fict.sim.test:854", "/home/user2/ atp://user2.fict.sim.test:831"},
			[]simweb.AgentServer{{Port: 8001}, {Host: "user1.fict.sim.test", Port: 854}, {Host: "user2.fict.sim.test", Port: 831}},
			map[string]string{
				"/": ":8001", "/index.html": ":8001", "/services/": ":8001", "/services/index.html": ":8001", "/home/": "", "/home/user1/": ":854",
				"/home/user1/index.html": ":854", "/home/user2/": ":831", "/home/user2/index.html": ":831", "/home/user3/": "", "/home/user3/index.html": "",
			},
		},
	} {
		b := simweb.Behavior{Name: "www.fict.sim.test", Pages: -1, Agents: m.servers}
		for _, line := range m.lines {
			b.Extra = append(b.Extra, "Mobile-agent-server: "+line)
		}
		var links string
		for path := range m.rows {
			links += fmt.Sprintf("<a href=%q>on</a>\n", path)
		}
		for path := range m.rows {
			if path != "/" {
				body := "<!DOCTYPE html><html><title>" + path + "</title><p>The page at " + path + ".</p>" + links + "</html>"
				b.Files = append(b.Files, simweb.File{Path: path, ContentType: "text/html; charset=utf-8", Body: body})
			}
		}
		web := serve(t, simweb.Config{Hosts: 1, Behaviors: map[int]simweb.Behavior{0: b}})
		// No page of the simulated site leads to the files.
		web.Override(site+"/", &simweb.Answer{Body: "<!DOCTYPE html><html><title>home</title><p>All pages of the site.</p>" + links + "</html>"})
		r := robotRig(t, web, nil)
		stored := r.crawlAll(web)
		asServed(t, web, stored)
		for path, server := range m.rows {
			if _, is := stored[site+path]; !is {
				t.Errorf("%s is not stored", path)
			}
			x := r.explain(site + path)
			from := ""
			if x.Robot != nil {
				from = x.Robot.Server[strings.LastIndexByte(x.Robot.Server, ':'):]
			}
			if from != server {
				t.Errorf("%s came from %q, want %q", path, from, server)
			}
		}
		for _, a := range m.servers {
			host := a.Host
			if host == "" {
				host = "www.fict.sim.test"
			}
			if n := web.AgentServer(fmt.Sprintf("atp://%s:%d", host, a.Port)).Counts().Runs; n != 1 {
				t.Errorf("the server at port %d got %d robots: %+v", a.Port, n, r.dispatches(site))
			}
		}
		polite(t, web, robotDelay)
		r.stop()
		r.endNATS()
	}
}

// Hostile servers: whatever they send, in the end the store has what the site serves, and nothing
// of another origin. A server that was caught is dropped.
func TestHostileAgentServers(t *testing.T) {
	for _, way := range agentserver.Ways() {
		if way == agentserver.Endless || way == agentserver.Drip {
			continue // up to the limits of a dispatch they take minutes of processor time
		}
		t.Run(string(way), func(t *testing.T) {
			simnet.Test(t, func(t *testing.T) { testHostileAgentServer(t, way) })
		})
	}
}

func testHostileAgentServer(t *testing.T, way agentserver.Hostile) {
	began := time.Now()
	web := serve(t, simweb.Config{Seed: 3, Hosts: 2, PagesPerHost: 12, PageBytes: 2000, Mix: func(int) simweb.Behavior { return simweb.Behavior{} }, Behaviors: map[int]simweb.Behavior{1: {
		Features: []simweb.Feature{simweb.FeatureTags},
		Agents:   []simweb.AgentServer{{Paths: []string{"/"}, Behavior: agentserver.Behavior{Hostile: way, Seed: 1}}},
	}}})
	r := robotRig(t, web, nil)
	all := r.crawlAll(web)
	want := web.Expect(token)
	d := r.dispatches("http://h0001.sim.test")["atp://h0001.sim.test:434 /"]
	caught := slices.Contains([]agentserver.Hostile{agentserver.Invented, agentserver.Altered}, way)
	if caught && d.DroppedUntil == nil {
		t.Errorf("the server was not dropped: %+v", d)
	}
	// These concern few pages. If none of them was in the sample, they stay.
	few := way == agentserver.AlteredTenth || way == agentserver.Unmarked || way == agentserver.Elsewhere
	for u := range all {
		_, is := want[u]
		own := strings.HasPrefix(u, "http://h0001.sim.test/")
		if !is && (!own || !few || d.DroppedUntil != nil) {
			t.Errorf("%s is stored, and the web does not have it", u)
		}
	}
	if !few || d.DroppedUntil != nil {
		asServed(t, web, all)
		r.outcomes(web)
	}
	polite(t, web, robotDelay)
	toAgents, forPages, octets := exchanges(web)
	t.Logf("%s: %s (%s), dropped: %q; %d exchanges, %d octets, %d requests, %v", way, d.State, d.Reason, d.DropReason, toAgents, octets, forPages, time.Since(began))
}
