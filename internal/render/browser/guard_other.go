//go:build !linux

package browser

import "syscall"

// attributes returns no way to start a browser, because there is none without a network.
func attributes() []*syscall.SysProcAttr { return nil }
