package robots

import (
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/metrics"
	"github.com/curtsy/curtsy/internal/fetcher/requests"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/fetcher/wiretest"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/boottime"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/usage"
)

const host = "h.test"

// newSites makes the sites of a visit to host, which is at addr. published receives what is learnt.
func newSites(t *testing.T, addr string, known []crawl.Robots, published *[]crawl.Robots) *Sites {
	t.Helper()
	cfg, err := requests.NewConfig(crawl.Spec{Name: "t", Shards: 1, Scope: "any", MaxDepth: -1, Agent: "curtsy", AllowPrivate: true, Resolve: []string{"*=" + addr}})
	if err != nil {
		t.Fatal(err)
	}
	met, err := metrics.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := wire.NewClient(wire.Options{Dial: simnet.Of(t).Dial})
	t.Cleanup(client.Close)
	lease, ctx := wire.NewLease(t.Context(), boottime.Now, boottime.Now(), time.Hour)
	t.Cleanup(lease.End)
	session := client.NewSession(ctx, ctx, &cfg.Config, host, lease)
	t.Cleanup(session.Release)
	never := func(canon.Origin) bool { return false }
	return New(Options{
		Requests: requests.New(requests.Options{
			Config: cfg, Session: session, Host: host, Metrics: met, Log: slog.New(slog.DiscardHandler),
			Forgotten: func(u canon.URL) bool { return u.Path() == "/forgotten" },
			Lost:      func() bool { return false }, Archive: func(canon.URL, *wire.Answer) {},
		}),
		Job: &crawl.Visit{Host: host, Robots: known}, Began: time.Now(), Cache: NewCache(10), Memo: new(usage.Memo),
		Publish: func(r crawl.Robots) bool { *published = append(*published, r); return true }, HasCredentials: never, NeedsText: never,
	})
}

// What may be requested, by what the frontier knows and by what the origin answers. Its robots.txt
// is requested once if it is not known, and published before the permission is given.
func TestPermissions(t *testing.T) {
	origin := canon.URL("http://h.test/").Origin()
	const rules = "User-agent: *\nDisallow: /closed\n"
	for name, tt := range map[string]struct {
		known  []crawl.Robots
		status int
		body   string
		path   string
		text   string // why it is refused
		asked  int
		state  crawl.RobotsState // that is published
	}{
		"allowed":      {nil, 200, rules, "/open", "", 1, crawl.RobotsParsed},
		"disallowed":   {nil, 200, rules, "/closed/x", "robots: line 2: Disallow: /closed", 1, crawl.RobotsParsed},
		"not for this": {nil, 200, "User-agent: *\nContent-Signal: search=no\n", "/open", "usage: robots.txt, line 2: Content-Signal: search=no", 1, crawl.RobotsParsed},
		"none":         {nil, 404, "", "/closed", "", 1, crawl.RobotsUnavailable},
		"unreachable":  {nil, 500, "", "/open", "unreachable: robots.txt of http://h.test cannot be fetched now: HTTP 500", 1, crawl.RobotsUnreachable},
		"forgotten":    {nil, 200, rules, "/forgotten", "forgotten", 0, 0},
		"known":        {[]crawl.Robots{{Origin: origin, State: crawl.RobotsParsed, Body: []byte(rules), Fresh: time.Hour}}, 500, "", "/closed", "robots: line 2: Disallow: /closed", 0, 0},
		"not fresh":    {[]crawl.Robots{{Origin: origin, State: crawl.RobotsParsed, Body: []byte(rules), Fresh: -1}}, 404, "", "/closed", "", 1, crawl.RobotsUnavailable},
		"known closed": {[]crawl.Robots{{Origin: origin, State: crawl.RobotsUnreachable, Fresh: time.Hour, Reason: "HTTP 502"}}, 200, rules, "/open", "unreachable: robots.txt of http://h.test cannot be fetched now: HTTP 502", 0, 0},
		"elsewhere":    {[]crawl.Robots{{Origin: origin, State: crawl.RobotsPending, Reason: "redirected to b.test"}}, 200, rules, "/open", "unreachable: robots.txt of http://h.test cannot be fetched now: redirected to b.test", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			simnet.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				asked := 0
				srv := wiretest.HTTP(t, simnet.Of(t), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					mu.Lock()
					asked++
					mu.Unlock()
					if r.URL.Path != Path {
						t.Errorf("%s was requested", r.URL)
					}
					w.WriteHeader(tt.status)
					io.WriteString(w, tt.body)
				}))
				var published []crawl.Robots
				s := newSites(t, srv.Listener.Addr().String(), tt.known, &published)
				for range 2 { // the second time it is known
					p := s.Ask(canon.URL("http://h.test" + tt.path))
					if p.Over || p.OK() != (tt.text == "") || p.Text != tt.text || p.Closed() != strings.HasPrefix(tt.text, "unreachable") {
						t.Errorf("%+v, want %q", p, tt.text)
					}
				}
				mu.Lock()
				defer mu.Unlock()
				if asked != tt.asked || len(published) != tt.asked || tt.asked == 1 && published[0].State != tt.state {
					t.Errorf("%d requests, published %+v", asked, published)
				}
			})
		})
	}
}
