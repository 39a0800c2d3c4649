package control

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

// cluster is a crawl of two shards. The test plays their frontiers.
type cluster struct {
	t *testing.T
	*asker.Crawl

	mu    sync.Mutex
	specs map[int]crawl.Spec // that each frontier goes by, by its shard
	takes map[int]bool       // shards whose frontiers have taken in what is in their logs
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	srv, err := embedded.Start(embedded.Options{Dir: t.TempDir(), MaxStore: 256 << 20, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Shutdown)
	q, err := queue.Dial(t.Context(), queue.Options{InProcess: srv.InProcess(), User: srv.User(), Password: srv.Password()}, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { q.Close() })
	spec := crawl.Spec{Name: "t", Shards: 2, Scope: "any", MaxDepth: -1, Agent: "curtsy", Delay: time.Second}
	kv, err := q.OpenBucket(t.Context(), crawl.Names("t").Bucket(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range spec.Shards {
		if _, err := q.OpenLog(t.Context(), queue.LogConfig{Stream: crawl.Names("t").EventsStream(i), Subject: crawl.Names("t").EventsSubject(i), MaxBytes: 1 << 20}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := service.ChangeSpec(t.Context(), kv, func(*crawl.Spec) (crawl.Spec, error) { return spec, nil }); err != nil {
		t.Fatal(err)
	}
	return &cluster{t: t, Crawl: asker.Running(q, kv, spec), specs: map[int]crawl.Spec{}}
}

// frontier starts a frontier for a shard, which knows one host. It follows the spec only after
// follow.
func (c *cluster) frontier(shard int, host string) {
	c.t.Helper()
	s, err := ask.NewService(c.Queue.NC, "t", "frontier", host, "")
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { s.Stop() })
	by := func() crawl.Spec {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.specs[shard]
	}
	err = s.HandleAll(func() []int { return []int{shard} }, ask.Handlers{
		"status": func(_ context.Context, _ []byte, send func(any) error) error {
			st := crawl.Status{State: "running", Shards: []crawl.ShardStatus{{Shard: shard, Paused: by().Paused, Applied: c.applied(shard)}}}
			if by().Paused {
				st.State = "paused"
			}
			return send(st)
		},
		"hosts": func(_ context.Context, _ []byte, send func(any) error) error {
			return send(crawl.HostInfo{Host: host, Shard: shard, Paused: by().Hosts[hostName(c.t, host)].Paused})
		},
	})
	if err != nil {
		c.t.Fatal(err)
	}
}

// applied is the position of a frontier in the log of its shard.
func (c *cluster) applied(shard int) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.takes[shard] {
		return 0
	}
	st, err := c.Queue.JS.Stream(c.t.Context(), crawl.Names("t").EventsStream(shard))
	if err != nil {
		c.t.Error(err)
		return 0
	}
	return st.CachedInfo().State.LastSeq
}

// follow makes the frontier of a shard use the present spec, once or from now on.
func (c *cluster) follow(shard int) {
	spec, err := service.ReadSpec(c.t.Context(), c.Bucket)
	if err != nil {
		c.t.Error(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.specs[shard] = spec
}

func hostName(t *testing.T, text string) (h canon.Host) {
	t.Helper()
	h, err := parseHost(text)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// Pause and Resume succeed when all frontiers follow, not when the first one does.
func TestPauseAndResumeWaitForAllFrontiers(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.frontier(0, "a.example")
		c.frontier(1, "b.example")
		for _, action := range []func(context.Context, *asker.Crawl, By) (string, error){Pause, Resume} {
			done := make(chan error, 1)
			go func() {
				_, err := action(t.Context(), c.Crawl, By{Who: "ada"})
				done <- err
			}()
			spec := func() crawl.Spec {
				s, err := service.ReadSpec(t.Context(), c.Bucket)
				if err != nil {
					t.Error(err)
				}
				return s
			}
			was := c.specs[1].Paused
			for spec().Paused == was {
				time.Sleep(time.Millisecond)
			}
			c.follow(0)
			select {
			case err := <-done:
				t.Fatalf("with one of two frontiers it reports success: %v", err)
			case <-time.After(10 * pollEvery):
			}
			c.follow(1)
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
	})
}

// Only the shard of a host decides about an action on it, even if other shards are away.
func TestAHostIsPausedWhileOtherShardsAreAway(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		c := newCluster(t)
		host := "a.example"
		c.frontier(crawl.ShardOf(hostName(t, host), 2), host)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		var following sync.WaitGroup
		following.Go(func() {
			for ctx.Err() == nil {
				c.follow(crawl.ShardOf(hostName(t, host), 2))
				time.Sleep(5 * time.Millisecond)
			}
		})
		text, err := PauseHost(ctx, c.Crawl, By{Who: "ada"}, host)
		cancel()
		following.Wait() // it fails when the test has ended
		if err != nil || !strings.Contains(text, "is paused") {
			t.Errorf("%q, %v", text, err)
		}
	})
}

// Resuming an unknown host is an error, because its name may be misspelled. If the host was paused
// before the crawl forgot it, the pause is removed.
func TestAnUnknownHostIsNotResumed(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		c := newCluster(t)
		for i := range 2 {
			c.frontier(i, "a.example")
		}
		_, err := ResumeHost(t.Context(), c.Crawl, By{Who: "ada"}, "docs.exmaple.org")
		if unknown := (*UnknownError)(nil); !errors.As(err, &unknown) || unknown.What != "docs.exmaple.org" {
			t.Errorf("%v, want that the crawl does not know it", err)
		}
		if logged := c.lines(); len(logged) != 0 {
			t.Errorf("the crawl log says: %+v", logged)
		}
		h := hostName(t, "gone.example")
		if _, err := service.ChangeSpec(t.Context(), c.Bucket, func(s *crawl.Spec) (crawl.Spec, error) {
			next, _, err := s.WithHost(h, func(r crawl.HostRule) crawl.HostRule { r.Paused = true; return r })
			return next, err
		}); err != nil {
			t.Fatal(err)
		}
		text, err := ResumeHost(t.Context(), c.Crawl, By{Who: "ada"}, "gone.example")
		if err != nil || text != "gone.example is no longer paused; the crawl does not know this host" {
			t.Errorf("%q, %v", text, err)
		}
		if spec, err := service.ReadSpec(t.Context(), c.Bucket); err != nil || spec.Hosts[h].Paused {
			t.Errorf("rules %v, %v", spec.Hosts, err)
		}
	})
}

// deafBucket writes, and once does not acknowledge it.
type deafBucket struct {
	jetstream.KeyValue
	deaf bool
}

func (b *deafBucket) Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	n, err := b.KeyValue.Update(ctx, key, value, revision)
	if err == nil && b.deaf {
		b.deaf = false
		return 0, context.DeadlineExceeded
	}
	return n, err
}

