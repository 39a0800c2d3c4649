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

// Linear fails the test if work on eight times the input takes three times as long as eight times
// the work on the input, or longer, and more than a millisecond longer than that. Work that grows
// with the square of its input takes eight times as long. Both sides last about as long as the
// other if all is well, so that whatever slows the machine down slows both. It takes the
// processor's time, at best of up to 30 tries. Both must do their work in the goroutine that calls
// them. They are called more than once.
func Linear(t testing.TB, what string, one, eight func()) {
	t.Helper()
	if eightTimes, all, ok := Measure(30, one, eight); !ok {
		t.Errorf("%s: %v for an eighth, eight times; %v for all", what, eightTimes, all)
	}
}

// Measure is Linear for a caller that has another question if the answer is no. It returns how long
// eight times one takes, and how long eight takes, at best of up to so many tries.
func Measure(tries int, one, eight func()) (eightTimes, all time.Duration, ok bool) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// A collection that falls into one of the two looks like work.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	took := func(times int, work func()) time.Duration {
		start := cpuTime()
		for range times {
			work()
		}
		return cpuTime() - start
	}
	eightTimes, all = time.Hour, time.Hour
	for try := 0; try < 2 || try < tries && !ok; try++ {
		runtime.GC()
		eightTimes, all = min(eightTimes, took(8, one)), min(all, took(1, eight))
		ok = all < 3*eightTimes+time.Millisecond
	}
	return eightTimes, all, ok
}
