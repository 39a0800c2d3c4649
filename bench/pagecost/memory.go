package main

import (
	"time"

	"github.com/curtsy/curtsy/bench/command"
)

// watched runs f and returns the maximum memory of this process meanwhile, sampled twenty times a
// second.
func watched(f func() error) (m command.Memory, err error) {
	done := make(chan error, 1)
	go func() { done <- f() }()
	t := time.NewTicker(50 * time.Millisecond)
	defer t.Stop()
	for {
		m = m.Max(command.OwnMemory())
		select {
		case err := <-done:
			return m, err
		case <-t.C:
		}
	}
}
