package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

func openWork(t testing.TB, c *Conn, perSubject int64) *Work {
	t.Helper()
	w, err := c.OpenWork(t.Context(), WorkConfig{
		Stream: "x-PAGES", Subjects: []string{"x.pages.*"}, MaxBytes: 1 << 30, MaxMsgsPerSubject: perSubject,
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func sendN(t testing.TB, w *Work, subject string, n int) {
	t.Helper()
	for i := range n {
		if err := w.Send(t.Context(), subject, fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
}

// countTo returns a handler that only counts messages.
func countTo(n *atomic.Int64) BatchHandler {
	return func(_ context.Context, batch []Message) error {
		n.Add(int64(len(batch)))
		return nil
	}
}

func drained(t testing.TB, w *Work, subject string) {
	t.Helper()
	eventually(t, "all settled", func() bool {
		n, err := w.Pending(t.Context(), subject)
		if err != nil {
			t.Fatal(err)
		}
		return n == 0
	})
}

func TestWorkDelivers(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		c := dial(t, startServer(t, embedded.Options{}))
		w := openWork(t, c, 100)
		ctx, cancel := cancelled(t)
		for i := range 50 {
			if err := w.Send(ctx, "x.pages.0", []byte{byte(i)}); err != nil {
				t.Fatal(err)
			}
		}
		if n, err := w.Pending(ctx, "x.pages.0"); n != 50 || err != nil {
			t.Fatalf("Pending = %d, %v", n, err)
		}
		got := 0
		err := w.Consume(ctx, "x.pages.0", "indexer-0", 7, ConsumeOptions{}, func(_ context.Context, batch []Message) error {
			for _, m := range batch {
				if m.Data[0] != byte(got) {
					t.Errorf("message %d came as number %d", m.Data[0], got)
				}
				got++
			}
			if got == 50 {
				cancel()
			}
			return nil
		})
		if err != nil || got != 50 {
			t.Fatalf("Consume = %v after %d", err, got)
		}
		drained(t, w, "x.pages.0")
	})
}

func TestBatchesOfConsume(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := openWork(t, dial(t, startServer(t, embedded.Options{})), 1000)
		sendN(t, w, "x.pages.0", 100)
		sendN(t, w, "x.pages.1", 10)
		run := func(subject string, o ConsumeOptions, n int) (most int) {
			ctx, cancel := cancelled(t)
			got := 0
			err := w.Consume(ctx, subject, "i"+subject[8:], 1, o, func(_ context.Context, batch []Message) error {
				most = max(most, len(batch))
				if got += len(batch); got == n {
					cancel()
				}
				return nil
			})
			if err != nil || got != n {
				t.Errorf("Consume = %v after %d of %d", err, got, n)
			}
			return most
		}
		if most := run("x.pages.0", ConsumeOptions{MaxMessages: 7}, 100); most > 7 {
			t.Errorf("a batch of %d, at most 7 allowed", most)
		}
		if most := run("x.pages.1", ConsumeOptions{MaxBytes: 1}, 10); most != 1 {
			t.Errorf("a batch of %d messages over the limit of bytes", most)
		}
	})
}

func TestFullSubjectLeavesNeighboursAlone(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		c := dial(t, startServer(t, embedded.Options{}))
		w := openWork(t, c, 5)
		sendN(t, w, "x.pages.0", 5)
		waiting := make(chan error, 1)
		ctx, cancel := cancelled(t)
		go func() { waiting <- w.Send(ctx, "x.pages.0", []byte("5")) }()
		eventually(t, "Waiting", func() bool { return c.Waiting()["x.pages.0"] != "" })
		sendN(t, w, "x.pages.1", 5)
		select {
		case err := <-waiting:
			t.Fatalf("Send to a full subject = %v", err)
		default:
		}
		cctx, stop := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() {
			done <- w.Consume(cctx, "x.pages.0", "i0", 1, ConsumeOptions{}, func(context.Context, []Message) error { return nil })
		}()
		if err := <-waiting; err != nil {
			t.Errorf("Send after space became free = %v", err)
		}
		drained(t, w, "x.pages.0")
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		cancel()
	})
}

func TestFencing(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := openWork(t, dial(t, startServer(t, embedded.Options{})), 1000)
		ctx, _ := cancelled(t)
		var first, second atomic.Int64
		old := make(chan error, 1)
		go func() { old <- w.Consume(ctx, "x.pages.1", "i-1", 10, ConsumeOptions{}, countTo(&first)) }()
		other := make(chan error, 1)
		octx, stopOther := context.WithCancel(ctx)
		go func() { // another subject with the same beginning
			other <- w.Consume(octx, "x.pages.11", "i-11", 3, ConsumeOptions{}, countTo(new(atomic.Int64)))
		}()
		sendN(t, w, "x.pages.1", 10)
		eventually(t, "the first consumer", func() bool { return first.Load() == 10 })
		drained(t, w, "x.pages.1") // an unacknowledged message would be delivered again

		nctx, stop := context.WithCancel(ctx)
		newer := make(chan error, 1)
		go func() { newer <- w.Consume(nctx, "x.pages.1", "i-1", 11, ConsumeOptions{}, countTo(&second)) }()
		if err := <-old; !errors.Is(err, ErrFenced) {
			t.Fatalf("the old consumer ended with %v", err)
		}
		sendN(t, w, "x.pages.1", 10)
		eventually(t, "the second consumer", func() bool { return second.Load() == 10 })
		if err := w.Consume(ctx, "x.pages.1", "i-1", 10, ConsumeOptions{}, countTo(&first)); !errors.Is(err, ErrFenced) {
			t.Errorf("the old consumer came back: %v", err)
		}
		if first.Load() != 10 {
			t.Errorf("the old consumer was handed %d messages after it was fenced", first.Load()-10)
		}
		stop()
		stopOther()
		if err := <-newer; err != nil {
			t.Error(err)
		}
		if err := <-other; err != nil {
			t.Error(err)
		}
	})
}

