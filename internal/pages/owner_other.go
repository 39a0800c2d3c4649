//go:build !unix

package pages

import "os"

// signalZero: FindProcess has already failed for a process that does not exist.
func signalZero(*os.Process) bool { return true }
