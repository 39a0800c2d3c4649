package crawl

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"
)

// Every reason has a row in the table of meanings, with a class a URL can end in, and is
// named in docs/reference/reasons.md.
func TestReasonsHaveMeanings(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/reasons.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| class | reason | means |")
	table, _, _ = strings.Cut(table, "\n\n")
	f, err := parser.ParseFile(token.NewFileSet(), "reason.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	ast.Inspect(f, func(node ast.Node) bool {
		v, ok := node.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 {
			return true
		}
		if kind, ok := v.Type.(*ast.Ident); !ok || kind.Name != "Reason" {
			return true
		}
		text, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		n++
		r := Reason(text)
		if c := r.Class(); c != Refused && c != Redirected && c != Failed {
			t.Errorf("%s: class %v", r, c)
		}
		if !strings.Contains(table, " "+text+" |") && !strings.Contains(table, " "+text+",") {
			t.Errorf("%s is not among the reasons of docs/reference/reasons.md", r)
		}
		return true
	})
	if n != len(meanings) {
		t.Errorf("%d reasons, %d rows", n, len(meanings))
	}
	if Reason("from a newer fetcher").Has(EndsCopy) {
		t.Error("something follows from a reason that is not known")
	}
}
