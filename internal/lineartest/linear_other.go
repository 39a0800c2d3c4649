//go:build !linux

package lineartest

import "testing"

// Linear runs both. How long they take is not measured on this system.
func Linear(t testing.TB, what string, one, eight func()) {
	t.Helper()
	one()
	eight()
}
