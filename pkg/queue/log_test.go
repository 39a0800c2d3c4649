package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

func appendN(t testing.TB, l *Log, n int) {
	t.Helper()
	for i := range n {
		if _, err := l.Append(t.Context(), fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
}

// nextInstant lets virtual time pass. Messages that are sent at the same instant have the same
// time, to the nanosecond. A new log in place of another one would therefore look like the old one:
// its messages would have the same numbers and times.
func nextInstant() { time.Sleep(time.Nanosecond) }

// readTo follows l from at until it has applied the message with sequence last, and returns
// the positions applied.
func readTo(t testing.TB, l *Log, at Position, last uint64) (applied []Position, err error) {
	t.Helper()
	ctx, cancel := cancelled(t)
	err = l.Follow(ctx, at, func(batch []Entry) error {
		for _, e := range batch {
			applied = append(applied, e.Position)
			if e.Seq >= last {
				cancel()
			}
		}
		return nil
	})
	if err == nil && (len(applied) == 0 || applied[len(applied)-1].Seq < last) {
		t.Fatalf("applied %d messages, not up to %d", len(applied), last)
	}
	return applied, err
}

// following runs Follow in the background and provides the messages that it applies.
type following struct {
	mu   sync.Mutex
	at   Position
	n    int
	done chan error
	stop context.CancelFunc
}

func follow(t testing.TB, l *Log, from Position) *following {
	ctx, stop := context.WithCancel(t.Context())
	f := &following{at: from, done: make(chan error, 1), stop: stop}
	t.Cleanup(stop)
	go func() {
		f.done <- l.Follow(ctx, from, func(batch []Entry) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			for _, e := range batch {
				if e.Seq != f.at.Seq+1 {
					return fmt.Errorf("%d after %d", e.Seq, f.at.Seq)
				}
				f.at = e.Position
				f.n++
			}
			return nil
		})
	}()
	return f
}

func (f *following) pos() Position {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.at
}

func (f *following) wait(t testing.TB) error {
	t.Helper()
	select {
	case err := <-f.done:
		return err
	case <-time.After(within):
		t.Fatal("Follow does not end")
		return nil
	}
}

func TestLogInOrder(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		c := dial(t, startServer(t, embedded.Options{}))
		l := openLog(t, c)
		ctx, cancel := cancelled(t)
		const n = 1000
		for i := range n {
			seq, err := l.Append(ctx, []byte{byte(i)})
			if err != nil || seq != uint64(i+1) {
				t.Fatalf("Append %d = %d, %v", i, seq, err)
			}
		}
		var got uint64
		err := l.Follow(ctx, Position{}, func(batch []Entry) error {
			for _, e := range batch {
				got++
				if e.Seq != got || e.Data[0] != byte(got-1) {
					t.Errorf("entry %d has sequence %d and data %d", got, e.Seq, e.Data[0])
				}
			}
			if got == n {
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
	})
}

func TestFollowGoesOnFromPosition(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		l := openLog(t, dial(t, startServer(t, embedded.Options{})))
		appendN(t, l, 20)
		all, err := readTo(t, l, Position{}, 20)
		if err != nil {
			t.Fatal(err)
		}
		rest, err := readTo(t, l, all[11], 20)
		if err != nil || len(rest) != 8 || rest[0].Seq != 13 {
			t.Fatalf("from 12: %v, %v", rest, err)
		}
		f := follow(t, l, all[19]) // at the end: first no message, then the new ones
		appendN(t, l, 1)
		eventually(t, "the message appended meanwhile", func() bool { return f.pos().Seq == 21 })
		f.stop()
		if err := f.wait(t); err != nil {
			t.Errorf("Follow = %v after its context ended", err)
		}
	})
}

func TestFollowReturnsApplyError(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		l := openLog(t, dial(t, startServer(t, embedded.Options{})))
		appendN(t, l, 1)
		full := errors.New("disk full")
		if err := l.Follow(t.Context(), Position{}, func([]Entry) error { return full }); err != full {
			t.Errorf("Follow = %v, want apply's own error", err)
		}
	})
}

