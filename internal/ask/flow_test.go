package ask

import (
	"github.com/curtsy/curtsy/internal/simnet"

	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// 100,000 objects for an asker that dawdles: all come, in order, and the sender is never far ahead.
func TestSlowAsker(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		const n = 100_000
		nc := connect(t, 2)
		var sent, most atomic.Int64
		read := int64(0)
		handle(t, service(t, nc[0], "a"), "hosts", []int{0}, func(_ context.Context, _ []byte, send func(any) error) error {
			for i := range n {
				if err := send(thing{0, i, "http://h.example/"}); err != nil {
					return err
				}
				sent.Add(1)
			}
			return nil
		})
		err := Gather(t.Context(), nc[1], "x", "hosts", nil, 1, func(raw json.RawMessage) error {
			var v thing
			if err := json.Unmarshal(raw, &v); err != nil {
				return err
			}
			if int64(v.N) != read {
				t.Fatalf("object %d came as number %d", v.N, read)
			}
			if read++; read%5000 == 0 {
				time.Sleep(20 * time.Millisecond)
				most.Store(max(most.Load(), sent.Load()-read))
			}
			return nil
		})
		if err != nil || read != n {
			t.Fatalf("%d objects, %v", read, err)
		}
		perPart := int64(partBytes / len(`{"shard":0,"n":0,"url":"http://h.example/"}`))
		if most.Load() > (window+2)*perPart {
			t.Errorf("the sender was %d objects ahead, a part has %d", most.Load(), perPart)
		}
	})
}

// An asker that has had enough stops the sender.
func TestAskerStops(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		nc := connect(t, 2)
		ended := make(chan error, 2)
		handle(t, service(t, nc[0], "a"), "hosts", []int{0}, func(ctx context.Context, _ []byte, send func(any) error) error {
			for {
				if err := send(thing{}); err != nil {
					ended <- err
					return err
				}
			}
		})
		enough := errors.New("enough")
		i := 0
		err := Gather(t.Context(), nc[1], "x", "hosts", nil, 1, func(json.RawMessage) error {
			if i++; i == 20_000 {
				return enough
			}
			return nil
		})
		if err != enough || i != 20_000 {
			t.Errorf("Gather = %v after %d", err, i)
		}
		waitFor(t, ended, errGone)

		ctx, cancel := context.WithCancel(t.Context())
		err = Gather(ctx, nc[1], "x", "hosts", nil, 1, func(json.RawMessage) error { cancel(); return nil })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Gather = %v", err)
		}
		waitFor(t, ended, errGone)
	})
}

func waitFor(t *testing.T, ended <-chan error, want error) {
	t.Helper()
	if err := <-ended; !errors.Is(err, want) {
		t.Errorf("the handler's send ended with %v, want %v", err, want)
	}
}

func TestStopEndsHandlers(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		nc := connect(t, 2)
		s := service(t, nc[0], "a")
		running := make(chan bool)
		handle(t, s, "hosts", []int{0}, func(ctx context.Context, _ []byte, _ func(any) error) error {
			close(running)
			<-ctx.Done()
			return ctx.Err()
		})
		done := make(chan error, 1)
		go func() { done <- Gather(t.Context(), nc[1], "x", "hosts", nil, 1, nil) }()
		<-running
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
		if err := <-done; err == nil {
			t.Error("an answer cut short counts as one")
		}
	})
}

// Many askers at once, more than one instance answers at a time.
func TestManyAskers(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		nc := connect(t, 3)
		handle(t, service(t, nc[0], "a"), "hosts", []int{0}, hosts([]int{0}, 100))
		handle(t, service(t, nc[1], "b"), "hosts", []int{1}, hosts([]int{1}, 100))
		var wg sync.WaitGroup
		for range 2 * maxAnswers {
			wg.Go(func() {
				got := map[int]int{}
				if err := Gather(t.Context(), nc[2], "x", "hosts", nil, 2, counting(got)); err != nil || got[0] != 100 || got[1] != 100 {
					t.Errorf("%v, %v", got, err)
				}
			})
		}
		wg.Wait()
	})
}

func BenchmarkGather(b *testing.B) {
	nc := connect(b, 2)
	handle(b, service(b, nc[0], "a"), "hosts", []int{0}, hosts([]int{0}, b.N))
	b.ReportAllocs()
	b.ResetTimer()
	if err := Gather(b.Context(), nc[1], "x", "hosts", nil, 1, func(json.RawMessage) error { return nil }); err != nil {
		b.Error(err)
	}
}

func BenchmarkAskOne(b *testing.B) {
	nc := connect(b, 2)
	handle(b, service(b, nc[0], "a"), "status", []int{0}, hosts([]int{0}, 1))
	b.ReportAllocs()
	for b.Loop() {
		if err := Gather(b.Context(), nc[1], "x", "status", nil, 1, func(json.RawMessage) error { return nil }); err != nil {
			b.Error(err)
		}
	}
}