// A change counts as made even if its acknowledgement was lost.
func TestAChangeThatWasNotAcknowledgedIsNoNothing(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.Bucket = &deafBucket{c.Bucket, true}
		text, err := Set(t.Context(), c.Crawl, By{Who: "ada"}, func(s crawl.Spec) (crawl.Spec, error) { s.MaxPages = 500; return s, nil })
		if err != nil || text != "max-pages no limit → 500" {
			t.Errorf("%q, %v", text, err)
		}
		if spec, err := service.ReadSpec(t.Context(), c.Bucket); err != nil || spec.MaxPages != 500 {
			t.Errorf("%d pages, %v", spec.MaxPages, err)
		}
	})
}

// If a shard is away, the operator who retries hosts learns that the action is in progress.
func TestARetryThatIsNotTakenInYetSaysSo(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		c := newCluster(t)
		host := "a.example"
		c.frontier(crawl.ShardOf(hostName(t, host), 2), host)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, err := Retry(ctx, c.Crawl, By{Who: "ada"}, []string{host})
		if !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), "submitted, but not accepted yet") || !strings.Contains(err.Error(), "curtsy status") {
			t.Errorf("%v", err)
		}
	})
}

// If the shard of a host is away, the operator learns that nothing was done, and no line is
// written.
func TestNothingIsDoneWhileAHostsOwnShardIsAway(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		c := newCluster(t)
		host := "a.example"
		c.frontier(1-crawl.ShardOf(hostName(t, host), 2), "b.example")
		for name, action := range map[string]func() (string, error){
			"retry": func() (string, error) { return Retry(t.Context(), c.Crawl, By{Who: "ada"}, []string{host}) },
			"pause": func() (string, error) { return PauseHost(t.Context(), c.Crawl, By{Who: "ada"}, host) },
			"delay": func() (string, error) { return DelayHost(t.Context(), c.Crawl, By{Who: "ada"}, host, time.Second) },
			"refetch": func() (string, error) {
				return Refetch(t.Context(), c.Crawl, By{Who: "ada"}, "https://"+host+"/")
			},
		} {
			text, err := action()
			if err == nil || !strings.HasPrefix(err.Error(), "nothing was done") || !strings.Contains(err.Error(), "try again when") {
				t.Errorf("%s: %q, %v", name, text, err)
			}
		}
		if logged := c.lines(); len(logged) > 0 {
			t.Errorf("the crawl log says: %+v", logged)
		}
	})
}

