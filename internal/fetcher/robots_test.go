package fetcher

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wiretest"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
)

// RobotsOrigin answers /robots.txt (and other paths of it) with f, every other path with a
// page, and keeps count.
type robotsSite struct {
	addr  string
	pages atomic.Int64 // requests for pages
	asked atomic.Int64 // requests for robots.txt and its redirects
}

func newRobotsSite(t testing.TB, f http.HandlerFunc) *robotsSite {
	s := new(robotsSite)
	s.addr = origin(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "robots") {
			s.asked.Add(1)
			f(w, r)
			return
		}
		s.pages.Add(1)
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<title>page</title>")
	})
	return s
}

func status(code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		fmt.Fprint(w, "User-agent: *\nDisallow: /closed\n")
	}
}

// formats §1.1, row by row: the answer, the fact, and what may be fetched then.
func TestRobotsTable(t *testing.T) {
	cutBody := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, "User-agent: *\nDisallow: /closed\n")
		panic(http.ErrAbortHandler)
	}
	hops := func(n int) http.HandlerFunc { // /robots.txt → /robots-1 → … → /robots-n
		return func(w http.ResponseWriter, r *http.Request) {
			i := 0
			fmt.Sscanf(r.URL.Path, "/robots-%d", &i)
			if i < n {
				http.Redirect(w, r, fmt.Sprintf("/robots-%d", i+1), http.StatusFound)
				return
			}
			fmt.Fprint(w, "User-agent: *\nDisallow: /closed\n")
		}
	}
	parsed := []string{"stored ", "refused robots"}
	all := []string{"stored ", "stored "}
	none := []string{"returned ", "returned "}
	for _, tt := range []struct {
		name  string
		f     http.HandlerFunc
		state crawl.RobotsState
		want  []string // of /open and /closed
		asked int64
	}{
		{"200", status(200), crawl.RobotsParsed, parsed, 1},
		{"200 as HTML", status(200, "Content-Type", "text/html"), crawl.RobotsParsed, parsed, 1},
		{"206", status(206), crawl.RobotsParsed, parsed, 1},
		{"empty", func(http.ResponseWriter, *http.Request) {}, crawl.RobotsParsed, all, 1},
		{"cut", cutBody, crawl.RobotsUnreachable, none, 1},
		{"401", status(401), crawl.RobotsUnavailable, all, 1},
		{"402", status(402), crawl.RobotsUnreachable, none, 1},
		{"403", status(403), crawl.RobotsUnavailable, all, 1},
		{"404", status(404), crawl.RobotsUnavailable, all, 1},
		{"410", status(410), crawl.RobotsUnavailable, all, 1},
		{"429", status(429), crawl.RobotsUnreachable, none, 1},
		{"500", status(500), crawl.RobotsUnreachable, none, 1},
		{"503", status(503), crawl.RobotsUnreachable, none, 1},
		{"599", status(599), crawl.RobotsUnreachable, none, 1},
		{"600", status(600), crawl.RobotsUnreachable, none, 1},
		{"304 without a copy", status(304), crawl.RobotsUnreachable, none, 1},
		{"1 hop", hops(1), crawl.RobotsParsed, parsed, 2},
		{"5 hops", hops(5), crawl.RobotsParsed, parsed, 6},
		{"6 hops", hops(6), crawl.RobotsUnavailable, all, 6},
		{"loop", status(302, "Location", "/robots.txt"), crawl.RobotsUnavailable, all, 1},
		{"no Location", status(302), crawl.RobotsUnavailable, all, 1},
		{"bad Location", status(301, "Location", "http://"), crawl.RobotsUnavailable, all, 1},
		{"not http", status(301, "Location", "ftp://h.test/robots.txt"), crawl.RobotsUnavailable, all, 1},
		{"another host", status(301, "Location", "http://elsewhere.test/robots.txt"), crawl.RobotsPending, none, 1},
		{"reset", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, crawl.RobotsUnreachable, none, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				site := newRobotsSite(t, tt.f)
				d := newDesk(t, 1)
				startFetcher(t, d, testSpec(1, site.addr), Options{})
				out := d.outcome(d.grant(visitTo(t, "http://h.test/open", "http://h.test/closed")))
				for i, r := range out.Results {
					if got := r.Class.String() + " " + string(r.Reason); got != tt.want[i] {
						t.Errorf("%s: %s %s, want %s", r.URL, got, r.Rule, tt.want[i])
					}
					if r.Reason == crawl.ReasonRobots && (r.Line != 2 || r.Rule == "") {
						t.Errorf("refused by line %d, %q", r.Line, r.Rule)
					}
				}
				facts := d.facts()
				if len(facts) != 1 || facts[0].State != tt.state || site.asked.Load() != tt.asked {
					t.Fatalf("facts %+v after %d requests, want %v after %d", facts, site.asked.Load(), tt.state, tt.asked)
				}
				f := facts[0]
				if tt.state == crawl.RobotsParsed != (len(f.Digest) == 32) || tt.state != crawl.RobotsParsed && f.Reason == "" {
					t.Errorf("fact %+v", f)
				}
				if tt.state == crawl.RobotsPending && (f.Location != "http://elsewhere.test/robots.txt" || f.Redirects != 1) {
					t.Errorf("fact %+v", f)
				}
			})
		})
	}
}

