package wire

import (
	"runtime/debug"
	"testing"
)

func gcPercent() int {
	now := debug.SetGCPercent(100)
	debug.SetGCPercent(now)
	return now
}

// Garbage is collected sooner as long as much of a budget is in use, and a lower percentage stays.
func TestCollectSooner(t *testing.T) {
	for before, want := range map[int]int{100: soonPercent, 400: soonPercent, 20: 20} {
		was := debug.SetGCPercent(before)
		a, b := newMemoryBudget(1600), newMemoryBudget(1600)
		first, ok := a.bodies.Try(1000)
		second, also := b.gathered.Try(150)
		if !ok || !also || gcPercent() != want {
			t.Errorf("%d became %d while two budgets are in use, not %d", before, gcPercent(), want)
		}
		first.Release(0)
		if gcPercent() != want {
			t.Errorf("%d became %d while one budget is in use", before, gcPercent())
		}
		second.Release(0)
		if gcPercent() != before {
			t.Errorf("%d became %d afterwards", before, gcPercent())
		}
		debug.SetGCPercent(was)
	}
}
