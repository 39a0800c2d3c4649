// Package lineartest measures whether work grows with its input and no faster.
package lineartest

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is what this thread has worked so far. On a busy machine a clock on the wall says little:
// whatever takes longer than a time slice then takes several.
func cpuTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}

// Double fails the test if work on twice the input takes three times as long or longer, and more
// than a millisecond longer than that: the processor's time, at best of up to 30 tries. Both must
// do their work in the goroutine that calls them. They are called more than once.
func Double(t testing.TB, what string, one, two func()) {
	t.Helper()
	if half, all, ok := Doubles(30, one, two); !ok {
		t.Errorf("%s: %v for half, %v for all", what, half, all)
	}
}

// Doubles is Double for a caller that has another question if the answer is no. It returns how long
// the two took at best of up to so many tries.
func Doubles(tries int, one, two func()) (half, all time.Duration, ok bool) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// a collection that falls into one of two looks like work
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	measure := func(work func()) time.Duration {
		start := cpuTime()
		work()
		return cpuTime() - start
	}
	half, all = time.Hour, time.Hour
	for try := 0; try < 2 || try < tries && !ok; try++ {
		runtime.GC()
		half, all = min(half, measure(one)), min(all, measure(two))
		ok = all < 3*half+time.Millisecond
	}
	return half, all, ok
}
