package main

import (
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/simweb/requestlog"
)

// Slots count for the part that is in the measured time.
func TestSlots(t *testing.T) {
	at := func(s float64) time.Time { return time.Unix(1000, 0).Add(time.Duration(s * float64(time.Second))) }
	log := []requestlog.Request{
		{Start: at(-3), End: at(-2)},    // ended before
		{Start: at(-0.5), End: at(0.5)}, // 1.5 of its 2 s
		{Start: at(2), End: at(3)},      // all
		{Start: at(8.5), End: at(8.75)}, // 1.25, up to 9.75
		{Start: at(9.75)},               // not answered at the end: 0.25
		{Start: at(11), End: at(12)},    // after
	}
	if got := slots(log, time.Second, at(0), at(10)); got != 5*time.Second {
		t.Errorf("%v, want 5s", got)
	}
}
