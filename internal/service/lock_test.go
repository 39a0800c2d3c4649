package service

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// If a lock file is a link, the file behind it is not emptied.
func TestLockFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	precious := filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(precious, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(precious, filepath.Join(dir, "lock")); err != nil {
		t.Fatal(err)
	}
	if l, err := LockDir(dir, "lock"); err == nil {
		l.Unlock()
		t.Error("locked through a link")
	} else if !strings.Contains(err.Error(), "symbolic link") {
		t.Error(err)
	}
	if b, err := os.ReadFile(precious); err != nil || string(b) != "precious" {
		t.Errorf("it holds %q now, %v", b, err)
	}
}

// A process that locks a data directory makes files of older versions private. A process that fails
// to lock it changes nothing.
func TestLockDataTightens(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "pages-0.db")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	mode := func() os.FileMode {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode().Perm()
	}
	l, err := LockData(dir, "lock")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := LockData(dir, "lock"); err == nil || mode() != 0o644 {
		t.Errorf("beside another process: %v, mode %v", err, mode())
	}
	if err := l.Unlock(); err != nil {
		t.Fatal(err)
	}
	if l, err = LockData(dir, "lock"); err != nil || mode() != 0o600 {
		t.Fatalf("alone: %v, mode %v", err, mode())
	}
	if err := l.Unlock(); err != nil {
		t.Fatal(err)
	}
}
