package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"go.uber.org/goleak"

	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// connect starts a server and returns connections to it: services and askers do not
// share one in real life.
func connect(t testing.TB, n int) []*nats.Conn {
	t.Helper()
	_, conns := connectTo(t, n)
	return conns
}

// connectTo is connect for who wants further connections.
func connectTo(t testing.TB, n int) (nats.InProcessConnProvider, []*nats.Conn) {
	t.Helper()
	s, err := embedded.Start(embedded.Options{Dir: t.TempDir(), MaxStore: 1 << 30, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Shutdown)
	conns := make([]*nats.Conn, n)
	for i := range conns {
		if conns[i], err = nats.Connect("", nats.InProcessServer(s.InProcess())); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(conns[i].Close)
	}
	return s.InProcess(), conns
}

type thing struct {
	Shard int    `json:"shard"`
	N     int    `json:"n"`
	URL   string `json:"url"`
}

func service(t testing.TB, nc *nats.Conn, instance string) *Service {
	t.Helper()
	s, err := NewService(nc, "x", "frontier", instance, "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop() })
	return s
}

func handle(t testing.TB, s *Service, question string, shards []int, h Handler) {
	t.Helper()
	if err := s.Handle(question, func() []int { return shards }, h); err != nil {
		t.Fatal(err)
	}
}

// hosts answers with n things for every shard.
func hosts(shards []int, n int) Handler {
	return func(_ context.Context, _ []byte, send func(any) error) error {
		for _, k := range shards {
			for i := range n {
				if err := send(thing{k, i, "http://h.example/?a=1&b=<2>"}); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// counting counts things by shard.
func counting(got map[int]int) func(json.RawMessage) error {
	return func(raw json.RawMessage) error {
		var v thing
		if err := json.Unmarshal(raw, &v); err != nil {
			return fmt.Errorf("%q: %w", raw, err)
		}
		got[v.Shard]++
		return nil
	}
}

func TestEveryInstanceAnswersForItsShards(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		nc := connect(t, 3)
		handle(t, service(t, nc[0], "a"), "hosts", []int{0, 2}, hosts([]int{0, 2}, 10))
		handle(t, service(t, nc[1], "b"), "hosts", []int{1, 3}, hosts([]int{1, 3}, 10))
		// holds nothing at the moment
		handle(t, service(t, nc[1], "c"), "hosts", nil, hosts(nil, 0))
		got := map[int]int{}
		if err := Gather(t.Context(), nc[2], "x", "hosts", nil, 4, counting(got)); err != nil {
			t.Fatal(err)
		}
		for k := range 4 {
			if got[k] != 10 {
				t.Errorf("shard %d: %d things, want 10", k, got[k])
			}
		}
	})
}

func TestRequestAndRawJSON(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		nc := connect(t, 1)[0]
		type question struct {
			Prefix string `json:"prefix"`
		}
		handle(t, service(t, nc, "a"), "pages", []int{0}, func(_ context.Context, req []byte, send func(any) error) error {
			if string(req) != `{"prefix":"http://h/?a&b"}` {
				t.Errorf("the request came as %s", req)
			}
			return send(map[string]string{"url": "http://h/?a=1&b=<2>"})
		})
		err := Gather(t.Context(), nc, "x", "pages", question{"http://h/?a&b"}, 1, func(raw json.RawMessage) error {
			if string(raw) != `{"url":"http://h/?a=1&b=<2>"}` {
				t.Errorf("the answer came as %s", raw)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestNobodyAnswers(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		nc := connect(t, 1)[0]
		service(t, nc, "a") // knows no question
		start := time.Now()
		err := Gather(t.Context(), nc, "x", "status", nil, 4, nil)
		if !errors.Is(err, ErrNobody) || !strings.Contains(err.Error(), `crawl "x"`) || !strings.Contains(err.Error(), `"status"`) {
			t.Errorf("%v", err)
		}
		if d := time.Since(start); d > 2*quiet {
			t.Errorf("took %v to say so", d)
		}
	})
}

func TestMissingShardsAreNamed(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		nc := connect(t, 1)[0]
		handle(t, service(t, nc, "a"), "hosts", []int{0, 4}, hosts([]int{0, 4}, 3))
		got := map[int]int{}
		err := Gather(t.Context(), nc, "x", "hosts", nil, 6, counting(got))
		var inc *IncompleteError
		if !errors.Is(err, ErrIncomplete) || !errors.As(err, &inc) || fmt.Sprint(inc.Missing) != "[1 2 3 5]" {
			t.Fatalf("%v", err)
		}
		if want := "hosts: no answer for 4 of 6 shards (1-3, 5)"; err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
		if got[0] != 3 || got[4] != 3 {
			t.Errorf("what came: %v", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		err = Gather(ctx, nc, "x", "hosts", nil, 6, counting(got))
		if !errors.Is(err, ErrIncomplete) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with a deadline: %v", err)
		}
		got = map[int]int{}
		if err := Gather(t.Context(), nc, "x", "hosts", nil, 0, counting(got)); err != nil || len(got) != 2 {
			t.Errorf("asking all there are: %v, %v", got, err)
		}
	})
}

// A shard that moved while its handler ran is not answered for.
func TestShardLostMeanwhile(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		nc := connect(t, 1)[0]
		var asked atomic.Int64
		s := service(t, nc, "a")
		err := s.Handle("hosts", func() []int {
			if asked.Add(1) == 1 {
				return []int{0, 1}
			}
			return []int{1}
		}, hosts([]int{0, 1}, 1))
		if err != nil {
			t.Fatal(err)
		}
		err = Gather(t.Context(), nc, "x", "hosts", nil, 2, counting(map[int]int{}))
		var inc *IncompleteError
		if !errors.As(err, &inc) || fmt.Sprint(inc.Missing) != "[0]" {
			t.Errorf("%v", err)
		}
	})
}

func TestHandlerErrorTravels(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		nc := connect(t, 1)[0]
		handle(t, service(t, nc, "a"), "hosts", []int{0}, func(_ context.Context, _ []byte, send func(any) error) error {
			if err := send(thing{}); err != nil {
				return err
			}
			return errors.New("frontier-0.db: disk full\nsecond line")
		})
		handle(t, service(t, nc, "b"), "hosts", []int{1}, hosts([]int{1}, 5))
		got := map[int]int{}
		err := Gather(t.Context(), nc, "x", "hosts", nil, 2, counting(got))
		if err == nil || !strings.Contains(err.Error(), "frontier a: frontier-0.db: disk full second line") {
			t.Errorf("%v", err)
		}
		if got[1] != 5 {
			t.Errorf("the other instance's answer: %v", got)
		}
		var inc *IncompleteError
		if !errors.As(err, &inc) || fmt.Sprint(inc.Missing) != "[0]" {
			t.Errorf("the shard whose handler failed is not missing: %v", err)
		}
	})
}

// Shards that nobody says to hold are waited for less long than those whose holder is silent.
func TestUnclaimedShardsAreNotWaitedFor(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		nc := connect(t, 1)[0]
		handle(t, service(t, nc, "a"), "hosts", []int{0}, hosts([]int{0}, 1))
		start := time.Now()
		err := Gather(t.Context(), nc, "x", "hosts", nil, 2, counting(map[int]int{}))
		if d := time.Since(start); !errors.Is(err, ErrIncomplete) || d < unclaimed || d > unclaimed+probeEvery {
			t.Errorf("%v after %v, want it after %v", err, d, unclaimed)
		}
	})
}

