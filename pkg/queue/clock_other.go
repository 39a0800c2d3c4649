//go:build !linux

package queue

import "time"

// bootTime is the monotonic clock, on systems where we know no better one.
func bootTime() time.Duration { return time.Since(processStart) }

var processStart = time.Now()
