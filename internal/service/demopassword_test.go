package service

import (
	"context"
	"errors"
	"net"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

// Every password in the file is refused for the public web.
func TestDemoPasswordsAreThoseOfTheFile(t *testing.T) {
	body, err := os.ReadFile("../../deploy/compose.cluster.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var there []string
	for _, m := range regexp.MustCompile(`_PASSWORD:-([^}]+)}`).FindAllSubmatch(body, -1) {
		there = append(there, string(m[1]))
	}
	slices.Sort(there)
	if there = slices.Compact(there); !slices.Equal(there, demoPasswords) {
		t.Errorf("deploy/compose.cluster.yaml offers %q, refused are %q", there, demoPasswords)
	}
}

func TestCheckPassword(t *testing.T) {
	public, private := crawl.Spec{Contact: "me@example.org"}, crawl.Spec{AllowPrivate: true}
	for _, c := range []struct {
		spec    crawl.Spec
		o       queue.Options
		refused bool
	}{
		{public, queue.Options{URL: "nats://n:4222", Password: "demo-fetcher"}, true},
		{crawl.Spec{Contact: "me@example.org", AllowPrivate: true}, queue.Options{URL: "nats://n:4222", Password: "demo-fetcher"}, true},
		{public, queue.Options{URL: "nats://a:4222, nats://fetcher:demo-fetcher@n:4222"}, true},
		{public, queue.Options{URL: "fetcher:demo-fetcher@n:4222"}, true},
		{public, queue.Options{URL: "nats://n:4222", Password: "pdemo-fetcher"}, false},
		{public, queue.Options{URL: "nats://n:4222"}, false},
		{public, queue.Options{Password: "demo-fetcher"}, false},
		{private, queue.Options{URL: "nats://n:4222", Password: "demo-fetcher"}, false},
	} {
		if err := CheckPassword(c.spec, c.o); errors.Is(err, ErrDemoPassword) != c.refused {
			t.Errorf("%+v at %s with %q: %v", c.spec, c.o.URL, c.o.Password, err)
		}
	}
}

// idle is a service that has nothing to do.
type idle chan struct{}

func (i idle) Run(ctx context.Context) error   { close(i); <-ctx.Done(); return nil }
func (i idle) SetSpec(_ crawl.Spec) error      { return nil }
func (i idle) make(_ Parts) (Runner, error)    { return i, nil }
func public(s *crawl.Spec) (crawl.Spec, error) { s.Contact = "me@example.org"; return *s, nil }

// A daemon with a password of the demo ends when its crawl may reach the public web, at the start
// or later.
func TestDaemonWithDemoPassword(t *testing.T) {
	for _, from := range []string{"start", "later"} {
		t.Run(from, func(t *testing.T) {
			simnet.Test(t, func(t *testing.T) {
				srv, err := embedded.Start(embedded.Options{
					Dir: t.TempDir(), User: "fetcher", Password: "demo-fetcher", MaxStore: 256 << 20, Log: quiet,
				})
				if err != nil {
					t.Fatal(err)
				}
				defer srv.Shutdown()
				o := DaemonOptions{Kind: "fetcher", Instance: "f", Crawl: "t", Listen: "off", Log: quiet,
					Queue: queue.Options{URL: "nats://127.0.0.1:4222", User: "fetcher", Password: "demo-fetcher",
						Dial: func(context.Context, string, string) (net.Conn, error) { return srv.InProcess().InProcessConn() }}}
				q, err := queue.Dial(t.Context(), o.Queue, quiet)
				if err != nil {
					t.Fatal(err)
				}
				defer q.Close()
				kv, err := q.OpenBucket(t.Context(), crawl.Names("t").Bucket(), 0)
				if err != nil {
					t.Fatal(err)
				}
				change := func(f func(*crawl.Spec) (crawl.Spec, error)) {
					if _, err := ChangeSpec(t.Context(), kv, f); err != nil {
						t.Error(err)
					}
				}
				change(func(*crawl.Spec) (crawl.Spec, error) {
					return crawl.Spec{Name: "t", Shards: 1, AllowPrivate: true}, nil
				})
				if from == "start" {
					change(public)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				runs, ended := idle(make(chan struct{})), make(chan error, 1)
				go func() { ended <- Daemon(ctx, o, runs.make) }()
				if from == "later" {
					select {
					case <-runs:
					case err := <-ended:
						t.Fatalf("the demo ended: %v", err)
					}
					change(public)
				}
				if err := <-ended; !errors.Is(err, ErrDemoPassword) {
					t.Errorf("the daemon ended with %v", err)
				}
			})
		})
	}
}
