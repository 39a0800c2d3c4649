//go:build !race

package testaid

// RaceDetector reports whether the race detector is part of this program.
const RaceDetector = false
