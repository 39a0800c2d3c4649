package docs_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestReferences: each "§" in a comment names its document, and the sections of formats.md
// and design.md that comments and pages refer to exist.
func TestReferences(t *testing.T) {
	r := references{
		sections: map[string]map[string]bool{"formats": sectionsOf(read(t, "formats.md")), "design": sectionsOf(read(t, "design.md"))},
		headings: map[string][]string{},
	}
	for _, page := range ourPages(t) {
		r.headings[page] = headingsOf(read(t, page))
	}
	goFiles, numbered := 0, 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != "..") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || filepath.Base(path) == "references_test.go" {
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		comments, err := commentsOf(source)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		goFiles++
		for _, comment := range comments {
			numbered += strings.Count(comment, "§")
			for _, p := range r.problems(comment, "") {
				t.Errorf("%s: %s", path, p)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range everyPage(t) {
		for _, p := range r.ofPage(page, read(t, page)) {
			t.Errorf("%s: %s", page, p)
		}
	}
	if goFiles < 500 || numbered < 100 {
		t.Errorf("%d references found in %d Go files: does the test read the module?", numbered, goFiles)
	}
}

// references knows what a reference may name.
type references struct {
	sections map[string]map[string]bool // "formats" or "design" → its section numbers
	headings map[string][]string        // a page of this folder → its headings
}

var (
	// number is a section, such as "§3.1" or "§B.2".
	number = `§([0-9A-Z]+(?:\.[0-9A-Za-z]+)*)`
	// document is a name that a number may follow. Each kind of document outside of the repository
	// is listed.
	document = `(?:RFC \d+|ISO \d+(?:-\d+)?|draft-[a-z0-9-]+|OpenSearch [\d.]+ Draft \d+|WCAG [\d.]+|WebSub|` +
		`WHATWG [A-Z][A-Za-z]*(?: [A-Z][A-Za-z]*)*|XML [\d.]+|[Ff]ormats(?:\.md)?|[Dd]esign(?:\.md)?)`
	// withDocument is a document with one number or several: "RFC 9110 §8.8, §13.1.5 and §14".
	withDocument = regexp.MustCompile(`\b(` + document + `) (` + number + `(?:(?:,| and|, and| to) ` + number + `)*)`)
	aNumber      = regexp.MustCompile(number)
	// byHeading is a reference to a heading without a number: `docs/formats.md, "Odd responses"`.
	byHeading = regexp.MustCompile(`\bdocs/([\w/-]+\.md), "([^"]+)"`)
)

// problems are the references of a text that lead nowhere. A number without a document belongs to
// the document own; if own is empty, it is a problem.
func (r references) problems(text, own string) (bad []string) {
	text = strings.Join(strings.Fields(text), " ")
	for _, m := range byHeading.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(r.headings[m[1]], m[2]) {
			bad = append(bad, fmt.Sprintf("docs/%s has no heading %q", m[1], m[2]))
		}
	}
	check := func(doc, numbers string) {
		sections, ours := r.sections[doc]
		for _, n := range aNumber.FindAllStringSubmatch(numbers, -1) {
			if ours && !sections[n[1]] {
				bad = append(bad, fmt.Sprintf("%s §%s does not exist", doc, n[1]))
			}
		}
	}
	rest := withDocument.ReplaceAllStringFunc(text, func(ref string) string {
		m := withDocument.FindStringSubmatch(ref)
		check(strings.ToLower(strings.TrimSuffix(m[1], ".md")), m[2])
		return ""
	})
	if own != "" {
		check(own, rest)
	} else if m := aNumber.FindString(rest); m != "" {
		bad = append(bad, fmt.Sprintf("%s names no document: %s", m, text))
	}
	return bad
}

// ofPage are the problems of a Markdown page. On design.md and formats.md a number without a
// document is a section of the page itself. In the first column of formats.md, a number before the
// tag is a section of the document that the table is about, and is not checked.
func (r references) ofPage(page, text string) (bad []string) {
	own := strings.TrimSuffix(page, ".md")
	if r.sections[own] == nil {
		own = ""
	}
	text = spans.ReplaceAllString(fenced.ReplaceAllString(text, ""), "")
	var prose strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		if own == "formats" && strings.HasPrefix(line, "| ") {
			cells := row(line)
			_, tag, _ := strings.Cut(cells[0], "[")
			line = tag + " " + strings.Join(cells[1:], " ")
		}
		prose.WriteString(line + "\n")
	}
	return r.problems(prose.String(), own)
}