func TestBatchLimits(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		l := openLog(t, dial(t, startServer(t, embedded.Options{})))
		big := make([]byte, 900<<10)
		for range 12 {
			if _, err := l.Append(t.Context(), big); err != nil {
				t.Fatal(err)
			}
		}
		appendN(t, l, 1000)
		ctx, cancel := cancelled(t)
		n := 0
		err := l.Follow(ctx, Position{}, func(batch []Entry) error {
			size := 0
			for _, e := range batch {
				size += len(e.Data)
			}
			if len(batch) > followMsgs || size > followBytes {
				t.Errorf("a batch of %d messages, %d bytes", len(batch), size)
			}
			time.Sleep(5 * time.Millisecond) // let some messages accumulate
			if n += len(batch); n == 1012 {
				cancel()
			}
			return nil
		})
		if err != nil || n != 1012 {
			t.Errorf("Follow = %v after %d", err, n)
		}
		if _, err := l.Append(t.Context(), make([]byte, 2<<20)); !errors.Is(err, ErrTooLarge) {
			t.Errorf("Append of 2 MiB = %v, want ErrTooLarge", err)
		}
	})
}

func TestAnchor(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		c := dial(t, startServer(t, embedded.Options{}))
		l := openLog(t, c)
		appendN(t, l, 20)
		at, err := readTo(t, l, Position{}, 20)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Purge(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
		mismatch := func(what string, from Position, words string) {
			t.Helper()
			_, err := readTo(t, l, from, 20)
			if !errors.Is(err, ErrAnchor) || !strings.Contains(err.Error(), words) {
				t.Errorf("%s: %v", what, err)
			}
		}
		// Purge exactly up to the applied message, and less than that.
		for _, from := range []Position{at[9], at[10], {Seq: 10}} {
			if rest, err := readTo(t, l, from, 20); err != nil || rest[0].Seq != from.Seq+1 {
				t.Errorf("from %d after a purge to 10: %v", from.Seq, err)
			}
		}
		mismatch("purged above the reader", at[8], "it begins at 11")
		mismatch("purged, nothing applied", Position{}, "it begins at 11")
		mismatch("another message", Position{15, at[14].Time.Add(1)}, "message 15 is of")
		mismatch("no time known", Position{Seq: 15}, "message 15 is of")
		mismatch("lost tail", Position{21, time.Now()}, "it ends at 20")

		from, err := l.Rewind(t.Context())
		if err != nil || from.Seq != 10 {
			t.Fatalf("Rewind = %v, %v", from, err)
		}
		if again, err := readTo(t, l, from, 20); err != nil || len(again) != 10 {
			t.Errorf("after Rewind: %v, %v", again, err)
		}
	})
}

func TestLogMadeAnewUnderFollower(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		c := dial(t, startServer(t, embedded.Options{}))
		l := openLog(t, c)
		appendN(t, l, 10)
		f := follow(t, l, Position{})
		eventually(t, "ten messages", func() bool { return f.pos().Seq == 10 })
		if err := c.JS.DeleteStream(t.Context(), "x-EVENTS-0"); err != nil {
			t.Fatal(err)
		}
		nextInstant()
		openLog(t, c)
		appendN(t, l, 12)
		if err := f.wait(t); !errors.Is(err, ErrAnchor) {
			t.Errorf("Follow = %v, want ErrAnchor", err)
		}
	})
}

func TestPurgedAboveSlowReader(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		l := openLog(t, dial(t, startServer(t, embedded.Options{})))
		big := make([]byte, 800<<10) // so large that the reader cannot have requested all of them
		const n = 40
		for range n {
			if _, err := l.Append(t.Context(), big); err != nil {
				t.Fatal(err)
			}
		}
		ctx, _ := cancelled(t)
		purged := false
		err := l.Follow(ctx, Position{}, func(batch []Entry) error {
			if !purged {
				purged = true
				return l.Purge(ctx, n-1)
			}
			return nil
		})
		if !errors.Is(err, ErrAnchor) || !strings.Contains(err.Error(), fmt.Sprintf("comes %d", n)) {
			t.Errorf("Follow = %v, want ErrAnchor", err)
		}
	})
}

