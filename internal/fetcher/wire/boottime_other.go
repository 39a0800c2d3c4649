//go:build !linux

package wire

import "time"

// BootTime is meant to go on while the machine sleeps; without CLOCK_BOOTTIME Go's
// monotonic clock has to do.
func BootTime() time.Duration { return time.Since(processStart) }
