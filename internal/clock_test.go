package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// clocks are functions that read a clock beside package time, or wait by one. A bubble of virtual
// time does not rule them.
var clocks = map[string]bool{"ClockGettime": true, "ClockNanosleep": true, "Nanosleep": true, "Gettimeofday": true, "TimerfdCreate": true, "Alarm": true, "Setitimer": true}

// TestOneClock: what waits takes its time from package time. The only other clock there is, that of
// the time asleep, is read in pkg/boottime.
func TestOneClock(t *testing.T) {
	read := map[string]bool{}
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "bench" || d.Name() == "tools" || strings.HasPrefix(d.Name(), ".") && name != "..") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && clocks[s.Sel.Name] {
				read[filepath.ToSlash(filepath.Dir(name))] = true
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	delete(read, "../internal/testaid") // processor time, for tests
	if len(read) != 1 || !read["../pkg/boottime"] {
		t.Errorf("a clock beside package time is read in %v, and only pkg/boottime may", read)
	}
}
