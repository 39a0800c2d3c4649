package pagetext

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/curtsy/curtsy/internal/testaid"
)

func htmlPage(kind, title string) *Page {
	return &Page{URL: "http://a.example/dir/page?x=1", ContentType: kind, Charset: "utf-8", Title: title}
}

func TestMarkdown(t *testing.T) {
	text := "<p>" + strings.Repeat("Much text of the page itself. ", 20) + "</p>"
	body := strings.TrimSpace(strings.Repeat("Much text of the page itself. ", 20))
	for _, c := range []struct{ name, page, want string }{
		{"words", `<h1>A <em>b</em></h1><p>One <b>two</b> <i>three</i>, <code>x*y</code> and <del>four</del>.<br>Five`,
			"# A *b*\n\nOne **two** *three*, `x*y` and ~~four~~.  \nFive"},
		{"a title where no heading is", `<p>a`, "# Title\n\na"},
		{"the first heading is the title", `<h2>tItle</h2><p>a`, "## tItle\n\na"},
		{"links", `<h1>T</h1><p><a href="../up?a=1&amp;b=2#c">up</a> <a href=//b.example/>b</a> <a href="mailto:x@y">mail</a> <a href="#here">here</a> <a href="/dir/page?x=1#y">self</a> <a href=javascript:x>js</a>`,
			"# T\n\n[up](http://a.example/up?a=1&b=2) [b](http://b.example/) mail here self js"},
		{"a base", `<base href="https://c.example/d/"><base href="https://e.example/"><h1>T</h1><a href=f>g</a>`, "# T\n\n[g](https://c.example/d/f)"},
		{"permalinks", `<h1>T<a class=headerlink href="#t" title="Permalink">¶</a></h1><p>a <a href="#f">#</a> <a href="/x">#</a>`, "# T\n\na [#](http://a.example/x)"},
		{"a link around blocks", `<h1>T</h1><a href=/x><h2>H</h2><p>a</p></a>b`,
			"# T\n\n## [H](http://a.example/x)\n\n[a](http://a.example/x)\n\nb"},
		{"left open", `<h1>T</h1><p><b>a<p>b<div><i>c</div>d`, "# T\n\n**a**\n\nb\n\n*c*\n\nd"},
		{"an image in a link", `<h1>T</h1><a href=/x><img src=i alt=a></a>`, "# T\n\n[![a](http://a.example/dir/i)](http://a.example/x)"},
		{"brackets in a link", `<h1>T</h1><a href=/x>a] [b</a>`, "# T\n\n[a\\] \\[b](http://a.example/x)"},
		{"images", `<h1>T</h1><img src=i.png alt="a [b]"><img src=j.png><img alt=c src=data:x>`, "# T\n\n![a \\[b\\]](http://a.example/dir/i.png) c"},
		{"lists", `<h1>T</h1><ul><li>a<li>b<ol start=3><li>c<li>d</ol></ul><p>e`, "# T\n\n- a\n- b\n  \n  3. c\n  4. d\n\ne"},
		{"definitions", `<h1>T</h1><dl><dt>a<dd>b<dt>c<dd>d</dl>e`, "# T\n\n**a**\n\nb\n\n**c**\n\nd\n\ne"},
		{"code", "<h1>T</h1><div class='highlight-python notranslate'><pre>if <b>x</b>:\n\n    y = \"`\" # &lt;z&gt;\n</pre></div><pre>```</pre><pre><code class=language-c++>f();</code></pre>",
			"# T\n\n```python\nif x:\n\n    y = \"`\" # <z>\n```\n\n````\n```\n````\n\n```c++\nf();\n```"},
		{"an xmp", `<h1>T</h1><xmp><b>x</b></xmp>a`, "# T\n\n```\n<b>x</b>\n```\n\na"},
		{"a table", `<h1>T</h1><table><tr><th>a<th>b<tr><td>1|2<td><p>3</p><p>4</p></table>`, "# T\n\n| a | b |\n|---|---|\n| 1\\|2 | 3  <br />4 |"},
		{"a quotation", `<h1>T</h1><blockquote><p>a<p>b</blockquote>`, "# T\n\n> a\n> \n> b"},
		{"what looks like Markdown", `<h1>T</h1><p># a</p><p>* b</p><p>1. c</p><p>[d](e) <i>f</i> _g_ <b>&lt;script&gt;</b></p>`,
			"# T\n\n\\# a\n\n\\* b\n\n1\\. c\n\n[d\\](e) *f* \\_g\\_ **\\<script>**"},
		{"what nobody sees", `<head><title>x</title><style>y</style></head><h1>T</h1><script>a</script><template>b</template><svg><text>c</text></svg><textarea>d</textarea>e`, "# T\n\ne"},
		{"angles", `<h1>a&lt;b></h1><p>a &lt; b > c<p>> d`, "# a\\<b>\n\na < b > c\n\n\\> d"},
		{"the converter's own characters", "<h1>T</h1><p>a\a*b\uF002c&#7;d&#xF002;e", "# T\n\na\\*bcde"},
		{"around", `<nav><a href=/1>x</a></nav><div class=sidebar>y</div><h1>T</h1>` + text + `<footer>z</footer>`, "# T\n\n" + body},
		{"outside of main", `<p>x</p><header><h1>S</h1></header><main><h1>T</h1>` + text + `</main><p>y</p>`, "# T\n\n" + body},
		{"a note in main", `<main><h1>T</h1>` + text + `<aside>note</aside></main>`, "# T\n\n" + body + "\n\nnote"},
		{"links that are all", `<h1>T</h1><ul><li><a href=/1>One</a><li><a href=/2>Two</a><li><a href=/3>Three</a></ul>`,
			"# T\n\n- [One](http://a.example/1)\n- [Two](http://a.example/2)\n- [Three](http://a.example/3)"},
		{"links around", `<h1>T</h1><ul><li><a href=/1>One</a><li><a href=/2>Two</a><li><a href=/3>Three</a></ul>` + text, "# T\n\n" + body},
		{"all is boilerplate", `<footer><p>` + text + `</footer>`, "# Title\n\n" + body},
		{"nothing", ``, "# Title"},
	} {
		var x Extractor
		got, none := x.Markdown(htmlPage("text/html", "Title"), []byte(c.page))
		if string(got) != c.want || none {
			t.Errorf("%s:\n%q, want\n%q", c.name, got, c.want)
		}
	}
}

