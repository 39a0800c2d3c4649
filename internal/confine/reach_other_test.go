//go:build !linux

package confine_test

// offline does nothing where nothing is confined.
func offline(string) {}

// reach does nothing where nothing is confined.
func reach(int) {}
