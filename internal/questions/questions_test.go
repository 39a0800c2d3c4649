package questions_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/questions"
)

// TestQuestions checks that the table of questions is the only one: every question in package
// questions is in the table, is answered by exactly the service that the table names, and is asked
// by somebody. No other package writes the name of a question.
func TestQuestions(t *testing.T) {
	names := map[string]questions.Service{}
	for _, q := range questions.Table() {
		if _, twice := names[q.Name]; twice {
			t.Errorf("there are two questions %q", q.Name)
		}
		names[q.Name] = q.By
	}
	variables := map[string]string{} // names on the wire
	uses := map[string][]string{}    // of the variables: folder and method
	eachSource(t, func(path string, f *ast.File) {
		folder := filepath.ToSlash(filepath.Dir(path))
		if folder == "internal/questions" {
			for variable, name := range declared(f) {
				variables[variable] = name
				if _, there := names[name]; !there {
					t.Errorf("questions.%s is not in the table: write add(…)", variable)
				}
			}
			return
		}
		for _, text := range written(f, names) {
			t.Errorf("%s writes the name of the question %q: use the value in package questions", path, text)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if variable, method := used(n); variable != "" {
				uses[variable] = append(uses[variable], folder+" "+method)
			}
			return true
		})
	})
	if len(variables) != len(names) || len(names) < 20 {
		t.Errorf("%d questions are declared and %d are in the table", len(variables), len(names))
	}
	for variable, name := range variables {
		handlers, asked := []string{}, false
		for _, use := range uses[variable] {
			folder, method, _ := strings.Cut(use, " ")
			service, _, _ := strings.Cut(strings.TrimPrefix(folder, "internal/"), "/")
			switch {
			case method == "Ask" || method == "Each" || method == "Name":
				asked = true
			case method != "Handle":
			case service == string(questions.Frontier) || service == string(questions.Indexer):
				handlers = append(handlers, service)
			}
		}
		if want := []string{string(names[name])}; !slices.Equal(handlers, want) {
			t.Errorf("questions.%s is handled by %q, want %q", variable, handlers, want)
		}
		if !asked {
			t.Errorf("nobody asks questions.%s", variable)
		}
	}
}

// TestQuestionsInDesign compares the table of questions with the one in docs/design.md §9.
func TestQuestionsInDesign(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "design.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rows, _ := strings.Cut(string(text), "| answered by | questions |\n")
	for _, service := range []questions.Service{questions.Frontier, questions.Indexer} {
		_, row, _ := strings.Cut(rows, "| "+string(service)+" | ")
		row, _, _ = strings.Cut(row, " |\n")
		got := strings.Split(strings.ReplaceAll(row, "`", ""), ", ")
		var want []string
		for _, q := range questions.Table() {
			if q.By == service {
				want = append(want, q.Name)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("docs/design.md §9 has the %s answer\n%s, want\n%s", service, got, want)
		}
	}
}

// eachSource calls each for every Go file of the module that is not a test. Paths are relative to
// the root.
func eachSource(t *testing.T, each func(path string, f *ast.File)) {
	root := filepath.Join("..", "..")
	for _, top := range []string{"cmd", "internal"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(root, path)
			each(filepath.ToSlash(rel), f)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// declared returns the questions that a file declares: variables, and their names on the wire.
func declared(f *ast.File) map[string]string {
	all := map[string]string{}
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			for i, value := range v.Values {
				ast.Inspect(value, func(n ast.Node) bool {
					if kv, ok := n.(*ast.KeyValueExpr); ok {
						key, isKey := kv.Key.(*ast.Ident)
						if name := literal(kv.Value); isKey && key.Name == "Name" && name != "" {
							all[v.Names[i].Name] = name
						}
						return false
					}
					return true
				})
			}
		}
	}
	return all
}

// written returns the names of questions that a file writes as texts. Words such as "hosts" have
// other meanings as well. They count only as an argument of a function that asks or answers, and as
// a key of ask.Handlers.
func written(f *ast.File, names map[string]questions.Service) (found []string) {
	note := func(e ast.Expr) {
		if text := literal(e); text != "" {
			if _, there := names[text]; there {
				found = append(found, text)
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if strings.Contains(n.Value, "-") {
				note(n)
			}
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && slices.Contains([]string{"Ask", "Gather", "Handle", "Query"}, s.Sel.Name) {
				for _, arg := range n.Args {
					note(arg)
				}
			}
		case *ast.CompositeLit:
			if s, ok := n.Type.(*ast.SelectorExpr); ok && s.Sel.Name == "Handlers" {
				for _, e := range n.Elts {
					if kv, ok := e.(*ast.KeyValueExpr); ok {
						note(kv.Key)
					}
				}
			}
		}
		return true
	})
	return found
}

// used returns the question that an expression uses, and what it uses of it: questions.X.Method.
func used(n ast.Node) (variable, method string) {
	s, ok := n.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	inner, ok := s.X.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	if p, ok := inner.X.(*ast.Ident); !ok || p.Name != "questions" {
		return "", ""
	}
	return inner.Sel.Name, s.Sel.Name
}

// literal is the text of a string literal, else "".
func literal(e ast.Expr) string {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return ""
	}
	text, _ := strconv.Unquote(l.Value)
	return text
}

func TestQuestionsCanFail(t *testing.T) {
	names := map[string]questions.Service{"hosts": questions.Frontier, "hosts-page": questions.Frontier}
	for source, want := range map[string]int{
		`var x = "hosts"`:      0,
		`var x = "hosts-page"`: 1,
		`func f() { ask.Gather(ctx, nc, name, "hosts") }`: 1,
		`var x = ask.Handlers{"hosts": nil}`:              1,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\n"+source, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := written(f, names); len(got) != want {
			t.Errorf("%s: found %s, want %d", source, fmt.Sprint(got), want)
		}
	}
}