func TestMarkdownKinds(t *testing.T) {
	var x Extractor
	for _, c := range []struct{ kind, charset, page, want string }{
		{"text/plain", "utf-8", " # a <b>\n\tc\n", "# a <b>\n\tc"},
		{"text/plain", "iso-8859-1", "\xe4", "ä"},
		{"text/html", "windows-1252", "<h1>\x84\xe4</h1>", "# „ä"},
		{"application/xhtml+xml", "utf-8", `<h1>T</h1><p>a<b/>b<i/><script/>c</p><div/>d`, "# T\n\nabc\n\nd"},
	} {
		p := htmlPage(c.kind, "")
		p.Charset = c.charset
		if got, _ := x.Markdown(p, []byte(c.page)); string(got) != c.want {
			t.Errorf("%s: %q, want %q", c.kind, got, c.want)
		}
	}
}

// Formats §8.26: Markdown does not contain what has data-nosnippet, nor its links and images. A
// page that consists only of this has no Markdown.
func TestUsage_8_26_Markdown(t *testing.T) {
	for _, c := range []struct {
		page, want string
		none       bool
	}{
		{`<h1>T</h1><p>a <span data-nosnippet>walrus</span> b`, "# T\n\na … b", false},
		{`<h1>T</h1>a<div data-nosnippet>walrus<a href=/walrus>walrus</a><img src=walrus alt=walrus></div>b`, "# T\n\na … b", false},
		{`<h1>T</h1><section data-nosnippet><h2>walrus</h2><table><tr><td>walrus</table></section><p>b`, "# T\n\n…\n\nb", false},
		{`<div data-nosnippet><h1>walrus</h1><pre>walrus</pre></div>`, "", true},
		{`<h1>T</h1><p>a` + strings.Repeat("<span data-nosnippet>walrus<div>", maxOpen+2) + `b`, "", true},
	} {
		var x Extractor
		got, none := x.Markdown(htmlPage("text/html", ""), []byte(c.page))
		if string(got) != c.want || none != c.none {
			t.Errorf("%.80s: %q, %v, want %q, %v", c.page, got, none, c.want, c.none)
		}
	}
}

