//go:build !linux

package confine

import "time"

// Process returns what a child cannot give up on this system: everything except time and the limit
// of its answers, which the parent enforces.
func Process(int64, time.Duration) (missing []string) {
	return []string{"memory", "files", "system calls"}
}

// Allow does nothing on this system.
func Allow(time.Duration) {}

// BeforeExec does nothing on this system.
func BeforeExec(int64, time.Duration) {}

// Limit limits nothing on this system.
func Limit(memory, file int64) (missing []string) { return []string{"memory", "writing", "core"} }
