package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/simnet"
)

// The robots.txt of many hosts of one domain redirect to URLs of a third party. The log of the
// third party proves that its robots.txt was read first and once, that nothing it forbids was
// requested, that its Crawl-delay was kept, and that no more than ten hops were made for all hosts
// of one domain together.
func TestRobotsRedirectsToAThirdParty(t *testing.T) { simnet.Test(t, testRobotsRedirectsToAThirdParty) }

func testRobotsRedirectsToAThirdParty(t *testing.T) {
	const (
		victim = "www.victim.test"
		delay  = 100 * time.Millisecond
	)
	type request struct {
		url        string
		start, end time.Time
	}
	var mu sync.Mutex
	var log []request
	moved := map[string]string{} // robots.txt of a host → its target
	net := simnet.New(simnet.Options{Latency: latency})
	srv := server(t, net, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		switch {
		case r.Host == victim && r.URL.Path == "/robots.txt":
			fmt.Fprint(w, "User-agent: *\nDisallow: /closed\nCrawl-delay: 0.1\n")
		case strings.HasPrefix(r.URL.Path, "/closed/") || strings.HasPrefix(r.URL.Path, "/open/") || r.URL.Path == "/rules":
			fmt.Fprint(w, "User-agent: *\nDisallow: /x\n")
		case r.URL.Path == "/robots.txt":
			http.Redirect(w, r, moved[r.Host], http.StatusFound)
		default:
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<title>x</title>")
		}
		mu.Lock()
		defer mu.Unlock()
		log = append(log, request{r.Host + r.URL.Path, start, time.Now()})
	}), nil)
	spec := crawl.Spec{
		Name: "e2e", Shards: 4, Scope: "host", MaxDepth: -1, HoldMax: 3 * time.Second, Agent: token, Contact: "test@example.org",
		AllowPrivate: true, Resolve: []string{"*.test=" + strings.TrimPrefix(srv.URL, "http://")},
	}
	add := func(host, robots string) {
		moved[host] = "http://" + robots
		spec.Seeds = append(spec.Seeds, "http://"+host+"/")
	}
	name := func(kind string, i int) string { return fmt.Sprintf("%s%d.evil.test", kind, i) }
	const own, closed, open = 15, 8, 25
	for i := range own {
		add(name("own", i), victim+"/robots.txt")
	}
	for i := range closed {
		add(name("closed", i), fmt.Sprintf("%s/closed/%d", victim, i))
	}
	for i := range open { // another domain has its own limit of ten
		add(fmt.Sprintf("open%d.vile.test", i), fmt.Sprintf("%s/open/%d", victim, i))
	}
	// Each of two hosts has its rules on a page of the other: neither can be fetched, and the crawl
	// does not wait for them for ever.
	add("a.loop.test", "b.loop.test/rules")
	add("b.loop.test", "a.loop.test/rules")
	add("c.loop.test", "d.loop.test/robots.txt")
	add("d.loop.test", "c.loop.test/robots.txt")

	r := newRig(t, net, spec, fetcher.Options{})
	r.seed()
	st := r.wait(time.Minute)
	states := map[string]string{}
	for _, u := range spec.Seeds {
		states[u] = r.explain(u).State
	}
	r.stop()

	mu.Lock()
	defer mu.Unlock()
	asked := map[string]int{}
	hops := 0
	var end time.Time
	for _, q := range log {
		asked[q.url]++
		path, ok := strings.CutPrefix(q.url, victim)
		if !ok {
			continue
		}
		switch {
		case end.IsZero() && path != "/robots.txt":
			t.Errorf("%s was asked for before /robots.txt", path)
		case strings.HasPrefix(path, "/closed"):
			t.Errorf("%s was asked for, which is closed", path)
		case !end.IsZero() && q.start.Sub(end) < delay:
			t.Errorf("%s was asked for %v after the answer before it, want %v", path, q.start.Sub(end), delay)
		}
		if strings.HasPrefix(path, "/open") {
			hops++
		}
		end = q.end
	}
	if n := asked[victim+"/robots.txt"]; n != 1 || hops != 10 {
		t.Errorf("%d requests for the third party's robots.txt, want 1; %d hops of one domain, want 10", n, hops)
	}
	for i := range own {
		if u := "http://" + name("own", i) + "/"; states[u] != "stored" {
			t.Errorf("%s is %s, want stored: the third party's rules are its own", u, states[u])
		}
	}
	for i := range closed {
		if u := name("closed", i) + "/"; asked[u] != 0 || states["http://"+u] != "queued" {
			t.Errorf("%s was asked for %d times and is %s, want queued: its rules could not be read", u, asked[u], states["http://"+u])
		}
	}
	for _, u := range []string{"a.loop.test/", "b.loop.test/", "a.loop.test/rules", "b.loop.test/rules"} {
		if asked[u] != 0 {
			t.Errorf("%s was asked for %d times", u, asked[u])
		}
	}
	if n := asked["c.loop.test/robots.txt"] + asked["d.loop.test/robots.txt"]; n > 4 {
		t.Errorf("%d requests to see that two robots.txt lead to one another", n)
	}
	// A robots.txt after more than ten hops is unavailable, and so is one with a redirect loop.
	if want := int64(own + open + 2); st.Stored != want {
		t.Errorf("%d pages stored, want %d", st.Stored, want)
	}
}