// Where instances are slow to be heard, others may be as slow.
func TestPatience(t *testing.T) {
	claims := map[string]*claim{"a": {shards: map[int]bool{0: true}}}
	for _, c := range []struct {
		missing map[int]bool
		claims  time.Duration
		asked   time.Duration
		want    time.Duration
	}{
		{map[int]bool{0: true, 1: true}, 0, 0, quiet}, // one that is there works on its answer
		{map[int]bool{1: true}, 0, 0, unclaimed},
		{map[int]bool{1: true}, 0, unclaimed - 1, 1},
		{map[int]bool{1: true}, 0, unclaimed + 1, 0},
		{map[int]bool{1: true}, unclaimed / 6, unclaimed / 6, unclaimed},
		{map[int]bool{1: true}, unclaimed, unclaimed, slower * unclaimed},
		{map[int]bool{1: true}, unclaimed, 2 * unclaimed, (slower - 1) * unclaimed},
		{map[int]bool{1: true}, unclaimed, (slower + 1) * unclaimed, 0},
		{map[int]bool{1: true}, time.Minute, time.Minute, quiet},
	} {
		g := &gathering{shards: 2, missing: c.missing, claims: claims, claimed: c.claims, named: true}
		if got := g.patience(c.asked); got != c.want {
			t.Errorf("%v missing, claims after %v, asked %v ago: %v, want %v", c.missing, c.claims, c.asked, got, c.want)
		}
	}
}

// On a machine that is out of breath those who hold something may be heard late, and those who do
// not at once: nobody is taken for away.
func TestAllAreSlowToBeHeard(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		nc := connect(t, 1)[0]
		handle(t, service(t, nc, "idle"), "hosts", nil, hosts(nil, 0))
		slow := func() []int { time.Sleep(2 * unclaimed); return []int{0, 1} }
		if err := service(t, nc, "a").Handle("hosts", slow, hosts([]int{0, 1}, 1)); err != nil {
			t.Fatal(err)
		}
		got := map[int]int{}
		if err := Gather(t.Context(), nc, "x", "hosts", nil, 2, counting(got)); err != nil || len(got) != 2 {
			t.Errorf("%v, %v", got, err)
		}
	})
}

