package internal_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// userText is a text that users read, and where it stands.
type userText struct {
	file string
	line int
	text string
}

// userTexts are all of them.
func userTexts(t *testing.T) (all []userText) {
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		file, _ := filepath.Rel("..", name)
		file = filepath.ToSlash(file)
		if d.IsDir() {
			// The benchmarks are for us, and the schemas of Kubernetes are others' texts.
			if d.Name() == "testdata" || file == "bench" || file == "deploy/kubernetes/schemas" || strings.HasPrefix(d.Name(), ".") && file != "." {
				return fs.SkipDir
			}
			return nil
		}
		read, ok := readerOf(file)
		if !ok {
			return nil
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		found, err := read(string(b))
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for _, f := range found {
			f.file = file
			all = append(all, f)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// readerOf finds how the texts of a file are read, if users read any of it.
func readerOf(file string) (read func(string) ([]userText, error), ok bool) {
	top, _, _ := strings.Cut(file, "/")
	switch ext := path.Ext(file); {
	case strings.HasSuffix(file, "_test.go"):
		return nil, false
	case ext == ".go":
		return goTexts, top == "cmd" || top == "internal" || top == "pkg"
	case file == "CONTRIBUTING.md":
		return nil, false // for us
	case ext == ".md":
		return markdownTexts, top == "docs" || top == "deploy" || top == "examples" || !strings.Contains(file, "/")
	case ext == ".html":
		return htmlTexts, top == "internal" || top == "cmd"
	case ext == ".js":
		return quotedTexts, top == "internal" || top == "cmd"
	case ext == ".json":
		return jsonTexts, top == "deploy" || strings.HasSuffix(file, "openapi.json")
	case ext == ".1":
		return plainTexts, top == "deploy"
	case top == "deploy", top == "examples":
		return commentTexts, ext != ".mod" && ext != ".sum"
	}
	return nil, false
}

// label is a single word that is shown as it stands, such as the head of a column.
var label = regexp.MustCompile(`^[A-Z][a-z]+$`)

// goTexts are the string literals of a Go file that are sentences or labels: those with a blank,
// and single words that begin like a sentence. Names of wire formats, keys and flags have neither.
// Of struct tags people read what flags are for.
func goTexts(src string) (texts []userText, err error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", src, 0)
	if err != nil {
		return nil, err
	}
	tags := map[ast.Node]bool{}
	add := func(n ast.Node, text string) {
		if strings.ContainsAny(strings.TrimSpace(text), " \n") || label.MatchString(text) {
			texts = append(texts, userText{line: fset.Position(n.Pos()).Line, text: text})
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			if n.Tag != nil {
				tags[n.Tag] = true
				tag, _ := strconv.Unquote(n.Tag.Value)
				add(n.Tag, reflect.StructTag(tag).Get("usage"))
			}
		case *ast.BinaryExpr:
			if text, ok := joined(n); ok {
				add(n, text)
				return false
			}
		case *ast.BasicLit:
			if n.Kind == token.STRING && !tags[n] {
				text, _ := strconv.Unquote(n.Value)
				add(n, text)
			}
		}
		return true
	})
	return texts, nil
}

// joined is a text that is put together from literals and values, which are "…" here.
func joined(e ast.Expr) (text string, ok bool) {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return "…", false
		}
		a, someA := joined(e.X)
		b, someB := joined(e.Y)
		return a + b, someA || someB
	case *ast.ParenExpr:
		return joined(e.X)
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, _ := strconv.Unquote(e.Value)
			return text, true
		}
	case *ast.CallExpr, *ast.IndexExpr, *ast.FuncLit:
		// What is within is looked at as well, but not as a part of this text.
		var parts []string
		ast.Inspect(e, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text, _ := strconv.Unquote(lit.Value)
				parts = append(parts, text)
			}
			return true
		})
		if len(parts) > 0 {
			return "… " + strings.Join(parts, " … ") + " …", true
		}
	}
	return "…", false
}

// byLine makes a text of each line that keep leaves something of.
func byLine(src string, keep func(line string) string) (texts []userText) {
	for i, line := range strings.Split(src, "\n") {
		if text := keep(line); strings.TrimSpace(text) != "" {
			texts = append(texts, userText{line: i + 1, text: text})
		}
	}
	return texts
}

var (
	inlineCode = regexp.MustCompile("(?s)`[^`]*`")
	variable   = regexp.MustCompile(`\{\{[^}]*\}\}`) // of a template
)

