package web

import (
	"fmt"
	"testing"
)

// The number of addresses that are counted is bounded.
func TestTriesAreBounded(t *testing.T) {
	var all tries
	for i := range 3 * triesKept {
		all.of(fmt.Sprintf("10.0.%d.%d:4000", i/256, i%256)).Allow()
	}
	if n := len(all.by); n > triesKept+1 {
		t.Errorf("%d addresses are counted", n)
	}
}
