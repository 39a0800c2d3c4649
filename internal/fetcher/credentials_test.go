package fetcher

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/credentials"
	"github.com/curtsy/curtsy/internal/fetcher/wiretest"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/canon"
)

// syncLog is a log that is read while it is written.
type syncLog struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *syncLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *syncLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// closedSite is a site that answers only requests with the token.
func closedSite(t *testing.T, token string) (addr string, asked func() map[string]string) {
	var mu sync.Mutex
	seen := map[string]string{}
	addr = origin(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen[r.Host+r.URL.Path] = r.Header.Get("Authorization")
		mu.Unlock()
		switch {
		case r.Header.Get("Authorization") != "Bearer "+token:
			w.Header().Set("WWW-Authenticate", `Bearer realm="staff"`)
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/robots.txt":
			fmt.Fprint(w, "User-agent: *\nDisallow: /closed\n")
		case r.URL.Path == "/away":
			http.Redirect(w, r, "http://other.test/", http.StatusFound)
		default:
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<a href="/next">x</a>`)
		}
	})
	return addr, func() map[string]string {
		mu.Lock()
		defer mu.Unlock()
		return seen
	}
}

func setOf(t *testing.T, text string) *credentials.Set {
	t.Helper()
	set, err := credentials.Parse([]byte(text), "")
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// A site that requires credentials is crawled like any other, including its robots.txt. Without
// credentials, or with wrong ones, the answer says which option sends them. No other site receives
// them.
func TestDoor(t *testing.T) {
	virtual(t, func(t *testing.T) {
		addr, asked := closedSite(t, "hunter2")
		var log syncLog
		d := newDesk(t, 1)
		opt := Options{Credentials: setOf(t, "sites:\n  http://h.test: {bearer: hunter2}\n  http://wrong.test: {bearer: hunter3}\n"),
			Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
		startFetcher(t, d, testSpec(1, addr), opt)
		out := d.outcome(d.grant(visitTo(t, "http://h.test/a", "http://h.test/closed/b", "http://h.test/away")))
		if classes(out) != "stored refused/robots redirected/redirect" {
			t.Errorf("%s %+v", classes(out), out.Results)
		}
		out = d.outcome(d.grant(open(visitTo(t, "http://other.test/"))))
		if r := out.Results[0]; classes(out) != "failed/http-4xx" || r.Rule != `it requires credentials ("Bearer realm=\"staff\""): write them into a file for --credentials` {
			t.Errorf("without: %s %+v", classes(out), r)
		}
		out = d.outcome(d.grant(visitTo(t, "http://wrong.test/")))
		if r := out.Results[0]; classes(out) != "failed/http-4xx" || r.Rule != "it refuses the credentials" {
			t.Errorf("wrong: %s %+v", classes(out), r)
		}
		for at, shown := range asked() {
			want := map[string]string{"h.test": "Bearer hunter2", "wrong.test": "Bearer hunter3"}[strings.Split(at, "/")[0]]
			if shown != want {
				t.Errorf("%s was shown %q", at, shown)
			}
		}
		if !strings.Contains(log.String(), "names=\"[http://h.test http://wrong.test]\"") || strings.Contains(log.String(), "hunter") {
			t.Errorf("the log: %s", log.String())
		}
	})
}

// What is only served with credentials is no evidence about another host: its pages are not
// compared, and its rules are not used for another host.
func TestDoorTellsNothingOfItself(t *testing.T) {
	virtual(t, func(t *testing.T) {
		addr, asked := closedSite(t, "hunter2")
		d := newDesk(t, 1)
		startFetcher(t, d, testSpec(1, addr), Options{Credentials: setOf(t, "sites:\n  http://h.test: {bearer: hunter2}\n")})
		stranger := canon.Origin{Scheme: "http", Host: "stranger.test", Port: 80}
		aux := []crawl.AuxRequest{
			{Kind: crawl.AuxSample, URL: "http://h.test/a", Origin: stranger},
			{Kind: crawl.AuxClaim, URL: "http://h.test/robots.txt", Origin: stranger},
			{Kind: crawl.AuxRobots, URL: "http://h.test/robots.txt", Origin: stranger, Hop: 1},
			{Kind: crawl.AuxRobots, URL: "http://h.test/rules", Origin: stranger, Hop: 1},
		}
		out := d.outcome(d.grant(crawl.Visit{Host: "h.test", Aux: aux}))
		if len(out.Done) != len(aux) || out.Requests != 0 || len(asked()) != 0 {
			t.Errorf("%+v, asked %v", out, asked())
		}
		for _, a := range d.answersOf(len(aux)) {
			reason := a.Sample.Reason + a.Claim.Reason + a.Robots.Reason
			if !strings.Contains(reason, "requires credentials") || a.Claim.Digest != nil || len(a.Robots.Body) > 0 ||
				a.Aux.Kind == crawl.AuxRobots && a.Robots.State != crawl.RobotsUnreachable {
				t.Errorf("%+v", a)
			}
		}
	})
}

// A form is only posted with credentials for the site that they belong to, because a feed elsewhere
// could name any address of it as its hub.
func TestDoorIsNotPostedThroughForStrangers(t *testing.T) {
	virtual(t, func(t *testing.T) {
		addr, asked := closedSite(t, "hunter2")
		d := newDesk(t, 1)
		startFetcher(t, d, testSpec(1, addr), Options{Credentials: setOf(t, "sites:\n  http://h.test: {bearer: hunter2}\n")})
		out := d.outcome(d.grant(crawl.Visit{Host: "h.test", Aux: []crawl.AuxRequest{
			{Kind: crawl.AuxWebSub, URL: "http://h.test/admin", Origin: vouching, About: "http://v.test/feed", Hop: 2, Form: "hub.mode=subscribe"},
		}}))
		if a := d.answersOf(1)[0]; len(out.Done) != 1 || out.Requests != 0 || len(asked()) != 0 || !strings.Contains(a.RUP.Reason, "requires credentials") || a.RUP.Retry {
			t.Errorf("%+v, %+v, asked %v", out, a, asked())
		}
		d = newDesk(t, 1)
		startFetcher(t, d, testSpec(1, addr), Options{Credentials: setOf(t, "sites:\n  http://h.test: {bearer: hunter2}\n")})
		out = d.outcome(d.grant(crawl.Visit{Host: "h.test", Aux: []crawl.AuxRequest{
			{Kind: crawl.AuxWebSub, URL: "http://h.test/hub", Origin: originH, About: "http://h.test/feed", Hop: 2, Form: "hub.mode=subscribe"},
		}}))
		if a := d.answersOf(1)[0]; len(out.Done) != 1 || asked()["h.test/hub"] != "Bearer hunter2" || a.RUP.Reason != "" {
			t.Errorf("its own hub: %+v, %+v, asked %v", out, a, asked())
		}
	})
}

// The changes of a site that requires credentials are requested with them, by GET and by POST.
// Without them the answer says which option sends them.
func TestDoorRUP(t *testing.T) {
	virtual(t, func(t *testing.T) {
		addr, asked := closedSite(t, "hunter2")
		for _, tt := range []struct{ path, form string }{{"/rupinfo.txt", ""}, {"/cgi", formSequence}} {
			d := newDesk(t, 1)
			startFetcher(t, d, testSpec(1, addr), Options{Credentials: setOf(t, "sites:\n  http://h.test: {bearer: hunter2}\n")})
			if m, _, _ := d.rupAnswer(rupVisit(tt.path, tt.form, "")); m.Status != http.StatusOK || asked()["h.test"+tt.path] != "Bearer hunter2" {
				t.Errorf("%s: %+v, asked %v", tt.path, m, asked())
			}
			d = newDesk(t, 1)
			startFetcher(t, d, testSpec(1, addr), Options{})
			if m, _, _ := d.rupAnswer(rupVisit(tt.path, tt.form, "")); !strings.Contains(m.Reason, "it requires credentials") {
				t.Errorf("without, %s: %+v", tt.path, m)
			}
		}
	})
}

// A proxy that is down costs no URL: the URLs are returned, their host is paused, and the operator
// is informed. When it is back, the crawl continues.
func TestProxyDown(t *testing.T) {
	virtual(t, func(t *testing.T) {
		site := wiretest.HTTP(t, simnet.Of(t), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
		}))
		t.Cleanup(site.Close)
		p := &credentials.Proxy{Scheme: "http", Addr: wiretest.Nobody}
		var log syncLog
		d := newDesk(t, 1)
		spec := testSpec(1, strings.TrimPrefix(site.URL, "http://"))
		_, stop := startFetcher(t, d, spec, Options{Proxy: p, Log: slog.New(slog.NewTextHandler(&log, nil))})
		for _, v := range []crawl.Visit{visitTo(t, "http://h.test/a", "http://h.test/b"), open(visitTo(t, "http://h.test/a", "http://h.test/b"))} {
			out := d.outcome(d.grant(v))
			if classes(out) != "returned returned" || out.NotBefore != 30*time.Second || out.Timeouts != 0 || out.Requests != 0 {
				t.Errorf("%s %+v", classes(out), out)
			}
		}
		if n := strings.Count(log.String(), "nothing can be fetched through the proxy"); n != 1 || !strings.Contains(log.String(), "requests go through a proxy") {
			t.Errorf("told %d times: %s", n, log.String())
		}
		stop()
		proxy := wiretest.NewProxy(t, simnet.Of(t), nil)
		p = &credentials.Proxy{Scheme: "http", Addr: proxy.Addr().String(), Resolves: true}
		startFetcher(t, d, spec, Options{Proxy: p, Log: slog.New(slog.NewTextHandler(&log, nil))})
		if out := d.outcome(d.grant(open(visitTo(t, "http://h.test/a")))); classes(out) != "stored" || !out.Private {
			t.Errorf("%s %+v", classes(out), out)
		}
		if !strings.Contains(log.String(), ProxyResolvesLoss) {
			t.Errorf("the loss is not told: %s", log.String())
		}
	})
}
