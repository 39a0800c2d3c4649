//go:build !(linux || darwin || freebsd || dragonfly)

package embedded

import "os"

// diskSpace assumes 16 GiB where the file system cannot be asked: about the most that the
// streams of a crawl want.
func diskSpace(string) (free, total int64, err error) { return 16 * gib, 16 * gib, nil }

// lockFile relies on the system's own sharing rules where there is no flock.
func lockFile(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
}
