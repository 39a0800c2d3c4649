package main

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/web/dashboard"
)

var csrfOf = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// A crawl is paused and resumed from the dashboard of its directory. While it is paused, its sites
// get no requests.
func TestDashboardPauses(t *testing.T) {
	virtual(t, func(t *testing.T) {
		sites := web(t)
		dir := filepath.Join(t.TempDir(), "data")
		start(t, "crawl", "--dir", dir, "--allow-private", "--delay", "400ms", "--resolve", sites.Resolve(), sites.Seeds()[0])
		await(t, "the sites are asked", func() bool { return len(sites.Log()) > 3 })
		c, err := newTestApp(t, nil, io.Discard, io.Discard).DialEngine(t.Context(), dir, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		srv := newSite(t, dashboard.New(dashboard.Options{Ask: dashboard.Of(c), Name: c.Spec.Name}).ServeHTTP)
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		browser := &http.Client{Jar: jar, Transport: &http.Transport{DialContext: machineOf(t).net.Dial}}
		defer browser.CloseIdleConnections()
		var page string
		send := func(path string) {
			t.Helper()
			var resp *http.Response
			var err error
			if path == "/" {
				resp, err = browser.Get(srv.URL + path)
			} else {
				token := csrfOf.FindStringSubmatch(page)
				if token == nil {
					t.Fatalf("no form on %s", page)
				}
				r, _ := http.NewRequest("POST", srv.URL+path, strings.NewReader(url.Values{"csrf": token[1:2]}.Encode()))
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				r.Header.Set("Origin", srv.URL)
				resp, err = browser.Do(r)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if page = string(body); err != nil || resp.StatusCode != 200 {
				t.Fatalf("%s: %s %s, %v", path, resp.Status, page, err)
			}
		}
		send("/")
		send("/do/pause")
		if !strings.Contains(page, `role="status">paused: `) || !strings.Contains(page, "/do/resume") {
			t.Errorf("paused: %s", page)
		}
		// A request that was already sent may still arrive.
		time.Sleep(100 * time.Millisecond)
		before := len(sites.Log())
		time.Sleep(10 * time.Second) // 25 delays of each host
		if n := len(sites.Log()); n != before {
			t.Errorf("%d requests while it was paused", n-before)
		}
		send("/do/resume")
		if !strings.Contains(page, "/do/pause") {
			t.Errorf("resumed: %s", page)
		}
		await(t, "it goes on", func() bool { return len(sites.Log()) > before })
	})
}

// typedCommand finds the commands that the dashboard suggests.
var typedCommand = regexp.MustCompile("(?:<code>|\"|`)(curtsy [a-z][^\"`<]*)[\"`<]")

// Each command that the dashboard suggests exists and accepts its flags.
func TestDashboardCommands(t *testing.T) {
	files, err := filepath.Glob("../../internal/web/dashboard/templates/*.html")
	if err != nil {
		t.Fatal(err)
	}
	code, err := filepath.Glob("../../internal/web/dashboard/*.go")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, f := range append(files, code...) {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(f, "_test.go") || strings.HasSuffix(f, "/web.go") {
			continue
		}
		for _, m := range typedCommand.FindAllStringSubmatch(string(text), -1) {
			line := strings.NewReplacer("{{$.Typed}}", " --dir /srv/x", "{{quoted .}}", "x", "{{quoted .Canonical}}", "x", "'", "").Replace(m[1])
			words := strings.Fields(line)[1:]
			if strings.HasSuffix(line, " ") { // the rest is put together
				words = append(words, "x")
			}
			root := newRoot(app.New(nil, io.Discard, io.Discard))
			cmd, rest, err := root.Find(words)
			if err == nil && cmd == root {
				t.Errorf("%s: %q is no command", f, line)
				continue
			}
			if err == nil {
				err = cmd.ParseFlags(rest)
			}
			if err == nil {
				err = cmd.ValidateArgs(cmd.Flags().Args())
			}
			if err != nil {
				t.Errorf("%s: %q: %v", f, line, err)
			}
			seen++
		}
	}
	if seen < 20 {
		t.Errorf("only %d commands were found", seen)
	}
}
