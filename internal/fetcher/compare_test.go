package fetcher

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/likeness"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// answersOf waits for n answers to auxiliary requests.
func (d *desk) answersOf(n int) (all []crawl.Answer) {
	d.t.Helper()
	for end := time.Now().Add(ample); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		all = nil
		d.mu.Lock()
		for _, e := range d.events {
			all = append(all, e.Answers...)
		}
		d.mu.Unlock()
		if len(all) >= n {
			return all
		}
	}
	d.t.Fatalf("%d answers, want %d", len(all), n)
	return nil
}

func TestClaims(t *testing.T) {
	const file = "User-agent: *\r\nDisallow: /x\r\nHost: main.test\r\n"
	digest := robots.Digest([]byte(file))
	sum := sha256.Sum256([]byte(file))
	const mainOrigin = "http://main.test/"
	stale := &crawl.Robots{State: crawl.RobotsParsed, Body: []byte(file), Digest: sum[:], ETag: `"1"`, Age: 2 * time.Hour}
	for _, tt := range []struct {
		name  string
		f     http.HandlerFunc
		known *crawl.Robots
		want  crawl.Claim // with Reason: how that begins
		asked int64
		none  bool // no answer, so it is sent again later
	}{
		{"target", saying(file), nil, crawl.Claim{Kind: crawl.ClaimTarget, Target: canon.URL(mainOrigin).Origin(), Digest: digest[:]}, 1, false},
		{"self", saying("User-agent: *\nHost: h.test\nHost: other.test\n"), nil, crawl.Claim{Kind: crawl.ClaimSelf}, 1, false},
		{"nobody", saying("User-agent: *\nHost: nonsense\n"), nil, crawl.Claim{Kind: crawl.ClaimNone}, 1, false},
		{"no file", status(404), nil, crawl.Claim{Kind: crawl.ClaimNone}, 1, false},
		{"redirected on the host", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				http.Redirect(w, r, "/robots-2", http.StatusFound)
				return
			}
			fmt.Fprint(w, file)
		}, nil, crawl.Claim{Kind: crawl.ClaimTarget, Target: canon.URL(mainOrigin).Origin(), Digest: digest[:]}, 2, false},
		{"another host is to be asked", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://third.test/robots.txt", http.StatusFound)
		}, nil, crawl.Claim{}, 1, true},
		{"another host is being asked", saying(file), &crawl.Robots{State: crawl.RobotsPending, Fresh: time.Hour}, crawl.Claim{}, 0, true},
		{"unreachable", status(500), nil, crawl.Claim{Reason: "unreachable: robots.txt of http://h.test cannot be fetched now: HTTP 500"}, 1, false},
		{"overloaded", status(503), nil, crawl.Claim{Reason: "unreachable: robots.txt of http://h.test cannot be fetched now: HTTP 503"}, 1, false},
		{"known", status(500), &crawl.Robots{State: crawl.RobotsParsed, Body: []byte(file), Digest: sum[:], Fresh: time.Hour},
			crawl.Claim{Kind: crawl.ClaimTarget, Target: canon.URL(mainOrigin).Origin(), Digest: digest[:]}, 0, false},
		{"known by its digest", status(500), &crawl.Robots{State: crawl.RobotsParsed, Digest: sum[:], Fresh: time.Hour},
			crawl.Claim{Kind: crawl.ClaimTarget, Target: canon.URL(mainOrigin).Origin(), Digest: digest[:]}, 0, false},
		{"renewed", status(304), stale, crawl.Claim{Kind: crawl.ClaimTarget, Target: canon.URL(mainOrigin).Origin(), Digest: digest[:]}, 1, false},
		{"an old copy that stays in use", status(500), stale, crawl.Claim{Kind: crawl.ClaimTarget, Target: canon.URL(mainOrigin).Origin(), Digest: digest[:]}, 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				site := newRobotsSite(t, tt.f)
				d := newDesk(t, 1)
				d.bodies[string(sum[:])] = []byte(file)
				startFetcher(t, d, testSpec(1, site.addr), Options{})
				e := crawl.AuxRequest{Kind: crawl.AuxClaim, URL: "http://h.test/robots.txt", Origin: canon.URL("http://mirror.test/").Origin()}
				v := crawl.Visit{Host: "h.test", Aux: []crawl.AuxRequest{e}}
				if tt.known != nil {
					known := *tt.known
					known.Origin = originH
					v.Robots = []crawl.Robots{known}
				}
				out := d.outcome(d.grant(v))
				if site.asked.Load() != tt.asked || site.pages.Load() != 0 || len(out.Done) != 1 != tt.none {
					t.Errorf("%d requests, outcome %+v", site.asked.Load(), out)
				}
				if facts := d.facts(); len(facts) != min(int(tt.asked), 1) {
					t.Errorf("facts %+v", facts)
				}
				if tt.none {
					return
				}
				a := d.answersOf(1)[0]
				if a.Aux != e || a.Claim.Kind != tt.want.Kind || a.Claim.Target != tt.want.Target || a.Claim.Reason != tt.want.Reason ||
					tt.want.Digest != nil && !bytes.Equal(a.Claim.Digest, tt.want.Digest) {
					t.Errorf("%+v, want %+v", a.Claim, tt.want)
				}
			})
		})
	}
}

