//go:build linux || darwin || freebsd || dragonfly

package disk

import (
	"math"

	"golang.org/x/sys/unix"
)

// MaxFiles is how many files and connections this process may have open. The Go runtime has
// already raised the limit as far as it may.
func MaxFiles() int {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return defaultFiles
	}
	return int(min(uint64(l.Cur), math.MaxInt32))
}
