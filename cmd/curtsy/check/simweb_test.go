package check

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/cli"
	"github.com/curtsy/curtsy/internal/testaid"
	"github.com/spf13/cobra"
)

// Another port is suggested only if the port is in use.
func TestSimwebRefused(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	for _, tt := range []struct {
		args  []string
		hints bool
	}{
		{[]string{"--listen", busy.Addr().String()}, true},
		{[]string{"--listen", "127.0.0.1:0", "--agent-server", "atp://a.test:1", "--log", filepath.Join(t.TempDir(), "nowhere", "log")}, false},
	} {
		code, _, stderr := typed(t, append([]string{"simweb"}, tt.args...)...)
		if hints := strings.Contains(stderr, "--listen 127.0.0.1:0"); code != app.ExitFailed || hints != tt.hints {
			t.Errorf("%q: %d, %s", tt.args, code, stderr)
		}
	}
}

// The first host names a server for mobile robots, and lists its pages.
func TestSimwebAgentServer(t *testing.T) {
	if code, _, stderr := typed(t, "simweb", "--listen", "127.0.0.1:0", "--agent-server", "robots.sim.test"); code != app.ExitUsage || !strings.Contains(stderr, "atp://robots.sim.test:10434") {
		t.Errorf("%d, %s", code, stderr)
	}
	var out lines
	a := app.New(strings.NewReader(""), &out, io.Discard)
	root := &cobra.Command{Use: "curtsy"}
	root.AddCommand(Commands(a)...)
	cli.Dress(root)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.Run(ctx, root, []string{"simweb", "--listen", "127.0.0.1:0", "--agent-server", "atp://robots.sim.test:10434"})
	}()
	defer func() { stop(); <-done }()
	var at string
	testaid.Until(t, "the web serves", func() bool {
		_, after, ok := strings.Cut(out.String(), " on ")
		at, _, _ = strings.Cut(after, ";")
		return ok
	})
	get := func(path string) string {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+at+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = "h0000.sim.test"
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != 200 {
			t.Fatalf("%s: %d %v", path, res.StatusCode, err)
		}
		return string(body)
	}
	if text := get("/robots.txt"); !strings.Contains(text, "Mobile-agent-server: / atp://robots.sim.test:10434\n") || !strings.Contains(text, "/pages.txt") {
		t.Errorf("%s", text)
	}
	if n := strings.Count(get("/pages.txt"), "http://h0000.sim.test/"); n != manualPages {
		t.Errorf("%d pages are listed", n)
	}
}

// lines is an output that may be read while it is written.
type lines struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.String()
}
