package docs_test

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// TestLinks: every relative link of the README and of the documentation leads to a file, and to a
// heading or an anchor in it.
func TestLinks(t *testing.T) {
	pages := everyPage(t)
	if len(pages) < 20 {
		t.Errorf("only %d pages found", len(pages))
	}
	n := 0
	for _, page := range pages {
		text := read(t, page)
		n += len(links(text))
		for _, p := range deadLinks(page, text) {
			t.Error(p)
		}
	}
	if n < 100 {
		t.Errorf("only %d links found: is the test looking at the pages?", n)
	}
}

// TestEveryPageIsListed: the index has each page of the documentation.
func TestEveryPageIsListed(t *testing.T) {
	index := links(read(t, "README.md"))
	for _, page := range ourPages(t) {
		if page != "README.md" && !slices.Contains(index, page) {
			t.Errorf("docs/%s is not in docs/README.md", page)
		}
	}
}

// ourPages are the pages of this folder.
func ourPages(t *testing.T) (pages []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".md") {
			pages = append(pages, filepath.ToSlash(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// everyPage is ourPages, and what people read outside of this folder.
func everyPage(t *testing.T) []string {
	t.Helper()
	pages := append(ourPages(t), "../README.md", "../CONTRIBUTING.md", "../CHANGELOG.md", "../bench/README.md")
	for _, folder := range []string{"../deploy/*/README.md", "../examples/README.md", "../examples/*/README.md"} {
		more, err := filepath.Glob(folder)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, more...)
	}
	return pages
}

func read(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var (
	link     = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	anchored = regexp.MustCompile(`<a id="([^"]+)">`)
	scheme   = regexp.MustCompile(`^[a-z]+:`)
	fenced   = regexp.MustCompile("(?ms)^```.*?^```$")
	spans    = regexp.MustCompile("`[^`\n]*`")
)

// links are the relative links of a page, code left out.
func links(text string) (to []string) {
	text = spans.ReplaceAllString(fenced.ReplaceAllString(text, ""), "")
	for _, m := range link.FindAllStringSubmatch(text, -1) {
		if !scheme.MatchString(m[1]) {
			to = append(to, m[1])
		}
	}
	return to
}

// deadLinks are the links of a page that lead nowhere.
func deadLinks(page, text string) (dead []string) {
	for _, l := range links(text) {
		path, anchor, _ := strings.Cut(l, "#")
		path, err := url.PathUnescape(path)
		if err != nil {
			dead = append(dead, fmt.Sprintf("%s: the link %s cannot be read: %v", page, l, err))
			continue
		}
		target := text
		if path != "" {
			file := filepath.Join(filepath.Dir(page), path)
			info, err := os.Stat(file)
			if err != nil {
				dead = append(dead, fmt.Sprintf("%s: the link %s leads to no file", page, l))
				continue
			}
			if anchor == "" || info.IsDir() {
				continue
			}
			body, err := os.ReadFile(file)
			if err != nil {
				dead = append(dead, fmt.Sprintf("%s: the link %s: %v", page, l, err))
				continue
			}
			target = string(body)
		}
		if !slices.Contains(anchors(target), anchor) {
			dead = append(dead, fmt.Sprintf("%s: the link %s leads to no heading", page, l))
		}
	}
	return dead
}

// anchors are what a link can lead to in a page: its headings, as GitHub names them, and anchors.
func anchors(text string) (names []string) {
	for _, m := range anchored.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	for line := range strings.SplitSeq(fenced.ReplaceAllString(text, ""), "\n") {
		if !strings.HasPrefix(line, "#") {
			continue
		}
		title := strings.ToLower(strings.TrimSpace(strings.TrimLeft(line, "#")))
		names = append(names, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
				return r
			}
			return -1
		}, title))
	}
	return names
}

// A page made up for it, with one mistake of each kind.
func TestLinksTestCanFail(t *testing.T) {
	page := filepath.Join(t.TempDir(), "a.md")
	other := filepath.Join(filepath.Dir(page), "b.md")
	if err := os.WriteFile(other, []byte("# One: `more`, now\n```\n# no heading\n```\n<a id=\"old\"></a>\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const good = "## Here\n[a](b.md) [a](b.md#one-more-now) [a](#here) [a](b.md#old) [a](https://example.org/#x) `[a](none.md)`\n```\n[a](none.md)\n```\n"
	for _, c := range []struct {
		more string
		dead int
	}{
		{"", 0}, {"[a](none.md)", 1}, {"[a](b.md#two)", 1}, {"[a](#there)", 1}, {"[a](b.md#no-heading)", 1}, {"[a](%zz)", 1},
	} {
		if dead := deadLinks(page, good+c.more); len(dead) != c.dead {
			t.Errorf("%q: %q", c.more, dead)
		}
	}
}
