package internal_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// values are the types of the frontier whose fields another package fills in: each value belongs to
// whoever made it, and nothing is stored in it.
var values = map[string]bool{
	"hosts.Options": true, "hosts.Summary": true, "urls.Verdict": true, "store.LogFilter": true, "schedule.reading": true,
}

// TestOwners: within the frontier a field of a type is assigned only in the package of the type.
// What may happen to a host, a URL, a visit or a shard is therefore a method, which changes all
// that belongs together and marks what is to be written. Messages (internal/crawl,
// internal/questions) are values, and are filled in everywhere.
func TestOwners(t *testing.T) {
	const frontier = module + "internal/frontier"
	out, err := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export,Dir,GoFiles", "./frontier/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	type pkg struct {
		ImportPath, Export, Dir string
		GoFiles                 []string
	}
	exports, ours := map[string]string{}, []pkg{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if exports[p.ImportPath] = p.Export; strings.HasPrefix(p.ImportPath, frontier) {
			ours = append(ours, p)
		}
	}
	fset := token.NewFileSet()
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })}
	fields := 0
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
		checked, err := conf.Check(p.ImportPath, fset, files, info)
		if err != nil {
			t.Fatal(err)
		}
		var assigned func(e ast.Expr)
		assigned = func(e ast.Expr) {
			x := selector(e)
			if x == nil {
				return
			}
			s := info.Selections[x]
			if s == nil || s.Kind() != types.FieldVal {
				return
			}
			if in := info.Selections[selectorOf(x.X)]; in != nil && in.Kind() == types.FieldVal {
				if _, ptr := in.Type().Underlying().(*types.Pointer); !ptr {
					assigned(x.X) // a part of a field is assigned, and so the field
				}
			}
			fields++
			owner := s.Obj().Pkg()
			recv := s.Recv()
			if ptr, ok := recv.(*types.Pointer); ok {
				recv = ptr.Elem()
			}
			name := types.TypeString(recv, (*types.Package).Name)
			if owner != checked && strings.HasPrefix(owner.Path(), frontier) && !values[name] {
				at := fset.Position(x.Pos())
				t.Errorf("%s:%d assigns %s.%s: add a method to %s that says what happens", filepath.Base(at.Filename), at.Line, name, x.Sel.Name, owner.Path())
			}
		}
		for _, f := range files {
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.AssignStmt:
					for _, e := range n.Lhs {
						assigned(e)
					}
				case *ast.IncDecStmt:
					assigned(n.X)
				}
				return true
			})
		}
	}
	if fields < 500 {
		t.Errorf("only %d assignments to fields were seen: does the test look at the frontier?", fields)
	}
}

// selectorOf is e if it selects something, or nil.
func selectorOf(e ast.Expr) *ast.SelectorExpr {
	x, _ := e.(*ast.SelectorExpr)
	return x
}

// selector is the field that is assigned, whole or in part; nil: none is.
func selector(e ast.Expr) *ast.SelectorExpr {
	for {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.SelectorExpr:
			return x
		default:
			return nil
		}
	}
}
