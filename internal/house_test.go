package internal_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// The bounds of a house in which a new colleague finds the room at first sight. A type, a package
// or a function past them is divided, or has a line in larger that says how large it may be.
const (
	mostMethods    = 40 // of a type
	mostFields     = 40 // of a struct
	mostFiles      = 30 // of a package, tests not counted
	mostParameters = 8  // of a function
	mostLines      = 80 // of a function
)

// larger are what is larger, by its measure and name, with its size of today and the reason. The
// size may only fall: a line that is too large fails as one that is missing does.
var larger = map[string]int{}

func TestHouse(t *testing.T) {
	got := map[string]int{}
	h := house{fields: map[string]int{}, methods: map[string]int{}, files: map[string]int{}, parameters: map[string]int{}, lines: map[string]int{}}
	h.walk(t)
	for measure, sizes := range map[string]map[string]int{
		"methods of": h.methods, "fields of": h.fields, "files of": h.files, "parameters of": h.parameters, "lines of": h.lines,
	} {
		most := map[string]int{"methods of": mostMethods, "fields of": mostFields, "files of": mostFiles, "parameters of": mostParameters, "lines of": mostLines}[measure]
		for name, n := range sizes {
			if n > most {
				got[measure+" "+name] = n
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		switch allowed, ok := larger[name]; {
		case !ok:
			t.Errorf("%d %s: divide it", got[name], name)
		case got[name] > allowed:
			t.Errorf("%d %s, and there were %d: it may only get smaller", got[name], name, allowed)
		case got[name] < allowed:
			t.Errorf("%d %s, no longer %d: write that down in larger", got[name], name, allowed)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(larger)) {
		if got[name] == 0 {
			t.Errorf("%s is within the bounds: remove its line from larger", name)
		}
	}
}

// house counts what the product is made of.
type house struct {
	methods, fields, files, parameters, lines map[string]int
}

func (h *house) walk(t *testing.T) {
	for _, root := range []string{"../cmd", "../internal", "../pkg"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			h.file(fset, strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../"), f)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (h *house) file(fset *token.FileSet, pkg string, f *ast.File) {
	h.files[pkg]++
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := pkg + "." + d.Name.Name
			if d.Recv != nil {
				of := receiver(d.Recv.List[0].Type)
				h.methods[pkg+"."+of]++
				name = pkg + "." + of + "." + d.Name.Name
			}
			h.parameters[name] = d.Type.Params.NumFields()
			h.lines[name] = fset.Position(d.End()).Line - fset.Position(d.Pos()).Line + 1
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if ts, ok := s.(*ast.TypeSpec); ok {
					if st, ok := ts.Type.(*ast.StructType); ok {
						h.fields[pkg+"."+ts.Name.Name] = st.Fields.NumFields()
					}
				}
			}
		}
	}
}

func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return fmt.Sprintf("%T", e)
}

// privateNames are words that stand in no exported name, as parts of it: what they meant is not
// what a reader takes them for. CONTRIBUTING.md has the vocabulary.
var privateNames = strings.Fields("told tell tells said says errand errands hand hands seat outlet kit letter letters asleep awake woken " +
	"owe owed owes owing jam jams park parked door doors ghost ghosts hop hops steer wish wishes apart")

// ordinaryNames are exported names with such a part in its ordinary sense.
var ordinaryNames = map[string]string{
	"HandOver": "a shard changes its owner, as design §10 has it",
	"Hop":      "the number of a redirect, as in the five consecutive redirects of RFC 9309",
	"IsLetter": "a letter of the alphabet",
}

func TestExportedNames(t *testing.T) {
	needed := map[string]bool{}
	seen := 0
	for _, root := range []string{"../cmd", "../internal", "../pkg"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for _, name := range exported(f) {
				seen++
				for _, part := range parts(name) {
					if !slices.Contains(privateNames, part) {
						continue
					}
					if _, ok := ordinaryNames[name]; ok {
						needed[name] = true
						continue
					}
					t.Errorf("%s: %s has the private word %q", path, name, part)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name := range ordinaryNames {
		if !needed[name] {
			t.Errorf("nothing is named %s any more: remove its line", name)
		}
	}
	if seen < 3000 {
		t.Errorf("only %d exported names were seen", seen)
	}
}

// exported are the exported names that a file declares: functions, types, their fields, constants
// and variables.
func exported(f *ast.File) (names []string) {
	add := func(ids ...*ast.Ident) {
		for _, id := range ids {
			if id.IsExported() {
				names = append(names, id.Name)
			}
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			add(d.Name)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.ValueSpec:
					add(s.Names...)
				case *ast.TypeSpec:
					add(s.Name)
					ast.Inspect(s.Type, func(n ast.Node) bool {
						if f, ok := n.(*ast.Field); ok {
							add(f.Names...)
						}
						return true
					})
				}
			}
		}
	}
	return names
}

// parts are the words of a name in camel case, in lower case.
func parts(name string) (all []string) {
	r := []rune(name)
	from := 0
	for i := 1; i <= len(r); i++ {
		if i == len(r) || unicode.IsUpper(r[i]) && (!unicode.IsUpper(r[i-1]) || i+1 < len(r) && unicode.IsLower(r[i+1])) {
			all = append(all, strings.ToLower(string(r[from:i])))
			from = i
		}
	}
	return all
}

// TestEachPackageHasTests: whoever changes a package finds its tests beside it.
func TestEachPackageHasTests(t *testing.T) {
	code, tests := map[string]bool{}, map[string]bool{}
	err := filepath.WalkDir("../internal", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.Contains(filepath.ToSlash(path), "/testdata/") {
			return err
		}
		pkg := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../")
		if strings.HasSuffix(path, "_test.go") {
			tests[pkg] = true
		} else {
			code[pkg] = true
		}
		return nil
	})
	if err != nil || len(code) < 50 {
		t.Fatalf("%d packages, %v", len(code), err)
	}
	for _, pkg := range slices.Sorted(maps.Keys(code)) {
		if !tests[pkg] {
			t.Errorf("%s has no test file", pkg)
		}
	}
}
