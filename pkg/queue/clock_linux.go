package queue

import (
	"time"

	"golang.org/x/sys/unix"
)

// bootTime is a clock that goes on while the machine sleeps, unlike Go's monotonic one: a laptop
// that wakes up must know that its ownership has run out.
func bootTime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return time.Since(processStart)
	}
	return time.Duration(ts.Nano())
}

var processStart = time.Now()
