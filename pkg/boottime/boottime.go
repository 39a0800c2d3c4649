// Package boottime is a clock that continues while the machine is suspended. Go's own monotonic
// clock stops then, so a lease or an ownership that has expired meanwhile would look valid,
// although another process may have it by then.
//
// The clock is Go's clock plus the time for which the machine was suspended. Its values can only be
// compared with each other. Waiting is done with package time, and in a bubble of testing/synctest
// the clock shows virtual time.
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

// Now reads the clock. It may be called concurrently, and costs about as much as time.Now.
func Now() time.Duration { return boot.now() }

// Wall is a time of day that is never set: it was correct when the Wall was made, and continues
// from there, also while the machine is suspended. Its methods may be called concurrently.
type Wall struct {
	start time.Time
	slept time.Duration // at start
}

// NewWall starts one with the system's time of day.
func NewWall() *Wall { return &Wall{time.Now(), asleep.closely()} }

// Micro is a time of this process in Unix microseconds. Between t and the result no time is read,
// so it does not matter how long the process is stopped meanwhile.
func (w *Wall) Micro(t time.Time) int64 {
	return w.start.UnixMicro() + (t.Sub(w.start) + asleep.closely() - w.slept).Microseconds()
}
