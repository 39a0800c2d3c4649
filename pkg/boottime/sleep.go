package boottime

import (
	"sync"
	"time"
)

// narrow is how far apart the readings of one measurement may be for it to be remembered.
const narrow = exact / 2

// sleep is how long the machine has slept. Each measurement is a little too large, by another
// amount each time. A value that followed every measurement would move the clock back and forth,
// which a bubble of testing/synctest would see. So the value changes only when the machine has
// certainly slept meanwhile.
type sleep struct {
	// measure returns a time between what is right and what is right plus width, or false if the
	// system cannot tell.
	measure func() (most, width time.Duration, ok bool)

	mu    sync.Mutex
	known bool
	value time.Duration // what was right when it was stored, and narrow more at most
}

// slept returns how long the machine has slept, at most narrow less than is right, and false if the
// system cannot tell. It may be called from any goroutine.
func (s *sleep) slept() (time.Duration, bool) {
	d, _, ok := s.look()
	return d, ok
}

// attempts is how often closely measures on a machine that stops the process in each measurement.
const attempts = 100

// closely returns how long the machine has slept, at most narrow more than is right; 0 if the
// system cannot tell. It measures again when the process was stopped within a measurement.
func (s *sleep) closely() time.Duration {
	for range attempts {
		if d, close, ok := s.look(); close || !ok {
			return d
		}
	}
	d, _ := s.slept()
	return d
}

// look measures once. close is false if the process was stopped within the measurement, and the
// value is too large by as much.
func (s *sleep) look() (d time.Duration, close, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	most, width, ok := s.measure()
	if !ok || width >= narrow {
		// Seldom, on a machine that runs nothing for long. It is right to within width, which a
		// remembered value would not be if the machine has slept meanwhile.
		return most, false, ok
	}
	if !s.known || most-width > s.value {
		s.known, s.value = true, most
	}
	return s.value, true, true
}
