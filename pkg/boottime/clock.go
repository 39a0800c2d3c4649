package boottime

import (
	"sync/atomic"
	"time"
)

// clock goes on while the machine sleeps, and seldom asks the system for that clock. In
// between it goes by Go's, as long as that cannot differ.
//
// Linux has one clock that never sleeps and derives the others from it. When it wakes up it adds
// the time asleep both to the boot clock and to the time of day, in the same step, and not to the
// clock that Go calls monotonic. So while the time of day is as far ahead of the monotonic clock as
// it was when the boot clock was read, the machine did not sleep, and the boot clock is as far
// ahead, too. If the time of day was set meanwhile, the boot clock is read anew, which is right in
// any case. Nothing else makes a difference between the three: corrections of their pace apply to
// all of them alike.
type clock struct {
	goes func() (wall, run time.Duration) // the time of day and the monotonic clock, at once
	boot func() (time.Duration, bool)     // the boot clock; false: there is none
	last atomic.Pointer[reading]
}

// reading is what the clocks showed at one time.
type reading struct{ boot, wall, run time.Duration }

const (
	// exact is how far apart in time the readings of the clocks may be. By so much, a lease may
	// be taken to end too late, or too early.
	exact = 50 * time.Microsecond
	// maxAge is how old a reading of the boot clock may be: who sets the time of day back by as
	// much as the machine slept would have to be that quick.
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
		// The earlier time: what is told from it is never behind the boot clock, so no lease is
		// taken to end too late.
		c.last.Store(&reading{boot, wall, run})
	}
	return boot
}