// When a consumer ends, the messages that it had received go to the next consumer at once, and not
// only after ackWait.
func TestNextConsumerReceivesAtOnce(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := openWork(t, dial(t, startServer(t, embedded.Options{})), 1000)
		sendN(t, w, "x.pages.0", 50)
		seen := map[uint64]bool{}
		for _, epoch := range []uint64{7, 7, 8, 8} { // the same epoch again, and a new one
			ctx, cancel := cancelled(t)
			err := w.Consume(ctx, "x.pages.0", "i-0", epoch, ConsumeOptions{MaxMessages: 10}, func(_ context.Context, batch []Message) error {
				if ctx.Err() != nil {
					t.Error("a batch after the context ended")
				}
				for _, m := range batch {
					seen[m.Seq] = true
				}
				cancel()
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if len(seen) > 40 {
			t.Fatalf("%d seen", len(seen))
		}
		ctx, cancel := cancelled(t)
		start := time.Now()
		err := w.Consume(ctx, "x.pages.0", "i-0", 8, ConsumeOptions{}, func(_ context.Context, batch []Message) error {
			for _, m := range batch {
				seen[m.Seq] = true
			}
			if len(seen) == 50 {
				cancel()
			}
			return nil
		})
		if err != nil || len(seen) != 50 || time.Since(start) > within/2 {
			t.Errorf("Consume = %v, %d of 50 seen, the rest took %v", err, len(seen), time.Since(start))
		}
	})
}

func TestRetryDropGiveUp(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := openWork(t, dial(t, startServer(t, embedded.Options{})), 1000)
		const n, bad, never = 20, 7, 11
		sendN(t, w, "x.pages.0", n)
		var mu sync.Mutex
		tries := map[string]int{}
		times := []time.Time{}
		broken := errors.New("broken")
		var gaveUp []Message
		ctx, cancel := cancelled(t)
		o := ConsumeOptions{Retry: 10 * time.Millisecond, GiveUp: func(_ context.Context, m Message, err error) error {
			if !errors.Is(err, broken) {
				t.Errorf("given up for %v", err)
			}
			gaveUp = append(gaveUp, m)
			if len(gaveUp) == 1 {
				return errors.New("not yet")
			}
			return nil
		}}
		done := make(chan error, 1)
		go func() {
			done <- w.Consume(ctx, "x.pages.0", "i-0", 1, o, func(_ context.Context, batch []Message) error {
				mu.Lock()
				defer mu.Unlock()
				for _, m := range batch {
					switch string(m.Data) {
					case fmt.Sprint(bad):
						if len(batch) == 1 {
							times = append(times, time.Now())
							tries[string(m.Data)]++
							if m.Deliveries != tries[string(m.Data)] {
								t.Errorf("delivery %d has the number %d", tries[string(m.Data)], m.Deliveries)
							}
						}
						return broken
					case fmt.Sprint(never):
						if len(batch) == 1 {
							tries[string(m.Data)]++
						}
						return fmt.Errorf("no page: %w", ErrDrop)
					}
				}
				for _, m := range batch {
					tries[string(m.Data)]++
				}
				return nil
			})
		}()
		drained(t, w, "x.pages.0")
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		for i := range n {
			want := 1
			if i == bad {
				want = MaxDeliver + 1
			}
			if got := tries[fmt.Sprint(i)]; got != want {
				t.Errorf("message %d: %d tries, want %d", i, got, want)
			}
		}
		if len(gaveUp) != 2 || string(gaveUp[1].Data) != fmt.Sprint(bad) || gaveUp[0].Deliveries != MaxDeliver || gaveUp[1].Deliveries != MaxDeliver+1 {
			t.Errorf("given up: %+v", gaveUp)
		}
		for i := 1; i < len(times); i++ { // 10, 20, 40, 80, 160 ms
			if d := times[i].Sub(times[i-1]); d < o.Retry<<(i-1) {
				t.Errorf("delivery %d came after %v", i+1, d)
			}
		}
	})
}

// A process that joins a Work queue gets it as it was created, with its limits, and may wait until
// it exists.
func TestJoinWork(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		c := dial(t, startServer(t, embedded.Options{}))
		if _, err := c.JoinWork(t.Context(), "x-PAGES", nil); err == nil {
			t.Fatal("joined a stream that does not exist")
		}
		looked := 0
		w, err := c.JoinWork(t.Context(), "x-PAGES", func(error) bool {
			if looked++; looked == 2 {
				openWork(t, c, 7)
			}
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		if looked != 2 || w.cfg.MaxMsgsPerSubject != 7 || w.cfg.MaxBytes != 1<<30 || len(w.cfg.Subjects) != 1 {
			t.Errorf("looked %d times, joined %+v", looked, w.cfg)
		}
	})
}
