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

// TestDesign: the sections that comments cite are in design.md, and its map has every package.
func TestDesign(t *testing.T) {
	design, err := os.ReadFile("design.md")
	if err != nil {
		t.Fatal(err)
	}
	formats, err := os.ReadFile("formats.md")
	if err != nil {
		t.Fatal(err)
	}
	h := house{design: string(design), formats: string(formats)}
	if err := h.walk(".."); err != nil {
		t.Fatal(err)
	}
	for _, p := range h.problems() {
		t.Error(p)
	}
	if len(h.cited) < 5 || len(h.folders) < 30 {
		t.Errorf("%d citations and %d packages found: is the test looking at the module?", len(h.cited), len(h.folders))
	}
}

// house is what design.md is held to.
type house struct {
	design, formats string
	cited           map[string]string // "design §3.1" or "protocols §2.4" → a file that cites it
	folders         []string          // with Go files
	files           map[string]bool   // all files and folders
}

// cites finds sections of design.md, and clauses of formats.md where a comment calls them
// those of the protocols.
var cites = regexp.MustCompile(`\b(design|protocols|formats)(?:\.md)? §(\d+(?:\.\d+)*)((?:,? and §\d+(?:\.\d+)*)*)`)

var section = regexp.MustCompile(`§(\d+(?:\.\d+)*)`)

// walk reads the module under root.
func (h *house) walk(root string) error {
	h.cited, h.files = map[string]string{}, map[string]bool{}
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
		isGo := strings.HasSuffix(rel, ".go")
		if !isGo && !strings.HasSuffix(rel, ".md") || rel == "docs/design_test.go" {
			return nil
		}
		if dir := filepath.ToSlash(filepath.Dir(rel)); isGo && !slices.Contains(h.folders, dir) {
			h.folders = append(h.folders, dir)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		h.read(rel, string(text))
		return nil
	})
}

// read notes what a file cites.
func (h *house) read(file, text string) {
	for _, m := range cites.FindAllStringSubmatch(text, -1) {
		for _, s := range section.FindAllStringSubmatch("§"+m[2]+m[3], -1) {
			h.cited[m[1]+" §"+s[1]] = file
		}
	}
}

var (
	mapRow    = regexp.MustCompile(`(?m)^\| ((?:cmd|internal|pkg)[\w/, ]*) \|`)
	clauseRow = regexp.MustCompile(`^\| (\d+\.\d+(?:\.\d+)?)\b`)
	anchor    = regexp.MustCompile(`\]\(#([\w-]+)\)`)
	repoPath  = regexp.MustCompile("`((?:cmd|internal|pkg|docs|deploy|bench)/[\\w./-]*)`")
)

// problems says where design.md and the code disagree.
func (h *house) problems() (bad []string) {
	add := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	sections, clauses := map[string]bool{}, map[string]bool{}
	for line := range strings.SplitSeq(h.design, "\n") {
		if m := heading.FindStringSubmatch(line); m != nil {
			sections[m[1]] = true
		}
	}
	for line := range strings.SplitSeq(h.formats, "\n") {
		if m := heading.FindStringSubmatch(line); m != nil {
			clauses[m[1]] = true
		}
		if m := clauseRow.FindStringSubmatch(line); m != nil {
			clauses[m[1]] = true
		}
	}
	for cited, file := range h.cited {
		doc, number, _ := strings.Cut(cited, " §")
		if doc == "design" && !sections[number] || doc != "design" && !clauses[number] {
			add("%s cites %s, and it is not there", file, cited)
		}
	}
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

// A page made up for it, with one mistake of each kind.
func TestDesignTestCanFail(t *testing.T) {
	const good = "## 3 Promises\n### 3.1 Owners\n[x](#3-promises) `internal/a/b.go`\n\n| internal/a | x |\n| cmd/b, cmd/c | y |\n"
	for _, c := range []struct {
		design, comment string
		want            []string
	}{
		{good, "See design §3 and §3.1, and protocols §2.4.", nil},
		{good, "See design §3 and §4.", []string{"x.go cites design §4, and it is not there"}},
		{good, "See protocols §2.5.", []string{"x.go cites protocols §2.5, and it is not there"}},
		{strings.Replace(good, "internal/a |", "internal/z |", 1), "", []string{
			"internal/a has no row in the map of docs/design.md §12: add one, with its job in one sentence",
			"internal/z is in the map and not in the module",
		}},
		{good + "`internal/a/none.go`", "", []string{"internal/a/none.go is named, and does not exist"}},
		{good + "[x](#4-more)", "", []string{"no heading for #4-more"}},
	} {
		h := house{
			design: c.design, formats: "## 2 Host\n### 2.4 Claims\n", cited: map[string]string{},
			folders: []string{"internal/a", "cmd/b", "cmd/c", "docs"},
			files:   map[string]bool{"internal/a": true, "cmd/b": true, "cmd/c": true, "internal/a/b.go": true},
		}
		h.read("x.go", c.comment)
		if got := h.problems(); !slices.Equal(got, c.want) {
			t.Errorf("%q, %s\n got %q\nwant %q", c.comment, c.design, got, c.want)
		}
	}
}
