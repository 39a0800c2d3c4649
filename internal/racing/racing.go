// Package racing tells tests whether the race detector watches them. It makes what they do take up
// to twenty times as long, and finds a race by what goroutines do, not by how often: there, a test
// that is long because of its volume does less of the same. The run without it has all of it.
package racing

// Volume is how much of something a test does: n, or less under the race detector.
func Volume(n, less int) int {
	if Enabled {
		return less
	}
	return n
}