// A page that is too large for a tree, or too deep, comes as text.
func TestMarkdownBounds(t *testing.T) {
	var x Extractor
	for _, n := range []int{maxMarkdownTags - 10, maxMarkdownTags + 10} {
		got, _ := x.Markdown(htmlPage("text/html", ""), []byte("<h1>T</h1>"+strings.Repeat("a<hr>", n)))
		if as := bytes.HasPrefix(got, []byte("# T\n\na\n\n---")); as != (n < maxMarkdownTags) {
			t.Errorf("%d tags: %.40q", n, got)
		}
	}
	for _, n := range []int{maxMarkdownBytes / 2, maxMarkdownBytes + 10} {
		got, _ := x.Markdown(htmlPage("text/html", ""), []byte("<h1>T</h1>"+strings.Repeat("a ", n/2)))
		if as := bytes.HasPrefix(got, []byte("# T\n\na")); as != (n < maxMarkdownBytes) {
			t.Errorf("%d bytes: %.40q", n, got)
		}
	}
	for _, n := range []int{100, 2000} {
		got, _ := x.Markdown(htmlPage("text/html", ""), []byte("<h1>T</h1>"+strings.Repeat("<div>", n)+"a"))
		if !strings.Contains(string(got), "T\n") || !strings.HasSuffix(string(got), "a") {
			t.Errorf("%d deep: %.40q", n, got)
		}
	}
}

// Markdown has limited costs, whatever is in a page: at most 256 MiB, none of which stays, for an
// export of 2 MiB, and time in proportion.
func TestMarkdownCostsLittle(t *testing.T) {
	bombs := func(size int) []testaid.Bomb { return append(testaid.HTMLBombs(size), linesBombs(size)...) }
	for kind, size := range map[string]int{"text/html": testaid.Volume(2<<20, 100<<10), "application/xhtml+xml": 100 << 10} {
		p := htmlPage(kind, "")
		testaid.CheckCostWithin(t, kind, size, 256<<20-size, bombs, func(b testaid.Bomb) func() {
			var x Extractor
			return func() {
				md, _ := x.Markdown(p, b.Body)
				for range Chunks(md, MinChunk) {
				}
			}
		})
	}
}

// linesBombs returns pages that would be hard for a converter.
func linesBombs(size int) (all []testaid.Bomb) {
	for _, s := range []string{"<b>a<p>", "<a href=/x>a<div>", "<b><i><s><tt><b><i><s><tt>a<p>", "<ul><li>", "<blockquote>a", "<table><tr><td>", "*", "`", "[", "_a", "<dl><dt>a<dd>",
		"<pre>`", "<td colspan=8 rowspan=8>a", "<tr><td colspan=8>a", "<ol><li>a</ol>", "<h1>a", "> ", "&amp;", "\\", "<div data-nosnippet>a</div>b", "<img alt=a src=b>", "a\n\n", "</b></p>"} {
		all = append(all, testaid.Bomb{Name: "many " + s, Body: bytes.Repeat([]byte(s), size/len(s)+1)})
	}
	return all
}

func FuzzMarkdown(f *testing.F) {
	for _, s := range []string{"<p>a<b>b", "<table><tr><td>", "<pre><code class=language-go>x", "<ul><li>a<ol><li>b", "<a href=x>y", "<dl><dt>a<dd>b", "<main><h1>x</h1>", "<nav>", "<svg><title>", "```\n", "\a"} {
		f.Add([]byte(s), []byte("</p>text"), false)
	}
	f.Fuzz(func(t *testing.T, before, after []byte, xml bool) {
		if len(before)+len(after) > 64<<10 || bytes.Contains(append(bytes.Clone(before), after...), []byte("walrus")) {
			return
		}
		kind := "text/html"
		if xml {
			kind = "application/xhtml+xml"
		}
		page := append(append(bytes.Clone(before), "<div data-nosnippet>walrus<p>walrus</div>"...), after...)
		var x, y Extractor
		p := htmlPage(kind, "title")
		md, none := x.Markdown(p, page)
		if !utf8.Valid(md) || bytes.ContainsAny(md, reserved) {
			t.Fatalf("%q", md)
		}
		quotable, _ := y.Quotable(p.URL, kind, "utf-8", page)
		if bytes.Contains(md, []byte("walrus")) && !bytes.Contains(quotable, []byte("walrus")) {
			t.Fatalf("gives away what is not to be shown: %q\n%q", md, quotable)
		}
		if none && len(bytes.Trim(md, "… \n")) > 0 {
			t.Fatalf("none, and %q", md)
		}
		all := 0
		for c := range Chunks(md, MinChunk) {
			all += len(c.Text)
		}
		if len(bytes.TrimSpace(md)) > 0 && all == 0 {
			t.Fatalf("no pieces of %q", md)
		}
	})
}