// An instance that dies while it answers is not waited for as one that works, and what it sent
// before counts.
func TestInstanceDiesWhileItAnswers(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		if probeEvery+unclaimed > 900*time.Millisecond {
			t.Errorf("an answer without a dead instance takes %v", probeEvery+unclaimed)
		}
		nc := connect(t, 3)
		handle(t, service(t, nc[0], "a"), "hosts", []int{0, 1}, func(ctx context.Context, _ []byte, send func(any) error) error {
			for range 2 * partBytes / len(`{"shard":0,"n":0,"url":""}`) {
				if err := send(thing{Shard: 0}); err != nil {
					return err
				}
			}
			nc[0].Close()
			<-ctx.Done()
			return ctx.Err()
		})
		// Alive, and silent for much longer than a probe takes.
		handle(t, service(t, nc[1], "b"), "hosts", []int{2}, func(_ context.Context, _ []byte, send func(any) error) error {
			time.Sleep(10 * probeEvery)
			return send(thing{Shard: 2})
		})
		start := time.Now()
		got := map[int]int{}
		err := Gather(t.Context(), nc[2], "x", "hosts", nil, 3, counting(got))
		var inc *IncompleteError
		if !errors.As(err, &inc) || fmt.Sprint(inc.Missing) != "[0 1]" {
			t.Errorf("%v", err)
		}
		if got[0] == 0 || got[2] != 1 {
			t.Errorf("what came: %v", got)
		}
		if d := time.Since(start); d < 10*probeEvery || d > 11*probeEvery {
			t.Errorf("took %v, and the one that lives answers after %v", d, 10*probeEvery)
		}
	})
}

// When all handlers fail, for a request that makes no sense for example, their word is
// all there is to say.
func TestAllHandlersFail(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		nc := connect(t, 1)[0]
		bad := func(context.Context, []byte, func(any) error) error { return errors.New("no such thing") }
		handle(t, service(t, nc, "a"), "hosts", []int{0}, bad)
		handle(t, service(t, nc, "b"), "hosts", []int{1}, bad)
		err := Gather(t.Context(), nc, "x", "hosts", nil, 2, counting(map[int]int{}))
		if err == nil || errors.Is(err, ErrIncomplete) || !strings.Contains(err.Error(), "no such thing") {
			t.Errorf("%v", err)
		}
	})
}

func TestSlowHandlerIsWaitedFor(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		nc := connect(t, 1)[0]
		handle(t, service(t, nc, "a"), "hosts", []int{0}, func(_ context.Context, _ []byte, send func(any) error) error {
			time.Sleep(quiet * 3 / 2)
			return send(thing{})
		})
		got := map[int]int{}
		if err := Gather(t.Context(), nc, "x", "hosts", nil, 1, counting(got)); err != nil || got[0] != 1 {
			t.Errorf("%v, %v", got, err)
		}
	})
}

func TestOddSizes(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		nc := connect(t, 1)[0]
		sizes := []int{10, 200 << 10, 900 << 10, 1000 << 10, 100, 255 << 10, 900 << 10, 1}
		handle(t, service(t, nc, "a"), "big", []int{0}, func(_ context.Context, _ []byte, send func(any) error) error {
			for _, n := range sizes {
				if err := send(strings.Repeat("x", n)); err != nil {
					return err
				}
			}
			if err := send(func() {}); err == nil {
				t.Error("sent a function")
			}
			err := send(strings.Repeat("x", 1<<20))
			if err == nil || !strings.Contains(err.Error(), "over the limit") {
				t.Errorf("an object over the limit: %v", err)
			}
			return nil
		})
		i := 0
		err := Gather(t.Context(), nc, "x", "big", nil, 1, func(raw json.RawMessage) error {
			if len(raw) != sizes[i]+2 {
				t.Errorf("object %d has %d bytes, want %d", i, len(raw), sizes[i]+2)
			}
			i++
			return nil
		})
		if err != nil || i != len(sizes) {
			t.Errorf("%d objects, %v", i, err)
		}
	})
}

func TestServiceIsDiscovered(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		nc := connect(t, 1)[0]
		s, err := NewService(nc, "my-crawl", "indexer", "host/7", "devel +abc")
		if err != nil {
			t.Fatal(err)
		}
		handle(t, s, "search", []int{0}, hosts(nil, 0))
		if err := Gather(t.Context(), nc, "my-crawl", "search", nil, 1, nil); err != nil {
			t.Fatal(err)
		}
		// A request is counted once its handler has returned, which may be after its answer has
		// come.
		var st micro.Stats
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			m, err := nc.Request("$SRV.STATS.my-crawl-indexer", nil, 5*time.Second)
			if err != nil {
				t.Fatal(err)
			}
			st = micro.Stats{}
			if err := json.Unmarshal(m.Data, &st); err != nil {
				t.Fatal(err)
			}
			if len(st.Endpoints) != 1 || st.Endpoints[0].NumRequests != 0 || time.Now().After(deadline) {
				break
			}
		}
		if st.Metadata["instance"] != "host/7" || st.Metadata["version"] != "devel +abc" || len(st.Endpoints) != 1 || st.Endpoints[0].NumRequests != 1 {
			t.Errorf("%+v", st)
		}
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
		if err := Gather(t.Context(), nc, "my-crawl", "search", nil, 1, nil); !errors.Is(err, ErrNobody) {
			t.Errorf("after Stop: %v", err)
		}
	})
}
