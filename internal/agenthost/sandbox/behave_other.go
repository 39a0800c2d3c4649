//go:build !linux

package sandbox

// behave does nothing on this system.
func behave() {}