// markdownTexts are the paragraphs of a document, without code.
func markdownTexts(src string) ([]userText, error) {
	fenced, start := false, 0
	var texts []userText
	var paragraph []string
	end := func() {
		text := inlineCode.ReplaceAllString(strings.Join(paragraph, "\n"), "…")
		text = regexp.MustCompile(`\]\([^)]*\)`).ReplaceAllString(text, "]")
		if strings.TrimSpace(text) != "" {
			texts = append(texts, userText{line: start, text: text})
		}
		paragraph = nil
	}
	for i, line := range strings.Split(src, "\n") {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		code := fence || fenced || strings.HasPrefix(line, "    ") && len(paragraph) == 0
		if fence {
			fenced = !fenced
		}
		if code || strings.TrimSpace(line) == "" || strings.HasPrefix(line, "|") || strings.HasPrefix(line, "- ") {
			end()
		}
		if !code {
			if len(paragraph) == 0 {
				start = i + 1
			}
			paragraph = append(paragraph, line)
		}
	}
	end()
	return texts, nil
}

// htmlTexts are what a page shows: its text, and the attributes that people see or hear.
func htmlTexts(src string) ([]userText, error) {
	attribute := regexp.MustCompile(`(?:title|aria-label|placeholder|alt|content|value)="([^"]*)"`)
	blank := func(s string) string { return strings.Repeat("\n", strings.Count(s, "\n")) + " " }
	src = regexp.MustCompile(`(?s)<code>.*?</code>|<style.*?</style>`).ReplaceAllStringFunc(src, blank)
	quoted := regexp.MustCompile(`"[^"{}]* [^"{}]*"`)
	// Of the template's actions only sentences within them are shown.
	src = regexp.MustCompile(`(?s)\{\{.*?\}\}`).ReplaceAllStringFunc(src, func(action string) string {
		return "…" + strings.ReplaceAll(strings.Join(quoted.FindAllString(action, -1), " "), `"`, " ") + blank(action)
	})
	src = regexp.MustCompile(`(?s)<[^>]*>`).ReplaceAllStringFunc(src, func(tag string) string {
		var shown []string
		for _, m := range attribute.FindAllStringSubmatch(tag, -1) {
			shown = append(shown, m[1])
		}
		return " " + strings.Join(shown, ". ") + blank(tag)
	})
	return byLine(src, func(line string) string { return line }), nil
}

// quotedTexts are the sentences among the strings of a script.
func quotedTexts(src string) ([]userText, error) {
	text := regexp.MustCompile("\"[^\"\n]* [^\"\n]*\"|'[^'\n]* [^'\n]*'|`[^`\n]* [^`\n]*`")
	return byLine(src, func(line string) string {
		line, _, _ = strings.Cut(line, "// ")
		return strings.Join(text.FindAllString(line, -1), " ")
	}), nil
}

// jsonTexts are the titles and descriptions of a board or an API.
func jsonTexts(src string) ([]userText, error) {
	text := regexp.MustCompile(`"(?:title|summary|description|legendFormat)":\s*"((?:[^"\\]|\\.)*)"`)
	return byLine(src, func(line string) string {
		var shown []string
		for _, m := range text.FindAllStringSubmatch(line, -1) {
			shown = append(shown, variable.ReplaceAllString(inlineCode.ReplaceAllString(m[1], "…"), "…"))
		}
		return strings.Join(shown, ". ")
	}), nil
}

// plainTexts are the lines of a manual page.
func plainTexts(src string) ([]userText, error) {
	return byLine(src, func(line string) string { return line }), nil
}

// commentTexts are the comments of a configuration, and what units, alerts and packages are called.
func commentTexts(src string) ([]userText, error) {
	named := regexp.MustCompile(`^\s*(?:summary|description|Description)\s*[:=](.*)$|^ ([A-Z].*)$`)
	var texts []userText
	start, block := 0, []string(nil)
	end := func() {
		if len(block) > 0 {
			texts = append(texts, userText{line: start, text: strings.Join(block, "\n")})
		}
		block = nil
	}
	for i, line := range strings.Split(src, "\n") {
		text := ""
		if before, comment, ok := strings.Cut(line, "#"); ok && (strings.TrimSpace(before) == "" || strings.HasSuffix(before, " ")) {
			text = comment
			if strings.HasPrefix(comment, "   ") {
				text = "" // a command
			}
		} else if m := named.FindStringSubmatch(line); m != nil {
			text = m[1] + m[2]
		}
		if strings.TrimSpace(text) == "" {
			end()
			continue
		}
		if len(block) == 0 {
			start = i + 1
		}
		block = append(block, text)
	}
	end()
	return texts, nil
}
