package boottime

import (
	"testing"
	"time"
)

func TestSleep(t *testing.T) {
	const us = time.Microsecond
	var right, late, width time.Duration
	none := false
	s := sleep{measure: func() (time.Duration, time.Duration, bool) { return right + late, width, !none }}
	shows := func(when string, want time.Duration) {
		t.Helper()
		if got, ok := s.slept(); got != want || ok == none {
			t.Errorf("%s: %v (%v), want %v", when, got, ok, want)
		}
	}
	right, late, width = time.Hour, 3*us, 4*us
	shows("at first", time.Hour+3*us)
	late = 0
	shows("a measurement nearer to what is right", time.Hour+3*us)
	late, width = 20*us, narrow-1
	shows("one that is further off", time.Hour+3*us)
	late, width = narrow, narrow
	shows("one too wide to decide by", time.Hour+narrow)
	late, width = 0, us
	shows("the next one", time.Hour+3*us)
	right += 4 * us
	shows("a sleep as long as the measurements' differences", time.Hour+3*us)
	right++
	shows("a longer one", time.Hour+4*us+1)
	right += time.Minute
	shows("a minute of sleep", time.Hour+time.Minute+4*us+1)
	none = true
	if _, ok := s.slept(); ok {
		t.Error("a system without measurement returns a result")
	}
}

// A process that is stopped within a measurement measures again.
func TestCloselyMeasuresAgain(t *testing.T) {
	n := 0
	s := sleep{measure: func() (most, width time.Duration, ok bool) {
		if n++; n < 3 {
			return time.Hour + 5*time.Millisecond, 5 * time.Millisecond, true
		}
		return time.Hour, 0, true
	}}
	if got := s.closely(); got != time.Hour || n != 3 {
		t.Errorf("%v after %d measurements, want an hour after 3", got, n)
	}
	n = 0
	s = sleep{measure: func() (most, width time.Duration, ok bool) {
		n++
		return time.Millisecond, time.Millisecond, true
	}}
	if got := s.closely(); got != time.Millisecond || n != attempts+1 {
		t.Errorf("%v after %d measurements of a machine that is always too slow", got, n)
	}
}
