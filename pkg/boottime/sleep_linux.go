package boottime

import (
	"time"

	"golang.org/x/sys/unix"
)

// measureSleep returns how long the machine was suspended since it was started: the difference
// between CLOCK_BOOTTIME and CLOCK_MONOTONIC. The time between the two readings counts as
// suspended, so the result is too large by at most width. It is the best of up to eight tries.
func measureSleep() (most, width time.Duration, ok bool) {
	for try := range 8 {
		before, err := read(unix.CLOCK_MONOTONIC)
		if err != nil {
			return 0, 0, false
		}
		boot, err := read(unix.CLOCK_BOOTTIME)
		if err != nil {
			return 0, 0, false
		}
		after, err := read(unix.CLOCK_MONOTONIC)
		if err != nil {
			return 0, 0, false
		}
		if w := after - before; try == 0 || w < width {
			most, width = boot-before, w
		}
		if width < narrow {
			break
		}
	}
	return most, width, true
}

func read(clock int32) (time.Duration, error) {
	var ts unix.Timespec
	err := unix.ClockGettime(clock, &ts)
	return time.Duration(ts.Nano()), err
}
