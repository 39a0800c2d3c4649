package testaid

import "testing"

var sink int

func work(n int) func() {
	return func() {
		for i := range n {
			sink += i * i
		}
	}
}

func TestMeasure(t *testing.T) {
	const n = 1_000_000
	if eightTimes, eight, ok := measure(30, work(n), work(8*n)); !ok {
		t.Errorf("eight times the work takes %v, and the work eight times %v", eight, eightTimes)
	}
	if eightTimes, eight, ok := measure(2, work(n), work(64*n)); ok {
		t.Errorf("64 times the work takes %v, and the work eight times %v", eight, eightTimes)
	}
}

// TestCheckCostTakesTime: a page that takes far more than eight times as long as an eighth of it is
// found, whatever its size.
func TestCheckCostTakesTime(t *testing.T) {
	cost := func(size int) func() {
		if size == small || size == large {
			return work(5_000_000)
		}
		return func() {}
	}
	if got := costs(t, 1<<10, cost); len(got) != 1 {
		t.Errorf("found: %q, want one complaint", got)
	}
	if got := costs(t, 1<<10, func(size int) func() { return work(100 * size) }); len(got) > 0 {
		t.Errorf("found: %q of work that is linear", got)
	}
}
