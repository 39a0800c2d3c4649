package fetcher

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/visit"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

func TestAuxRequests(t *testing.T) {
	virtual(t, func(t *testing.T) {
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/robots.txt":
				fmt.Fprint(w, "User-agent: *\nDisallow: /closed\n") // of h.test itself
			case "/rules":
				fmt.Fprint(w, "User-agent: *\nDisallow: /x\nCrawl-delay: 3\n")
			case "/again":
				http.Redirect(w, r, "/rules", http.StatusFound)
			case "/away":
				http.Redirect(w, r, "http://third.test/r", http.StatusFound)
			case "/busy":
				w.Header().Set("Retry-After", "5")
				w.WriteHeader(503)
			default:
				http.NotFound(w, r)
			}
		})
		d := newDesk(t, 4)
		startFetcher(t, d, testSpec(4, addr), Options{})
		claimant := canon.Origin{Scheme: "https", Host: "claimant.test", Port: 443}
		v := crawl.Visit{Host: "h.test", Shard: 1}
		for i, path := range []string{"/rules", "/again", "/away", "/none", "/again", "/busy", "/rules"} {
			e := crawl.AuxRequest{Kind: crawl.AuxRobots, URL: mustURL(t, "http://h.test"+path), Origin: claimant, Hop: 1, ReplyShard: 2}
			if i == 4 {
				e.Hop = 5
			}
			v.Aux = append(v.Aux, e)
		}
		v.Aux = append(v.Aux[:1:1], append([]crawl.AuxRequest{
			// This is a mistake of a frontier and is ignored.
			{Kind: crawl.AuxRobots, URL: "http://not-h.test/rules", Origin: claimant, Hop: 1, ReplyShard: 2},
			// This is of a future version and is ignored.
			{Kind: 200, URL: "http://h.test/rules", Origin: claimant, ReplyShard: 2},
		}, v.Aux[1:]...)...)
		out := d.outcome(d.grant(v))
		v.Aux = append(v.Aux[:1:1], v.Aux[3:]...)
		if len(out.Done) != 6 || out.Overloads != 1 || out.RetryAfter != 5*time.Second {
			t.Errorf("outcome %+v", out)
		}
		var answers []crawl.Answer
		answered := func() int {
			d.mu.Lock()
			defer d.mu.Unlock()
			answers = nil
			for i, e := range d.events {
				if len(e.Answers) > 0 && d.shards[i] != 2 {
					t.Errorf("answer in shard %d", d.shards[i])
				}
				answers = append(answers, e.Answers...)
			}
			return len(answers)
		}
		for end := time.Now().Add(ample); answered() < 6 && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		want := []crawl.RobotsState{crawl.RobotsParsed, crawl.RobotsParsed, crawl.RobotsPending, crawl.RobotsUnavailable, crawl.RobotsUnavailable, crawl.RobotsUnreachable}
		for i, a := range answers {
			if a.Robots.State != want[i] || a.Robots.Origin != claimant || a.Aux != v.Aux[i] {
				t.Errorf("answer %d: %+v, want %v", i, a, want[i])
			}
		}
		if a := answers[0].Robots; a.CrawlDelay != 3*time.Second || len(a.Body) == 0 {
			t.Errorf("%+v", a)
		}
		if a := answers[2].Robots; a.Location != "http://third.test/r" || a.Redirects != 2 {
			t.Errorf("%+v", a)
		}
	})
}