// A fact's age and freshness are counted from when it is sent. A fact that had to wait is older
// when it is stored.
func TestFactsAgeWhileTheyWait(t *testing.T) {
	virtual(t, func(t *testing.T) {
		site := newRobotsSite(t, status(200))
		d := newDesk(t, 1)
		startFetcher(t, d, testSpec(1, site.addr), Options{})
		if err := d.q.JS.DeleteStream(t.Context(), d.name.EventsStream(0)); err != nil {
			t.Fatal(err)
		}
		d.grant(visitTo(t, "http://h.test/open"))
		for site.asked.Load() == 0 {
			time.Sleep(time.Millisecond)
		}
		const wait = 3*time.Minute + time.Second
		time.Sleep(wait)
		if _, err := d.q.OpenLog(t.Context(), queue.LogConfig{Stream: d.name.EventsStream(0), Subject: d.name.EventsSubject(0), MaxBytes: 1 << 20}); err != nil {
			t.Fatal(err)
		}
		s, err := d.q.JS.Stream(t.Context(), d.name.EventsStream(0))
		if err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(ample); ; time.Sleep(5 * time.Millisecond) {
			m, err := s.GetMsg(t.Context(), 1)
			if err != nil && time.Now().Before(end) {
				continue
			} else if err != nil {
				t.Fatal(err)
			}
			e, err := crawl.DecodeEvent(m.Data)
			if err != nil || len(e.Robots) != 1 {
				t.Fatalf("%+v, %v", e, err)
			}
			if r := e.Robots[0]; r.Age < wait-time.Minute || r.Age > wait+time.Minute || r.Age+r.Fresh != 24*time.Hour {
				t.Errorf("age %v, fresh %v", r.Age, r.Fresh)
			}
			return
		}
	})
}

// A compressed body that decodes to almost nothing is cut. The last line may be incomplete, and
// half an Allow would allow more.
func TestRobotsCutByItsEncoding(t *testing.T) {
	virtual(t, func(t *testing.T) {
		half := wiretest.Encode(t, "gzip", []byte("User-agent: *\nDisallow: /\nAllow: /o"))
		empty := wiretest.Encode(t, "gzip", nil)
		site := newRobotsSite(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(half)
			for range 100_000 {
				if _, err := w.Write(empty); err != nil {
					return
				}
			}
			w.Write(wiretest.Encode(t, "gzip", []byte("pen-to-nobody-else\n")))
		})
		d := newDesk(t, 1)
		startFetcher(t, d, testSpec(1, site.addr), Options{})
		out := d.outcome(d.grant(visitTo(t, "http://h.test/open")))
		if f := d.facts(); len(f) != 1 || f[0].State != crawl.RobotsUnreachable || site.pages.Load() != 0 {
			t.Errorf("%s, %+v", classes(out), f)
		}
	})
}

// A fact is in the log, acknowledged, before the first page request that relies on it.
func TestFactsComeFirst(t *testing.T) {
	virtual(t, func(t *testing.T) {
		d := newDesk(t, 1)
		var early atomic.Bool
		var reported sync.Map
		last := func() uint64 {
			s, err := d.q.JS.Stream(t.Context(), d.name.EventsStream(0))
			if err != nil {
				t.Error(err)
				return 0
			}
			return s.CachedInfo().State.LastSeq
		}
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				reported.Store(r.Host, last())
				fmt.Fprint(w, "User-agent: *\nAllow: /\n")
				return
			}
			before, _ := reported.Load(r.Host)
			if before == nil || last() <= before.(uint64) {
				early.Store(true)
			}
			w.Header().Set("Content-Type", "text/html")
		})
		startFetcher(t, d, testSpec(1, addr), Options{})
		for i := range 5 {
			d.outcome(d.grant(visitTo(t, fmt.Sprintf("http://h%d.test/", i))))
		}
		if early.Load() {
			t.Error("a page was asked for before the facts about robots.txt were in the log")
		}
	})
}

