package pagetext

import (
	"bytes"
	"strings"
	"testing"

	nethtml "golang.org/x/net/html"
)

// marked returns the text of a page with brackets around what must not be shown.
func marked(r Reading) string {
	var b strings.Builder
	at := 0
	for _, s := range r.Spans {
		if s.Kind == NoSnippet {
			b.Write(r.Body[at:s.From])
			b.WriteString("[" + string(r.Body[s.From:s.To]) + "]")
			at = s.To
		}
	}
	b.Write(r.Body[at:])
	return strings.ReplaceAll(b.String(), "\n", "/")
}

// Formats §8.26: text in span, div and section with data-nosnippet is text, and is marked.
func TestDataNoSnippet(t *testing.T) {
	for _, c := range []struct{ name, page, want string }{
		{"none", `a<div>b</div>c`, "a/b/c"},
		{"div", `a<div data-nosnippet>b</div>c`, "a/[b]/c"},
		{"span in a word", `a<span data-nosnippet>b</span>c`, "a[b]c"},
		{"span with blanks", `a <span data-nosnippet> b </span> c`, "a [b] c"},
		{"section", `a<section data-nosnippet><h2>b</h2><p>c</section>d`, "a/[b/c]/d"},
		{"with a value, in any case", `a<DIV class=x DATA-NoSnippet="false" id=y>b</DIV>c`, "a/[b]/c"},
		{"no value, last of all", `a<div class="data-nosnippet" data-nosnippet/>b</div>c`, "a/[b]/c"},
		{"on other elements", `a<p data-nosnippet>b</p><td data-nosnippet>c`, "a/b/c"},
		{"other attributes", `a<div class="data-nosnippet" data-nosnippets data-no-snippet>b</div>c`, "a/b/c"},
		{"in one another", `a<div data-nosnippet>b<span data-nosnippet>c</span>d<div>e</div>f</div>g`, "a/[bcd/e/f]/g"},
		{"one after another", `a<div data-nosnippet>b</div><div data-nosnippet>c</div>d`, "a/[b]/[c]/d"},
		{"empty", `a<div data-nosnippet></div>b<span data-nosnippet> </span>c`, "a/b c"},
		{"unclosed", `a<p><span data-nosnippet>b</p>c`, "a/[b/c]"},
		{"all", `<div data-nosnippet>a<p>b</div>`, "[a/b]"},
		{"first", `<div data-nosnippet>a</div>b`, "[a]/b"},
		{"list without end tags", `<div data-nosnippet><ul><li>a<li>b<p>c</ul></div>d`, "[a/b/c]/d"},
		{"table without end tags", `<div data-nosnippet><table><tr><td>a<td>b<tr><td>c</table></div>d`, "[a b/c]/d"},
		{"void elements", `<div data-nosnippet>a<br>b<img src=x>c<hr>d</div>e`, "[a/b c/d]/e"},
		{"words of a line", `<span data-nosnippet>a<b><i>b</b></i><a href=x>c</span>d`, "[abc]d"},
		{"a drawing", `<div data-nosnippet>a<svg><path d=x /><g><circle/></g></svg>b</div>c`, "[a b]/c"},
		{"scripts", `<div data-nosnippet>a<script>"</div>"</script>b</div>c`, "[ab]/c"},
		{"comments", `<div data-nosnippet>a<!-- </div> -->b</div>c`, "[ab]/c"},
		{"a template", `<template><div data-nosnippet>x</div></template>a<div data-nosnippet><template></div><template></template></div></template>b</div>c`, "a/[b]/c"},
		{"an end tag of nothing", `<div data-nosnippet>a</section></p></b></span>b</div>c`, "[a//b]/c"},
		{"an unclosed span", `<div data-nosnippet>a<span>b</div>c`, "[ab]/c"},
		{"an unclosed span that says it", `<div data-nosnippet>a<span data-nosnippet>b</div>c`, "[ab/c]"},
		{"a name nobody knows", `<div data-nosnippet>a<x-y>b</div>c</x-y>d<span data-nosnippet>e</div>f</span>g`, "[ab/cde/fg]"},
		{"a template that is none", `<math><template><dd><section data-nosnippet>a</template>b</section>c`, "[b]/c"},
		// A browser ignores these end tags, or does not. The element never ends too early.
		{"a span through a paragraph", `<span data-nosnippet>a<p>b</span>c</p>d</span>e`, "[a/bc/d]e"},
		{"a table's cell", `<div data-nosnippet>a<table><tr><td>b</div>c</table>d</div>e`, "[a/b/c/d]/e"},
		{"a form", `<form><div data-nosnippet>a</form>b</div>c`, "[a/b]/c"},
		{"an object", `<div data-nosnippet>a<object></div>b</object>c</div>d`, "[a/b/c]/d"},
		{"a list", `<div data-nosnippet><select>a</div>b</select>c</div>d`, "[a/b c]/d"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var x Extractor
			if got := marked(x.Read(somePage, "text/html", "utf-8", []byte(c.page))); strings.ReplaceAll(got, "//", "/") != strings.ReplaceAll(c.want, "//", "/") {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
	var x Extractor
	if got := marked(x.Read(somePage, "application/xhtml+xml", "utf-8", []byte(`<p>a<span data-nosnippet=""/>b</p>`))); got != "ab" {
		t.Errorf("XHTML: %s", got)
	}
	if got := marked(x.Read(somePage, "text/plain", "utf-8", []byte(`<div data-nosnippet>a</div>`))); got != "<div data-nosnippet>a</div>" {
		t.Errorf("plain text: %s", got)
	}
}

// Beyond the limits no text of the page may be shown.
func TestDataNoSnippetBounds(t *testing.T) {
	many := func(n int) string { return "<p>x " + strings.Repeat("a <span data-nosnippet>b</span> ", n) + "c" }
	deep := func(n int) string {
		return "x<div data-nosnippet>" + strings.Repeat("<div>", n) + "a" + strings.Repeat("</div>", n+1) + "b"
	}
	for _, c := range []struct {
		name string
		page string
		all  bool
	}{
		{"as many as are kept", many(maxSpans), false},
		{"one more", many(maxSpans + 1), true},
		{"as deep as is followed", deep(maxOpen - 1), false},
		{"deeper", deep(maxOpen), true},
	} {
		var x Extractor
		r := x.Read(somePage, "text/html", "utf-8", []byte(c.page))
		body, _ := r.Quotable()
		if all := strings.HasPrefix(marked(r), "[x"); all != c.all || all != (len(body) == 0) {
			t.Errorf("%s: all %v, want %v; %.40q may be shown", c.name, all, c.all, body)
		}
	}
}

// A heading that must not be shown does not become the title of the page.
func TestDataNoSnippetTitle(t *testing.T) {
	for page, want := range map[string]string{
		`<title>t</title><div data-nosnippet><h1>a</h1></div>`:                           "t",
		`<div data-nosnippet><h1>a</h1></div><h1>b</h1><h1>c</h1>`:                       "b",
		`<h1>a <span data-nosnippet>b</span></h1><h1>c</h1>`:                             "c",
		`<h1>a <span data-nosnippet>b</span> <i>c</i></h1>`:                              "",
		`<div data-nosnippet>a</div><h1>b <span data-nosnippets>c</span></h1>`:           "b c",
		`<section data-nosnippet><h1>a</h1><section>b</section><h1>c</h1></section>d`:    "",
		`<span data-nosnippet>a</span><p>b</p><h1>c</h1><div data-nosnippet>d</div><h1>`: "c",
	} {
		var x Extractor
		if got, _ := x.Title("text/html", "utf-8", []byte(page)); got != want {
			t.Errorf("%s: %q, want %q", page, got, want)
		}
	}
}

// Quotable text is all visible text except what has data-nosnippet.
func TestQuotableText(t *testing.T) {
	for _, c := range []struct {
		typ, charset, page, want string
		none                     bool
	}{
		{"text/html", "utf-8", `<p>a</p><p>b`, "a\nb", false},
		{"text/html", "utf-8", `<p>a</p><div DATA-noSnippet>b</div><p>c data-nosnippet`, "a\n…\nc data-nosnippet", false},
		{"text/html", "utf-16le", "<\x00p\x00 \x00d\x00a\x00t\x00a\x00", "", false},
		{"text/html", "utf-8", `<div data-nosnippet>b</div>`, "", true},
		{"text/html", "utf-8", `<div data-nosnippet></div>`, "", false},
		{"text/plain", "utf-8", `<div data-nosnippet>b</div>`, `<div data-nosnippet>b</div>`, false},
	} {
		var x Extractor
		if got, none := x.Quotable(somePage, c.typ, c.charset, []byte(c.page)); string(got) != c.want || none != c.none {
			t.Errorf("%s: %q, %v, want %q, %v", c.page, got, none, c.want, c.none)
		}
	}
	wide := make([]byte, 0, 200)
	for _, b := range []byte("<p>a<span data-nosnippet>b</span>c") {
		wide = append(wide, b, 0)
	}
	var x Extractor
	if got, _ := x.Quotable(somePage, "text/html", "utf-16le", wide); string(got) != "a…c" {
		t.Errorf("in another charset: %q", got)
	}
}

func TestQuotable(t *testing.T) {
	for _, c := range []struct{ page, want string }{
		{`a<div>b</div>c`, "a\nb\nc"},
		{`a <span data-nosnippet>b</span> c<span data-nosnippet>d</span>e`, "a … c…e"},
		{`<div data-nosnippet>a</div>b<div data-nosnippet>c</div>`, "…\nb\n…"},
		{`a<div data-nosnippet>b</div> <div data-nosnippet>c</div>d`, "a\n…\nd"},
		{`<div data-nosnippet>a</div> … <div data-nosnippet>b</div>`, ""},
		{`<div data-nosnippet>a</div>`, ""},
	} {
		var x Extractor
		r := x.Read(somePage, "text/html", "utf-8", []byte(c.page))
		if got, _ := r.Quotable(); string(got) != c.want {
			t.Errorf("%s: %q, want %q", c.page, got, c.want)
		}
	}
	var x Extractor
	r := x.Read(somePage, "text/html", "utf-8", []byte(`<p>before <span data-nosnippet>much that is not shown</span> of it</p>`+
		`<h2 id=a>He<span data-nosnippet>xx</span>ad</h2><h2><span data-nosnippet>gone</span></h2><pre>code</pre>`))
	body, spans := r.Quotable()
	var got []string
	for _, s := range spans {
		got = append(got, string(body[s.From:s.To]))
	}
	if s := strings.Join(got, "|"); s != "He…ad|code" {
		t.Errorf("spans %s", s)
	}
}

// What a browser has in an element with data-nosnippet must not be shown, wherever the tags are:
// each number in the text of the page is looked up in the tree.
func FuzzDataNoSnippet(f *testing.F) {
	for i := range len(quietTags) {
		f.Add([]byte{0, byte(i), 1, byte(i + 1), 2, byte(i), 14, 3})
	}
	f.Fuzz(func(t *testing.T, picks []byte) {
		if len(picks) > 200 {
			return
		}
		var b strings.Builder
		b.WriteString("<!DOCTYPE html><body>")
		for i, p := range picks {
			b.WriteString(quietTags[int(p)%len(quietTags)])
			b.WriteString(" n" + strings.Repeat("i", i) + "x ")
		}
		page := b.String()
		var x Extractor
		r := x.Read(somePage, "text/html", "utf-8", []byte(page))
		shown, _ := r.Quotable()
		tree, err := nethtml.Parse(strings.NewReader(page))
		if err != nil {
			return
		}
		words := map[string]bool{}
		for _, w := range bytes.Fields(shown) {
			words[string(w)] = true
		}
		var look func(n *nethtml.Node, quiet bool)
		look = func(n *nethtml.Node, quiet bool) {
			if n.Type == nethtml.TextNode && quiet {
				for w := range strings.FieldsSeq(n.Data) {
					if words[w] {
						t.Fatalf("%s: %s is shown", page, w)
					}
				}
			}
			for _, a := range n.Attr {
				quiet = quiet || a.Key == "data-nosnippet" && (n.Data == "div" || n.Data == "span" || n.Data == "section")
			}
			for c := n.FirstChild; c != nil; c = c.NextSibling {
				look(c, quiet)
			}
		}
		look(tree, false)
	})
}

// quietTags are the tags of which FuzzDataNoSnippet makes pages.
var quietTags = []string{"<div data-nosnippet>", "</div>", "<span data-nosnippet>", "</span>", "<section data-nosnippet>", "</section>",
	"<div>", "<span>", "<section>", "<p>", "</p>", "<table>", "</table>", "<tr>", "<td>", "</td>", "</tr>", "<form>", "</form>", "<ul>", "</ul>",
	"<li>", "</li>", "<b>", "</b>", "<a href=x>", "</a>", "<h1>", "</h1>", "<button>", "</button>", "<object>", "</object>", "<svg>", "</svg>",
	"<path/>", "<path>", "<div/>", "<br>", "</br>", "<x-y>", "</x-y>", "<article>", "</article>", "<caption>", "<template>", "</template>",
	"<dl><dt>", "<dd>", "</dl>", "<math>", "</math>", "<mi>", "</mi>", "<foreignObject>", "</foreignObject>", "<desc>", "<blockquote>", "</blockquote>",
	"<select>", "<option>", "</select>", "<ruby>", "<rt>", "</ruby>", "<listing/>", "<nobr>", "<marquee>", "</marquee>", "</body>", "</html>", "<body data-nosnippet>"}
