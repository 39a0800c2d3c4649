package main

import (
	"go/ast"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/tools/go/analysis"
)

// exported reports a package without a comment that says what it is for, and exported names whose
// comment is missing or does not begin with the name. Constants and variables may share the comment
// of their group, or have one behind them. Commands and tests are left out, since nobody can import
// them.
var exported = &analysis.Analyzer{
	Name: "exported",
	Doc:  "exported names have doc comments that begin with the name",
	Run: func(pass *analysis.Pass) (any, error) {
		d := documentation{pass}
		if pass.Pkg.Name() == "main" {
			return nil, nil
		}
		var first *ast.File
		described := false
		for _, file := range pass.Files {
			if strings.HasSuffix(pass.Fset.File(file.FileStart).Name(), "_test.go") {
				continue
			}
			if first == nil {
				first = file
			}
			described = described || file.Doc.Text() != ""
			for _, decl := range file.Decls {
				switch decl := decl.(type) {
				case *ast.FuncDecl:
					d.function(decl)
				case *ast.GenDecl:
					d.group(decl)
				}
			}
		}
		if first != nil && !described {
			pass.Reportf(first.Package, "package %s has no comment", pass.Pkg.Name())
		}
		return nil, nil
	},
}

// documentation reads the comments of one package.
type documentation struct{ pass *analysis.Pass }

// function looks at an exported function, or at an exported method of an exported type.
func (d documentation) function(f *ast.FuncDecl) {
	name := f.Name.Name
	if f.Recv == nil {
		d.begins(f, name, name, f.Doc)
	} else if of := receiverType(f); ast.IsExported(of) {
		d.begins(f, name, of+"."+name, f.Doc)
	}
}

// group looks at a declaration of types, constants or variables. The comment before a group is
// about all of it, unless it consists of types.
func (d documentation) group(g *ast.GenDecl) {
	alone := !g.Lparen.IsValid()
	for _, spec := range g.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			doc := s.Doc
			if alone {
				doc = g.Doc
			}
			d.begins(s, s.Name.Name, s.Name.Name, doc)
		case *ast.ValueSpec:
			if alone && len(s.Names) == 1 && g.Doc != nil {
				d.begins(s, s.Names[0].Name, s.Names[0].Name, g.Doc)
			} else if g.Doc.Text() == "" && s.Doc.Text() == "" && s.Comment.Text() == "" {
				for _, n := range s.Names {
					d.begins(n, n.Name, n.Name, nil)
				}
			}
		}
	}
}

// begins reports an exported name whose comment does not begin with it, perhaps after an article.
func (d documentation) begins(at ast.Node, name, shown string, comment *ast.CommentGroup) {
	if !ast.IsExported(name) {
		return
	}
	text := comment.Text()
	if text == "" {
		d.pass.Reportf(at.Pos(), "%s has no comment", shown)
		return
	}
	for _, article := range []string{"A ", "An ", "The "} {
		text = strings.TrimPrefix(text, article)
	}
	rest, ok := strings.CutPrefix(text, name)
	if next, _ := utf8.DecodeRuneInString(rest); !ok || next == '_' || unicode.IsLetter(next) || unicode.IsDigit(next) {
		d.pass.Reportf(at.Pos(), "the comment of %s does not begin with its name", shown)
	}
}
