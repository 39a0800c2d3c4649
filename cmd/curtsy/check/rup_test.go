package check

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/cli"
	"github.com/curtsy/curtsy/pkg/rup"
	"github.com/spf13/cobra"
)

type oneChange struct{ url string }

func (c oneChange) Changes(_ context.Context, since time.Time, yield func(rup.Entry) error) error {
	return yield(rup.Entry{URL: c.url, Kind: rup.Change, Date: since})
}

// rupSite is a web site with RUP. It records the requests.
type rupSite struct {
	*httptest.Server
	mu     sync.Mutex // guards what is below
	asked  []string
	at     []time.Time
	robots string
}

func newRUPSite(t *testing.T) *rupSite {
	s := new(rupSite)
	mux := http.NewServeMux()
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked = append(s.asked, r.Method+" "+r.URL.String()+" "+r.UserAgent())
		s.at = append(s.at, time.Now())
		s.mu.Unlock()
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	server, err := rup.NewServer(rup.ServerOptions{
		Info: &rup.Info{CGI: "/rup", Latency: []rup.Unit{rup.Day, rup.Week}, Exclude: []string{"[.]gif$"}, IncludeOnly: []string{".*"}, MaxQuerySpan: rup.Span{N: 4, Unit: rup.Week}},
		Base: s.URL, Store: new(rup.MemoryStore), Index: oneChange{s.URL + "/changed.html"},
	})
	if err != nil {
		t.Fatal(err)
	}
	mux.Handle("/rup", server)
	mux.HandleFunc(rup.InfoPath, server.ServeInfo)
	mux.HandleFunc("/robots.txt", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		fmt.Fprint(w, s.robots)
	})
	return s
}

// typed runs a command of this package as a person types it.
func typed(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	a := app.New(strings.NewReader(""), &out, &errs)
	root := &cobra.Command{Use: "curtsy"}
	root.AddCommand(Commands(a)...)
	cli.Dress(root)
	code = a.Run(t.Context(), root, args)
	return code, out.String(), errs.String()
}

// A site that requires credentials gets them; without them the error says so. With a proxy, no
// request bypasses it.
func TestRUPByHandBehindADoor(t *testing.T) {
	t.Parallel()
	site := newRUPSite(t)
	open := site.Config.Handler
	site.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer hunter2" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		open.ServeHTTP(w, r)
	})
	file := filepath.Join(t.TempDir(), "credentials.yaml")
	if err := os.WriteFile(file, []byte("sites:\n  "+site.URL+": {bearer: hunter2}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := typed(t, "rup", "index", "--allow-private", "--credentials", file, site.URL); code != 0 || !strings.Contains(stdout, "/changed.html") || strings.Contains(stdout+stderr, "hunter2") {
		t.Errorf("%d %s %s", code, stdout, stderr)
	}
	if code, _, stderr := typed(t, "rup", "index", "--allow-private", site.URL); code == 0 || !strings.Contains(stderr, "it requires credentials") {
		t.Errorf("without: %d %s", code, stderr)
	}
	if code, _, stderr := typed(t, "rup", "index", "--allow-private", "--credentials", file, "--proxy", "http://127.0.0.1:1", site.URL); code == 0 || !strings.Contains(stderr, "the proxy http://127.0.0.1:1 cannot be reached") {
		t.Errorf("past the proxy: %d %s", code, stderr)
	}
}

