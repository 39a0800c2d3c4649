//go:build unix

package indexer

import (
	"os"
	"syscall"
)

// lockFile locks the marks for this process.
func lockFile(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
