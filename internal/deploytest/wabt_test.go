//go:build external

package deploytest

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestExternalSmokeWabt assembles the robot in WebAssembly text of the documentation. Its octets
// are those with which internal/agenthost tests it (TestInventory).
func TestExternalSmokeWabt(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(root, "docs", "mobile-robots.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile("(?s)```wat\n(.*?)```").FindSubmatch(page)
	if text == nil {
		t.Fatal("the page has no example in WebAssembly text")
	}
	dir := t.TempDir()
	wat, wasm := filepath.Join(dir, "inventory.wat"), filepath.Join(dir, "inventory.wasm")
	if err := os.WriteFile(wat, text[1], 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, "wat2wasm", "-o", wasm, wat)
	made, err := os.ReadFile(wasm)
	if err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join("internal", "agenthost", "testdata", "inventory.wasm")
	want, err := os.ReadFile(filepath.Join(root, kept))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(made, want) {
		t.Errorf("the text makes other octets than %s has; store them: wat2wasm -o %s, from the text of the page", kept, kept)
	}
}
