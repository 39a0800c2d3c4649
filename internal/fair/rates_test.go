package fair

import (
	"testing"
	"time"
)

// Each party has its own count. So many are kept; further ones share one until some are forgotten.
func TestRates(t *testing.T) {
	now := time.Unix(1e9, 0)
	r := NewRates[int](1, 3, 2)
	for i := range 4 {
		if got, want := r.Allow(now, 1, 1), i < 3; got != want {
			t.Errorf("unit %d: %v", i, got)
		}
	}
	if !r.May(now, 2, 100) || !r.Allow(now, 2, 100) || r.May(now, 2, 1) {
		t.Error("more than a burst is not counted as a burst")
	}
	now = now.Add(time.Second)
	if !r.Allow(now, 3, 3) || r.Allow(now, 4, 1) || r.Kept() != 2 {
		t.Errorf("%d are kept, and those beyond have counts of their own", r.Kept())
	}
	if r.Allow(now, 1, 2) || !r.Allow(now, 1, 1) {
		t.Error("the rate of one that is kept changed")
	}
	now = now.Add(10 * time.Second)
	if !r.Allow(now, 5, 3) || !r.Allow(now, 6, 3) || r.Kept() != 2 {
		t.Error("those that have their burst again are not forgotten")
	}
}
