//go:build !linux

package boottime

import "time"

// slept is not known without CLOCK_BOOTTIME: Go's monotonic clock has to do.
func slept() (time.Duration, bool) { return 0, false }
