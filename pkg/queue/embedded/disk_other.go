//go:build !(linux || darwin || freebsd || dragonfly)

package embedded

import "os"

// diskSpace assumes 16 GiB, because it cannot query the file system here. The streams of a crawl
// need about that much at most.
func diskSpace(string) (free, total int64, err error) { return 16 * gib, 16 * gib, nil }

// lockFile relies on the file sharing rules of the system, because there is no flock.
func lockFile(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
}
