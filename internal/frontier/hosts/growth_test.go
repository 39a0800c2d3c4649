package hosts

import "testing"

// TestGrowth: the links of a host's first page do not count. A queue grows while pages lead to more
// than one new URL each, and no longer when they have led to fewer for a while.
func TestGrowth(t *testing.T) {
	t.Parallel()
	var g growth
	for range 1000 {
		g.Found()
	}
	if g.Done(); g.Grows() {
		t.Error("grows because of its index")
	}
	for range 20 {
		g.Found()
		g.Found()
		g.Done()
	}
	if !g.Grows() {
		t.Error("two URLs for each that is done, and it does not grow")
	}
	for range 20 {
		g.Done()
	}
	if g.Grows() {
		t.Error("grows without a new URL")
	}
}
