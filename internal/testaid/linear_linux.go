package testaid

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is the processor time that this thread has used. Elapsed time would say little on a busy
// machine: work that takes longer than a time slice then waits for several.
func cpuTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}

// Linear fails the test if eight, which is the work of one on eight times the input, takes at least
// three times as long as eight calls of one, and a millisecond longer. Work that grows with the
// square of its input takes eight times as long. If all is well, both sides last about equally
// long, so whatever slows the machine down slows both. It compares processor time, the least of up
// to 30 tries. Both functions must do their work in the goroutine that calls them. They are called
// more than once.
func Linear(t testing.TB, what string, one, eight func()) {
	t.Helper()
	if eightTimes, all, ok := measure(30, one, eight); !ok {
		t.Errorf("%s: %v for an eighth, eight times; %v for all", what, eightTimes, all)
	}
}

// measure returns how long eight calls of one take, how long eight takes, and whether that is
// linear. Each time is the least of up to that many tries.
func measure(tries int, one, eight func()) (eightTimes, all time.Duration, ok bool) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// A garbage collection during one of the two would count as work.
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
