//go:build !linux

package queue

import "time"

// bootTime is the monotonic clock where no better one is at hand.
func bootTime() time.Duration { return time.Since(processStart) }

var processStart = time.Now()
