package simweb

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/simnet"
)

const testAgent = "curtsy/1.0 (+mailto:test@example.org)"

// start serves a web for one test and returns a client that resolves its hosts, follows no
// redirects and repeats no requests.
func start(t testing.TB, cfg Config) (*Server, *http.Client) {
	t.Helper()
	srv := startOnly(t, cfg)
	t.Cleanup(func() {
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
	})
	return srv, clientFor(t, dialer(srv))
}

// networks maps each server of a test to the network in memory on which it listens. A test runs in
// a bubble of virtual time.
var networks sync.Map

// startOnly serves a web on a network in memory.
func startOnly(t testing.TB, cfg Config) *Server {
	t.Helper()
	network := simnet.New(simnet.Options{})
	cfg.Listen = network.Listen
	srv, err := Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	networks.Store(srv, network)
	t.Cleanup(func() { networks.Delete(srv) })
	return srv
}

// dialer connects to a server, whatever the address is.
func dialer(srv *Server) func(ctx context.Context, network, address string) (net.Conn, error) {
	n, _ := networks.Load(srv)
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		return n.(*simnet.Net).Dial(ctx, network, srv.Addr())
	}
}

func clientFor(t testing.TB, dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Client {
	tr := &http.Transport{
		DialContext:            dial,
		ResponseHeaderTimeout:  2 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{
		Transport:     tr,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// get fetches a URL as the test agent; the body may be cut by an error, which is returned.
func get(t testing.TB, c *http.Client, url string, header ...string) (*http.Response, string, error) {
	t.Helper()
	// net/http does not repeat a request with a body
	req, err := http.NewRequest("GET", url, io.NopCloser(strings.NewReader("")))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("User-Agent", testAgent)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := c.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 10<<20))
	return res, string(body), err
}

func mustGet(t testing.TB, c *http.Client, url string, header ...string) (*http.Response, string) {
	t.Helper()
	res, body, err := get(t, c, url, header...)
	if err != nil {
		t.Fatalf("GET %s: %v", url, err)
	}
	return res, body
}

// one returns a config with a single host of this behaviour.
func one(b Behavior) Config {
	return Config{Hosts: 1, PagesPerHost: 5, Behaviors: map[int]Behavior{0: b}}
}

func TestPagesAreDeterministic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := Config{Seed: 7, Hosts: 3, PagesPerHost: 30, PageBytes: 8000, CrossLinks: 3}
		_, c1 := start(t, cfg)
		_, c2 := start(t, cfg)
		cfg.Seed = 8
		_, c3 := start(t, cfg)
		for _, u := range []string{"http://h0001.sim.test/", "http://h0002.sim.test/notes/p17.html"} {
			r1, a := mustGet(t, c1, u)
			_, b := mustGet(t, c2, u)
			_, other := mustGet(t, c3, u)
			if a != b {
				t.Errorf("%s differs between two webs of one seed", u)
			}
			if a == other {
				t.Errorf("%s is the same for two seeds", u)
			}
			if len(a) < 7000 || len(a) > 9000 || r1.StatusCode != 200 {
				t.Errorf("%s: status %d, %d bytes, want about 8000", u, r1.StatusCode, len(a))
			}
			if res, _ := mustGet(t, c1, u, "If-None-Match", r1.Header.Get("ETag")); res.StatusCode != 304 {
				t.Errorf("%s: status %d when nothing changed, want 304", u, res.StatusCode)
			}
		}
	})
}

func TestUnknownPlacesAreNotFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := start(t, Config{Hosts: 2, PagesPerHost: 5})
		for _, u := range []string{
			"http://h0000.sim.test/none", "http://h0000.sim.test/guide/p0.html", "http://h0000.sim.test/guide/p1.html",
			"http://h0000.sim.test/notes/p01.html", "http://h0000.sim.test/notes/p9.html", "http://h0002.sim.test/", "http://else.test/",
		} {
			if res, _ := mustGet(t, c, u); res.StatusCode != 404 {
				t.Errorf("%s: status %d, want 404", u, res.StatusCode)
			}
		}
		if res, _ := mustGet(t, c, "http://H0001.Sim.Test:80/notes/p1.html?"); res.StatusCode != 404 {
			t.Errorf("an empty query: status %d, want 404", res.StatusCode)
		}
		if res, _ := mustGet(t, c, "http://H0001.Sim.Test:80/notes/p1.html"); res.StatusCode != 200 {
			t.Errorf("upper-case host with port: status %d, want 200", res.StatusCode)
		}
	})
}

func TestRareWordsAreOnTheirPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, c := start(t, Config{Hosts: 4, PagesPerHost: 12})
		rare := srv.RareWords()
		if len(rare) != 4 {
			t.Fatalf("%d rare words, want one for each of 4 hosts", len(rare))
		}
		for word, urls := range rare {
			for _, u := range urls {
				if _, body := mustGet(t, c, u); strings.Count(body, word) != 1 {
					t.Errorf("%s: %q stands there %d times, want once", u, word, strings.Count(body, word))
				}
			}
		}
	})
}

func TestOverride(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, c := start(t, one(Behavior{Robots: RobotsAllowAll}))
		for _, path := range []string{"/", "/robots.txt", "/new?x=1"} {
			srv.Override(home+path, &Answer{Status: 203, ContentType: "text/x", Header: []string{"X-Robots-Tag: noindex", "A: b"}, Body: "changed"})
			res, body := mustGet(t, c, home+path)
			if res.StatusCode != 203 || body != "changed" || res.Header.Get("X-Robots-Tag") != "noindex" || res.Header.Get("A") != "b" {
				t.Errorf("%s: status %d, header %v, body %q", path, res.StatusCode, res.Header, body)
			}
			srv.Override(home+path, nil)
			if res, body = mustGet(t, c, home+path); body == "changed" {
				t.Errorf("%s: still changed", path)
			}
		}
		srv.Override(home+"/", &Answer{Body: "<p>just a body"})
		if res, _ := mustGet(t, c, home+"/"); res.StatusCode != 200 || res.Header.Get("Content-Type") != htmlType {
			t.Errorf("defaults: status %d, type %q", res.StatusCode, res.Header.Get("Content-Type"))
		}
	})
}

// A page that was changed has another ETag and another text; an override with an ETag is answered
// with 304 to a client that has it.
func TestChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, c := start(t, one(Behavior{Robots: RobotsAllowAll}))
		ask := func(url, etag string) (int, string, string) {
			t.Helper()
			req, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("If-None-Match", etag)
			res, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			body, err := io.ReadAll(res.Body)
			if err != nil {
				t.Fatal(err)
			}
			return res.StatusCode, res.Header.Get("ETag"), string(body)
		}
		_, first, was := ask(home+"/", "")
		if status, _, _ := ask(home+"/", first); status != 304 {
			t.Errorf("unchanged: status %d", status)
		}
		srv.Change(home + "/")
		status, second, is := ask(home+"/", first)
		if status != 200 || second == first || is == was || !strings.Contains(is, "there were 1 others before") || !strings.HasSuffix(is, "</html>\n") {
			t.Errorf("changed: status %d, ETag %s after %s, %q", status, second, first, is)
		}
		srv.Override(home+"/", &Answer{Header: []string{"ETag: \"x\"", "X-Robots-Tag: noindex"}, Body: "x"})
		if status, etag, body := ask(home+"/", `"x"`); status != 304 || etag != `"x"` || body != "" {
			t.Errorf("override: status %d, ETag %s, %q", status, etag, body)
		}
	})
}
