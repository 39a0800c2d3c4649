package main

import (
	"go/ast"

	"golang.org/x/tools/go/analysis"
)

// receiver reports methods of a type that call their receiver different names. Those without a
// name, or with _, do not count.
var receiver = &analysis.Analyzer{
	Name: "receiver",
	Doc:  "all methods of a type use the same name for the receiver",
	Run: func(pass *analysis.Pass) (any, error) {
		type use struct {
			name   string
			method *ast.FuncDecl
		}
		first := map[string]use{}
		for _, file := range pass.Files {
			for _, decl := range file.Decls {
				f, ok := decl.(*ast.FuncDecl)
				if !ok || f.Recv == nil || len(f.Recv.List[0].Names) == 0 {
					continue
				}
				name, of := f.Recv.List[0].Names[0].Name, receiverType(f)
				if name == "_" {
					continue
				}
				if before, ok := first[of]; !ok {
					first[of] = use{name, f}
				} else if before.name != name {
					pass.Reportf(f.Recv.Pos(), "the receiver of %s.%s is %s, and that of %s is %s", of, f.Name.Name, name, before.method.Name.Name, before.name)
				}
			}
		}
		return nil, nil
	},
}

// receiverType is the name of the type that a method belongs to.
func receiverType(f *ast.FuncDecl) string {
	t := f.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.ParenExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}
