// Package boottime is a clock that goes on while the machine sleeps. Go's own monotonic clock
// stands still in suspend, and a lease or an ownership that ran out meanwhile would look alive,
// although somebody else may have it by then.
//
// It is Go's clock plus the time that the machine has slept. So it can be compared with nothing but
// itself, waiting by it is done with package time, and in a bubble of testing/synctest it shows
// virtual time.
package boottime

import "time"

var (
	processStart = time.Now()
	asleep       = sleep{measure: measureSleep}
)

var boot = clock{
	goes: func() (wall, run time.Duration) {
		t := time.Now()
		return time.Duration(t.UnixNano()), t.Sub(processStart)
	},
	boot: func() (time.Duration, bool) {
		slept, ok := asleep.slept()
		return time.Since(processStart) + slept, ok
	},
}

// Now reads the clock. It may be called from any goroutine, and costs about as much as time.Now.
func Now() time.Duration { return boot.now() }

// Wall is a time of day that is never set: it was right when it was made, and goes on since, also
// while the machine sleeps. Its methods may be called from any goroutine.
type Wall struct {
	start time.Time
	slept time.Duration // at start
}

// NewWall starts one with the system's time of day.
func NewWall() *Wall { return &Wall{time.Now(), asleep.closely()} }

// Micro is a time of this process in Unix microseconds. Between t and the result no time is read, so
// it does not matter how long the process is stopped meanwhile.
func (w *Wall) Micro(t time.Time) int64 {
	return w.start.UnixMicro() + (t.Sub(w.start) + asleep.closely() - w.slept).Microseconds()
}
