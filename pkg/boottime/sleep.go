package boottime

import (
	"sync"
	"time"
)

// narrow is the largest time between the readings of a measurement that is remembered.
const narrow = exact / 2

// sleep is how long the machine was suspended. Each measurement is slightly too large, each by
// another amount. A value that followed every measurement would move the clock back and forth,
// which would be visible in a bubble of testing/synctest. So the value changes only if the machine
// has certainly been suspended meanwhile.
type sleep struct {
	// measure returns a value between the correct one and the correct one plus width. It returns
	// false if the system does not support it.
	measure func() (most, width time.Duration, ok bool)

	mu    sync.Mutex
	known bool
	value time.Duration // at most narrow more than the correct value when it was stored
}

// slept returns how long the machine was suspended. The result is too small by at most narrow. ok
// is false if the system cannot tell. slept may be called concurrently.
func (s *sleep) slept() (time.Duration, bool) {
	d, _, ok := s.look()
	return d, ok
}

// attempts is how often closely measures on a machine that stops the process in each measurement.
const attempts = 100

// closely returns how long the machine has slept. The result is too large by at most narrow. It is
// 0 if the system cannot tell. closely measures again when the process was stopped during a
// measurement.
func (s *sleep) closely() time.Duration {
	for range attempts {
		if d, close, ok := s.look(); close || !ok {
			return d
		}
	}
	d, _ := s.slept()
	return d
}

// look measures once. close is false if the process was stopped during the measurement. Then d is
// too large, by as long as the process was stopped.
func (s *sleep) look() (d time.Duration, close, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	most, width, ok := s.measure()
	if !ok || width >= narrow {
		// This is rare: the machine ran nothing for a while. The measured value may be wrong by
		// width. A remembered value may be wrong by more, if the machine has slept meanwhile.
		return most, false, ok
	}
	if !s.known || most-width > s.value {
		s.known, s.value = true, most
	}
	return s.value, true, true
}
