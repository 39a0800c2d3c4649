package docs_test

import (
	"fmt"
	"go/ast"
	"strings"
	"testing"
)

// TestSecurity: each row of security.md that promises something names a test, and the tests exist.
func TestSecurity(t *testing.T) {
	tree, err := readTree("..")
	if err != nil {
		t.Fatal(err)
	}
	text := read(t, "security.md")
	for _, p := range unproved(text, tree) {
		t.Error(p)
	}
	if n := len(names(text)); n < 60 {
		t.Errorf("only %d tests named: is the test looking at the page?", n)
	}
}

// unproved are the rows without a test, and the tests that do not exist.
func unproved(text string, tr tree) (bad []string) {
	for i, line := range strings.Split(text, "\n") {
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") || strings.HasSuffix(line, "| test |") {
			continue
		}
		cells := row(line)
		named := names(cells[len(cells)-1])
		if len(named) == 0 {
			bad = append(bad, fmt.Sprintf("line %d names no test: %s", i+1, line))
		}
		for _, n := range named {
			if tr.tests[n.pkg][n.test] == nil {
				bad = append(bad, fmt.Sprintf("line %d: there is no test %s.%s", i+1, n.pkg, n.test))
			}
		}
	}
	return bad
}

func TestSecurityTestCanFail(t *testing.T) {
	tr := tree{tests: map[string]map[string]*ast.FuncDecl{"a": {"TestB": new(ast.FuncDecl)}}}
	const good = "| what | test |\n|---|---|\n| x | `a.TestB` |\n"
	for text, want := range map[string]int{good: 0, good + "| y | none |\n": 1, good + "| y | `a.TestC`, `b.TestB` |\n": 2} {
		if got := unproved(text, tr); len(got) != want {
			t.Errorf("%q: %q, want %d", text, got, want)
		}
	}
}
