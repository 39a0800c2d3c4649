//go:build linux || darwin || freebsd || dragonfly

package term

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// columnsOf is the width of a terminal; 0 means unknown.
func columnsOf(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}
