package docs_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDesign: the map of design.md has every package, and the paths and headings it names exist.
// Whether the sections that comments cite exist is checked by TestReferences.
func TestDesign(t *testing.T) {
	design, err := os.ReadFile("design.md")
	if err != nil {
		t.Fatal(err)
	}
	h := house{design: string(design)}
	if err := h.walk(".."); err != nil {
		t.Fatal(err)
	}
	for _, p := range h.problems() {
		t.Error(p)
	}
	if len(h.folders) < 30 {
		t.Errorf("%d packages found: does the test read the module?", len(h.folders))
	}
}

// house is what design.md is compared with.
type house struct {
	design  string
	folders []string        // with Go files
	files   map[string]bool // all files and folders
}

// walk reads the module under root.
func (h *house) walk(root string) error {
	h.files = map[string]bool{}
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		rel = filepath.ToSlash(rel)
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != root) {
			return fs.SkipDir
		}
		h.files[rel] = true
		if d.IsDir() {
			return nil
		}
		if dir := filepath.ToSlash(filepath.Dir(rel)); strings.HasSuffix(rel, ".go") && !slices.Contains(h.folders, dir) {
			h.folders = append(h.folders, dir)
		}
		return nil
	})
}

var (
	mapRow    = regexp.MustCompile(`(?m)^\| ((?:cmd|internal|pkg)[\w/, ]*) \|`)
	clauseRow = regexp.MustCompile(`^\| (\d+\.\d+(?:\.\d+)?)\b`)
	anchor    = regexp.MustCompile(`\]\(#([\w-]+)\)`)
	repoPath  = regexp.MustCompile("`((?:cmd|internal|pkg|docs|deploy|bench)/[\\w./-]*)`")
)

// problems are the places where design.md and the code disagree.
func (h *house) problems() (bad []string) {
	add := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	var rows []string
	for _, m := range mapRow.FindAllStringSubmatch(h.design, -1) {
		rows = append(rows, strings.Split(m[1], ", ")...)
	}
	for _, folder := range h.folders {
		inMap := strings.HasPrefix(folder, "cmd/") || strings.HasPrefix(folder, "internal/") || strings.HasPrefix(folder, "pkg/")
		if inMap && !slices.Contains(rows, folder) {
			add("%s has no row in the map of docs/design.md §12: add one, with its job in one sentence", folder)
		}
	}
	for _, row := range rows {
		if !h.there(row) {
			add("%s is in the map and not in the module", row)
		}
	}
	for _, m := range repoPath.FindAllStringSubmatch(h.design, -1) {
		if !h.there(strings.TrimSuffix(m[1], "/")) {
			add("%s is named, and does not exist", m[1])
		}
	}
	for _, m := range anchor.FindAllStringSubmatch(h.design, -1) {
		if !slices.Contains(anchors(h.design), m[1]) {
			add("no heading for #%s", m[1])
		}
	}
	slices.Sort(bad)
	return slices.Compact(bad)
}

func (h *house) there(path string) bool { return h.files[path] }

// The test is given a page with one mistake of each kind.
func TestDesignTestCanFail(t *testing.T) {
	const good = "## 3 Promises\n### 3.1 Owners\n[x](#3-promises) `internal/a/b.go`\n\n| internal/a | x |\n| cmd/b, cmd/c | y |\n"
	for _, c := range []struct {
		design string
		want   []string
	}{
		{good, nil},
		{strings.Replace(good, "internal/a |", "internal/z |", 1), []string{
			"internal/a has no row in the map of docs/design.md §12: add one, with its job in one sentence",
			"internal/z is in the map and not in the module",
		}},
		{good + "`internal/a/none.go`", []string{"internal/a/none.go is named, and does not exist"}},
		{good + "[x](#4-more)", []string{"no heading for #4-more"}},
	} {
		h := house{
			design:  c.design,
			folders: []string{"internal/a", "cmd/b", "cmd/c", "docs"},
			files:   map[string]bool{"internal/a": true, "cmd/b": true, "cmd/c": true, "internal/a/b.go": true},
		}
		if got := h.problems(); !slices.Equal(got, c.want) {
			t.Errorf("%s\n got %q\nwant %q", c.design, got, c.want)
		}
	}
}
