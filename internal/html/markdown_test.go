package html

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestFromMarkdown(t *testing.T) {
	for _, c := range []struct{ name, md, want string }{
		{"words", "# A *b*\n\n- [c](/d)\n- e\n", "<h1>A <em>b</em></h1>\n<ul>\n<li><a href=\"/d\">c</a></li>\n<li>e</li>\n</ul>\n"},
		{"HTML in it", "a <b>c</b>\n\n<meta name=\"robots\" content=\"noindex\">\n", "<p>a <b>c</b></p>\n<meta name=\"robots\" content=\"noindex\">\n"},
		{"front matter", "---\ntitle: \"A <b>\"\nx: y\n---\n# C\n", "<title>A &lt;b&gt;</title>\n<h1>C</h1>\n"},
		{"no end of it", "---\ntitle: a\n", "<hr>\n<p>title: a</p>\n"},
		{"a table", "| a |\n|---|\n| b |\n", "<table>\n<thead>\n<tr>\n<th>a</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>b</td>\n</tr>\n</tbody>\n</table>\n"},
		{"nothing", "", ""},
	} {
		if got := string(FromMarkdown([]byte(c.md))); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestMarkdownBounds(t *testing.T) {
	for _, n := range []int{maxBytes, maxBytes + 1} {
		got := FromMarkdown([]byte("# a\n" + strings.Repeat("b\n", (n-4)/2) + strings.Repeat("c", n%2)))
		if pre := bytes.Contains(got, []byte("<pre>")); pre != (n > maxBytes) || !bytes.HasPrefix(got, []byte("<h1>a</h1>")) {
			t.Errorf("%d bytes: %v", n, pre)
		}
	}
	for _, n := range []int{maxMatter - 4, maxMatter} {
		got := FromMarkdown([]byte("---\ntitle: a\n" + strings.Repeat("#\n", (n-9)/2) + "---\nb"))
		if found := bytes.HasPrefix(got, []byte("<title>")); found != (n < maxMatter) {
			t.Errorf("front matter of %d bytes: %v", n, found)
		}
	}
}

func TestMarkdownTame(t *testing.T) {
	for _, n := range []int{maxSigns, maxSigns + 1} {
		if got := FromMarkdown([]byte(strings.Repeat("*a", n) + "b")); bytes.HasPrefix(got, []byte("<pre>")) != (n > maxSigns) {
			t.Errorf("%d signs: %.40s", n, got)
		}
	}
	for _, n := range []int{maxQuoted, maxQuoted + 1} {
		if got := FromMarkdown([]byte(strings.Repeat("> ", n) + "a")); bytes.HasPrefix(got, []byte("<pre>")) != (n > maxQuoted) {
			t.Errorf("%d levels: %.40s", n, got)
		}
	}
	long := strings.Repeat("- [a](/b)\n", 2000) + "\n" + strings.Repeat("| *a* |\n", 2000) + strings.Repeat("a **b**\n\n", 2000)
	if got := FromMarkdown([]byte(long)); bytes.HasPrefix(got, []byte("<pre>")) {
		t.Error("a long page is read as plain text")
	}
}

// The cost of a page grows with its size, whatever is in it: each takes some 0.1 s. In proportion
// to the square they would take many minutes, and go test would stop at its time limit.
func TestMarkdownCostsLittle(t *testing.T) {
	for _, s := range []string{"[", "]", "![", "*a ", "**a", "_a_", "`", "``a`", "> ", "- ", "  - a\n", "1. a\n", "|a", "|a|\n|-|\n", "<", "<a ", "&", "\\", "[a](", "[a](b ", "[a][b]\n", "[a]: b\n", "#\n", "~~a", "http://a.b ", "www.a.b/(", "a@b.c ", "```\n", "---\n", "a\n===\n", "<!--", "<?", "<![CDATA[", "\t", "[^1]", "- [ ] a\n", "***a **b*"} {
		t.Run(s, func(*testing.T) { FromMarkdown(bytes.Repeat([]byte(s), maxBytes/len(s))) })
	}
}

func FuzzMarkdown(f *testing.F) {
	f.Add([]byte("---\ntitle: a\n---\n# b\n\n[c](d \"e\") ![f](g)\n\n| h |\n|---|\n| i |\n"))
	f.Fuzz(func(t *testing.T, md []byte) {
		if got := FromMarkdown(md); utf8.Valid(md) && !utf8.Valid(got) {
			t.Errorf("%q", got)
		}
	})
}
