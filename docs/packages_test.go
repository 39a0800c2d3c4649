package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/pkg/datatxt"
	"github.com/curtsy/curtsy/pkg/robots"
)

// What formats.md says of the packages together.

// mayUse lists what the packages may import, and of the packages that have a clock or a
// network, which names.
var mayUse = map[string][]string{
	"bytes": nil, "cmp": nil, "context": nil, "crypto/sha256": nil, "encoding/binary": nil, "errors": nil, "io": nil, "fmt": nil, "iter": nil, "log/slog": nil, "maps": nil, "math": nil, "net/netip": nil, "path": nil,
	"regexp": nil, "regexp/syntax": nil, "sync": nil,
	"slices": nil, "strconv": nil, "strings": nil, "unicode/utf16": nil, "unicode/utf8": nil,
	"net/url":  nil,
	"net/http": {"Header", "ParseTime", "StatusNotModified", "StatusText", "StatusOK", "StatusBadRequest", "StatusNotImplemented"},
	"time": {"Time", "Duration", "Date", "UTC", "Nanosecond", "Second", "Minute", "Hour", "ANSIC", "Parse", "ParseInLocation", "Unix", "RFC3339", "Location", "DateOnly",
		"FixedZone", "Sunday", "Saturday"},
	"crypto/ed25519": nil, "crypto/x509": nil, "encoding/base64": nil, "encoding/json": nil, "encoding/pem": nil, "github.com/dunglas/httpsfv": nil,
	"golang.org/x/net/html": nil, "golang.org/x/net/html/atom": nil,
	"go.yaml.in/yaml/v3": nil, "encoding/xml": nil,
}

// connected are the files of pkg/rup that ask or answer over HTTP.
var connected = map[string]bool{"client.go": true, "server.go": true, "serve.go": true}

// Formats §0: no clock and no network, and no engine for regular expressions but Go's.
func TestFormats_0_NoClockNoNetwork(t *testing.T) {
	for _, pkg := range pkgPackages {
		files, err := filepath.Glob("../pkg/" + pkg + "/*.go")
		if err != nil || len(files) < 5 {
			t.Fatalf("%d files, %v", len(files), err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") || connected[filepath.Base(file)] {
				continue
			}
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, use := range unexpectedUses(t, file, source) {
				t.Error(use)
			}
		}
	}
	const bad = "package p\nimport (\"net\"; \"net/http\"; \"time\")\nvar a, b, c = net.Dial, http.Get, time.Now\nvar d time.Duration"
	if got, want := fmt.Sprint(unexpectedUses(t, "p.go", []byte(bad))), "[p.go imports net p.go uses http.Get p.go uses time.Now]"; got != want {
		t.Errorf("found %s, want %s", got, want)
	}
}

func unexpectedUses(t *testing.T, file string, source []byte) (bad []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, source, 0)
	if err != nil {
		t.Fatal(err)
	}
	limited := map[string][]string{}
	for _, imp := range f.Imports {
		path, _ := strconv.Unquote(imp.Path.Value)
		names, ok := mayUse[path]
		if !ok || imp.Name != nil {
			bad = append(bad, file+" imports "+path)
		}
		if names != nil {
			limited[filepath.Base(path)] = names
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && limited[x.Name] != nil && !slices.Contains(limited[x.Name], sel.Sel.Name) {
				bad = append(bad, file+" uses "+x.Name+"."+sel.Sel.Name)
			}
		}
		return true
	})
	return bad
}

// Formats §1.6: one text, read as robots.txt and as data.txt.
func TestFormats_1_6_NotToBeMixedUp(t *testing.T) {
	// compare takes paths that must be open or closed to ExampleBot in the one and in the other.
	compare := func(t *testing.T, text, path string, inRobots, inData bool) {
		t.Helper()
		origin := robots.Origin{Scheme: "https", Host: "d.example", Port: 443}
		if v := robots.Parse([]byte(text)).Rules("ExampleBot", origin).Match(path); v.Allowed != inRobots {
			t.Errorf("robots.txt %q: %s is %+v, want allowed %v", text, path, v, inRobots)
		}
		f, err := datatxt.Parse([]byte(text), &url.URL{Scheme: "https", Host: "d.example", Path: "/data.txt"}, "ExampleBot")
		if err != nil {
			t.Fatal(err)
		}
		if ok, line := f.Allowed(path); ok != inData {
			t.Errorf("data.txt %q: %s is %v by line %d, want %v", text, path, ok, line, inData)
		}
	}
	t.Run("agent", func(t *testing.T) {
		compare(t, "User-agent: MyExampleBot\nDisallow: /\n", "/x", true, false)
		compare(t, "User-agent: examplebot/2\nDisallow: /\n", "/x", false, false)
	})
	t.Run("several groups", func(t *testing.T) {
		compare(t, "User-agent: ExampleBot\nDisallow: /a\n\nUser-agent: ExampleBot\nDisallow: /b\n", "/a", false, false)
		compare(t, "User-agent: ExampleBot\nDisallow: /a\n\nUser-agent: ExampleBot\nDisallow: /b\n", "/b", false, true)
	})
	t.Run("blank line", func(t *testing.T) {
		compare(t, "User-agent: *\nDisallow: /a\n\nDisallow: /b\n", "/b", false, true)
	})
	t.Run("conflict", func(t *testing.T) {
		compare(t, "User-agent: *\nDisallow: /a\nAllow: /a/b\n", "/a/b", true, false)
		compare(t, "User-agent: *\nDisallow: /a\nAllow: /a\n", "/a", true, false)
	})
	t.Run("wildcards", func(t *testing.T) {
		compare(t, "User-agent: *\nDisallow: /*.csv$\n", "/x.csv", false, true)
		compare(t, "User-agent: *\nDisallow: /*.csv\n", "/*.csv", false, false)
	})
	t.Run("encoded slash", func(t *testing.T) {
		compare(t, "User-agent: *\nDisallow: /a%2Fb\n", "/a/b", true, true)
		compare(t, "User-agent: *\nDisallow: /a/b\n", "/a%2fb", true, true)
		compare(t, "User-agent: *\nDisallow: /a%2fb\n", "/a%2Fb", false, false)
	})
	t.Run("lifetime", func(t *testing.T) {
		if got := robots.FreshFor(nil, time.Time{}); got != 24*time.Hour {
			t.Errorf("robots.txt: %v", got)
		}
		if got := datatxt.Lifetime(nil, time.Time{}); got != 7*24*time.Hour {
			t.Errorf("data.txt: %v", got)
		}
	})
}