// A gap that cannot be filled by reading leads to ErrAnchor once, and is skipped after Rewind.
func TestHole(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		c := dial(t, startServer(t, embedded.Options{}))
		l := openLog(t, c)
		appendN(t, l, 10)
		s, err := c.JS.Stream(t.Context(), "x-EVENTS-0")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.DeleteMsg(t.Context(), 5); err != nil {
			t.Fatal(err)
		}
		if got, err := readTo(t, l, Position{}, 10); !errors.Is(err, ErrAnchor) {
			t.Errorf("Follow over a hole = %v after %v", err, got)
		}
		from, err := l.Rewind(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := readTo(t, l, from, 10); err != nil || len(got) != 9 {
			t.Errorf("after Rewind: %v, %v", got, err)
		}
		if err := s.DeleteMsg(t.Context(), 8); err != nil {
			t.Fatal(err)
		}
		appendN(t, l, 2)
		if err := s.DeleteMsg(t.Context(), 11); err != nil {
			t.Fatal(err)
		}
		if _, err := readTo(t, l, from, 12); !errors.Is(err, ErrAnchor) || !strings.Contains(err.Error(), "after 10 comes 12") {
			t.Errorf("a hole newer than the Rewind: %v", err)
		}
	})
}

func TestAppendWaitsWhileFull(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		logged := newLines()
		c := dialLog(t, startServer(t, embedded.Options{}), slog.New(logged))
		l, err := c.OpenLog(t.Context(), LogConfig{Stream: "x-EVENTS-0", Subject: "x.events.0", MaxBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		data := make([]byte, 100<<10)
		for range 10 {
			if _, err := l.Append(t.Context(), data); err != nil {
				t.Fatal(err)
			}
		}
		full := func() bool { return strings.Contains(c.Waiting()["x.events.0"], "full") }
		impatient, cancel := context.WithCancel(t.Context())
		gaveUp := make(chan error, 1)
		go func() {
			_, err := l.Append(impatient, data)
			gaveUp <- err
		}()
		eventually(t, "Waiting", full)
		cancel()
		if err := <-gaveUp; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "maximum bytes") {
			t.Errorf("Append to a full log = %v", err)
		}
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if _, err := l.Append(t.Context(), data); err != nil {
					t.Error(err)
				}
			})
		}
		eventually(t, "Waiting", full)
		time.Sleep(50 * time.Millisecond)
		if last, err := l.Last(t.Context()); last != 10 || err != nil {
			t.Errorf("Last = %d, %v: a full log dropped or took messages", last, err)
		}
		if err := l.Purge(t.Context(), 5); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		if last, _ := l.Last(t.Context()); last != 13 {
			t.Errorf("Last = %d, want 13", last)
		}
		// one message for the first publisher that gave up, one for the other three together
		if n := logged.count("full"); n != 2 {
			t.Errorf("%d messages that the log is full", n)
		}
		if len(c.Waiting()) > 0 {
			t.Errorf("Waiting = %v", c.Waiting())
		}
	})
}

func TestOpenLogNeverShrinks(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		c := dial(t, startServer(t, embedded.Options{}))
		l := openLog(t, c) // 1 GiB
		appendN(t, l, 100)
		if _, err := c.OpenLog(t.Context(), LogConfig{Stream: "x-EVENTS-0", Subject: "x.events.0", MaxBytes: 1 << 10}); err != nil {
			t.Fatal(err)
		}
		if got, err := readTo(t, l, Position{}, 100); err != nil || len(got) != 100 {
			t.Errorf("%d messages left, %v", len(got), err)
		}
		// More than the server has space for: the log stays unchanged.
		if _, err := c.OpenLog(t.Context(), LogConfig{Stream: "x-EVENTS-0", Subject: "x.events.0", MaxBytes: 1 << 40}); err != nil {
			t.Error(err)
		}
		_, err := c.OpenLog(t.Context(), LogConfig{Stream: "y", Subject: "y", MaxBytes: 1 << 40})
		if err == nil || !strings.Contains(err.Error(), "less storage left") {
			t.Errorf("a new log without space: %v", err)
		}
		_, err = c.OpenLog(t.Context(), LogConfig{Stream: "y", Subject: "y", MaxBytes: 1 << 20, Replicas: 3})
		if err == nil || !strings.Contains(err.Error(), "3 replicas") {
			t.Errorf("three replicas on one server: %v", err)
		}
		_, err = c.OpenWork(t.Context(), WorkConfig{Stream: "x-EVENTS-0", Subjects: []string{"x.events.0"}, MaxBytes: 1 << 20})
		if err == nil || !strings.Contains(err.Error(), "exists") {
			t.Errorf("a log opened as work: %v", err)
		}
	})
}