func TestRUPByHand(t *testing.T) {
	t.Parallel()
	site := newRUPSite(t)
	keyFile := filepath.Join(t.TempDir(), "site.key")
	do := func(wantCode int, want string, args ...string) string {
		t.Helper()
		args = append(append([]string{"rup"}, args...), "--allow-private", site.URL)
		code, stdout, stderr := typed(t, args...)
		if code != wantCode || !strings.Contains(stdout+stderr, want) {
			t.Fatalf("%q: exit code %d, want %d and %q\n%s%s", args, code, wantCode, want, stdout, stderr)
		}
		if key, err := os.ReadFile(keyFile); err == nil && strings.Contains(stdout+stderr, string(bytes.TrimSpace(key))) {
			t.Errorf("%q prints the key", args)
		}
		return stdout
	}
	key := do(0, "", "register", "--email", "r@bot.example", "--latency", "2-week", "--exclude", "[.]gif$")
	if len(strings.TrimSpace(key)) != 32 {
		t.Fatalf("key %q", key)
	}
	if err := os.WriteFile(keyFile, []byte(key), 0o600); err != nil {
		t.Fatal(err)
	}
	do(1, "already registered", "register", "--email", "R@bot.example")
	do(0, `{"registration_key":"`, "register", "--email", "s@bot.example", "--json")
	do(0, "0\n", "sequence", "--email", "r@bot.example", "--key-file", keyFile)
	do(0, `{"sequence_number":0}`, "sequence", "--email", "r@bot.example", "--key-file", keyFile, "--json")
	do(1, "it does not belong to a registered address", "sequence", "--email", "s@bot.example", "--key-file", keyFile)
	do(1, "400 Bad Request: Exclude", "modify", "--email", "r@bot.example", "--key-file", keyFile, "--include-only", "x")
	do(0, "changed", "modify", "--email", "r@bot.example", "--key-file", keyFile, "--include-only", "x", "--exclude", "")
	do(0, "report 0 of "+site.URL+"/: 0 changes", "index", "--email", "r@bot.example", "--key-file", keyFile)
	do(0, "changed", "modify", "--email", "r@bot.example", "--key-file", keyFile, "--include-only", "", "--new-email", "t@bot.example")
	do(0, "Change ", "index", "--email", "t@bot.example", "--key-file", keyFile)
	do(0, `"url":"`+site.URL+`/changed.html"`, "index", "--span", "2-week", "--json")
	do(2, "--span 4-week or less", "index", "--span", "5-week")
	do(0, "unregistered", "unregister", "--email", "t@bot.example", "--key-file", keyFile)
	do(1, "400", "unregister", "--email", "t@bot.example", "--key-file", keyFile)
	do(0, "report 0", "index", "--cgi", site.URL+"/rup?own=1")

	do(2, "--email", "register")
	do(2, "no dot", "register", "--email", "r@localhost")
	do(2, "use day, week or month", "register", "--email", "r@bot.example", "--latency", "2-days")
	do(2, "use one of them", "register", "--email", "r@bot.example", "--exclude", "a", "--include-only", "b")
	do(2, "CURTSY_RUP_KEY", "sequence", "--email", "r@bot.example")
	do(2, "2-week", "index", "--span", "week")

	site.mu.Lock()
	defer site.mu.Unlock()
	for _, line := range site.asked {
		if !strings.HasSuffix(line, " curtsy/1.0") || strings.Contains(line, strings.TrimSpace(key)) || strings.Contains(line, "/rup") && !strings.Contains(line, "info") && !strings.HasPrefix(line, "POST ") {
			t.Error(line)
		}
	}
}

// The key comes from the environment as well.
func TestRUPKeyFromEnvironment(t *testing.T) {
	site := newRUPSite(t)
	_, key, _ := typed(t, "rup", "register", "--email", "r@bot.example", "--allow-private", site.URL)
	t.Setenv("CURTSY_RUP_KEY", strings.TrimSpace(key))
	if code, stdout, stderr := typed(t, "rup", "sequence", "--email", "r@bot.example", "--allow-private", site.URL); code != 0 || stdout != "0\n" {
		t.Errorf("%d: %s%s", code, stdout, stderr)
	}
}

// A path that the robots.txt of the site forbids is not requested, and no address that is not
// allowed is dialled.
func TestRUPIsPolite(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		robots string
		args   []string
		want   string
		asked  int
	}{
		{"User-agent: *\nDisallow: /rup$\n", []string{"--allow-private"}, "does not allow /rup (line 2: Disallow: /rup$)", 2},
		{"User-agent: curtsy\nDisallow: /\n", []string{"--allow-private"}, "does not allow /rupinfo.txt", 1},
		{"", nil, "--allow-private", 0},
	} {
		site := newRUPSite(t)
		site.robots = c.robots
		args := append([]string{"rup", "register", "--email", "r@bot.example", site.URL}, c.args...)
		code, stdout, stderr := typed(t, args...)
		if code != 1 || stdout != "" || !strings.Contains(stderr, c.want) || len(site.asked) != c.asked {
			t.Errorf("%q: %d, %s%s\nasked %q", c.robots, code, stdout, stderr, site.asked)
		}
	}
	site := newRUPSite(t)
	site.robots = "User-agent: *\nCrawl-delay: 0.2\n"
	code, _, stderr := typed(t, "rup", "index", "--allow-private", site.URL)
	if n := len(site.at); code != 0 || n < 2 || site.at[n-1].Before(site.at[0].Add(time.Second)) || !strings.Contains(stderr, "waiting 1s ") {
		t.Errorf("a delay asked for is at least a second: asked at %v, %d %s", site.at, code, stderr)
	}
}
