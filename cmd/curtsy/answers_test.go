package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/curtsy/curtsy/internal/config"
)

// The server file opens everything, so nobody else may read it, whatever stood there before.
func TestServerFileMode(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, serverFile+".new"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := (serverInfo{URL: "nats://127.0.0.1:1", Password: "x"}).write(dir); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, serverFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
}

// A killed crawl leaves its server file; the readers then read the files.
func TestStaleServerFile(t *testing.T) {
	dir := t.TempDir()
	if err := (serverInfo{URL: "nats://127.0.0.1:1", Crawl: "default"}).write(dir); err != nil {
		t.Fatal(err)
	}
	a := &app{stderr: new(bytes.Buffer)}
	cfg := config.NewReader()
	cfg.Dir = dir
	if _, err := a.dialDir(t.Context(), cfg); !errors.Is(err, errNotRunning) {
		t.Errorf("dialDir = %v, want errNotRunning", err)
	}
}