func TestSamples(t *testing.T) {
	virtual(t, func(t *testing.T) {
		words := strings.Repeat("the quick brown fox jumps over the lazy dog ", 20)
		page := "<title>x</title><p>" + words
		var busy, asked atomic.Int64
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			h := w.Header()
			h.Set("Content-Type", "text/html")
			switch r.URL.Path {
			case "/robots.txt":
				fmt.Fprint(w, "User-agent: *\nDisallow: /closed\n")
			case "/plain":
				h.Set("Content-Type", "text/plain")
				fmt.Fprint(w, words)
			case "/short":
				fmt.Fprint(w, "<p>hello")
			case "/untyped":
				h["Content-Type"] = nil
				fmt.Fprint(w, "<!doctype html>"+page)
			case "/image":
				h.Set("Content-Type", "image/png")
				w.Write(make([]byte, 50))
			case "/moved":
				http.Redirect(w, r, "to", http.StatusMovedPermanently)
			case "/none":
				http.NotFound(w, r)
			case "/busy":
				busy.Add(1)
				w.WriteHeader(503)
			default:
				fmt.Fprint(w, page)
			}
		})
		d := newDesk(t, 2)
		spec := testSpec(2, addr)
		spec.Forgotten = []string{"http://h.test/private"}
		startFetcher(t, d, spec, Options{})
		digest := func(s string) uint64 { sum := sha256.Sum256([]byte(s)); return binary.BigEndian.Uint64(sum[:]) }
		alike := likeness.OfText([]byte("x " + words))
		want := map[string]crawl.Sample{
			"/":          {Status: 200, Digest: digest(page), Likeness: alike},
			"/plain":     {Status: 200, Digest: digest(words), Likeness: likeness.OfText([]byte(words))},
			"/short":     {Status: 200, Digest: digest("<p>hello")},
			"/untyped":   {Status: 200, Digest: digest("<!doctype html>" + page), Likeness: alike},
			"/closed/x":  {Reason: "robots: line 2: Disallow: /closed"},
			"/private/x": {Reason: "forgotten"},
			"/image":     {Status: 200, Reason: "type: image/png"},
			"/moved":     {Status: 301, Reason: "redirect", Location: "http://h.test/to"},
			"/none":      {Status: 404, Reason: "HTTP 404"},
			"/busy":      {Status: 503, Reason: "overload: HTTP 503"},
		}
		v := crawl.Visit{Host: "h.test"}
		for _, path := range []string{"/", "/plain", "/short", "/untyped", "/closed/x", "/private/x", "/image", "/moved", "/none", "/busy", "/after"} {
			v.Aux = append(v.Aux, crawl.AuxRequest{Kind: crawl.AuxSample, URL: canon.URL("http://h.test" + path), Origin: canon.URL("http://m.test/").Origin(), ReplyShard: 1})
		}
		out := d.outcome(d.grant(v))
		if len(out.Done) != 10 || out.Overloads != 1 || asked.Load() != 9 {
			t.Errorf("outcome %+v, %d requests", out, asked.Load())
		}
		for _, a := range d.answersOf(10) {
			if path := a.Aux.URL.PathQuery(); a.Sample != want[path] {
				t.Errorf("%s: %+v, want %+v", path, a.Sample, want[path])
			}
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		if len(d.pages) != 0 {
			t.Errorf("pages %+v: a sample is not for keeping", d.pages)
		}
	})
}

// A page that must not be requested is not compared, and the answer says so. So does that for a
// name without an address.
func TestSamplesOfNobody(t *testing.T) {
	virtual(t, func(t *testing.T) {
		addr, _ := slowSite(t, 0)
		for _, tt := range []struct {
			change func(*crawl.Spec)
			known  crawl.RobotsState
			want   string
		}{
			{func(s *crawl.Spec) { s.AllowPrivate = false }, crawl.RobotsUnavailable, "address: "},
			{func(s *crawl.Spec) { s.AllowPrivate = false }, crawl.RobotsUnknown, "address: "},
			{func(s *crawl.Spec) { s.Resolve = []string{"*=127.0.0.1:1"} }, crawl.RobotsUnavailable, "connect: "},
			{func(s *crawl.Spec) {}, crawl.RobotsUnreachable, "unreachable: "},
		} {
			d := newDesk(t, 1)
			spec := testSpec(1, addr)
			tt.change(&spec)
			startFetcher(t, d, spec, Options{})
			e := crawl.AuxRequest{Kind: crawl.AuxSample, URL: "http://h.test/x", Origin: canon.URL("http://m.test/").Origin()}
			out := d.outcome(d.grant(crawl.Visit{Host: "h.test", Aux: []crawl.AuxRequest{e}, Robots: []crawl.Robots{{Origin: originH, State: tt.known, Fresh: time.Hour}}}))
			if a := d.answersOf(1)[0]; a.Sample.Status != 0 || !strings.HasPrefix(a.Sample.Reason, tt.want) || len(out.Done) != 1 {
				t.Errorf("%+v, want %s", a.Sample, tt.want)
			}
		}
	})
}

// saying answers with a text.
func saying(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }
}
