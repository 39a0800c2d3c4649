//go:build !linux || !(amd64 || arm64)

package confine

import "errors"

// Offline returns an error: only Linux on amd64 and arm64 can refuse a network to a process.
func Offline() error {
	return errors.New("only Linux on amd64 and arm64 refuses a network to a process")
}
