package main

import (
	"go/token"

	"golang.org/x/tools/go/analysis"
	"honnef.co/go/tools/unused"
)

// unusedCode reports functions, types, fields and so on that nothing in their package uses, its
// tests included. Exported ones count as used.
var unusedCode = &analysis.Analyzer{
	Name:     "unused",
	Doc:      "nothing is left over that no code uses",
	Requires: []*analysis.Analyzer{unused.Analyzer.Analyzer},
	Run: func(pass *analysis.Pass) (any, error) {
		files := map[string]*token.File{}
		for _, file := range pass.Files {
			f := pass.Fset.File(file.Pos())
			files[f.Name()] = f
		}
		for _, o := range pass.ResultOf[unused.Analyzer.Analyzer].(unused.Result).Unused {
			if f := files[o.Position.Filename]; f != nil {
				pass.Reportf(f.Pos(o.Position.Offset), "%s %s is unused", o.Kind, o.Name)
			}
		}
		return nil, nil
	},
}
