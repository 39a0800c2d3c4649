//go:build !linux

package boottime

import "time"

// measureSleep is not supported without CLOCK_BOOTTIME; then Go's monotonic clock is used.
func measureSleep() (most, width time.Duration, ok bool) { return 0, 0, false }
