package pagetext

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	nethtml "golang.org/x/net/html"

	"github.com/curtsy/curtsy/internal/html"
	"github.com/curtsy/curtsy/pkg/canon"
)

const somePage = canon.URL("https://docs.example/manual/page.html?v=1")

// about describes a Reading, with one fact on each line.
func about(r Reading) string {
	var b strings.Builder
	for _, s := range r.Spans {
		fmt.Fprintf(&b, "%s %s\n", [...]string{Heading: fmt.Sprint("h", s.Level), Boilerplate: "around", Code: "code", NoSnippet: "quiet"}[s.Kind],
			strings.ReplaceAll(string(r.Body[s.From:s.To]), "\n", "/"))
	}
	for _, l := range r.Links {
		fmt.Fprintf(&b, "%s %q", l.Href, l.Text)
		if l.NoFollow {
			b.WriteString(" nofollow")
		}
		if l.Around {
			b.WriteString(" around")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

const prose = "<p>Here stands the text of the page, with enough words in it that nobody takes it for a list of links or a menu.</p>"

func TestRead(t *testing.T) {
	text := "Here stands the text of the page, with enough words in it that nobody takes it for a list of links or a menu."
	nav := `<a href=/a>one</a> <a href=/b>two</a> `
	links := "https://docs.example/a \"one\"%s\nhttps://docs.example/b \"two\"%s\n"
	in, around := fmt.Sprintf(links, "", ""), fmt.Sprintf(links, " around", " around")
	for name, c := range map[string]struct{ page, want string }{
		"headings": {`<h1>A &amp; <b>b</b></h1><h4>c<h6> d </h6>e<h2></h2><h3>f<p>g`, "h1 A & b\nh4 c\nh6 d\nh3 f\n"},
		"code":     {"<pre>a\n  b</pre><code>c</code>", "code a b\n"},
		"links": {`<a href="b.html#x">to <b>b</b></a><a href=/c?a=1&amp;b=2&copy=3>c</a><a href="#top">up</a><a href="mailto:a@b.example">m</a>` +
			`<a name=x>anchor</a><a href="page.html?v=1">self</a><a href='//other.example' rel="noopener ugc"> o<a href=http:/[>bad</a>`,
			`https://docs.example/manual/b.html "to b"` + "\n" + `https://docs.example/c?a=1&b=2&copy=3 "c"` + "\n" + `https://other.example/ "o" nofollow` + "\n"},
		"base":             {`<a href=x>x</a><base target=a><base href="/root/"><base href="/no/">`, "https://docs.example/root/x \"x\"\n"},
		"broken base":      {`<base href="data:,"><a href=x>x</a>`, "https://docs.example/manual/x \"x\"\n"},
		"alt":              {`<a href=x>a <img alt="b &amp; c"> d<img><img alt=e></a><img alt=f>`, "https://docs.example/manual/x \"a b & c d e\"\n"},
		"link in a block":  {`<ul><li><a href=x>x</ul>y`, "https://docs.example/manual/x \"x\"\n"},
		"nothing is seen":  {`<template><h1>a</h1><a href=x>y</a><nav>z</nav></template><script>"<h1>a</h1>"</script>`, ""},
		"nav":              {"<nav>" + nav + "</nav>" + prose, "around one two\n" + around},
		"class":            {`<div class="navheader">` + nav + "</div>" + prose, "around one two\n" + around},
		"id":               {`<div id=pageFooter>` + nav + "</div>" + prose, "around one two\n" + around},
		"role":             {`<div role=navigation>` + nav + "</div>" + prose, "around one two\n" + around},
		"chapter":          {`<section id=related-work>` + nav + "</section><div class=section id=menu>a</div>" + prose, in},
		"beside":           {`<div class=has-sidebar>` + nav + "</div>" + prose, in},
		"words in words":   {`<div class="navy menus">` + nav + "</div>" + prose, in},
		"header":           {"<header>" + nav + "</header>" + prose, "around one two\n" + around},
		"header of text":   {"<header><h1>a</h1>" + nav + "</header>" + prose, "h1 a\n" + in},
		"links alone":      {"<ul><li>" + nav + "<a href=/c>three</a></ul>" + prose, "around one two three\n" + around + "https://docs.example/c \"three\" around\n"},
		"links in text":    {"<ul><li>some words before " + nav + "<a href=/c>three</a></ul>" + prose, in + "https://docs.example/c \"three\"\n"},
		"all is a list":    {"<nav>a</nav><ul><li>" + nav + "<a href=/c>three</a></ul>", "around a\n" + in + "https://docs.example/c \"three\"\n"},
		"all is around":    {"<nav>" + nav + "</nav>", in},
		"main":             {"<div>before</div><main>" + prose + "</main>" + nav, "around before\naround one two\n" + around},
		"little main":      {"<div>before</div>" + prose + "<main>a</main>", ""},
		"main in a menu":   {`<div class=menu><div role=main>` + prose + "</div></div>", ""},
		"several articles": {"<article>" + prose + "</article><article>" + prose + "</article><p>c", "around c\n"},
		"not closed":       {"<nav>" + nav, in},
		"out of a table":   {`<div class=nav><table></div><tr><td>a</table>b</div>` + prose, "around a/b\n"},
		"image in a menu":  {`<nav>a<a href=/x><img alt=y></a></nav>` + prose, "around a\nhttps://docs.example/x \"y\" around\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var x Extractor
			for range 2 { // the second finds what the first left behind
				if got := about(x.Read(somePage, "text/html", "", []byte(c.page))); got != strings.ReplaceAll(c.want, "TEXT", text) {
					t.Errorf("%s\ngot\n%swant\n%s", c.page, got, c.want)
				}
			}
		})
	}
}

func TestReadHead(t *testing.T) {
	var x Extractor
	page := `<html lang=de-AT><title> A &lt; B</title><meta content=" no " property="og:description"><meta name=Description content="what&#10; it is">
		<meta property="og:description" content="no"><body><a href=x>1234</a> 567890`
	r := x.Read(somePage, "text/html", "", []byte(page))
	if string(r.Title) != "A < B" || r.Lang != "de" || string(r.Description) != "what it is" || string(r.Body) != "1234 567890" || r.LinkShare != 4./11 {
		t.Errorf("%q %q %q %q %v", r.Title, r.Lang, r.Description, r.Body, r.LinkShare)
	}
	if r := x.Read(somePage, "text/plain", "", []byte("<h1>a  b")); string(r.Body) != "<h1>a b" || r.Title != nil || r.Spans != nil || r.Links != nil {
		t.Errorf("plain text: %+v", r)
	}
	r = x.Read(somePage, "application/xhtml+xml", "", []byte(`<html><body><nav/><a href="x"/><h1/><pre/>text`))
	got := about(r)
	r = x.Read(somePage, "text/html", "", []byte(`<html><body><nav></nav><a href="x"></a><h1></h1><pre></pre>text`))
	if want := about(r); got != want {
		t.Errorf("empty elements of XHTML: %s, want %s", got, want)
	}
	// A query in another charset would have another address than ours.
	r = x.Read(somePage, "text/html", "iso-8859-1", []byte("<a href='?q=\xe9'>a</a><a href='/\xe9?q=b'>b</a>"))
	if got := about(r); got != "https://docs.example/%C3%A9?q=b \"b\"\n" {
		t.Errorf("latin-1: %s", got)
	}
}

func TestPageDate(t *testing.T) {
	for page, want := range map[string]string{
		`<meta property="article:published_time" content="2024-02-29T10:00:00+02:00"><meta property="article:modified_time" content="2025-01-02">`: "2025-01-02T00:00:00Z",
		`<meta property="article:modified_time" content="soon"><meta name="DCTERMS.issued" content="2024-02-29T10:00+02:00">`:                      "2024-02-29T08:00:00Z",
		`<time datetime="2020-01-01">a</time><time itemprop=dateModified datetime="2021-01-01">b</time>`:                                           "2021-01-01T00:00:00Z",
		`<aside><time datetime="2020-01-01">a</time></aside><time datetime="2021-01-01 10:11:12">b</time><time datetime="2022-01-01">`:             "2021-01-01T10:11:12Z",
		`<time datetime="2023-02-29">`:                                       "",
		`<time datetime="PT2H">`:                                             "",
		`<time datetime>`:                                                    "",
		`<time>2021-01-01</time>`:                                            "",
		`<meta name=date content="0001-01-01">`:                              "",
		`<meta name=date content="1989-12-31">`:                              "",
		`<meta name=date content="1990-01-01">`:                              "1990-01-01T00:00:00Z",
		`<meta name=date content="2199-12-31T23:59Z">`:                       "2199-12-31T23:59:00Z",
		`<meta name=date content="2200-01-01T00:00Z">`:                       "",
		`<meta name=date content="12 March 2020">`:                           "",
		`<meta name=dating content="2020-01-01">`:                            "",
		`<meta itemprop=datePublished content="2020-01-01T00:00:00.5+0100">`: "2019-12-31T23:00:00.5Z",
	} {
		var x Extractor
		got := ""
		if d := x.Read(somePage, "text/html", "", []byte(page)).Date; !d.IsZero() {
			got = d.Format(time.RFC3339Nano)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", page, got, want)
		}
	}
}

// Each limit at its value and one beyond it.
func TestReadLimits(t *testing.T) {
	read := func(page string) Reading { var x Extractor; return x.Read(somePage, "text/html", "", []byte(page)) }
	count := func(r Reading, kind SpanKind) (n int) {
		for _, s := range r.Spans {
			if s.Kind == kind {
				n++
			}
		}
		return n
	}
	for n, want := range map[int]int{MaxLinks: MaxLinks, MaxLinks + 1: MaxLinks} {
		if r := read(strings.Repeat("<a href=x>a</a>", n)); len(r.Links) != want {
			t.Errorf("%d links: %d", n, len(r.Links))
		}
		// Links in the main text come first, wherever they are.
		r := read("<nav>" + strings.Repeat("<a href=n>a</a>", n-1) + "</nav>" + strings.Repeat(prose, n) + "<a href=x>a</a>")
		if last := r.Links[len(r.Links)-1]; len(r.Links) != want || last.Around || last.Href != "https://docs.example/manual/x" {
			t.Errorf("%d links: %d, the last is %+v", n, len(r.Links), last)
		}
	}
	for n, want := range map[int]int{maxAnchors - 1: 1, maxAnchors: 0} {
		if r := read(strings.Repeat("<a href='mailto:b'>b</a>", n) + "<a href=x>x</a>"); len(r.Links) != want {
			t.Errorf("a link behind %d: %d", n, len(r.Links))
		}
	}
	for n, want := range map[int]int{maxAnchor: maxAnchor, maxAnchor + 1: maxAnchor} {
		if r := read("<a href=x>" + strings.Repeat("a", n) + "</a>"); len(r.Links[0].Text) != want || r.Links[0].To != want {
			t.Errorf("anchor text of %d: %d", n, len(r.Links[0].Text))
		}
		if r := read("<a href=x><img alt='" + strings.Repeat("a", n) + "'></a>"); len(r.Links[0].Text) != want {
			t.Errorf("alt text of %d: %d", n, len(r.Links[0].Text))
		}
	}
	if r := read("<a href=x>" + strings.Repeat("日", maxAnchor) + "</a>"); !utf8.Valid(r.Links[0].Text) {
		t.Errorf("cut within a rune: %q", r.Links[0].Text)
	}
	for n, want := range map[int]int{maxSpans: maxSpans, maxSpans + 1: maxSpans} {
		if r := read(strings.Repeat("<h5>a</h5>", n)); count(r, Heading) != want {
			t.Errorf("%d headings: %d", n, count(r, Heading))
		}
		if r := read(strings.Repeat("<pre>a</pre>", n)); count(r, Code) != want {
			t.Errorf("%d pre: %d", n, count(r, Code))
		}
		if r := read(strings.Repeat("<nav>a</nav>b<br>c<br>d", n)); count(r, Boilerplate) != want {
			t.Errorf("%d nav: %d", n, count(r, Boilerplate))
		}
	}
	for n, want := range map[int]int{maxTitle: maxTitle, maxTitle + 1: maxTitle} {
		r := read("<meta name=description content='" + strings.Repeat("a", n) + "'><h1>" + strings.Repeat("b", n) + "</h1>")
		if len(r.Description) != want || r.Spans[0].To != want || len(r.Title) != want {
			t.Errorf("%d bytes: description %d, heading %d, title %d", n, len(r.Description), r.Spans[0].To, len(r.Title))
		}
	}
	for n, want := range map[int]int{maxOpen - 1: 1, maxOpen: 0} {
		if r := read(strings.Repeat("<div>", n) + "<nav>a</nav>" + strings.Repeat("</div>", n) + prose); count(r, Boilerplate) != want {
			t.Errorf("nav in %d div: %d", n, count(r, Boilerplate))
		}
		// An element that is too deep does not close one that is not.
		if r := read("<nav>" + strings.Repeat("<div>", n+9) + strings.Repeat("</div>", n+9) + "a</nav>b" + prose); count(r, Boilerplate) != 1 || r.Spans[0].To != 1 {
			t.Errorf("nav around %d div: %v", n+9, r.Spans)
		}
	}
	for n, want := range map[int]int{maxClass - 3: 1, maxClass - 2: 0} {
		if r := read("<div class='" + strings.Repeat("1", n) + "nav'>a</div>" + prose); count(r, Boilerplate) != want {
			t.Errorf("class of %d: %d", n+3, count(r, Boilerplate))
		}
	}
}

// The table of elements agrees with the rules of Text.
func TestElements(t *testing.T) {
	for _, name := range strings.Fields(`a abbr address area article aside audio b base blockquote body br button canvas caption center code col colgroup
		custom-element dd details dir div dl dt em fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 h7 head header hr html i iframe
		img input label legend li link main menu meta nav noembed noframes noscript object ol optgroup option p picture plaintext pre script section select
		span style summary svg table tbody td template textarea tfoot th thead time title tr ul video xmp`) {
		e := elementOf([]byte(name))
		x := Extractor{heading: -1}
		x.startTag([]byte(name), nil)
		page := html.Reader{Page: []byte("<" + name + ">"), Scripts: true}
		page.Next()
		if got := (e == elementRaw || e == elementTitle); got != (page.Raw() != nil) {
			t.Errorf("%s: raw %v", name, got)
		}
		if got := e.breaks(); e != elementRaw && got != (x.gap == '\n') {
			t.Errorf("%s: breaks %v", name, got)
		}
		if got := e == elementSpace || e == elementImg || e == elementSVG; e != elementRaw && got != (x.gap == ' ') {
			t.Errorf("%s: space %v", name, got)
		}
	}
}

// words resolves references and folds blanks as the slow way does.
func FuzzWords(f *testing.F) {
	for _, s := range []string{"a  b", " a\u00A0b c\n", "&amp;&lt;&gt; &quot;&nbsp;x", "&#8212;&#160;&#32;&#128;&#0;&#55296;&#9999999;&#x41;", "&copy &notit; & &&", "é ü\xc2", "eight by eight and  on",
		"1234567 8", "12345678 ", "&#65 b", "&l", "&amp"} {
		f.Add([]byte(s), []byte(s))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		var x, y Extractor
		for _, val := range [][]byte{a, b} {
			val = bytes.ToValidUTF8(val, []byte("?"))
			x.words(val)
			y.fold(nethtml.UnescapeString(string(val)))
		}
		if !bytes.Equal(x.body, y.body) || x.gap != y.gap {
			t.Fatalf("%q %q: %q %q, want %q %q", a, b, x.body, x.gap, y.body, y.gap)
		}
	})
}

// Whatever the input is, a Reading is consistent.
func FuzzRead(f *testing.F) {
	for _, s := range []string{`<html lang=en><title>a</title><h1>b</h1><p>c`, "<svg><title>", "<template><h1>", "<h1><h2></h1>", "<nav><a href=x>a<main>b</nav>c",
		"<ul><a href=a>a<a href=b>b<a href=c><img alt=c></ul>text", "<table><div></table></div><pre>a", "<a href=x><img alt='&amp; b'>c<h3>d", "<time datetime=2020-01-01>",
		"<header><h1>a</h1></header><div class='toc nav'>b</div>c", "<xmp><p>", "a<div data-nosnippet>b<p>c</div>d<span data-nosnippet>e</span>f", "\xff\xfe<\x00p\x00>\x00"} {
		f.Add("text/html", "utf-8", []byte(s))
		f.Add("application/xhtml+xml", "iso-8859-1", []byte(s))
	}
	f.Fuzz(func(t *testing.T, typ, charset string, body []byte) {
		var x Extractor
		r := x.Read(somePage, typ, charset, bytes.Clone(body))
		whole := func(b []byte) {
			if !utf8.Valid(b) || bytes.Contains(b, []byte("  ")) || !bytes.Equal(b, bytes.Trim(b, " \n")) {
				t.Fatalf("%q", b)
			}
		}
		whole(r.Title)
		whole(r.Description)
		whole(r.Body)
		if len(r.Title) > maxTitle || len(r.Description) > maxTitle || len(r.Links) > MaxLinks || r.LinkShare < 0 || r.LinkShare > 1 {
			t.Fatalf("%d bytes of title, %d of description, %d links, share %v", len(r.Title), len(r.Description), len(r.Links), r.LinkShare)
		}
		var last [5]int
		around := 0
		for i, s := range r.Spans {
			if s.From < last[s.Kind] || s.From >= s.To || i > 0 && s.From < r.Spans[i-1].From || (s.Kind == Heading) != (s.Level > 0) || s.Level > 6 {
				t.Fatalf("spans %+v", r.Spans)
			}
			last[s.Kind] = s.To
			whole(r.Body[s.From:s.To])
			if s.Kind == Boilerplate {
				around += s.To - s.From
			}
		}
		if 5*(len(r.Body)-around) < len(r.Body) {
			t.Fatalf("%d of %d bytes are boilerplate", around, len(r.Body))
		}
		for i, l := range r.Links {
			whole(r.Body[l.From:l.To])
			if i > 0 && l.From < r.Links[i-1].From || len(l.Text) > maxAnchor || !utf8.Valid(l.Text) || strings.Contains(string(l.Href), "#") {
				t.Fatalf("links %+v", r.Links)
			}
			if u, err := canon.Parse(string(l.Href)); err != nil || u != l.Href {
				t.Fatalf("%s: %s, %v", l.Href, u, err)
			}
		}
		again := x.Read(somePage, typ, charset, bytes.Clone(body))
		if about(again) != about(r) || slices.ContainsFunc(r.Spans, func(s Span) bool { return s.To > len(r.Body) }) {
			t.Fatal("read again, it is another page")
		}
	})
}
