//go:build !(linux || darwin || freebsd || dragonfly)

package disk

import "math"

// Space reports endless room where the file system cannot be asked. A full disk then shows as
// an error of writing.
func Space(string) (free, total int64, err error) { return math.MaxInt64 / 4, 0, nil }
