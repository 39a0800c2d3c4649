//go:build !linux && !darwin && !freebsd && !dragonfly

package main

import "io"

// columnsOf is how wide a terminal is; 0: nobody knows.
func columnsOf(io.Writer) int { return 0 }
