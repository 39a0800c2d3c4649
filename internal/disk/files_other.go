//go:build !(linux || darwin || freebsd || dragonfly)

package disk

// MaxFiles is how many files and connections this process may have open.
func MaxFiles() int { return defaultFiles }
