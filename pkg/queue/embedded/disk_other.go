//go:build !(linux || darwin || freebsd || dragonfly)

package embedded

import "os"

// diskSpace guesses where the file system cannot be asked: 16 GiB, about what the streams of a crawl want at most.
func diskSpace(string) (free, total int64, err error) { return 16 * gib, 16 * gib, nil }

// lockFile relies on the system's own sharing rules where there is no flock.
func lockFile(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
}
