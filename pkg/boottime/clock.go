package boottime

import (
	"sync/atomic"
	"time"
)

// clock continues while the machine is suspended, and rarely reads the system's boot clock. In
// between it uses Go's clock, as long as the two cannot differ.
//
// Linux has one clock that never stops, and derives the others from it. After a suspend it adds the
// suspended time both to the boot clock and to the time of day, in one step, and not to the clock
// that Go calls monotonic. As long as the difference between the time of day and the monotonic
// clock is the same as when the boot clock was read, the machine was not suspended, and the
// difference of the boot clock is the same as well. If the time of day was set meanwhile, the boot
// clock is read again, which is always correct. No other event changes the differences between the
// three: corrections of their speed apply to all of them.
type clock struct {
	goes func() (wall, run time.Duration) // the time of day and the monotonic clock, read together
	boot func() (time.Duration, bool)     // the boot clock; false: it does not exist
	last atomic.Pointer[reading]
}

// reading has the values of the clocks at one time.
type reading struct{ boot, wall, run time.Duration }

const (
	// exact is the largest time between the readings of the clocks. By this much, a lease may
	// appear to end too late or too early.
	exact = 50 * time.Microsecond
	// maxAge is the largest age of a reading of the boot clock. A suspend could stay unnoticed only
	// if somebody set the time of day back by the suspended time within maxAge.
	maxAge = time.Second
)

func (c *clock) now() time.Duration {
	wall, run := c.goes()
	if r := c.last.Load(); r != nil {
		since := run - r.run
		if off := wall - r.wall - since; off > -exact && off < exact && since >= 0 && since < maxAge {
			return r.boot + since
		}
	}
	boot, ok := c.boot()
	after, later := c.goes()
	switch {
	case !ok:
		return later
	case later-run < exact && after-wall-(later-run) < exact && after-wall-(later-run) > -exact:
		// The earlier time is stored, so that a time computed from it is never behind the boot
		// clock and no lease appears to end too late.
		c.last.Store(&reading{boot, wall, run})
	}
	return boot
}
