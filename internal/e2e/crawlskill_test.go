package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/engine"
	"github.com/curtsy/curtsy/internal/frontier"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

// Two crawls of one host, each with the fetcher program in a process of its own. One is stopped in
// the middle of a visit, wakes up when the other one is at the host, and is killed in the end. The
// site sees one visitor all the while, and the crawl whose fetcher lives goes on.
func TestCrawlsWhoseFetchersAreKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	t.Parallel()
	const pages, delay = 2000, 30 * time.Millisecond
	web, err := simweb.Start(simweb.Config{Seed: 17, Hosts: 1, PagesPerHost: pages, PageBytes: 1 << 10, LinksPerPage: 60, Mix: func(int) simweb.Behavior {
		return simweb.Behavior{Robots: simweb.RobotsAllowAll, Latency: 5 * time.Millisecond}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	srv, err := embedded.Start(embedded.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0", Log: logger(t), MaxStore: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Shutdown()
	bin, password := filepath.Join(t.TempDir(), "fetcher"), filepath.Join(t.TempDir(), "password")
	if out, err := exec.Command("go", "build", "-o", bin, "../../cmd/fetcher").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.WriteFile(password, []byte(srv.Password()), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	g, ctx := errgroup.WithContext(ctx)
	fetchers := map[string]*exec.Cmd{}
	for _, name := range []string{"one", "two"} {
		spec := specFor(web)
		spec.Name, spec.Delay, spec.Contact = name, delay, name+"@example.org"
		e, err := engine.Open(t.Context(), engine.Options{
			Dir: t.TempDir(), NATS: queue.Options{InProcess: srv.InProcess(), User: srv.User(), Password: srv.Password()}, Crawl: name,
			Plan:  func(*crawl.Spec) (crawl.Spec, error) { return spec, nil },
			Seeds: []canon.URL{canon.URL(spec.Seeds[0])}, Room: frontier.Room{Events: 32 << 20, Pages: 64 << 20}, NotFetched: true, Log: logger(t),
		})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		g.Go(func() error { return e.Run(ctx, nil) })
		cmd := exec.Command(bin, "--nats", srv.ClientURL(), "--nats-user", srv.User(), "--nats-password-file", password, "--crawl", name,
			"--instance", "for-"+name, "--listen", "off")
		cmd.Env = slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "CURTSY_") })
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { cmd.Process.Kill(); cmd.Wait() }()
		fetchers[name] = cmd
	}
	asked := func(name string) (n int) {
		for _, r := range web.Log() {
			if strings.Contains(r.UserAgent, name+"@") {
				n++
			}
		}
		return n
	}
	until := func(what string, so func() bool) {
		t.Helper()
		for end := time.Now().Add(90 * time.Second); !so(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) || ctx.Err() != nil {
				t.Fatalf("%s: one asked %d times, two %d: %v", what, asked("one"), asked("two"), context.Cause(ctx))
			}
		}
	}
	// amid waits until a crawl is in the middle of a visit.
	amid := func(name string) {
		t.Helper()
		until("crawl "+name+" is at the host", func() bool {
			log := web.Log()
			n := len(log)
			for i := 1; i <= 3; i++ {
				if n < 3 || !strings.Contains(log[n-i].UserAgent, name+"@") {
					return false
				}
			}
			return true
		})
	}
	until("both crawls are under way", func() bool { return asked("one") > 20 && asked("two") > 20 })
	signal := func(s syscall.Signal) {
		t.Helper()
		if err := fetchers["one"].Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	amid("one")
	signal(syscall.SIGSTOP)
	stopped := time.Now()
	time.Sleep(50 * time.Millisecond) // until the answer that was under way is over
	before := asked("two")
	until("the other one goes on", func() bool { return asked("two") >= before+3 })
	t.Logf("the host was free %v after its visitor was stopped", time.Since(stopped))
	signal(syscall.SIGCONT)
	woken := time.Now()
	before = asked("one")
	until("the one that was stopped goes on", func() bool { return asked("one") >= before+20 })
	t.Logf("the one that was stopped had 20 requests %v after it woke up", time.Since(woken))
	amid("one")
	signal(syscall.SIGKILL)
	stopped, before = time.Now(), asked("two")
	until("the one that is left goes on", func() bool { return asked("two") >= before+20 })
	t.Logf("it had 20 requests %v after its neighbour was killed", time.Since(stopped))
	cancel()
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
	for i, v := range simweb.Check(web.Log(), simweb.CheckOptions{Delay: simweb.Every(delay), RobotsMaxAge: time.Hour}) {
		if i < 10 {
			t.Error(v)
		}
	}
}
