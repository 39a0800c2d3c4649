package crawl

import (
	"fmt"
	"math"
	"testing"
)

// A sketch counts exactly up to its size, near enough beyond, and merged as if it were one.
func TestSketch(t *testing.T) {
	for _, n := range []int{0, 1, SketchSize - 1, SketchSize, 100_000} {
		var a, b Sketch
		for i := range n {
			text := fmt.Sprintf("https://a.example/%d", i)
			if i%3 != 0 {
				a.Add(text)
			}
			if i%3 != 1 {
				b.Add(text)
			}
			b.Add(text[:len(text)-len(text)%2]) // seen before, or soon
		}
		want := map[string]bool{}
		for i := range n {
			text := fmt.Sprintf("https://a.example/%d", i)
			want[text], want[text[:len(text)-len(text)%2]] = true, true
		}
		a.Merge(b)
		off := math.Abs(a.Count() - float64(len(want)))
		if a.Exact() && off > 0 || off > 0.06*float64(len(want)) || len(a.Least) > SketchSize {
			t.Errorf("%d texts: counted %.0f of %d, exact: %v", n, a.Count(), len(want), a.Exact())
		}
		if a.Exact() != (len(want) < SketchSize) {
			t.Errorf("%d texts: exact: %v", len(want), a.Exact())
		}
	}
}