// What the frontier knows and is fresh is used without a request.
func TestRobotsKnown(t *testing.T) {
	body := []byte("User-agent: *\nDisallow: /closed\n")
	digest := sha256.Sum256(body)
	large := append(bytes.Repeat([]byte("# padding\n"), 5000), body...)
	largeDigest := sha256.Sum256(large)
	emptyDigest := sha256.Sum256(nil)
	o := canon.Origin{Scheme: "http", Host: "h.test", Port: 80}
	for _, tt := range []struct {
		name  string
		known crawl.Robots
		want  string // of /closed
		asked int64
	}{
		{"parsed", crawl.Robots{State: crawl.RobotsParsed, Body: body, Digest: digest[:], Fresh: time.Hour}, "refused robots", 0},
		{"parsed, no digest", crawl.Robots{State: crawl.RobotsParsed, Body: body, Fresh: time.Hour}, "refused robots", 0},
		{"parsed, empty", crawl.Robots{State: crawl.RobotsParsed, Digest: emptyDigest[:], Fresh: time.Hour}, "stored ", 0},
		{"parsed, with neither body nor digest", crawl.Robots{State: crawl.RobotsParsed, Fresh: time.Hour}, "stored ", 1},
		{"parsed, the wrong body", crawl.Robots{State: crawl.RobotsParsed, Body: []byte("User-agent: *\nAllow: /\n"), Digest: largeDigest[:], Fresh: time.Hour}, "refused robots", 0},
		{"parsed, body asked for", crawl.Robots{State: crawl.RobotsParsed, Digest: largeDigest[:], Fresh: time.Hour}, "refused robots", 0},
		{"parsed, body not to be had", crawl.Robots{State: crawl.RobotsParsed, Digest: bytes.Repeat([]byte{7}, 32), Fresh: time.Hour}, "stored ", 1},
		{"unavailable", crawl.Robots{State: crawl.RobotsUnavailable, Fresh: time.Hour}, "stored ", 0},
		{"unreachable", crawl.Robots{State: crawl.RobotsUnreachable, Fresh: time.Hour}, "returned ", 0},
		{"pending", crawl.Robots{State: crawl.RobotsPending}, "returned ", 0},
		{"unknown", crawl.Robots{State: crawl.RobotsUnknown, Fresh: time.Hour}, "stored ", 1},
		{"stale", crawl.Robots{State: crawl.RobotsParsed, Body: body, Digest: digest[:]}, "stored ", 1},
		{"due again after failures", crawl.Robots{State: crawl.RobotsUnreachable}, "stored ", 1},
		{"of another origin", crawl.Robots{State: crawl.RobotsParsed, Body: body, Fresh: time.Hour, Origin: canon.Origin{Scheme: "https", Host: "h.test", Port: 443}}, "stored ", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				site := newRobotsSite(t, status(404))
				d := newDesk(t, 1)
				d.bodies[string(largeDigest[:])] = large
				// It is not the text that was requested.
				d.bodies[string(bytes.Repeat([]byte{7}, 32))] = []byte("User-agent: *\nDisallow: /\n")
				startFetcher(t, d, testSpec(1, site.addr), Options{})
				if tt.known.Origin.Host == "" {
					tt.known.Origin = o
				}
				v := visitTo(t, "http://h.test/closed")
				v.Robots = []crawl.Robots{tt.known}
				out := d.outcome(d.grant(v))
				r := out.Results[0]
				if got := r.Class.String() + " " + string(r.Reason); got != tt.want || site.asked.Load() != tt.asked {
					t.Errorf("%s after asking %d times, want %s after %d", got, site.asked.Load(), tt.want, tt.asked)
				}
			})
		})
	}
}

