package queue

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

// testLog shows only with -v, and only what matters.
func testLog(t testing.TB) *slog.Logger {
	level := slog.LevelError + 1
	if testing.Verbose() && os.Getenv("QUEUE_LOG") != "" {
		level = slog.LevelInfo
	}
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: level}))
}

func startServer(t testing.TB, o embedded.Options) *embedded.Server {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	if o.MaxStore == 0 {
		o.MaxStore = 4 << 30
	}
	o.Log = testLog(t)
	s, err := embedded.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Shutdown)
	return s
}

func dial(t testing.TB, s *embedded.Server) *Conn {
	t.Helper()
	c, err := Dial(t.Context(), Options{InProcess: s.InProcess(), User: s.User(), Password: s.Password()}, testLog(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func openLog(t testing.TB, c *Conn) *Log {
	t.Helper()
	l, err := c.OpenLog(t.Context(), LogConfig{Stream: "x-EVENTS-0", Subject: "x.events.0", MaxBytes: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLogInOrder(t *testing.T) {
	c := dial(t, startServer(t, embedded.Options{}))
	l := openLog(t, c)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	const n = 1000
	for i := range n {
		seq, err := l.Append(ctx, []byte{byte(i)})
		if err != nil || seq != uint64(i+1) {
			t.Fatalf("Append %d = %d, %v", i, seq, err)
		}
	}
	var at Position
	var got uint64
	err := l.Follow(ctx, Position{}, func(batch []Entry) error {
		for _, e := range batch {
			got++
			if e.Seq != got || e.Data[0] != byte(got-1) {
				t.Errorf("entry %d has sequence %d and data %d", got, e.Seq, e.Data[0])
			}
			at = e.Position
		}
		if got == n/2 || got == n {
			cancel()
		}
		return nil
	})
	if err != nil || got != n {
		t.Fatalf("Follow = %v after %d entries", err, got)
	}
	if last, err := l.Last(t.Context()); last != n || err != nil {
		t.Errorf("Last = %d, %v", last, err)
	}
	_ = at
}

func TestWorkHandsOver(t *testing.T) {
	c := dial(t, startServer(t, embedded.Options{}))
	w, err := c.OpenWork(t.Context(), WorkConfig{Stream: "x-PAGES", Subjects: []string{"x.pages.*"}, MaxBytes: 1 << 30, MaxMsgsPerSubject: 100})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for i := range 50 {
		if err := w.Send(ctx, "x.pages.0", []byte{byte(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := w.Pending(ctx, "x.pages.0"); n != 50 || err != nil {
		t.Fatalf("Pending = %d, %v", n, err)
	}
	got := 0
	err = w.Consume(ctx, "x.pages.0", "indexer-0", 7, ConsumeOptions{}, func(_ context.Context, batch []Message) error {
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
	for range 100 {
		n, err := w.Pending(t.Context(), "x.pages.0")
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("messages handled are still pending")
}
