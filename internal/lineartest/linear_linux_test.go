package lineartest

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
	if eightTimes, eight, ok := Measure(30, work(n), work(8*n)); !ok {
		t.Errorf("work that is eight times as much takes %v, and eight times the work %v", eight, eightTimes)
	}
	if eightTimes, eight, ok := Measure(30, work(n), work(64*n)); ok {
		t.Errorf("work that is 64 times as much takes %v, and eight times the work %v", eight, eightTimes)
	}
}
