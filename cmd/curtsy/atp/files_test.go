package atp

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestFileNames(t *testing.T) {
	for path, want := range map[string]string{
		"/": "index.html", "/a": "a", "/a/": "a|index.html", "/a/b%20c.html": "a|b%20c.html", "/a/..%2Fb": "a|..%2Fb", "/a?b=c/d": "a?b=c%2Fd", "/?b": "index.html?b", "/a/?b=/": "a|index.html?b=%2F",
		"/a/../b": "", "/..": "", "/./a": "", "//a": "", "/a//b": "", "/" + strings.Repeat("a", 256): "",
	} {
		got, err := fileNames(path, "text/html; charset=utf-8")
		if strings.Join(got, "|") != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v, want %q", path, got, err, want)
		}
	}
	if got, err := fileNames("/a/", "text/plain"); err != nil || !slices.Equal(got, []string{"a", "index"}) {
		t.Errorf("%q, %v", got, err)
	}
}

// Nothing outside of the directory is touched, whatever is in it.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(dir, "outside")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(outside, 0o755))
	must(os.WriteFile(filepath.Join(outside, "file"), []byte("mine"), 0o644))
	in := filepath.Join(dir, "in", "documents")
	f, err := openFiles(in)
	must(err)
	defer f.root.Close()
	must(os.Symlink(outside, filepath.Join(in, "link")))
	must(os.Symlink(filepath.Join(outside, "file"), filepath.Join(in, "link.html")))
	must(os.Link(filepath.Join(outside, "file"), filepath.Join(in, "hard.html")))
	must(os.Mkdir(filepath.Join(in, "dir"), 0o755))
	for path, ok := range map[string]bool{
		"/a/b/c.html": true, "/hard.html": true, "/link/file": false, "/link/new": false, "/link.html": false, "/dir": false, "/../outside/file": false,
	} {
		if err := f.store(path, "text/html", []byte("theirs")); (err == nil) != ok {
			t.Errorf("%s: %v", path, err)
		}
	}
	must(f.store("/a/b/c.html", "text/html", []byte("again")))
	if err := f.store("/a/b/c.html/d", "text/html", nil); err == nil {
		t.Error("a file became a directory")
	}
	for name, want := range map[string]string{"outside/file": "mine", "in/documents/a/b/c.html": "again", "in/documents/hard.html": "theirs"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
		t.Errorf("%d files are outside, %v", len(entries), err)
	}
	if _, err := openFiles(filepath.Join(outside, "file")); err == nil {
		t.Error("a file was opened as a directory")
	}
}
