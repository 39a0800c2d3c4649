package internal_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestExportedNamesAreDocumented: every package says what it is for, and every name that others can
// use says what it does. Commands are left out, since nobody can import them, and so is bench,
// which is a module of its own.
func TestExportedNamesAreDocumented(t *testing.T) {
	root := ".."
	packages := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.IsDir() {
			return nil
		}
		if name := d.Name(); path != root && (name == "bench" || name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")) {
			return fs.SkipDir
		}
		// Only the files of this system: some names stand in one file for each.
		p, err := build.ImportDir(path, 0)
		if noGo := (*build.NoGoError)(nil); errors.As(err, &noGo) {
			return nil
		}
		if err != nil {
			return err
		}
		if p.Name == "main" || len(p.GoFiles) == 0 {
			return nil
		}
		fset := token.NewFileSet()
		var files []*ast.File
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(path, name), nil, parser.ParseComments)
			if err != nil {
				return err
			}
			files = append(files, f)
		}
		bad, err := undocumented(fset, files)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for _, b := range bad {
			t.Errorf("%s has no comment", b)
		}
		packages++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if packages < 15 {
		t.Errorf("only %d packages seen: is the test looking at the module?", packages)
	}
}

// undocumented lists what in a package lacks a comment, each with its place. Constants and
// variables have one if their group does, or else each of them, before it or behind it.
func undocumented(fset *token.FileSet, files []*ast.File) (bad []string, err error) {
	name := files[0].Name.Name
	p, err := doc.NewFromFiles(fset, files, name, doc.PreserveAST)
	if err != nil {
		return nil, err
	}
	report := func(at token.Pos, format string, args ...any) {
		pos := fset.Position(at)
		bad = append(bad, fmt.Sprintf("%s:%d: ", filepath.ToSlash(pos.Filename), pos.Line)+fmt.Sprintf(format, args...))
	}
	values := func(groups []*doc.Value) {
		for _, g := range groups {
			if g.Doc != "" {
				continue
			}
			for _, spec := range g.Decl.Specs {
				v, ok := spec.(*ast.ValueSpec)
				if !ok || v.Doc.Text() != "" || v.Comment.Text() != "" {
					continue
				}
				for _, n := range v.Names {
					if n.IsExported() {
						report(n.Pos(), "%s.%s", name, n.Name)
					}
				}
			}
		}
	}
	funcs := func(list []*doc.Func) {
		for _, f := range list {
			if f.Doc != "" {
				continue
			}
			if f.Recv != "" {
				report(f.Decl.Pos(), "%s.%s.%s", name, strings.TrimPrefix(f.Recv, "*"), f.Name)
			} else {
				report(f.Decl.Pos(), "%s.%s", name, f.Name)
			}
		}
	}
	if p.Doc == "" {
		report(files[0].Package, "package %s", name)
	}
	values(p.Consts)
	values(p.Vars)
	funcs(p.Funcs)
	for _, typ := range p.Types {
		if typ.Doc == "" {
			report(typ.Decl.Pos(), "%s.%s", name, typ.Name)
		}
		values(typ.Consts)
		values(typ.Vars)
		funcs(typ.Funcs)
		funcs(typ.Methods)
	}
	return bad, nil
}

func TestExportedNamesTestCanFail(t *testing.T) {
	const text = `package p

type Bare struct{}

func (Bare) Method() {}

func (*Bare) Pointer() {}

func (Bare) Error() string { return "" }

func (Bare) hidden() {}

func NewBare() Bare { return Bare{} }

// Fine is fine.
type Fine struct{}

// Method is fine.
func (Fine) Method() {}

type hidden struct{}

func (hidden) Method() {}

func Bald() {}

func quiet() {}

const Alone = 1

const (
	Said   = 1 // here
	Unsaid = 2
	silent = 3
	// Above is said above.
	Above = 4
)

// A group.
const (
	One = 1
	Two = 2
)

var Loose, Ends int

const (
	First Fine2 = iota
	Second
)

// Fine2 is fine.
type Fine2 int

type (
	// Inner is fine.
	Inner int
	Outer int
)
`
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "p.go", text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	bad, err := undocumented(fset, []*ast.File{f})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, b := range bad {
		_, what, _ := strings.Cut(b, ": ")
		got = append(got, what)
	}
	slices.Sort(got)
	want := []string{
		"p.Alone", "p.Bald", "p.Bare", "p.Bare.Error", "p.Bare.Method", "p.Bare.Pointer", "p.Ends", "p.First", "p.Loose", "p.NewBare", "p.Outer", "p.Second", "p.Unsaid",
		"package p",
	}
	if !slices.Equal(got, want) {
		t.Errorf("found\n %q, want\n %q", got, want)
	}
}
