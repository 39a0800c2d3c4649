package simweb

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/curtsy/curtsy/pkg/robots"
)

// A site may have several agent servers, under its own name or another one. robots.txt names them,
// and the listener of the web answers for them, also inside TLS.
func TestAgentServers(t *testing.T) { synctest.Test(t, testAgentServers) }

func testAgentServers(t *testing.T) {
	srv, c := start(t, Config{Hosts: 2, PagesPerHost: 10, TLS: true, Mix: func(int) Behavior { return Behavior{} }, Behaviors: map[int]Behavior{0: {Agents: []AgentServer{
		{Paths: []string{"/", "/guide/"}}, {Host: "Robots.Sim.Test", Port: 1234, TLS: true, Paths: []string{"/notes/"}},
	}}}})
	_, text := mustGet(t, c, "http://h0000.sim.test/robots.txt")
	file := robots.Parse([]byte(text))
	for path, want := range map[string]string{"/": "atp://h0000.sim.test:434", "/guide/p8.html": "atp://h0000.sim.test:434", "/notes/p1.html": "atps://robots.sim.test:1234"} {
		if got, _ := file.AgentServer(path); got != want {
			t.Errorf("%s leads to %q, want %q, in %q", path, got, want, text)
		}
	}
	roots := srv.Roots()
	for _, q := range []struct {
		uri    string
		tls    bool
		status int
	}{
		{"atp://h0000.sim.test:434", false, 404}, {"atps://robots.sim.test:1234", true, 404}, {"atp://h0001.sim.test", false, 404}, {"/", false, 400},
	} {
		var conn net.Conn
		conn, err := dialer(srv)(t.Context(), "tcp", "")
		if err != nil {
			t.Fatal(err)
		}
		if q.tls {
			conn = tls.Client(conn, &tls.Config{RootCAs: roots, ServerName: "h0000.sim.test"})
		}
		if _, err := io.WriteString(conn, "FETCH "+q.uri+" ATP/0.1\r\nAgent-Id: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		answer, _ := io.ReadAll(conn)
		conn.Close()
		if !strings.HasPrefix(string(answer), fmt.Sprintf("ATP/0.1 %d ", q.status)) {
			t.Errorf("%s is answered with %q", q.uri, answer)
		}
	}
	if n := srv.AgentServer("atp://h0000.sim.test").Counts().Exchanges; n != 1 {
		t.Errorf("the first server had %d exchanges, want 1", n)
	}
	if n := srv.AgentServer("atps://robots.sim.test:1234").Counts().Exchanges; n != 1 {
		t.Errorf("the second server had %d exchanges, want 1", n)
	}
	if srv.AgentServer("atp://h0001.sim.test") != nil || srv.AgentServer("http://h0000.sim.test") != nil {
		t.Error("there is a server that nobody configured")
	}
	if log := srv.Log(); log[1].Host != "h0000.sim.test" || log[1].Origin != "h0000.sim.test:434" || !log[1].Agent || log[1].Status != 404 || log[1].End.IsZero() {
		t.Errorf("the log has %+v", log[1])
	}
}

// Pages that only robots find are expected, but not required. Body is what is served.
func TestExpectWithAgentServers(t *testing.T) { synctest.Test(t, testExpectWithAgentServers) }

func testExpectWithAgentServers(t *testing.T) {
	lonely := File{Path: "/lonely.html", ContentType: htmlType, Body: "<html><p>No page leads here.</p></html>"}
	b := Behavior{Robots: RobotsWildcard, Features: []Feature{FeatureTags, FeatureNofollow, FeatureFlapping, FeatureTypes}, Files: []File{lonely}}
	web := func(agents ...AgentServer) (*Server, *http.Client) {
		b.Agents = agents
		return start(t, Config{Hosts: 1, PagesPerHost: 200, Behaviors: map[int]Behavior{0: b}})
	}
	without, _ := web()
	with, c := web(AgentServer{Paths: []string{"/"}})
	plain, all := without.Expect("curtsy"), with.Expect("curtsy")
	optional := 0
	for u, e := range all {
		before, is := plain[u]
		if is && (before.Class != e.Class || before.Optional != e.Optional) {
			t.Errorf("%s: %+v with a server, %+v without", u, e, before)
		}
		if !is {
			optional++
			if !e.Optional {
				t.Errorf("%s is found by robots only, and is required: %+v", u, e)
			}
		}
		if body, ok := with.Body(u); ok {
			if res, got := mustGet(t, c, u); res.StatusCode != 200 || got != string(body) {
				t.Errorf("%s is answered with %d and %d octets; Body has %d", u, res.StatusCode, len(got), len(body))
			}
		}
	}
	if len(all) != len(plain)+optional || optional != 1 {
		t.Errorf("%d URLs are expected without a server, %d with one, %d of them are optional", len(plain), len(all), optional)
	}
}
