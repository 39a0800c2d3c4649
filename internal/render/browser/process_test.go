package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/render"
)

// TestMain makes this test binary a browser, which misbehaves as its name says.
func TestMain(m *testing.M) {
	if slices.Contains(os.Args, "--remote-debugging-pipe") {
		misbehave(filepath.Base(os.Args[0]))
		os.Exit(0)
	}
	code := m.Run()
	for _, end := range atEnd {
		end()
	}
	os.Exit(code)
}

// atEnd is called after all tests.
var atEnd []func()

// misbehave is a browser that speaks the protocol badly.
func misbehave(how string) {
	in, out := bufio.NewReader(os.NewFile(toBrowser, "in")), os.NewFile(fromBrowser, "out")
	say := func(s string) { _, _ = out.WriteString(s + "\x00") }
	switch how {
	case "exit":
		fmt.Fprintln(os.Stderr, "a library is missing")
		return
	case "sandboxless":
		if !slices.Contains(os.Args, "--no-sandbox") {
			fmt.Fprintln(os.Stderr, "FATAL: No usable sandbox!")
			return
		}
	case "garbage":
		say("garbage")
	case "endless":
		for {
			if _, err := out.WriteString(strings.Repeat("x", 1<<20)); err != nil {
				return
			}
		}
	}
	for {
		b, err := readMessage(in, 1<<20)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(b, &m) != nil {
			return
		}
		switch {
		case how == "silent", how == "hung" && m.Method != "Target.setDiscoverTargets":
		case how == "gone" && m.Method != "Target.setDiscoverTargets":
			return
		case how == "refusing" && m.Method == "Target.createTarget":
			say(fmt.Sprintf(`{"id":%d,"error":{"code":1,"message":"no more windows"}}`, m.ID))
		default:
			say(fmt.Sprintf(`{"id":%d,"result":{}}`, m.ID))
		}
	}
}

// bad returns a renderer whose browser misbehaves.
func bad(t *testing.T, how string) *Renderer {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), how)
	if err := os.Symlink(self, path); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "b-") // a folder of the test may have too long a name
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	opt := Options{Path: path, Dir: dir, sameUser: true}
	if how == "silent" {
		opt.startWait = 200 * time.Millisecond
	}
	r, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Close()
		if left, err := os.ReadDir(r.opt.Dir); err != nil || len(left) > 0 {
			t.Errorf("files are left: %v, %v", left, err)
		}
		if len(r.all) > 0 {
			t.Errorf("%d processes are left", len(r.all))
		}
	})
	return r
}

func noFetch(render.Request) render.Response { panic("the page asked for something") }

func TestBadBrowsers(t *testing.T) {
	for how, want := range map[string]string{
		"exit":     "a library is missing",
		"garbage":  "invalid character",
		"endless":  "longer than the limit",
		"silent":   "deadline exceeded",
		"gone":     "EOF",
		"refusing": "no more windows",
	} {
		t.Run(how, func(t *testing.T) {
			r := bad(t, how)
			_, err := r.Render(t.Context(), &render.Page{URL: pageURL}, noFetch)
			if !errors.Is(err, render.ErrUnavailable) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
}

// A browser that refuses to start with its sandbox is started without it, and once that is known,
// without a first try.
func TestNoSandbox(t *testing.T) {
	r := bad(t, "sandboxless")
	for i := range 2 {
		b, err := r.take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if s := r.Isolation(); !strings.HasSuffix(s, "without its own sandbox") || r.sandbox || r.started != i+1 {
			t.Errorf("%s after %d browsers", s, r.started)
		}
		r.end(b)
	}
}

// A browser that does not answer while it has a page costs that page, by the time that it may take.
func TestHungBrowser(t *testing.T) {
	r := bad(t, "hung")
	p := &render.Page{URL: pageURL, Limits: render.Limits{Work: 50 * time.Millisecond}}
	_, err := r.Render(t.Context(), p, noFetch)
	var failed *render.Failed
	if !errors.As(err, &failed) || !strings.Contains(failed.Why, "50ms") {
		t.Errorf("%v", err)
	}
	if r.started != 1 {
		t.Errorf("%d browsers were started", r.started)
	}
}

func TestContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := bad(t, "silent")
	r.opt.startWait = time.Hour
	if _, err := r.Render(ctx, &render.Page{URL: pageURL}, noFetch); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestClosed(t *testing.T) {
	r := bad(t, "silent")
	r.Close()
	if _, err := r.Render(t.Context(), &render.Page{URL: pageURL}, noFetch); !errors.Is(err, render.ErrUnavailable) {
		t.Error(err)
	}
}

func TestNoBrowser(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := New(Options{})
	if !errors.Is(err, render.ErrUnavailable) || !strings.Contains(err.Error(), "apt-get install chromium") || !strings.Contains(err.Error(), "--render-browser") {
		t.Error(err)
	}
	if _, err = New(Options{Path: "/nonexistent/chromium"}); !errors.Is(err, render.ErrUnavailable) || !strings.Contains(err.Error(), "/nonexistent/chromium") {
		t.Error(err)
	}
	if _, err = New(Options{Path: "/bin/sh", Dir: "/" + strings.Repeat("d", maxDir)}); !errors.Is(err, render.ErrUnavailable) || !strings.Contains(err.Error(), "bytes") {
		t.Error(err)
	}
}

// Where nothing keeps a browser from the network, there is no renderer.
func TestNoIsolation(t *testing.T) {
	r := bad(t, "silent")
	if err := r.probe(nil); err == nil {
		t.Error("a renderer without any isolation")
	}
	if s := r.Isolation(); !strings.Contains(s, "sandbox not tried yet") {
		t.Error(s)
	}
}
