//go:build linux && !amd64 && !arm64

package worker

import "errors"

func allowed() []byte { return nil }
func reading() []byte { return nil }

// filter says that the numbers of this architecture's system calls are not listed here.
func filter([]byte) error { return errors.New("no filter of system calls for this architecture") }
