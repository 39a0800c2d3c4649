package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/curtsy/curtsy/internal/mobile/pagereader"
)

// The module that is checked in is what its source compiles to. With another release of Go the
// octets differ, so then nothing can be compared.
func TestModuleIsUpToDate(t *testing.T) {
	if pagereader.GoVersion() != runtime.Version() {
		t.Skipf("the module was compiled with %s, and this is %s; go generate ./internal/mobile/pagereader makes it anew", pagereader.GoVersion(), runtime.Version())
	}
	dir := t.TempDir()
	if err := run(dir); err != nil {
		t.Fatal(err)
	}
	again, err := os.ReadFile(filepath.Join(dir, "robot.wasm.gz"))
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(again))
	if err != nil {
		t.Fatal(err)
	}
	module, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(module, pagereader.Module()) {
		t.Error("the robot, or a package that it imports, has changed; type: go generate ./internal/mobile/pagereader")
	}
}
