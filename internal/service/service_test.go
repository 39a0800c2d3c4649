package service

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

var quiet = slog.New(slog.DiscardHandler)

// bucket opens the bucket of a crawl on a server of its own.
func bucket(t *testing.T) (*nats.Conn, jetstream.KeyValue) {
	t.Helper()
	srv, err := embedded.Start(embedded.Options{Dir: t.TempDir(), MaxStore: 256 << 20, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Shutdown)
	nc, err := nats.Connect("", nats.InProcessServer(srv.InProcess()), nats.UserInfo(srv.User(), srv.Password()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	kv, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: crawl.Names("t").Bucket(), MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return nc, kv
}

func TestSpec(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		_, kv := bucket(t)
		ctx := t.Context()
		if _, err := ReadSpec(ctx, kv); !errors.Is(err, ErrNoSpec) {
			t.Fatalf("ReadSpec of nothing: %v, want ErrNoSpec", err)
		}
		if _, err := ChangeSpec(ctx, kv, func(old *crawl.Spec) (crawl.Spec, error) {
			if old != nil {
				t.Error("a new crawl has an old spec")
			}
			return crawl.Spec{Name: "t", Shards: 4}, nil
		}); err != nil {
			t.Fatal(err)
		}
		seen := make(chan crawl.Spec, 10)
		watch, cancel := context.WithCancel(ctx)
		done := make(chan error)
		go func() { done <- WatchSpec(watch, kv, crawl.Spec{}, func(s crawl.Spec) { seen <- s }) }()
		if s := <-seen; s.Shards != 4 || s.Paused {
			t.Errorf("first sight: %+v", s)
		}
		// Of two changes at the same time, none is lost.
		var wg sync.WaitGroup
		for _, change := range []func(*crawl.Spec){
			func(s *crawl.Spec) { s.Paused = true },
			func(s *crawl.Spec) { s.MaxPages = 3 },
		} {
			wg.Go(func() {
				if _, err := ChangeSpec(ctx, kv, func(old *crawl.Spec) (crawl.Spec, error) {
					s := *old
					change(&s)
					return s, nil
				}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		s, err := ReadSpec(ctx, kv)
		if err != nil || !s.Paused || s.MaxPages != 3 || s.Shards != 4 {
			t.Errorf("after both: %+v, %v", s, err)
		}
		for s := range seen {
			if s.Paused && s.MaxPages == 3 {
				break
			}
		}
		cancel()
		if err := <-done; err != nil {
			t.Errorf("WatchSpec ended with %v", err)
		}
	})
}

func TestAwaitSpec(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		_, kv := bucket(t)
		got := make(chan crawl.Spec)
		go func() {
			s, err := AwaitSpec(t.Context(), kv, "t", quiet)
			if err != nil {
				t.Error(err)
			}
			got <- s
		}()
		if _, err := ChangeSpec(t.Context(), kv, func(*crawl.Spec) (crawl.Spec, error) { return crawl.Spec{Name: "t"}, nil }); err != nil {
			t.Fatal(err)
		}
		if s := <-got; s.Name != "t" {
			t.Errorf("AwaitSpec = %+v", s)
		}
	})
}

func TestStop(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		nc, _ := bucket(t)
		names := crawl.Names("t")
		if ps, err := Stop(t.Context(), nc, names); err != nil || len(ps) != 0 {
			t.Fatalf("Stop with nobody there: %v, %v", ps, err)
		}
		srvConn := nc.Opts
		other, err := srvConn.Connect()
		if err != nil {
			t.Fatal(err)
		}
		var once sync.Once
		if err := Obey(other, names, Process{Kind: "fetcher", Instance: "f1", PID: 7}, func() {
			once.Do(func() { time.AfterFunc(50*time.Millisecond, other.Close) })
		}); err != nil {
			t.Fatal(err)
		}
		if err := other.Flush(); err != nil {
			t.Fatal(err)
		}
		ps, err := Stop(t.Context(), nc, names)
		if err != nil || !slices.Equal(ps, []Process{{Kind: "fetcher", Instance: "f1", PID: 7}}) {
			t.Errorf("Stop = %v, %v", ps, err)
		}
	})
}

func TestLockDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	l, err := LockDir(dir, "lock")
	if err != nil {
		t.Fatal(err)
	}
	var locked *LockedError
	if _, err := LockDir(dir, "lock"); !errors.As(err, &locked) || locked.PID != os.Getpid() {
		t.Errorf("second lock: %v", err)
	}
	if err := l.Unlock(); err != nil {
		t.Fatal(err)
	}
	if l, err = LockDir(dir, "lock"); err != nil {
		t.Fatal(err)
	}
	l.Unlock()
}

func TestAdmin(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	ready := errors.New("not yet")
	a, err := NewAdmin(AdminOptions{
		Listen: taken.Addr().String(), Title: "crawl <t>", Registry: prometheus.NewRegistry(), Log: quiet,
		Ready: func(context.Context) error { return ready },
	})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(a.URL(), taken.Addr().String()) {
		t.Error("a taken port was taken again")
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- a.Run(ctx) }()

	get := func(path, host string) (int, string) {
		req, _ := http.NewRequest("GET", a.URL()+path, nil)
		req.Host = host
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(body)
	}
	if code, body := get("", ""); code != 200 || !strings.Contains(body, "not yet") || !strings.Contains(body, "crawl &lt;t&gt;") {
		t.Errorf("status page: %d %s", code, body)
	}
	if code, _ := get("livez", ""); code != 200 {
		t.Errorf("livez: %d", code)
	}
	if code, body := get("readyz", ""); code != 503 || !strings.Contains(body, "not yet") {
		t.Errorf("readyz: %d %s", code, body)
	}
	ready = nil
	if code, _ := get("readyz", "localhost"); code != 200 {
		t.Errorf("readyz: %d", code)
	}
	if code, _ := get("metrics", ""); code != 200 {
		t.Errorf("metrics: %d", code)
	}
	if code, _ := get("debug/pprof/cmdline", "evil.example"); code != 403 {
		t.Errorf("by a foreign name: %d, want 403", code)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run ended with %v", err)
	}
}

func TestETA(t *testing.T) {
	for s, want := range map[float64]string{0.4: "0s", 59: "59s", 61: "1m01s", 3700: "1h01m", 86400 * 3: "3.0 days"} {
		if got := ETA(crawl.Status{Queued: 1, ETA: &s}); got != want {
			t.Errorf("ETA(%v) = %q, want %q", s, got, want)
		}
	}
	if got := ETA(crawl.Status{Queued: 1}); got != "unknown" {
		t.Errorf("ETA of the unknown = %q", got)
	}
}
