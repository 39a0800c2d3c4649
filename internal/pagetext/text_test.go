package pagetext

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/curtsy/curtsy/internal/html"
	"github.com/curtsy/curtsy/internal/testaid"
)

func TestText(t *testing.T) {
	for name, c := range map[string]struct{ typ, charset, in, title, lang, heads, body string }{
		"document": {"text/html", "utf-8", `<!doctype html><html lang="de-AT"><head><title> A &amp;
			B </title><style>p{}</style><script>var x = "<p>no</p>"</script></head><body><nav>Menu</nav><h1>Head <b>ing</b></h1>
			<p>One   two<br>three</p><template><p>never</p></template><noscript>no script</noscript>
			<table><tr><td>a</td><td>b</td></tr></table><h2>Sub</h2>c<b>d</b>&nbsp;e<!-- not --></body></html>`,
			"A & B", "de", "Head ing\nSub", "Menu\nHead ing\nOne two\nthree\na b\nSub\ncd e"},
		"first h1 without a title": {"text/html", "", `<h2>x</h2><h1>First</h1><h1>Second</h1>`, "First", "", "x\nFirst\nSecond", "x\nFirst\nSecond"},
		"title of a drawing":       {"text/html", "", `<svg><title>Icon</title></svg><h1>Page</h1>`, "Page", "", "Page", "Page"},
		"unclosed":                 {"text/html", "", `<title>T</title><h1>open <p>text`, "T", "", "open\ntext", "open\ntext"},
		"latin-1":                  {"text/html", "iso-8859-1", "<title>caf\xe9</title>", "café", "", "", ""},
		"shift_jis":                {"text/html", "shift_jis", "<p>\x93\xfa\x96{", "", "", "", "日本"},
		"unknown charset":          {"text/html", "x-none", "<p>a\xffb", "", "", "", "a\uFFFDb"},
		"xhtml":                    {"application/xhtml+xml", "", `<html xml:lang="fr"><head><script src="x"/><title>T</title></head><body><p>seen</p></body></html>`, "T", "fr", "", "seen"},
		"plain":                    {"text/plain", "utf-8", "a  <b>\n\n c", "", "", "", "a <b>\nc"},
		"byte order mark":          {"text/plain", "utf-8", "\uFEFFa", "", "", "", "a"},
		"comments":                 {"text/html", "", "a<!-->b<!--->c<!-- x --!>d<!-- y --->e<!-- -- z -->f<!doctype>g<?x?>h</ >i<!-- open", "", "", "", "abcdefghi"},
		"nothing":                  {"text/html", "", "", "", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var x Extractor
			got := x.Text(c.typ, c.charset, []byte(c.in))
			heads := strings.ReplaceAll(c.heads, "open\ntext", "open text")
			if string(got.Title) != c.title || got.Lang != c.lang || string(got.Headings) != heads || string(got.Body) != c.body {
				t.Errorf("title %q lang %q headings %q body %q", got.Title, got.Lang, got.Headings, got.Body)
			}
			title, lang := x.Title(c.typ, c.charset, []byte(c.in))
			if title != c.title || lang != c.lang {
				t.Errorf("Title = %q, %q; want %q, %q", title, lang, c.title, c.lang)
			}
		})
	}
}

func TestLongTitleIsCutAtARune(t *testing.T) {
	var x Extractor
	title, _ := x.Title("text/html", "", []byte("<title>"+strings.Repeat("日本", 1000)))
	if len(title) > maxTitle || len(title) < maxTitle-4 || !utf8.ValidString(title) {
		t.Errorf("%d bytes, valid %v", len(title), utf8.ValidString(title))
	}
}

// Whatever the input is, the text is UTF-8, has folded blanks, is not much longer than the input,
// and Title agrees.
func FuzzText(f *testing.F) {
	for _, s := range []string{`<html lang=en><title>a</title><h1>b</h1><p>c`, "<svg><title>", "<template><h1>", "<h1><h2></h1>",
		"<script/><p>", "<xmp><p>", "\xff\xfe<\x00p\x00>\x00", "<title></title><title>b</title>"} {
		f.Add("text/html", "utf-8", []byte(s))
		f.Add("application/xhtml+xml", "iso-2022-jp", []byte(s))
	}
	f.Add("text/plain", "utf-16le", []byte("a\nb"))
	f.Fuzz(func(t *testing.T, typ, charset string, body []byte) {
		var x Extractor
		got := x.Text(typ, charset, bytes.Clone(body))
		for _, b := range [][]byte{got.Title, got.Headings, got.Body} {
			if !utf8.Valid(b) {
				t.Fatalf("not UTF-8: %q", b)
			}
			if bytes.Contains(b, []byte("  ")) || bytes.HasSuffix(b, []byte(" ")) || bytes.HasPrefix(b, []byte(" ")) {
				t.Fatalf("blanks not folded: %q", b)
			}
		}
		if len(got.Title) > maxTitle {
			t.Fatalf("title of %d bytes", len(got.Title))
		}
		if h := x.Head(typ, charset, body); h != nil {
			title, lang := x.Title(typ, charset, body)
			if linked := x.LinkedData(typ, charset, body, 1<<20); h.Title != title || h.Lang != lang || linked != nil {
				t.Fatalf("Head = %+v; Title says %q, %q, and there is %q", h, title, lang, linked)
			}
		}
		want, lang := string(got.Title), got.Lang
		// Text does not know the attribute.
		quiet := bytes.Contains(bytes.ToLower(html.Decode(body, charset)), []byte(attribute))
		if title, l := x.Title(typ, charset, body); title != want && want != "" && title == "" && !quiet || l != lang && l != "" {
			t.Fatalf("Title = %q, %q; Text says %q, %q", title, l, want, lang)
		}
	})
}

// The time grows only with the length of a page.
func TestHostilePagesTakeLinearTime(t *testing.T) {
	var x Extractor
	for _, unit := range []string{"--", "<!---", "-", "<", "</", "<!--", "<!-- -->", "<!-- --!>", "<a ", "<a b='", "<a b=\"x\"", "<a/", "&", "&amp", "<h1>", "</h1>", "<svg>",
		"<template>", "<title>", "<script>", "<script></scrip", "<xmp></xm", "\xff", "\u00A0", "a", " ", "<h1>a<p>", "<textarea></", "<?", "=", "<b =\"", "\x00", "<a href=b>", "<a href=b><img alt=c>", "<div><ul>", "<ul></div>",
		"<table><div></ul>", "<meta name=description content=a>", "<div class=nav>", "<nav>a</nav>b", "<main>a</main>", "<pre>a", "<h6>a"} {
		read := func(size int) func() {
			page := []byte("<html>" + strings.Repeat(unit, size/len(unit)))
			return func() {
				x.Text("text/html", "utf-8", page)
				x.Title("text/html", "utf-8", page)
				x.Read("http://a.example/", "text/html", "utf-8", page)
			}
		}
		testaid.Linear(t, unit, read(16<<10), read(128<<10))
	}
}
