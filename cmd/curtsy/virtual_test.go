package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/engine"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/testaid"
	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

// machine is what all commands of one bubble share: a network in memory, and a NATS server for each
// data directory, which keeps running between the commands.
type machine struct {
	net     *simnet.Net
	mu      sync.Mutex // guards servers
	servers map[string]*embedded.Server
	nats    *embedded.Server // the one that CURTSY_NATS names, if any
}

// machines has the machine of each test that runs in a bubble, by its *testing.T.
var machines sync.Map

// begins is when the tests in a bubble begin, so that documents of their sites are neither expired
// nor of another age.
var begins = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

// virtual runs a test in a bubble of virtual time. Commands that it runs in this process, and the
// sites that it serves, use a network in memory.
func virtual(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	signals()
	collectSeldom()
	simnet.Test(t, func(t *testing.T) {
		t.TempDir() // so that it is removed after the servers have ended
		m := &machine{net: simnet.New(simnet.Options{}), servers: map[string]*embedded.Server{}}
		machines.Store(t, m)
		t.Cleanup(func() { // comes last, when no command runs any more
			machines.Delete(t)
			for _, srv := range m.servers {
				srv.Shutdown()
			}
		})
		t.Setenv("TMPDIR", t.TempDir())
		time.Sleep(time.Until(begins))
		f(t)
	})
}

// room is enough for the streams of a crawl, which reserve more than they use, also those of an old
// directory.
const room = 8 << 30

// signals starts the goroutines of package os/signal, which never end and must not be in a bubble.
var signals = sync.OnceFunc(func() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGWINCH)
	signal.Stop(c)
})

// collectSeldom makes the garbage collector run less often in this process. Otherwise it takes a
// quarter of the processor's time, because servers and crawls start and end all the time.
var collectSeldom = sync.OnceFunc(func() { debug.SetGCPercent(400) })

// machineOf is the machine of a test; nil: the test is not in a bubble.
func machineOf(t testing.TB) *machine {
	m, _ := machines.Load(t)
	is, _ := m.(*machine)
	return is
}

func (m *machine) server(dir string) (*embedded.Server, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if dir = filepath.Clean(dir); m.servers[dir] == nil {
		srv, err := embedded.Start(embedded.Options{Dir: filepath.Join(dir, "nats"), MaxStore: room, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			return nil, err
		}
		m.servers[dir] = srv
	}
	return m.servers[dir], nil
}

// newTestApp is the program of a test: in a bubble that of its machine, otherwise the real one.
func newTestApp(t testing.TB, stdin io.Reader, stdout, stderr io.Writer) *app.App {
	a, m := app.New(stdin, stdout, stderr), machineOf(t)
	if m == nil {
		return a
	}
	a.Dial, a.Listen = m.net.Dial, m.net.Listen
	if m.nats != nil {
		a.NATS = m.nats.InProcess()
	}
	a.OpenEngine = func(ctx context.Context, o engine.Options) (*engine.Engine, error) {
		if o.NATS.InProcess != nil {
			return engine.Open(ctx, o)
		}
		srv, err := m.server(o.Dir)
		if err != nil {
			return nil, err
		}
		o.Server, o.Unreached = srv, true
		return engine.Open(ctx, o)
	}
	a.DialEngine = func(ctx context.Context, dir string, log *slog.Logger) (*asker.Crawl, error) {
		if !engine.Alive(dir) {
			return nil, engine.ErrNotRunning
		}
		srv, err := m.server(dir)
		if err != nil {
			return nil, err
		}
		o := queue.Options{InProcess: srv.InProcess(), User: srv.User(), Password: srv.Password(), Name: "curtsy", Inbox: "operator"}
		return asker.Dial(ctx, o, crawl.Names(engine.DefaultCrawl), log)
	}
	return a
}

// runs is run, in a test.
func runs(t testing.TB, ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return execute(ctx, newTestApp(t, stdin, stdout, stderr), args)
}

// curtsy runs a command in this process and returns its standard output.
func curtsy(t *testing.T, want int, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := runs(t, t.Context(), args, strings.NewReader(""), &stdout, &stderr); code != want {
		t.Fatalf("curtsy %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), code, want, &stdout, &stderr)
	}
	return stdout.String()
}

// start runs a command in this process next to the test, until stop is called, which interrupts it
// and returns its exit code, or until the test ends.
func start(t *testing.T, args ...string) (stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	code, said := make(chan int, 1), new(bytes.Buffer)
	go func() { code <- runs(t, ctx, args, strings.NewReader(""), said, said) }()
	stop = sync.OnceValue(func() int {
		cancel()
		return <-code
	})
	t.Cleanup(func() {
		stop()
		if t.Failed() {
			t.Logf("curtsy %s:\n%s", strings.Join(args, " "), said)
		}
	})
	return stop
}

// startWeb starts a simulated web, in the network of the test.
func startWeb(t testing.TB, cfg simweb.Config) *simweb.Server {
	t.Helper()
	if m := machineOf(t); m != nil {
		cfg.Listen = m.net.Listen
	}
	web, err := simweb.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { web.Close() })
	return web
}

// newSite serves a web site, in the network of the test.
func newSite(t testing.TB, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	site := httptest.NewUnstartedServer(h)
	if m := machineOf(t); m != nil {
		l, err := m.net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		site.Listener.Close()
		site.Listener = l
	}
	site.Start()
	t.Cleanup(site.Close)
	return site
}

// patient is a test in a bubble, in which the deadline of go test must not be asked for. Conditions
// must be met within an hour of virtual time, because a wait without an end would run at full
// speed.
type patient struct {
	testing.TB
	end time.Time
}

func (p patient) Deadline() (time.Time, bool) { return p.end, true }

// await waits until something is so.
func await(t testing.TB, what string, so func() bool) {
	t.Helper()
	if machineOf(t) != nil {
		t = patient{t, begins.Add(time.Since(begins) + time.Hour)}
	}
	testaid.Until(t, what, so)
}

// unused is an address of this machine at which no server listens.
func unused(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
