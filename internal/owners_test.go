package internal_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// owned are the packages whose data changes only by their own code: no other package assigns a
// field of one of their types. Their methods say what happens, and keep the invariants of the
// fields.
const owned = module + "internal/frontier"

// values are types of these packages that others fill in, since they are messages, not state.
var values = map[string]string{
	"urls.Verdict":    "a decision about a URL on its way to SetState",
	"hosts.Summary":   "what a pass over all hosts has found, on its way to Summarised",
	"hosts.Options":   "what a Ledger is made from",
	"mirror.Sample":   "a page that is proposed for a comparison",
	"store.LogFilter": "a question to the crawl log",
}

// listed is what `go list -export` prints of a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// TestDataHasOwners type-checks the packages of the frontier and looks at every assignment.
func TestDataHasOwners(t *testing.T) {
	seen := 0
	for _, w := range foreignWrites(t, "./frontier/...", &seen) {
		if _, ok := values[w.owner]; !ok {
			t.Errorf("%s: %s.%s is assigned outside its package: give its owner a method that says what happens", w.at, w.owner, w.field)
		}
	}
	if seen < 1000 {
		t.Errorf("only %d assignments were seen", seen)
	}
}

type foreignWrite struct{ at, owner, field string }

func foreignWrites(t *testing.T, pattern string, seen *int) (all []foreignWrite) {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", pattern)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	exports := map[string]string{}
	var ours []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if strings.HasPrefix(p.ImportPath, owned) {
			ours = append(ours, p)
		}
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, p := range ours {
		var files []*ast.File
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		info := &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}}
		pkg, err := (&types.Config{Importer: imports}).Check(p.ImportPath, fset, files, info)
		if err != nil {
			t.Fatal(err)
		}
		w := writes{pkg: pkg, info: info, fset: fset}
		for _, f := range files {
			ast.Inspect(f, w.look)
		}
		*seen += w.seen
		all = append(all, w.found...)
	}
	return all
}

// writes collects the assignments of one package to fields of the types of others.
type writes struct {
	pkg   *types.Package
	info  *types.Info
	fset  *token.FileSet
	seen  int
	found []foreignWrite
}

func (w *writes) look(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			for _, e := range n.Lhs {
				w.target(e)
			}
		}
	case *ast.IncDecStmt:
		w.target(n.X)
	}
	return true
}

// target looks at what is assigned: x.f, x.f[i], *x.f and the like.
func (w *writes) target(e ast.Expr) {
	w.seen++
	for {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.SelectorExpr:
			s := w.info.Selections[x]
			if s == nil || s.Kind() != types.FieldVal {
				return
			}
			field := s.Obj()
			if path := field.Pkg().Path(); field.Pkg() != w.pkg && strings.HasPrefix(path, owned) {
				w.found = append(w.found, foreignWrite{w.fset.Position(x.Pos()).String(), ownerOf(s), field.Name()})
				return
			}
			// A field of our own that is a struct by value of another package has an owner, too.
			e = x.X
			if _, ok := x.X.(*ast.SelectorExpr); !ok {
				return
			}
		default:
			return
		}
	}
}

// ownerOf is the type that a selection is made from, as package.Name.
func ownerOf(s *types.Selection) string {
	t := s.Recv()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	return types.TypeString(t, func(p *types.Package) string { return p.Name() })
}

func TestForeignWritesAreFound(t *testing.T) {
	fset := token.NewFileSet()
	parse := func(text string) *ast.File {
		f, err := parser.ParseFile(fset, "x.go", text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	a, err := (&types.Config{}).Check(owned+"/a", fset, []*ast.File{parse("package a\ntype T struct{ X int; S []int; In struct{ Y int } }\ntype U struct{ T }")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	f := parse(`package b
import "a"
type mine struct{ n int; t a.T }
func f(t *a.T, u a.U, m *mine) {
	t.X = 1
	t.S[0]++
	u.X += 2
	m.t.X = 3
	t.In.Y = 4
	m.n = 5
	t = nil
}`)
	info := &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}}
	b, err := (&types.Config{Importer: oneImport{a}}).Check(owned+"/b", fset, []*ast.File{f}, info)
	if err != nil {
		t.Fatal(err)
	}
	w := writes{pkg: b, info: info, fset: fset}
	ast.Inspect(f, w.look)
	var got []string
	for _, x := range w.found {
		got = append(got, x.owner+"."+x.field)
	}
	if want := []string{"a.T.X", "a.T.S", "a.U.X", "a.T.X", "struct{Y int}.Y"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

type oneImport struct{ p *types.Package }

func (i oneImport) Import(path string) (*types.Package, error) {
	if path != "a" {
		return nil, fmt.Errorf("no package %s", path)
	}
	return i.p, nil
}
