//go:build !(linux || darwin || freebsd || dragonfly)

package disk

import "math"

// Space says that there is room where the file system cannot be asked: a full disk shows as an error of writing.
func Space(string) (free, total int64, err error) { return math.MaxInt64 / 4, 0, nil }
