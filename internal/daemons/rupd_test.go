package daemons

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/curtsy/curtsy/internal/testaid"
)

// output may be written and read concurrently.
type output struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// settings is the example from deploy with the root of the test.
func settings(t *testing.T, more map[string]string) string {
	t.Helper()
	example, err := os.ReadFile("../../deploy/rupd.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	set := map[string]string{"root": filepath.Join(dir, "root"), "dir": filepath.Join(dir, "state"), "serve": "127.0.0.1:0", "listen": "127.0.0.1:0"}
	for key, value := range more {
		set[key] = value
	}
	text := string(example)
	for key, value := range set {
		text = regexp.MustCompile(`(?m)^`+key+`:.*$`).ReplaceAllString(text, key+": "+value)
	}
	name := filepath.Join(dir, "rupd.yaml")
	if err := os.Mkdir(filepath.Join(dir, "root"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestRupdServesAndStops(t *testing.T) {
	name := settings(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var stderr output
	code := make(chan int, 1)
	go func() { code <- Run(ctx, "rupd", []string{"--config", name, "--log-format", "text"}, nil, &stderr) }()
	line := func(pattern string) string {
		var m []string
		testaid.Until(t, pattern+" in the log", func() bool {
			m = regexp.MustCompile(pattern).FindStringSubmatch(stderr.String())
			return m != nil
		}, stderr.String)
		return m[1]
	}
	admin, site := line(`url=(\S+)`), line(`serve=(\S+)`)
	status := func(url string) int {
		resp, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	testaid.Until(t, "rupd is ready", func() bool { return status(admin+"readyz") == http.StatusOK })
	for url, want := range map[string]int{
		admin: 200, admin + "metrics": 200, "http://" + site + "/rupinfo.txt": 200, "http://" + site + "/rup?Action=GetIndex&Span=30-day": 200, "http://" + site + "/rup": 400,
	} {
		if got := status(url); got != want {
			t.Errorf("%s: %d, want %d", url, got, want)
		}
	}
	var second output
	if got := Run(t.Context(), "rupd", []string{"--config", name}, nil, &second); got != 1 || !strings.Contains(second.String(), "in use by process") {
		t.Errorf("a second rupd: exit %d, %s", got, second.String())
	}
	cancel()
	if got := <-code; got != 0 {
		t.Errorf("exit %d: %s", got, stderr.String())
	}
}

func TestRupdCommands(t *testing.T) {
	for _, c := range []struct {
		args []string
		exit int
		want string // on stderr, or on stdout if the exit code is 0
	}{
		{[]string{"check", "--config", settings(t, map[string]string{"smtp": "127.0.0.1:1"})}, 1, "relay 127.0.0.1:"},
		{[]string{"check"}, 2, "base"},
		{[]string{"check", "--config", settings(t, map[string]string{"settle": "soon"})}, 2, "settle"},
		{[]string{"check", "now"}, 2, `got "now"`},
		{[]string{"start"}, 2, "forget ADDRESS] --config FILE"},
		{[]string{"forget", "--config", settings(t, nil)}, 2, "one mail address"},
		{[]string{"forget", "a@x.example", "--config", settings(t, nil)}, 1, "rupd.db"},
		{[]string{"--config", settings(t, nil), "robots"}, 1, "rupd.db"},
		{[]string{"--colour"}, 2, "--colour"},
		{[]string{"--help-all"}, 0, "--smtp-tls"},
		{[]string{"check", "--help-all"}, 0, "--smtp-tls"},
	} {
		var stdout, stderr output
		got := Run(t.Context(), "rupd", c.args, &stdout, &stderr)
		stream := &stderr
		if c.exit == 0 {
			stream = &stdout
		}
		if got != c.exit || !strings.Contains(stream.String(), c.want) {
			t.Errorf("rupd %q: exit %d, want %d and %q: %s", c.args, got, c.exit, c.want, stream.String())
		}
	}
}
