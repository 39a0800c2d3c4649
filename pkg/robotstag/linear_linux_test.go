package robotstag

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Twice the bytes must cost less than three times the work, also on input made to provoke the
// opposite: header values, meta contents, and pages.
func TestReadingIsLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time")
	}
	double := func(unit string, size int, read func(text string)) {
		t.Helper()
		small := strings.Repeat(unit, size/len(unit))
		if one, two := leastWork(t, func() { read(small) }, func() { read(small + small) }); two >= 3*one+time.Millisecond {
			t.Errorf("%q: %v for half, %v for all", unit, one, two)
		}
	}
	for _, unit := range []string{
		"x", " ", ",", ";", "*", "=", ":", "a=", "a ", "a,", "noindex,", "Bot=noindex;", "unavailable_after:", "unavailable_after: Wed,",
		"unavailable_after: 2025-12-03 ", "unavailable_after: 2025-12-03 13:09 x y z,", "2025-12-03 ", "max-snippet:0 ", "unavailable_after: x ",
	} {
		double(unit, MaxValue/2, func(text string) { fromHeader(text) })
		double(unit, MaxValue/2, func(text string) { fromMeta(text) })
	}
	for _, unit := range []string{
		a, "<", "<!--", "<meta ", "<meta name=robots ", "&", "<template>", "<noscript>", "</noscript>", "<script>", "<title>", "<link>", "<meta name=robots content='",
	} {
		double(unit, 1<<15, func(text string) { scan(text) })
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