// A robots.txt that was moved to another host is only fetched as that host's own robots.txt allows,
// at each redirect. That file itself is requested once, whoever needs it.
func TestAuxRequestsObeyTheHostTheyLeadTo(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var mu sync.Mutex
		var asked []string
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			asked = append(asked, r.URL.Path)
			mu.Unlock()
			switch r.URL.Path {
			case "/robots.txt":
				fmt.Fprint(w, "User-agent: *\nDisallow: /closed\n")
			case "/leads":
				http.Redirect(w, r, "/closed/rules", http.StatusFound)
			}
		})
		d := newDesk(t, 4)
		startFetcher(t, d, testSpec(4, addr), Options{})
		other := canon.Origin{Scheme: "https", Host: "claimant.test", Port: 443}
		own := canon.Origin{Scheme: "https", Host: "h.test", Port: 443}
		aux := func(path string, of canon.Origin) crawl.AuxRequest {
			return crawl.AuxRequest{Kind: crawl.AuxRobots, URL: mustURL(t, "http://h.test"+path), Origin: of, Hop: 1, ReplyShard: 2}
		}
		v := crawl.Visit{Host: "h.test", Shard: 1, Aux: []crawl.AuxRequest{
			aux("/closed", other), aux("/leads", other), aux("/robots.txt", other), aux("/robots.txt", other), aux("/robots.txt?x", other), aux("/closed/own", own),
		}}
		out := d.outcome(d.grant(v))
		if len(out.Done) != len(v.Aux) {
			t.Errorf("outcome %+v", out)
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		var got []crawl.Robots
		for _, e := range d.events {
			for _, a := range e.Answers {
				got = append(got, a.Robots)
			}
		}
		want := []crawl.RobotsState{crawl.RobotsUnreachable, crawl.RobotsUnreachable, crawl.RobotsParsed, crawl.RobotsParsed, crawl.RobotsParsed, crawl.RobotsParsed}
		if len(got) != len(want) {
			t.Fatalf("%d answers: %+v", len(got), got)
		}
		for i, f := range got {
			if f.State != want[i] || f.Origin != v.Aux[i].Origin || (f.State == crawl.RobotsUnreachable) != strings.Contains(f.Reason, "line 2: Disallow: /closed") {
				t.Errorf("answer %d: %+v, want %v", i, f, want[i])
			}
		}
		if f := got[3]; !strings.Contains(string(f.Body), "Disallow: /closed") || len(f.Digest) != 32 || f.Fresh <= 0 {
			t.Errorf("the host's own robots.txt as another's: %+v", f)
		}
		mu.Lock()
		defer mu.Unlock()
		if got := strings.Join(asked, " "); got != "/robots.txt /leads /robots.txt /closed/own" {
			t.Errorf("asked for %s", got)
		}
	})
}

func TestCrawlDelay(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var mu sync.Mutex
		var at []time.Time
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			at = append(at, time.Now())
			if r.URL.Path == "/robots.txt" {
				delay := "0.3"
				if strings.HasPrefix(r.Host, "patient") {
					delay = "601"
				}
				fmt.Fprint(w, "User-agent: *\nCrawl-delay: "+delay+"\n")
			}
		})
		d := newDesk(t, 1)
		startFetcher(t, d, testSpec(1, addr), Options{})
		v := visitTo(t, "http://h.test/a", "http://h.test/b")
		v.Delay = 50 * time.Millisecond
		out := d.outcome(d.grant(v))
		if out.Delay != 300*time.Millisecond || d.facts()[0].CrawlDelay != 300*time.Millisecond {
			t.Errorf("delay %v, fact %+v", out.Delay, d.facts()[0])
		}
		for i := 1; i < 3; i++ {
			if gap := at[i].Sub(at[i-1]); gap < 300*time.Millisecond {
				t.Errorf("gap %d: %v", i, gap)
			}
		}
		out = d.outcome(d.grant(visitTo(t, "http://patient.test/a", "http://patient.test/b")))
		if out.Requests != 1 || out.Results[0].Class != crawl.Returned || out.Delay != 601*time.Second {
			t.Errorf("a host that asks for over ten minutes: %+v", out)
		}
	})
}

func TestRobotsSizeLimit(t *testing.T) {
	virtual(t, func(t *testing.T) {
		line := "Disallow: /x" + strings.Repeat("y", 87) + "\n" // 100 bytes
		for _, tt := range []struct {
			name string
			body string
			keep int // bytes of it in the fact
		}{
			{"at the limit", "User-agent: *\n" + strings.Repeat("#\n", (robots.MaxBytes-14)/2), robots.MaxBytes},
			{"one byte over", "User-agent: *\n" + strings.Repeat("#\n", (robots.MaxBytes-14)/2) + "\n", robots.MaxBytes},
			{"a line across", "User-agent: *\n" + strings.Repeat(line, 6000), 14 + (robots.MaxBytes-14)/100*100},
		} {
			site := newRobotsSite(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, tt.body) })
			d := newDesk(t, 1)
			startFetcher(t, d, testSpec(1, site.addr), Options{})
			out := d.outcome(d.grant(visitTo(t, "http://h.test/x", "http://h.test/z")))
			f := d.facts()[0]
			if f.State != crawl.RobotsParsed || len(f.Body) != tt.keep || !strings.HasPrefix(tt.body, string(f.Body)) {
				t.Errorf("%s: %v with %d bytes, want %d", tt.name, f.State, len(f.Body), tt.keep)
			}
			if out.Results[1].Class != crawl.Stored {
				t.Errorf("%s: %+v", tt.name, out.Results)
			}
		}
	})
}

// Every kind of auxiliary request is known here, except the one that needs no request.
func TestAuxRequestKinds(t *testing.T) {
	for _, kind := range crawl.AuxKinds() {
		if visit.Knows(kind) == (kind == crawl.AuxTwin) {
			t.Errorf("%v: known %v", kind, visit.Knows(kind))
		}
	}
}
