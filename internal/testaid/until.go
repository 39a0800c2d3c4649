package testaid

import (
	"runtime"
	"testing"
	"time"
)

// margin is how long before the deadline of `go test` a wait is given up, so that there is time to
// report what was waited for.
const margin = 5 * time.Second

// Until waits until cond is true, in a test that cannot run in a bubble of virtual time: one with
// processes, real sockets, Docker. This is the only place where a test sleeps on the real clock. It
// has no limit of its own, because the time depends on the machine. Shortly before `go test
// -timeout` ends the process, it fails the test and prints what was waited for, the given reports
// (for example a status of the crawl) and all goroutines.
func Until(t testing.TB, what string, cond func() bool, report ...func() string) {
	t.Helper()
	var end time.Time
	if d, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if at, ok := d.Deadline(); ok {
			end = at.Add(-margin)
		}
	}
	for pause := time.Millisecond; !cond(); time.Sleep(pause) {
		pause = min(2*pause, 50*time.Millisecond)
		if !end.IsZero() && time.Now().After(end) {
			for _, r := range report {
				t.Log(r())
			}
			buf := make([]byte, 1<<20)
			t.Logf("%s", buf[:runtime.Stack(buf, true)])
			t.Fatalf("the time limit of the tests is near, and still not: %s", what)
		}
	}
}

// Receive waits, as Until does, until a value can be received from a channel or it is closed.
func Receive[T any](t testing.TB, what string, c <-chan T) (v T) {
	t.Helper()
	Until(t, what, func() bool {
		select {
		case v = <-c:
			return true
		default:
			return false
		}
	})
	return v
}
