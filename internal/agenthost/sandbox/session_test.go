package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/mobile"
)

// FuzzMessages: whatever a child writes, its parent ends, and no part that it passes on is larger
// than a message.
func FuzzMessages(f *testing.F) {
	f.Add([]byte("r\x00\x00\x00\x00e\x00\x00\x00\x01ax\x00\x00\x00\x01\x00"))
	f.Add([]byte("r\x00\x00\x00\x00l\x00\x00\x00\x04\x00\x01\x00\x00d\x00\x00\x00\x04\xff\xff\xff\xff"))
	f.Add([]byte("r\x00\x00\x00\x00o\x00\x00\x00\x01/g\x00\x00\x00\x01gp\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var in bytes.Buffer
		s := &session{in: &in, out: bufio.NewReader(bytes.NewReader(b)), host: quiet{t}, most: time.Hour, buf: make([]byte, maxMessage), answer: make([]byte, maxMessage)}
		if err := s.serve(context.Background(), []byte("input"), bytes.NewReader([]byte("module"))); err != nil && err != errGone && err != errMessage {
			t.Fatal(err)
		}
		buf := make([]byte, maxMessage)
		for in.Len() > 0 {
			if _, _, err := readMessage(&in, buf); err != nil {
				t.Fatalf("an answer cannot be read: %v", err)
			}
		}
	})
}

// TestWorkOfTheHost: a robot cannot make the host work for longer than it may compute itself.
func TestWorkOfTheHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		question := "l\x00\x00\x00\x04\x00\x00\x00\x01"
		s := &session{in: new(bytes.Buffer), out: bufio.NewReader(strings.NewReader("r\x00\x00\x00\x00" + strings.Repeat(question, 100))), most: 10 * time.Second,
			host: slow{quiet{t}}, buf: make([]byte, maxMessage), answer: make([]byte, maxMessage)}
		began := time.Now()
		err := s.serve(t.Context(), nil, strings.NewReader(""))
		var ended *Ended
		if !errors.As(err, &ended) || ended.Outcome != mobile.CPULimit || time.Since(began) != 11*time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

// TestTicks: the clock shows no more of the time than its second, and goes on all the same.
func TestTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := ticks{began: time.Now()}
		for range 5 {
			last := clock.now()
			if last%int64(time.Second) > int64(3*time.Microsecond) {
				t.Errorf("the clock shows %s", time.Duration(last))
			}
			time.Sleep(999 * time.Millisecond)
			for range 3 {
				now := clock.now()
				if now <= last || now-last > int64(time.Second) {
					t.Errorf("the clock shows %s after %s", time.Duration(now), time.Duration(last))
				}
				last = now
			}
			time.Sleep(time.Millisecond)
		}
		for range 2_000_000 { // more readings than there are microseconds
			clock.now()
		}
		if now := clock.now(); now >= int64(7*time.Second) {
			t.Errorf("the clock shows %s after 5 s", time.Duration(now))
		}
	})
}

// slow takes a second for each list.
type slow struct{ quiet }

func (s slow) List(ctx context.Context, after string, most int) ([]byte, error) {
	time.Sleep(time.Second)
	return s.quiet.List(ctx, after, most)
}

// quiet answers with as much as it was asked for.
type quiet struct{ t *testing.T }

func (quiet) List(_ context.Context, _ string, most int) ([]byte, error) {
	return make([]byte, most), nil
}
func (quiet) Open(context.Context, string) ([]byte, error)  { return []byte("Status: 200\n"), nil }
func (quiet) Read(_ context.Context, p []byte) (int, error) { return len(p), nil }

func (q quiet) Emit(part []byte, _ bool) error {
	if len(part) > maxMessage {
		q.t.Error("a part is larger than a message")
	}
	return nil
}

func (q quiet) Log(line []byte) error { return q.Emit(line, true) }