// An action succeeds when its own shard has accepted it, even if another shard is away.
func TestAnActIsDoneWhileShardsItDoesNotConcernAreAway(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		c := newCluster(t)
		host := "a.example"
		shard := crawl.ShardOf(hostName(t, host), 2)
		c.takes = map[int]bool{shard: true}
		c.frontier(shard, host)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if text, err := Retry(ctx, c.Crawl, By{Who: "ada"}, []string{host}); err != nil || text != "will be tried again: a.example" {
			t.Errorf("%q, %v", text, err)
		}
		if text, err := AddSeeds(ctx, c.Crawl, By{Who: "ada"}, []string{"https://a.example/"}); err != nil || text != "https://a.example/ is a seed" {
			t.Errorf("%q, %v", text, err)
		}
	})
}

// lines returns the lines of actions in the logs of the shards.
func (c *cluster) lines() (all []crawl.Audit) {
	c.t.Helper()
	c.eachEvent(func(ev *crawl.Event) { all = append(all, ev.Audits...) })
	return all
}

// seeds returns the seeds in the logs of the shards.
func (c *cluster) seeds() (all []string) {
	c.t.Helper()
	c.eachEvent(func(ev *crawl.Event) {
		for _, l := range ev.Links {
			for _, u := range l.URLs {
				if l.Seed {
					all = append(all, string(u))
				}
			}
		}
	})
	return all
}

// eachEvent calls do for each event in the logs of the shards.
func (c *cluster) eachEvent(do func(*crawl.Event)) {
	c.t.Helper()
	for i := range c.Spec.Shards {
		st, err := c.Queue.JS.Stream(c.t.Context(), crawl.Names("t").EventsStream(i))
		if err != nil {
			c.t.Fatal(err)
		}
		for seq := uint64(1); seq <= st.CachedInfo().State.LastSeq; seq++ {
			m, err := st.GetMsg(c.t.Context(), seq)
			if err != nil {
				c.t.Fatal(err)
			}
			ev, err := crawl.DecodeEvent(m.Data)
			if err != nil {
				c.t.Fatal(err)
			}
			do(&ev)
		}
	}
}

// stopped ends the context of the operator as soon as the spec is changed.
type stopped struct {
	jetstream.KeyValue
	stop func()
}

func (b *stopped) Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	n, err := b.KeyValue.Update(ctx, key, value, revision)
	b.stop()
	return n, err
}

// If adding seeds is interrupted, a wider scope never stays without a line that names the operator.
// If nothing fails, there is one line.
func TestSeedsAreToldBeforeTheScopeIsWider(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		c := newCluster(t)
		ctx, stop := context.WithCancel(t.Context())
		was := c.Bucket
		c.Bucket = &stopped{was, stop}
		if _, err := AddSeeds(ctx, c.Crawl, By{Who: "ada"}, []string{"https://a.example/"}); err == nil {
			t.Fatal("stopped, and done")
		}
		spec, err := service.ReadSpec(t.Context(), was)
		if err != nil || len(spec.Seeds) != 1 {
			t.Fatalf("seeds %v, %v", spec.Seeds, err)
		}
		if logged := c.lines(); len(logged) != 2 || logged[0].Who != "ada" || logged[0].What != "https://a.example/" || logged[0].Error != "" || logged[1].Error == "" {
			t.Errorf("the scope is wider, and the crawl log says: %+v", logged)
		}
		c.Bucket = was
		ctx, stop = context.WithTimeout(t.Context(), time.Second) // no shard is there to take it in
		defer stop()
		for range 2 { // known seeds are submitted once more
			before := len(c.lines())
			_, err := AddSeeds(ctx, c.Crawl, By{Who: "bob"}, []string{"https://b.example/", "https://c.example/"})
			if err == nil || !strings.HasPrefix(err.Error(), "submitted, ") {
				t.Fatal(err)
			}
			if logged := c.lines(); len(logged) != before+1 {
				t.Errorf("%d lines: %+v", len(logged)-before, logged)
			}
			ctx, stop = context.WithTimeout(t.Context(), time.Second)
			defer stop()
		}
	})
}