// commentsOf are the texts of the comment groups of a Go file.
func commentsOf(source []byte) (texts []string, err error) {
	f, err := parser.ParseFile(token.NewFileSet(), "", source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, group := range f.Comments {
		texts = append(texts, group.Text())
	}
	return texts, nil
}

// sectionsOf are the numbers of a page's headings, and those with which rows of its tables begin.
// A row counts only in the section that it belongs to: "5.1" in a table about WebSub is none.
func sectionsOf(text string) map[string]bool {
	numbers, top := map[string]bool{}, ""
	for line := range strings.SplitSeq(text, "\n") {
		if m := heading.FindStringSubmatch(line); m != nil {
			numbers[m[1]] = true
			top, _, _ = strings.Cut(m[1], ".")
		} else if strings.HasPrefix(line, "## ") {
			top = ""
		}
		if m := clauseRow.FindStringSubmatch(line); m != nil && top != "" && strings.HasPrefix(m[1], top+".") {
			numbers[m[1]] = true
		}
	}
	return numbers
}

// headingsOf are the headings of a page, without their numbers.
func headingsOf(text string) (list []string) {
	for line := range strings.SplitSeq(fenced.ReplaceAllString(text, ""), "\n") {
		if m := heading.FindString(line); m != "" {
			list = append(list, strings.TrimPrefix(line, m))
		} else if strings.HasPrefix(line, "#") {
			list = append(list, strings.TrimSpace(strings.TrimLeft(line, "#")))
		}
	}
	return list
}

// The test is given one mistake of each kind.
func TestReferencesTestCanFail(t *testing.T) {
	const page = "# Page\n## 2 Host\n### 2.4 Claims\n| 2.7 a | b |\n| 5.1 a | b |\n## WebSub\n| 2.9 a | b |\n### Odd answers\n"
	r := references{
		sections: map[string]map[string]bool{"formats": sectionsOf(page), "design": sectionsOf("## 3 Promises\n### 3.1 Owners\n")},
		headings: map[string][]string{"formats.md": headingsOf(page)},
	}
	for _, c := range []struct{ comment, want string }{
		{"See design §3 and §3.1, and formats §2.4\nand §2.7.", "[]"},
		{"By RFC 9110 §8.8, §13.1.5 and §14; RFC 9421 §B.2, ISO 32000-2\n§7.9.2.2, WHATWG MIME Sniffing §7, draft-x-y §7.7.", "[]"},
		{"A paragraph sign: §, ¶.", "[]"},
		{"See design §3 and §4.", "[design §4 does not exist]"},
		{"Formats §2.5: a mirror.", "[formats §2.5 does not exist]"},
		{"See formats.md §2.9 and §5.1.", "[formats §2.9 does not exist formats §5.1 does not exist]"},
		{"See the manual §2.4.", "[§2.4 names no document: See the manual §2.4.]"},
		{"Read first (§2.4).", "[§2.4 names no document: Read first (§2.4).]"},
		{"See docs/formats.md, \"Odd\nanswers\", and docs/formats.md, \"Claims\".", "[]"},
		{"See docs/formats.md, \"Even answers\".", "[docs/formats.md has no heading \"Even answers\"]"},
	} {
		comments, err := commentsOf([]byte("package p\n\n/* " + c.comment + " */\nvar a = `§9`\n"))
		if err != nil || len(comments) != 1 {
			t.Fatalf("%q, %v", comments, err)
		}
		if got := fmt.Sprint(r.problems(comments[0], "")); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.comment, got, c.want)
		}
	}
	for text, want := range map[string]string{
		"As in §2.4 and RFC 9110 §8.8. `§9`\n": "[]",
		"As in §9.\n": "[formats §9 does not exist]",
		"| §9: a [D: as §2.4] | b §2.4 | c |\n": "[]",
		"| §9: a [D: as §8] | b | c |\n":        "[formats §8 does not exist]",
		"| a | as §7 | c |\n":                   "[formats §7 does not exist]",
	} {
		if got := fmt.Sprint(r.ofPage("formats.md", text)); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	if got := fmt.Sprint(r.ofPage("README.md", "As in §2.4.")); got != "[§2.4 names no document: As in §2.4.]" {
		t.Error(got)
	}
}
