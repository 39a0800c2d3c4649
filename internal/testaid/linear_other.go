//go:build !linux

package testaid

import (
	"testing"
	"time"
)

// Linear calls one and eight. How long they take is not measured on this system.
func Linear(t testing.TB, what string, one, eight func()) {
	t.Helper()
	measure(1, one, eight)
}

// measure calls one and eight and reports that the work is linear.
func measure(tries int, one, eight func()) (eightTimes, all time.Duration, ok bool) {
	one()
	eight()
	return 0, 0, true
}
