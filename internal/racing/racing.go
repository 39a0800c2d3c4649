// Package racing tells tests how much of something to do. The race detector makes what they do take
// up to twenty times as long, and finds a race by what goroutines do, not by how often: there, a
// test that is long because of its volume does less of the same. With CURTSY_LONG set in the
// environment, as `make long` sets it, it does more.
package racing

import "os"

// Long says that CURTSY_LONG is set: there is time for volume that proves little more each time.
var Long = os.Getenv("CURTSY_LONG") != ""

// longer is how many times as many random runs there are where Long is set.
const longer = 25

// Volume is how much of something a test does: n, or less under the race detector.
func Volume(n, less int) int {
	if Enabled {
		return less
	}
	return n
}

// Runs is how often a test repeats something with another random seed: n times, or less under the
// race detector, and many times as often where Long is set.
func Runs(n, less int) int {
	n = Volume(n, less)
	if Long {
		n *= longer
	}
	return n
}
