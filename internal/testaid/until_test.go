package testaid

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// late is a test whose time is almost over.
type late struct {
	testing.TB
	logged []string
}

func (l *late) Helper()                     {}
func (l *late) Deadline() (time.Time, bool) { return time.Now().Add(margin), true }
func (l *late) Log(args ...any)             { l.logged = append(l.logged, fmt.Sprint(args...)) }
func (l *late) Logf(format string, args ...any) {
	l.logged = append(l.logged, fmt.Sprintf(format, args...))
}
func (l *late) Fatalf(format string, args ...any) { l.Logf(format, args...); panic(l) }

func TestUntil(t *testing.T) {
	n := 0
	Until(t, "three looks", func() bool { n++; return n == 3 })
	c := make(chan int, 1)
	c <- 7
	if v := Receive(t, "a value", c); v != 7 {
		t.Errorf("%d came, want 7", v)
	}
}

func TestUntilSaysWhatItWaitedFor(t *testing.T) {
	l := &late{TB: t}
	func() {
		defer func() { recover() }()
		Until(l, "rain", func() bool { return false }, func() string { return "the sky is blue" })
	}()
	all := strings.Join(l.logged, "\n")
	for _, want := range []string{"rain", "the sky is blue", "goroutine "} {
		if !strings.Contains(all, want) {
			t.Errorf("it does not say %q", want)
		}
	}
}
