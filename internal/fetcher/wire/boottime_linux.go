package wire

import (
	"time"

	"golang.org/x/sys/unix"
)

// BootTime reads a clock that goes on while the machine sleeps. Go's own stands still in suspend,
// and a lease that ran out meanwhile would look alive: another fetcher may long have the host.
func BootTime() time.Duration { return boot.now() }

// boot asks the system seldom: a call of it, which leases make several times a request, costs
// twenty times as much as Go's clock.
var boot = bootClock{
	goes: func() (wall, run time.Duration) {
		t := time.Now()
		return time.Duration(t.UnixNano()), t.Sub(processStart)
	},
	boot: func() (time.Duration, bool) {
		var ts unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
			return 0, false
		}
		return time.Duration(ts.Nano()), true
	},
}
