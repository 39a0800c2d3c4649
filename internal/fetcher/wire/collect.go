package wire

import (
	"runtime/debug"
	"sync"
)

// collecting is how the garbage of this process is collected. Large pages leave much garbage, and
// Go lets the heap grow to twice of what is in use. While much of a memory for pages is in use, the
// heap may only be half as large again, which costs little because it is then mostly buffers.
var collecting struct {
	mu      sync.Mutex // guards what follows
	pressed int        // budgets of which much is in use
	percent int        // as it was before
}

// soonPercent is the GC percentage while much memory for pages is in use.
const soonPercent = 50

// collectSooner is called when much of a budget is in use, and when that is over. A lower
// percentage that the operator has set (GOGC) stays.
func collectSooner(high bool) {
	c := &collecting
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case high:
		if c.pressed++; c.pressed == 1 {
			if c.percent = debug.SetGCPercent(soonPercent); c.percent >= 0 && c.percent < soonPercent {
				debug.SetGCPercent(c.percent)
			}
		}
	default:
		if c.pressed--; c.pressed == 0 {
			debug.SetGCPercent(c.percent)
		}
	}
}
