//go:build unix

package pages

import (
	"errors"
	"os"
	"syscall"
)

// signalZero asks whether p exists without disturbing it.
func signalZero(p *os.Process) bool {
	err := p.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, syscall.EPERM)
}
