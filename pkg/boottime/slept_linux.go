package boottime

import (
	"time"

	"golang.org/x/sys/unix"
)

// slept is how long the machine has been asleep since it was started, or a little more: by how far
// CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC. What is read between them counts as sleep, so it is
// read again until that is little. More is safe: a lease ends sooner by it.
func slept() (time.Duration, bool) {
	for range 8 {
		before, err := read(unix.CLOCK_MONOTONIC)
		if err != nil {
			return 0, false
		}
		boot, err := read(unix.CLOCK_BOOTTIME)
		if err != nil {
			return 0, false
		}
		if after, err := read(unix.CLOCK_MONOTONIC); err == nil && after-before < exact/2 {
			return boot - before, true
		}
	}
	before, err := read(unix.CLOCK_MONOTONIC)
	if err != nil {
		return 0, false
	}
	boot, err := read(unix.CLOCK_BOOTTIME)
	return boot - before, err == nil
}

func read(clock int32) (time.Duration, error) {
	var ts unix.Timespec
	err := unix.ClockGettime(clock, &ts)
	return time.Duration(ts.Nano()), err
}
