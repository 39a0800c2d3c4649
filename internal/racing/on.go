//go:build race

package racing

// Enabled tells whether the race detector is part of this program.
const Enabled = true
