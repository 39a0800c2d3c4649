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

func TestDoubles(t *testing.T) {
	const n = 10_000_000
	if half, all, ok := Doubles(30, work(n), work(2*n)); !ok {
		t.Errorf("work that is twice as much takes %v and %v", half, all)
	}
	if half, all, ok := Doubles(30, work(n), work(8*n)); ok {
		t.Errorf("work that is eight times as much takes %v and %v", half, all)
	}
}
