//go:build linux || darwin || freebsd || dragonfly

package disk

import "golang.org/x/sys/unix"

// Space returns how many bytes the file system of dir has free for us, and its size in bytes.
func Space(dir string) (free, total int64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, 0, err
	}
	return int64(uint64(st.Bavail) * uint64(st.Bsize)), int64(uint64(st.Blocks) * uint64(st.Bsize)), nil
}
