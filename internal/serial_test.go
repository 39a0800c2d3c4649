package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Where nothing runs beside anything else, the race detector can find nothing, and takes ten times
// as long over it: .ci/run runs it on all packages but those that ../.ci/serial and
// ../.ci/processes list. This holds the first list to what it says. What such a package does when
// others call it concurrently is watched where they do, since the detector watches all that a test
// program is made of.
func TestSerialPackagesStartNothing(t *testing.T) {
	list, err := os.ReadFile("../.ci/serial")
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Fields(string(list))
	if len(names) < 5 || !slices.IsSorted(names) {
		t.Errorf("../.ci/serial: %d packages, sorted: %v", len(names), slices.IsSorted(names))
	}
	for _, name := range names {
		if found := starts(t, name, true, map[string]bool{}); len(found) > 0 {
			t.Errorf("%s is in ../.ci/serial, but %s", name, found[0])
		}
	}
}

// ../.ci/processes are packages whose tests run programs or read documents, which the race detector
// does not see into, ../.ci/race-long those that only make race runs with it. ../.ci/budgets are
// those whose tests may take more than 20 seconds of processor time, and how many. All of its
// figures are from one machine: the milliseconds of ../.ci/yardstick.go say how fast it was.
func TestListsOfPackages(t *testing.T) {
	for file, fields := range map[string]int{"serial": 1, "processes": 1, "race-long": 1, "budgets": 2} {
		text, err := os.ReadFile("../.ci/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			if len(f) != fields {
				t.Fatalf("../.ci/%s: %q", file, line)
			}
			if f[0] == "yardstick" && file == "budgets" {
				continue
			}
			if tests, err := filepath.Glob(filepath.Join("..", f[0], "*_test.go")); err != nil || len(tests) == 0 {
				t.Errorf("../.ci/%s: %s has no tests", file, f[0])
			}
			if fields == 2 {
				if n, err := strconv.Atoi(f[1]); err != nil || n <= 20 || n > 120 {
					t.Errorf("../.ci/%s: %q", file, line)
				}
			}
		}
	}
}

// ../.ci/races hides reports of races in versions of libraries. Another version may not have them.
func TestRacesAreOfTheVersionsInUse(t *testing.T) {
	list, err := os.ReadFile("../.ci/races")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`(?m)^# (github\.com/\S+ v[0-9.]+): `).FindAllSubmatch(list, -1)
	if len(named) == 0 || len(named) != strings.Count(string(list), "\nrace:") {
		t.Errorf("../.ci/races names %d versions and does not have as many lines", len(named))
	}
	for _, m := range named {
		if !strings.Contains(string(mod), "\t"+string(m[1])+"\n") {
			t.Errorf("../.ci/races is about %s, which ../go.mod does not require: run the tests without its line", m[1])
		}
	}
}

// The test of ../.ci/serial must find what it looks for.
func TestSerialPackagesCanFail(t *testing.T) {
	for _, name := range []string{"internal/scope", "pkg/robots", "internal/pages", "internal/search", "pkg/rup", "internal/simweb", "internal/daemons"} {
		if len(starts(t, name, true, map[string]bool{})) == 0 {
			t.Errorf("%s starts nothing?", name)
		}
	}
}

// starters are imports whose use means that something runs beside us and calls what it was given.
// Of net/http, packages use types and constants also without.
var starters = []string{"net", "net/rpc", "net/http/httptest", "net/smtp", "os/signal", "testing/synctest"}

var httpTypes = []string{"CanonicalHeaderKey", "Header", "ParseTime", "TimeFormat"}

// libraries are those of others that start nothing, either.
var libraries = []string{
	"github.com/andybalholm/cascadia", "github.com/antchfx/xpath", "github.com/cespare/xxhash/v2", "github.com/dunglas/httpsfv", "github.com/dustin/go-humanize", "github.com/nlnwa/whatwg-url", "github.com/piprate/json-gold/ld",
	"github.com/yuin/goldmark", "go.etcd.io/bbolt", "go.yaml.in/yaml/v3", "golang.org/x/net/html", "golang.org/x/net/http/httpguts", "golang.org/x/net/idna",
	"golang.org/x/net/publicsuffix", "golang.org/x/sys/unix", "golang.org/x/text",
}

// starts lists where a package, its tests, or a package of ours that it stands on starts something
// that runs beside it.
func starts(t *testing.T, pkg string, tests bool, seen map[string]bool) (found []string) {
	t.Helper()
	seen[pkg] = true
	files, err := filepath.Glob(filepath.Join("..", pkg, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", pkg, len(files), err)
	}
	fset := token.NewFileSet()
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") && !tests {
			continue
		}
		f, err := parser.ParseFile(fset, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		say := func(at token.Pos, what string) { found = append(found, fset.Position(at).String()+" has "+what) }
		for _, imp := range f.Imports {
			path, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			ours, is := strings.CutPrefix(path, module)
			first, _, _ := strings.Cut(path, "/")
			switch {
			case is && !seen[ours]:
				found = append(found, starts(t, ours, false, seen)...)
			case is:
			case slices.Contains(starters, path):
				say(imp.Pos(), path)
			case strings.Contains(first, ".") && !slices.ContainsFunc(libraries, func(l string) bool { return path == l || strings.HasPrefix(path, l+"/") }):
				say(imp.Pos(), path)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				say(n.Pos(), "a go statement")
			case *ast.SelectorExpr:
				name := n.Sel.Name
				x, _ := n.X.(*ast.Ident)
				switch {
				case slices.Contains([]string{"Go", "Parallel", "RunParallel", "AfterFunc", "Batch"}, name):
					say(n.Pos(), name)
				case x != nil && x.Name == "http" && !slices.Contains(httpTypes, name) && !strings.HasPrefix(name, "Status") && !strings.HasPrefix(name, "Method"):
					say(n.Pos(), "http."+name)
				}
			}
			return true
		})
	}
	return found
}
