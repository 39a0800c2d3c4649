package datatxt

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Twice the bytes must cost less than three times the work, also on input made to
// provoke the opposite.
func TestParseIsLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time")
	}
	work := func(body string) func() {
		return func() {
			if f, _ := Parse([]byte(body), root, bot); f != nil {
				f.Nested(0)
				f.Allowed("/aaaaaaaa/x")
			}
		}
	}
	small, big := hostile(MaxSize/32), hostile(MaxSize/16)
	for name := range small {
		t.Run(name, func(t *testing.T) {
			if one, two := leastWork(t, work(small[name]), work(big[name])); two >= 3*one+time.Millisecond {
				t.Errorf("%v for half, %v for all", one, two)
			}
		})
	}
}

// cpuTime is what this thread has worked so far. On a busy machine a clock on the wall says little:
// whatever takes longer than a time slice then takes several.
func cpuTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}

// leastWork returns what two pieces of work take at best, tried until the second takes less than
// three times the first, or often enough to say that it does not.
func leastWork(t *testing.T, small, big func()) (one, two time.Duration) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// a collection that falls into one of two looks like work
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	measure := func(work func()) time.Duration {
		runtime.GC()
		start := cpuTime()
		work()
		return cpuTime() - start
	}
	one, two = time.Hour, time.Hour
	for try := 0; try < 2 || try < 30 && two >= 3*one+time.Millisecond; try++ {
		one, two = min(one, measure(small)), min(two, measure(big))
	}
	return one, two
}
