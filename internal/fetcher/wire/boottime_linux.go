package wire

import (
	"time"

	"golang.org/x/sys/unix"
)

// BootTime reads a clock that goes on while the machine sleeps. Go's own stands still in suspend,
// and a lease that ran out meanwhile would look alive: another fetcher may long have the host.
func BootTime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return time.Since(processStart)
	}
	return time.Duration(ts.Nano())
}
