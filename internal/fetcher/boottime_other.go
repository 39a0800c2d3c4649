//go:build !linux

package fetcher

import "time"

// bootTime is meant to go on while the machine sleeps; without CLOCK_BOOTTIME Go's monotonic clock has to do.
func bootTime() time.Duration { return time.Since(processStart) }
