package disk

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestTighten(t *testing.T) {
	dir, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "x")
	modes := map[string][2]fs.FileMode{ // before and after
		"frontier-0.db": {0o644, 0o600}, "pages-11.db": {0o644, 0o600}, "pages-11.db.owner": {0o664, 0o600}, "search-0.db": {0o640, 0o600},
		"spec.json": {0o644, 0o600}, "crawl.jsonl": {0o644, 0o600}, "indexer.lock": {0o644, 0o600}, "search-1.db": {0o400, 0o400},
		"pages.jsonl": {0o644, 0o644}, "notes.txt": {0o644, 0o644},
	}
	put := func(path string, mode fs.FileMode) {
		t.Helper()
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	has := func(path string, mode fs.FileMode) {
		t.Helper()
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v, want %v", path, info.Mode(), err, mode)
		}
	}
	for name, m := range modes {
		put(filepath.Join(dir, name), m[0])
	}
	put(elsewhere, 0o644)
	if err := os.Symlink(elsewhere, filepath.Join(dir, "pages-2.db")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "pages-3.db"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Tighten(dir); err != nil {
		t.Fatal(err)
	}
	for name, m := range modes {
		has(filepath.Join(dir, name), m[1])
	}
	has(elsewhere, 0o644)
	has(filepath.Join(dir, "pages-3.db"), 0o755)
}
