package testaid

import "os"

// Under the race detector a test takes up to twenty times as long. It finds a race by what
// goroutines do, and not by how often they do it. So a test that is long because of its volume does
// less of the same there. With CURTSY_LONG set in the environment, as `make long` sets it, such a
// test does more.

// Long reports whether CURTSY_LONG is set: there is time for repetitions that prove little.
var Long = os.Getenv("CURTSY_LONG") != ""

// longer is how many times as many random runs there are if Long is set.
const longer = 25

// Volume is how much of something a test does: n, or less under the race detector.
func Volume(n, less int) int {
	if RaceDetector {
		return less
	}
	return n
}

// Runs is how often a test repeats something with another random seed: n times, or less under the
// race detector, and 25 times as often if Long is set.
func Runs(n, less int) int { return runs(n, less, Long) }

func runs(n, less int, long bool) int {
	n = Volume(n, less)
	if long {
		n *= longer
	}
	return n
}
