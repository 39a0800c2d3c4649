package main

import (
	"testing"
	"time"
)

// A crawl of 100 pages: a page costs 1 ms in the first half and 2 ms in the second, opening takes 5
// ms, and 7 ms are used after the last page. The server uses 1 ms per page.
func TestTenths(t *testing.T) {
	ms := time.Millisecond
	p := progress{
		{0, 3 * ms, 9 * ms}, {0, 8 * ms, 9 * ms}, {50, 58 * ms, 59 * ms}, {60, 78 * ms, 69 * ms}, {100, 158 * ms, 109 * ms}, {100, 165 * ms, 109 * ms},
	}
	for i, got := range p.tenths(100) {
		want := tenth{time.Duration([]int{15, 10, 10, 10, 10, 20, 20, 20, 20, 27}[i]) * ms, 10 * ms}
		if got != want {
			t.Errorf("tenth %d: %v, want %v", i+1, got, want)
		}
	}
	if got := (progress{{0, ms, ms}}).tenths(100); got != ([10]tenth{}) {
		t.Errorf("of nothing: %v", got)
	}
}