func TestRobotsRefresh(t *testing.T) {
	body := []byte("User-agent: *\nDisallow: /closed\nCrawl-delay: 0.01\n")
	digest := sha256.Sum256(body)
	known := crawl.Robots{Origin: canon.Origin{Scheme: "http", Host: "h.test", Port: 80}, State: crawl.RobotsParsed,
		Body: body, Digest: digest[:], ETag: `"v1"`, LastModified: "Wed, 04 Mar 2026 05:06:37 GMT", Age: time.Hour}
	var conditions atomic.Value
	run := func(t *testing.T, f http.HandlerFunc, known crawl.Robots) (crawl.Outcome, []crawl.Robots) {
		t.Helper()
		site := newRobotsSite(t, func(w http.ResponseWriter, r *http.Request) {
			conditions.Store(r.Header.Get("If-None-Match") + " " + r.Header.Get("If-Modified-Since"))
			f(w, r)
		})
		d := newDesk(t, 1)
		startFetcher(t, d, testSpec(1, site.addr), Options{})
		v := visitTo(t, "http://h.test/closed", "http://h.test/open")
		v.Robots = []crawl.Robots{known}
		return d.outcome(d.grant(v)), d.facts()
	}
	t.Run("renewed", func(t *testing.T) {
		virtual(t, func(t *testing.T) {
			out, facts := run(t, status(304, "Cache-Control", "max-age=3600"), known)
			if conditions.Load() != `"v1" Wed, 04 Mar 2026 05:06:37 GMT` {
				t.Errorf("conditions %q", conditions.Load())
			}
			f := facts[0]
			if out.Results[0].Reason != crawl.ReasonRobots || out.Results[1].Class != crawl.Stored {
				t.Errorf("results %+v", out.Results)
			}
			if !f.Renewed || f.State != crawl.RobotsParsed || !bytes.Equal(f.Digest, digest[:]) || len(f.Body) != 0 ||
				f.Fresh != time.Hour || f.ETag != `"v1"` || f.CrawlDelay != 10*time.Millisecond || !f.HasCrawlDelay {
				t.Errorf("fact %+v", f)
			}
		})
	})
	t.Run("changed", func(t *testing.T) {
		virtual(t, func(t *testing.T) {
			out, facts := run(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("ETag", `"v2"`)
				fmt.Fprint(w, "User-agent: curtsy\nDisallow: /open\n")
			}, known)
			if out.Results[0].Class != crawl.Stored || out.Results[1].Reason != crawl.ReasonRobots || facts[0].ETag != `"v2"` || facts[0].Renewed {
				t.Errorf("results %+v, fact %+v", out.Results, facts[0])
			}
		})
	})
	t.Run("failed, copy young", func(t *testing.T) {
		virtual(t, func(t *testing.T) {
			out, facts := run(t, status(500), known)
			if out.Results[0].Reason != crawl.ReasonRobots || out.Results[1].Class != crawl.Stored || facts[0].State != crawl.RobotsUnreachable {
				t.Errorf("results %+v, fact %+v", out.Results, facts[0])
			}
		})
	})
	t.Run("failed, copy old", func(t *testing.T) {
		virtual(t, func(t *testing.T) {
			old := known
			old.Age = 25 * time.Hour
			out, _ := run(t, status(500), old)
			if out.Results[0].Class != crawl.Returned || out.Results[1].Class != crawl.Returned || out.Requests != 1 {
				t.Errorf("outcome %+v", out)
			}
		})
	})
	t.Run("too much, copy young", func(t *testing.T) {
		virtual(t, func(t *testing.T) {
			out, facts := run(t, status(429, "Retry-After", "7"), known)
			if out.Results[1].Class != crawl.Returned || out.Requests != 1 || out.RetryAfter != 7*time.Second || facts[0].RetryAfter != 7*time.Second || out.Overloads != 1 {
				t.Errorf("outcome %+v, fact %+v", out, facts[0])
			}
		})
	})
	t.Run("gone", func(t *testing.T) {
		virtual(t, func(t *testing.T) {
			out, facts := run(t, status(404), known)
			if out.Results[0].Class != crawl.Stored || facts[0].State != crawl.RobotsUnavailable {
				t.Errorf("results %+v, fact %+v", out.Results, facts[0])
			}
		})
	})
	t.Run("due in the middle of a visit", func(t *testing.T) {
		virtual(t, func(t *testing.T) {
			short := known
			short.Fresh = 50 * time.Millisecond
			site := newRobotsSite(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "User-agent: *\nDisallow: /b\n") })
			d := newDesk(t, 1)
			startFetcher(t, d, testSpec(1, site.addr), Options{})
			v := visitTo(t, "http://h.test/a", "http://h.test/b")
			v.Robots, v.Delay = []crawl.Robots{short}, 100*time.Millisecond
			v.URLs = append(v.URLs, v.URLs[0])
			out := d.outcome(d.grant(v))
			if site.asked.Load() != 1 || out.Results[0].Class != crawl.Stored {
				t.Errorf("asked %d times, %+v", site.asked.Load(), out.Results)
			}
		})
	})
}
