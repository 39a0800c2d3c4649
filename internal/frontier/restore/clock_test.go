package restore

import (
	"testing"
	"time"
)

// While it runs, the clock is seen to be set.
func TestTheClockIsSet(t *testing.T) {
	now := time.Now().Round(0)
	if c := new(reading); c.seen(now, 0) != 0 || c.seen(now.Add(time.Hour), time.Hour) != 0 || c.seen(now.Add(time.Hour+clockJump), time.Hour) != 0 {
		t.Error("an hour passed, and no clock was set")
	}
	for _, by := range []time.Duration{-24 * time.Hour, 24 * time.Hour, 3 * time.Second} {
		if b := new(reading); b.seen(now, 0) != 0 || b.seen(now.Add(time.Second+by), time.Second) != by || b.seen(now.Add(2*time.Second+by), 2*time.Second) != 0 {
			t.Errorf("set by %v: not seen, or not once", by)
		}
	}
}
