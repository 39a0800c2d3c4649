package restore

import (
	"os"
	"path/filepath"
	"testing"
)

// What a restore has left behind is removed with the deltas, and nothing beside it.
func TestRemoveAll(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"x", "x.0", "x.1", "xy", "y.0"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	removeAll(filepath.Join(dir, "x"))
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 || left[0].Name() != "xy" || left[1].Name() != "y.0" {
		t.Errorf("left: %v (%v), want xy and y.0", left, err)
	}
}
