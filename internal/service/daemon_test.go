package service

import (
	"context"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

// servant is a service that reports its start and its end.
type servant struct{ began, ended chan struct{} }

func (s servant) Run(ctx context.Context) error {
	close(s.began)
	<-ctx.Done()
	close(s.ended)
	return nil
}

func (s servant) SetSpec(crawl.Spec) error { return nil }

func await(t *testing.T, what string, ch <-chan struct{}) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(time.Minute):
		t.Fatalf("not within a minute of virtual time: %s", what)
	}
}

// A daemon of several crawls works for each from its creation until it is stopped, whatever happens
// to the others.
func TestDaemonOfSeveralCrawls(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		srv, err := embedded.Start(embedded.Options{Dir: t.TempDir(), MaxStore: 256 << 20, Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(srv.Shutdown)
		server := queue.Options{InProcess: srv.InProcess(), User: srv.User(), Password: srv.Password()}
		q, err := queue.Dial(t.Context(), server, quiet)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { q.Close() })
		create := func(name string) {
			t.Helper()
			// If the daemon is first, it creates the bucket. Both must create the same one.
			kv, err := q.OpenBucket(t.Context(), crawl.Names(name).Bucket(), 0)
			if err == nil {
				_, err = ChangeSpec(t.Context(), kv, func(*crawl.Spec) (crawl.Spec, error) { return crawl.Spec{Name: name, Shards: 2, Scope: "host"}, nil })
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		services := map[string]servant{}
		for _, name := range []string{"a", "b"} {
			services[name] = servant{make(chan struct{}), make(chan struct{})}
		}
		create("a")
		over := make(chan struct{})
		go func() {
			defer close(over)
			err := Daemon(t.Context(), DaemonOptions{
				Kind: "fetcher", Instance: "f", Crawls: []string{"a", "b"}, Listen: "off", Log: quiet,
				Queue: server,
			}, func(p Parts) (Runner, error) { return services[p.Spec.Name], nil })
			if err != nil {
				t.Errorf("Daemon: %v", err)
			}
		}()
		await(t, "crawl a has its service", services["a"].began)
		create("b")
		await(t, "crawl b has its service, though it was created later", services["b"].began)
		stop := func(name string) {
			t.Helper()
			if _, err := SendCommand(t.Context(), q.NC, crawl.Names(name), WordStop, time.Second); err != nil {
				t.Fatal(err)
			}
			await(t, "crawl "+name+" ends when it is told to", services[name].ended)
		}
		stop("a")
		select {
		case <-over:
			t.Fatal("the daemon ended with one of two crawls")
		case <-services["b"].ended:
			t.Fatal("crawl b was stopped with crawl a")
		case <-time.After(100 * time.Millisecond):
		}
		stop("b")
		await(t, "the daemon ends with its last crawl", over)
	})
}

func TestReadiness(t *testing.T) {
	r := newReadiness([]string{"b", "a"})
	r.set("a", "waiting for crawl a")
	if err := r.err(); err == nil || err.Error() != "waiting for crawl a" {
		t.Errorf("%v", err)
	}
	r.set("b", "")
	if err := r.err(); err != nil {
		t.Errorf("at work for one, and not ready: %v", err)
	}
}
