// Package docs_test compares the pages of this folder with the code.
package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// pkgPackages are those of pkg whose clauses formats.md lists, and specPackages all of them.
var (
	pkgPackages  = []string{"robots", "robotstag", "datatxt", "rup", "botauth", "usage"}
	specPackages = append(slices.Clone(pkgPackages), "websub")
)

// TestFormats: formats.md names a test for each clause, and each test of a clause exists and is
// named. Whether the clauses that comments cite exist is checked by TestReferences.
func TestFormats(t *testing.T) {
	text, err := os.ReadFile("formats.md")
	if err != nil {
		t.Fatal(err)
	}
	tree, err := readTree("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems(string(text), tree) {
		t.Error(p)
	}
	if n := len(names(string(text))); n < 150 {
		t.Errorf("only %d tests named: is the test looking at the page?", n)
	}
}

// usageRows is the number of clauses in formats §8. Each has a test whose name contains the number
// of the clause.
const usageRows = 34

// rowsToCome are the clauses of formats §8 whose tests do not exist yet.
var rowsToCome = []int{}

// TestUsageRows: each clause of formats §8 names a test with its number.
func TestUsageRows(t *testing.T) {
	text, err := os.ReadFile("formats.md")
	if err != nil {
		t.Fatal(err)
	}
	for n, ok := range namedRows(string(text)) {
		if !ok && !slices.Contains(rowsToCome, n) {
			t.Errorf("clause 8.%d names no test of its own", n)
		}
	}
}

// namedRows reports for each clause of formats §8 whether its row names a test with its number.
func namedRows(page string) map[int]bool {
	rows := map[int]bool{}
	for n := 1; n <= usageRows; n++ {
		clause := regexp.MustCompile(fmt.Sprintf(`(?m)^\| 8\.%d .*\bTest(?:Usage|Signing)_8_%d_`, n, n))
		rows[n] = clause.MatchString(page)
	}
	return rows
}

func TestUsageRowsCanFail(t *testing.T) {
	const page = "| 8.1 a | b | `x.TestUsage_8_1_A` |\n| 8.2 a | b | `x.TestUsage_8_1_A` |\n| 8.33 a | b | `x.TestSigning_8_33_A` |\nTestUsage_8_4_A\n"
	for n, ok := range namedRows(page) {
		if want := n == 1 || n == 33; ok != want {
			t.Errorf("row %d: %v", n, ok)
		}
	}
}

// tree has the tests of the module.
type tree struct {
	tests map[string]map[string]*ast.FuncDecl // package folder → test, fuzz target or example
}

func readTree(root string) (tree, error) {
	tr := tree{tests: map[string]map[string]*ast.FuncDecl{}}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != root && (name == "bench" || name == "testdata" || strings.HasPrefix(name, ".")) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		tr.addTests(filepath.Base(filepath.Dir(path)), f)
		return nil
	})
	return tr, err
}

var testName = regexp.MustCompile(`^(Test|Fuzz|Example)\w*$`)

func (tr tree) addTests(dir string, f *ast.File) {
	for _, decl := range f.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && testName.MatchString(fn.Name.Name) {
			if tr.tests[dir] == nil {
				tr.tests[dir] = map[string]*ast.FuncDecl{}
			}
			tr.tests[dir][fn.Name.Name] = fn
		}
	}
}

var (
	namedTest   = regexp.MustCompile("`([a-z]\\w*)\\.((?:Test|Fuzz|Example)\\w*)(?:/([^`]+))?`")
	heading     = regexp.MustCompile(`^#+ (\d+(?:\.\d+)*) `)
	ofAClause   = regexp.MustCompile(`^Test[A-Z][A-Za-z0-9]*_`)
	notBuiltYet = "not built yet"
)

type named struct{ pkg, test, sub string }

func names(text string) (list []named) {
	for _, m := range namedTest.FindAllStringSubmatch(text, -1) {
		list = append(list, named{m[1], m[2], m[3]})
	}
	return list
}

