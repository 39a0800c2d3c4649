// Package docs_test holds the pages of this folder to the code.
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

// TestFormats: formats.md and the tests say the same.
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
	if n := len(tree.cited); n < 20 {
		t.Errorf("only %d clauses cited in comments: is the test looking at the packages?", n)
	}
}

// usageRows are the decisions about use and signatures that §8 of formats.md holds: each is a
// clause, with a test that is named by it.
const usageRows = 34

// rowsToCome are those of which others are still to land the test that is named by them.
var rowsToCome = []int{}

// TestUsageRows: each row of §8 has a test that is named by its number.
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

// namedRows tells of each row of §8 whether a clause of its number names a test with it.
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

// tree is what the module holds of tests, and what the comments of specPackages cite.
type tree struct {
	tests map[string]map[string]*ast.FuncDecl // package folder → test, fuzz target or example
	cited map[string]string                   // clause → a place that cites it
}

func readTree(root string) (tree, error) {
	tr := tree{tests: map[string]map[string]*ast.FuncDecl{}, cited: map[string]string{}}
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
		dir := filepath.Base(filepath.Dir(path))
		isTest := strings.HasSuffix(name, "_test.go")
		isSpec := slices.Contains(specPackages, dir) && strings.HasSuffix(name, ".go")
		if !isTest && !isSpec {
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if isSpec {
			for _, group := range f.Comments {
				for _, clause := range citations(group.Text()) {
					tr.cited[clause] = fset.Position(group.Pos()).String()
				}
			}
		}
		if isTest {
			tr.addTests(dir, f)
		}
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

// citation finds clauses; those of a document that is named before them are not ours.
var citation = regexp.MustCompile(`((?:RFC \d+|draft-[a-z0-9-]+)\s+)?§(\d+(?:\.\d+)*)`)

func citations(comment string) (clauses []string) {
	for _, m := range citation.FindAllStringSubmatch(comment, -1) {
		if m[1] == "" {
			clauses = append(clauses, m[2])
		}
	}
	return clauses
}

var (
	namedTest   = regexp.MustCompile("`([a-z]\\w*)\\.((?:Test|Fuzz|Example)\\w*)(?:/([^`]+))?`")
	heading     = regexp.MustCompile(`^#+ (\d+(?:\.\d+)*) `)
	rowClause   = regexp.MustCompile(`^(\d+\.\d+(?:\.\d+)?)\b`)
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

// problems says where the page and the tree disagree.
func problems(text string, tr tree) (bad []string) {
	clauses := map[string]bool{}
	lines := strings.Split(text, "\n")
	tested := false // in a table whose last column is called "test"
	for i, line := range lines {
		if m := heading.FindStringSubmatch(line); m != nil {
			clauses[m[1]] = true
		}
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
		if m := rowClause.FindStringSubmatch(cells[0]); m != nil {
			clauses[m[1]] = true
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
				bad = append(bad, fmt.Sprintf("%s.%s holds a clause, and is not named", pkg, test))
			}
		}
	}
	for clause, place := range tr.cited {
		if !clauses[clause] {
			bad = append(bad, fmt.Sprintf("%s: §%s is cited, and is not here", place, clause))
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

// A page made up for it, with one mistake of each kind.
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
	tr := tree{tests: map[string]map[string]*ast.FuncDecl{}, cited: map[string]string{}}
	tr.addTests("robots", f)
	for _, clause := range citations("By §2.1, §1.2.7 and §9.9 here, RFC 9309 §8.8 and draft-x-y §7.7 there.") {
		tr.cited[clause] = "x.go"
	}
	const good = "## 2 Host\n### 2.1 Argument\n| clause | what | test |\n| --- | --- | --- |\n" +
		"| 1.2.7 a \\| b | c | `robots.TestHost_2_1_Fine` |\n| d | e | `robots.TestHost_2_1_Fine/a_b` |\n| f | g | not built yet |\n\n" +
		"| other | table |\n| --- | --- |\n| without | tests |\n"
	const forgotten, uncited = "robots.TestHost_2_2_Forgotten holds a clause, and is not named", "x.go: §9.9 is cited, and is not here"
	for _, c := range []struct {
		page string
		want []string
	}{
		{good, []string{forgotten, uncited}},
		{good + "### 9.9 More\n`robots.TestHost_2_2_Forgotten`\n", nil},
		{good + "`robots.TestGone`\n`nowhere.TestHost_2_1_Fine`\n", []string{
			"nowhere.TestHost_2_1_Fine is named, and does not exist", "robots.TestGone is named, and does not exist", forgotten, uncited}},
		{good + "`robots.TestHost_2_1_Fine/c` `robots.TestNoClause/a_b`\n", []string{
			"robots.TestHost_2_1_Fine has no subtest c", forgotten, "robots.TestNoClause has no subtest a_b", uncited}},
		{strings.Replace(good, "`robots.TestHost_2_1_Fine` ", "surely ", 1), []string{"line 5: no test is named for \"1.2.7 a | b\"", forgotten, uncited}},
		{strings.Replace(good, "| e |", "|", 1), []string{"line 6: 2 columns, want 3", forgotten, uncited}},
		{strings.Replace(good, "1.2.7", "", 1), []string{forgotten, "x.go: §1.2.7 is cited, and is not here", uncited}},
	} {
		if got := problems(c.page, tr); !slices.Equal(got, c.want) {
			t.Errorf("%s\n got %q\nwant %q", c.page, got, c.want)
		}
	}
}
