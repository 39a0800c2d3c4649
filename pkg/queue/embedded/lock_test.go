package embedded

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
)

// Neither the lock nor the marker is written through a symbolic link.
func TestFollowsNoLink(t *testing.T) {
	for _, name := range []string{"lock", "running"} {
		t.Run(name, func(t *testing.T) {
			dir, precious := t.TempDir(), filepath.Join(t.TempDir(), "precious")
			if err := os.WriteFile(precious, []byte("precious"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(precious, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
			if s, err := Start(Options{Dir: dir, Log: slog.New(slog.DiscardHandler)}); err == nil {
				s.Shutdown()
				if name == "lock" {
					t.Error("locked through a link")
				}
			}
			if b, err := os.ReadFile(precious); err != nil || string(b) != "precious" {
				t.Errorf("it holds %q now, %v", b, err)
			}
		})
	}
}
