package pagetext

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// manuals returns the pages of manuals that Debian's packages install, at most limit of each. The
// tests and benchmarks of real pages skip those that are not installed. CURTSY_MANUALS names
// others, separated by colons.
func manuals(t testing.TB, limit int) map[string]map[string][]byte {
	dirs := []string{"/usr/share/doc/postgresql-doc-15/html", "/usr/share/doc/python3-doc/html"}
	if more := os.Getenv("CURTSY_MANUALS"); more != "" {
		dirs = append(dirs, strings.Split(more, ":")...)
	}
	all := make(map[string]map[string][]byte)
	for _, dir := range dirs {
		root, err := filepath.EvalSymlinks(dir)
		if err != nil {
			continue
		}
		docs := make(map[string][]byte)
		filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || len(docs) >= limit {
				return fs.SkipAll
			}
			if strings.HasSuffix(path, ".html") && d.Type().IsRegular() {
				if doc, err := os.ReadFile(path); err == nil && len(doc) > 0 {
					docs[path[len(root)+1:]] = doc
				}
			}
			return nil
		})
		if len(docs) > 0 {
			all[dir] = docs
		}
	}
	if len(all) == 0 {
		t.Skip("no manual is installed: apt-get install postgresql-doc-15 python3-doc")
	}
	return all
}

// Read builds no tree, and yet reads the same text as Text on all of these pages. It would not
// where a browser moves text, for example out of a table.
func TestReadAndTextAgree(t *testing.T) {
	limit := 300
	if os.Getenv("CURTSY_MANUALS") != "" {
		limit = 1 << 20
	}
	for dir, docs := range manuals(t, limit) {
		var x, y Extractor
		for name, doc := range docs {
			want, got := x.Text("text/html", "utf-8", doc), y.Read("https://docs.example/", "text/html", "utf-8", doc)
			if string(want.Title) != string(got.Title) || want.Lang != got.Lang {
				t.Errorf("%s: %q in %q, want %q in %q", name, got.Title, got.Lang, want.Title, want.Lang)
			}
			a, b := want.Body, got.Body
			if bytes.Equal(a, b) {
				continue
			}
			i := 0
			for i < min(len(a), len(b)) && a[i] == b[i] {
				i++
			}
			t.Errorf("%s: other text from byte %d: %.60q, want %.60q", name, i, b[i:], a[i:])
		}
		t.Logf("%s: %d pages", dir, len(docs))
	}
}
