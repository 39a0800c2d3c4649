package disk

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A file outside of a data directory is not changed through a link in it, and opening a pipe does
// not block.
func TestOpenRegular(t *testing.T) {
	dir := t.TempDir()
	precious, link, pipe := filepath.Join(dir, "precious"), filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	if err := os.WriteFile(precious, []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(precious, link); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{link: "symbolic link", pipe: "not a regular file"} {
		for _, flag := range []int{os.O_RDONLY, os.O_RDWR | os.O_CREATE | os.O_TRUNC, os.O_RDWR | os.O_APPEND} {
			f, err := OpenRegular(path, flag)
			if err == nil {
				f.Close()
			}
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s with %x: %v", path, flag, err)
			}
		}
	}
	if err := os.Symlink(precious, filepath.Join(dir, "file.new")); err != nil {
		t.Fatal(err)
	}
	if err := Replace(filepath.Join(dir, "file"), []byte("ours")); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(precious); err != nil || string(b) != "precious" {
		t.Errorf("overwritten: %q, %v", b, err)
	}
	f, err := OpenRegular(filepath.Join(dir, "file"), os.O_RDWR|os.O_TRUNC)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() != 0 || info.Mode() != FileMode {
		t.Errorf("%v, %v", info, err)
	}
}