// problems are the places where the page and the tree disagree.
func problems(text string, tr tree) (bad []string) {
	lines := strings.Split(text, "\n")
	tested := false // in a table whose last column is called "test"
	for i, line := range lines {
		if !strings.HasPrefix(line, "|") {
			tested = false
			continue
		}
		cells := row(line)
		if i+1 < len(lines) && strings.HasPrefix(lines[i+1], "| ---") {
			tested = cells[len(cells)-1] == "test"
			continue
		}
		if !tested || strings.HasPrefix(line, "| ---") {
			continue
		}
		if len(cells) != 3 {
			bad = append(bad, fmt.Sprintf("line %d: %d columns, want 3", i+1, len(cells)))
			continue
		}
		if len(names(cells[2])) == 0 && cells[2] != notBuiltYet {
			bad = append(bad, fmt.Sprintf("line %d: no test is named for %q", i+1, cells[0]))
		}
	}
	mentioned := map[named]bool{}
	for _, n := range names(text) {
		fn := tr.tests[n.pkg][n.test]
		if fn == nil {
			bad = append(bad, fmt.Sprintf("%s.%s is named, and does not exist", n.pkg, n.test))
		} else if n.sub != "" && !hasSubtest(fn, n.sub) {
			bad = append(bad, fmt.Sprintf("%s.%s has no subtest %s", n.pkg, n.test, n.sub))
		}
		mentioned[named{n.pkg, n.test, ""}] = true
	}
	for _, pkg := range specPackages {
		for test := range tr.tests[pkg] {
			if ofAClause.MatchString(test) && !mentioned[named{pkg, test, ""}] {
				bad = append(bad, fmt.Sprintf("%s.%s tests a clause, and is not named", pkg, test))
			}
		}
	}
	slices.Sort(bad)
	return bad
}

// row splits a table row into its cells; "\|" separates none.
func row(line string) []string {
	const bar = "\x00"
	line = strings.ReplaceAll(strings.TrimSpace(line), `\|`, bar)
	cells := strings.Split(strings.Trim(line, "|"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(strings.ReplaceAll(cells[i], bar, "|"))
	}
	return cells
}

// hasSubtest reports whether a test runs subtests and spells out one of this name,
// as go test prints it.
func hasSubtest(fn *ast.FuncDecl, sub string) bool {
	runs, spelt := false, false
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			runs = runs || n.Sel.Name == "Run"
		case *ast.BasicLit:
			if s, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
				spelt = spelt || strings.ReplaceAll(s, " ", "_") == sub
			}
		}
		return true
	})
	return runs && spelt
}

// The test is given a page with one mistake of each kind.
func TestFormatsTestCanFail(t *testing.T) {
	const source = `package robots

func TestHost_2_1_Fine(t *testing.T) { t.Run("a b", nil) }

func TestHost_2_2_Forgotten(t *testing.T) {}

func TestNoClause(t *testing.T) { _ = "a b" }
`
	f, err := parser.ParseFile(token.NewFileSet(), "x_test.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	tr := tree{tests: map[string]map[string]*ast.FuncDecl{}}
	tr.addTests("robots", f)
	const good = "## 2 Host\n### 2.1 Argument\n| clause | what | test |\n| --- | --- | --- |\n" +
		"| 1.2.7 a \\| b | c | `robots.TestHost_2_1_Fine` |\n| d | e | `robots.TestHost_2_1_Fine/a_b` |\n| f | g | not built yet |\n\n" +
		"| other | table |\n| --- | --- |\n| without | tests |\n"
	const forgotten = "robots.TestHost_2_2_Forgotten tests a clause, and is not named"
	for _, c := range []struct {
		page string
		want []string
	}{
		{good, []string{forgotten}},
		{good + "`robots.TestHost_2_2_Forgotten`\n", nil},
		{good + "`robots.TestGone`\n`nowhere.TestHost_2_1_Fine`\n", []string{
			"nowhere.TestHost_2_1_Fine is named, and does not exist", "robots.TestGone is named, and does not exist", forgotten}},
		{good + "`robots.TestHost_2_1_Fine/c` `robots.TestNoClause/a_b`\n", []string{
			"robots.TestHost_2_1_Fine has no subtest c", forgotten, "robots.TestNoClause has no subtest a_b"}},
		{strings.Replace(good, "`robots.TestHost_2_1_Fine` ", "surely ", 1), []string{"line 5: no test is named for \"1.2.7 a | b\"", forgotten}},
		{strings.Replace(good, "| e |", "|", 1), []string{"line 6: 2 columns, want 3", forgotten}},
	} {
		if got := problems(c.page, tr); !slices.Equal(got, c.want) {
			t.Errorf("%s\n got %q\nwant %q", c.page, got, c.want)
		}
	}
}
