package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/settings"
)

// mostSettings is how many settings a file may name that is not the table. A command may accept a
// few settings of a crawl, and a sentence may name some. More is a second list of settings, which
// somebody who adds a setting would have to know.
const mostSettings = 4

// TestSettingsHaveOneList: a setting of a crawl is a field of crawl.Spec and a row in
// internal/settings. No other file lists the settings.
func TestSettingsHaveOneList(t *testing.T) {
	files := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "bench" || d.Name() == "tools" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != "..") {
			return fs.SkipDir
		}
		inTable := filepath.Base(filepath.Dir(path)) == "settings" ||
			filepath.ToSlash(path) == "../internal/siterules/keys.go" // settings of single sites
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || inTable {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files++
		if named := settingsIn(f); len(named) > mostSettings {
			t.Errorf("%s names %d settings of a crawl: read them from internal/settings; it names %q", path, len(named), named)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 500 {
		t.Errorf("only %d files were read", files)
	}
}

// settingsIn returns the settings that a file names, each once: in a string of its own, or in the
// tag of a field.
func settingsIn(f *ast.File) (named []string) {
	seen := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(lit.Value)
		if err != nil {
			return true
		}
		if key, ok := reflect.StructTag(text).Lookup("key"); ok {
			text = key
		}
		if settings.Find(text) != nil && !seen[text] {
			seen[text] = true
			named = append(named, text)
		}
		return true
	})
	return named
}

func TestSettingsHaveOneListCanFail(t *testing.T) {
	const second = "package x\n\ntype plan struct {\n\tScope string `key:\"scope\"`\n\tMaxPages int `key:\"max-pages\"`\n}\n\n" +
		"var names = []string{\"delay\", \"contact\", \"links\", \"delay\", \"nosuch\"}\n"
	f, err := parser.ParseFile(token.NewFileSet(), "x.go", second, 0)
	if err != nil {
		t.Fatal(err)
	}
	if named := settingsIn(f); len(named) != 5 {
		t.Errorf("%q", named)
	}
}
