package docs_test

import (
	"bytes"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// columns is how wide comments and prose may be; a tab counts 4.
const columns = 100

// narrow are the folders whose comments are held to it.
var narrow = []string{"../pkg", "../internal", "../cmd", "../docs", "../bench"}

// TestColumns: no comment and no prose is wider than a reader likes it.
func TestColumns(t *testing.T) {
	for _, root := range narrow {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
				return err
			}
			source, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, n := range wideComments(source) {
				t.Errorf("%s:%d: the comment goes beyond %d columns", path, n, columns)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, page := range append(ourPages(t), "../README.md", "../CONTRIBUTING.md") {
		for _, n := range wideProse(read(t, page)) {
			t.Errorf("%s:%d: the line goes beyond %d columns", page, n, columns)
		}
	}
}

// wideComments are the numbers of lines with a comment that are too wide. Directives do not count.
func wideComments(source []byte) (wide []int) {
	lines := strings.Split(string(source), "\n")
	fset := token.NewFileSet()
	file := fset.AddFile("", fset.Base(), len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, scanner.ScanComments)
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return wide
		}
		if tok != token.COMMENT || strings.HasPrefix(text, "//go:") {
			continue
		}
		first := file.Line(pos)
		for i := range 1 + strings.Count(text, "\n") {
			if width(lines[first+i-1]) > columns {
				wide = append(wide, first+i)
			}
		}
	}
}

// wideProse are the numbers of lines of a Markdown page that are too wide. Tables and code do not
// count.
func wideProse(text string) (wide []int) {
	code := false
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "```") {
			code = !code
		}
		if !code && !strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "    ") && width(line) > columns {
			wide = append(wide, i+1)
		}
	}
	return wide
}

func width(line string) (n int) {
	for _, r := range line {
		if r == '\t' {
			n += 4 - n%4
		} else {
			n++
		}
	}
	return n
}

func TestColumnsTestCanFail(t *testing.T) {
	long := strings.Repeat("x", 97)
	source := []byte("package p\n\n\t// " + long + "\n// " + long + "\nvar a = 1 // " + long + "\n//go:x " + long + "\nvar b = `" + long + long + "`\n")
	if got := wideComments(source); len(got) != 2 || got[0] != 3 || got[1] != 5 {
		t.Errorf("wide comments in lines %v of\n%s", got, source)
	}
	page := bytes.Join([][]byte{[]byte(long), []byte(long + "xxxx"), []byte("| " + long + "xx |"), []byte("    " + long)}, []byte("\n"))
	if got := wideProse(string(page)); len(got) != 1 || got[0] != 2 {
		t.Errorf("wide lines %v of\n%s", got, page)
	}
}
