package hosts

import (
	"testing"
	"time"
)

// A rate is that of the last minute: earlier work does not count, and work after an idle time does
// not count as the speed of a second.
func TestRateIsOfTheLastMinute(t *testing.T) {
	began := time.Unix(1_800_000_000, 0)
	at := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	var r Rate
	if got := r.PerSecond(at(0)); got != 0 {
		t.Errorf("before anything was counted: %v", got)
	}
	for s := range 20 {
		r.Add(at(s), 6)
	}
	if got := r.PerSecond(at(20)); got != 6 {
		t.Errorf("after 20 seconds of 6 a second: %v", got)
	}
	for s := 20; s < 2700; s++ { // 45 minutes
		r.Add(at(s), 6)
	}
	if got := r.PerSecond(at(2699)); got != 6 {
		t.Errorf("after 45 minutes of 6 a second: %v", got)
	}
	if got := r.PerSecond(at(2699 + 30)); got != 3 {
		t.Errorf("half a minute later: %v, want half of it", got)
	}
	if got := r.PerSecond(at(2699 + 60)); got != 0 {
		t.Errorf("a minute later: %v", got)
	}
	// A page after idle time is one per minute, but continuous work that begins again has its own
	// rate.
	r.Add(at(9000), 1)
	if got := r.PerSecond(at(9000)); got != 1./60 {
		t.Errorf("one after a pause: %v, want one a minute", got)
	}
	r.Add(at(9001), 1)
	r.Add(at(9002), 1)
	if got, over := r.AtWork(at(9003)); got != 1 || over != 3*time.Second {
		t.Errorf("work since it began anew: %v over %v", got, over)
	}
	if got, over := r.AtWork(at(9200)); got != 0 || over != 30*time.Second {
		t.Errorf("idle for long: %v over %v", got, over)
	}
}
