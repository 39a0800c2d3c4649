package simweb

import (
	"crypto/tls"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/curtsy/curtsy/internal/simweb/requestlog"
)

// browse returns a function that requests URLs of a web and returns the answers, without following
// redirects.
func browse(t *testing.T, s *Server) func(url string) (status int, location, body string) {
	c := &http.Client{
		Transport: &http.Transport{
			DialContext:     dialer(s),
			TLSClientConfig: &tls.Config{RootCAs: s.Roots()},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	t.Cleanup(c.CloseIdleConnections)
	return func(url string) (int, string, string) {
		t.Helper()
		req, err := http.NewRequest("GET", url, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("User-Agent", "curtsy/1 (+x)")
		r, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, r.Header.Get("Location"), string(body)
	}
}

func TestCopies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startOnly(t, Config{Hosts: 3, PagesPerHost: 4, TLS: true, Behaviors: map[int]Behavior{
			0: {Name: "main.sim.test"},
			1: {Name: "copy.sim.test", CopyOf: "main.sim.test", Robots: RobotsCustom, RobotsText: "User-agent: *\n"},
			2: {Name: "old.sim.test", MovedTo: "https://main.sim.test"},
		}})
		defer s.Close()
		get := browse(t, s)
		urls := s.PageURLs("copy.sim.test")
		if len(urls) != 4 || urls[0] != "http://copy.sim.test/" {
			t.Errorf("pages %q", urls)
		}
		for i, u := range s.PageURLs("main.sim.test") {
			_, _, want := get(u)
			if status, _, got := get(urls[i]); status != 200 || got != want {
				t.Errorf("%s: %d, not the same as %s", urls[i], status, u)
			}
			if _, _, got := get(strings.Replace(u, "http:", "https:", 1)); got != want {
				t.Errorf("%s is another page over TLS", u)
			}
		}
		if status, to, _ := get("http://old.sim.test/x?y"); status != 301 || to != "https://main.sim.test/x?y" {
			t.Errorf("moved: %d %s", status, to)
		}
		if status, _, _ := get("http://old.sim.test/robots.txt"); status != 404 {
			t.Errorf("robots.txt of the moved: %d", status)
		}
		if s.Forbidden(urls[1], "curtsy") {
			t.Error("the copy is closed")
		}
		const text = "User-agent: *\nHost: main.sim.test\n"
		s.SetRobots("copy.sim.test", text, Closed("/open/"))
		if _, _, got := get("http://copy.sim.test/robots.txt"); got != text {
			t.Errorf("robots.txt is now %q", got)
		}
		if !s.Forbidden(urls[1], "curtsy") || s.Forbidden("http://copy.sim.test/open/x", "curtsy") || s.Forbidden("http://main.sim.test/", "curtsy") {
			t.Error("the copy is not what its new file says")
		}
		get(urls[1])
		log := s.Log()
		if last := log[len(log)-1]; !last.Forbidden || last.Origin != "copy.sim.test" {
			t.Errorf("logged as %+v", last)
		}
		if !slices.ContainsFunc(log, func(r requestlog.Request) bool { return r.Origin == "main.sim.test:443" && r.Host == "main.sim.test" }) {
			t.Error("no request over TLS is logged")
		}
		s.SetRobots("copy.sim.test", "", nil)
		if status, _, _ := get("http://copy.sim.test/robots.txt"); status != 404 || s.Forbidden(urls[1], "curtsy") {
			t.Errorf("robots.txt taken away: %d", status)
		}
	})
}
