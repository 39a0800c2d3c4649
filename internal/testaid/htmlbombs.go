package testaid

import (
	"fmt"
	"slices"
	"strings"
)

// HTMLBombs returns pages of about size bytes each.
func HTMLBombs(size int) []Bomb {
	n := length(size)
	return slices.Concat(n.scriptBombs(), n.formattingBombs(), n.textBombs(), n.attributeBombs(), n.elementBombs())
}

// length is about how many bytes a page has.
type length int

// rep repeats unit up to the length.
func (n length) rep(unit string) string { return strings.Repeat(unit, max(1, int(n)/len(unit))) }

// after adds unit to head, up to the length.
func (n length) after(head, unit string) string {
	return head + strings.Repeat(unit, max(1, (int(n)-len(head))/len(unit)))
}

// each adds what unit makes of 0, 1, 2 and so on, up to the length.
func (n length) each(unit string) string {
	var b strings.Builder
	for i := 0; b.Len() < int(n); i++ {
		fmt.Fprintf(&b, unit, i)
	}
	return b.String()
}

// attrs are n different attributes.
func attrs(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, " a%d", i)
	}
	return b.String()
}

// formatting are open formatting elements, each with the attributes, before n paragraphs.
func formatting(open, n int, attributes string) string {
	var b strings.Builder
	b.WriteString("<p>")
	for i := range open {
		fmt.Fprintf(&b, "<b a=%d%s>", i, attributes)
	}
	for range n {
		b.WriteString("<p>x")
	}
	return b.String()
}

// headings are headings in one another.
func headings(deep int) string { return strings.Repeat("<h1><div>", deep) }

// scriptBombs are scripts and linked data, and what looks like them.
func (n length) scriptBombs() []Bomb {
	return bombs([]text{
		{"plus json", n.rep("+json ")},
		{"plus json, no end", `<script type="application/ld+json">` + n.rep("+json")},
		{"plus as references", n.rep("&#43;json&#x2b;json")},
		{"ends without the word", n.rep("+json</script")},
		{"scripts", n.rep("<script>x</script>")},
		{"script that hides", "<script>" + n.rep("<!--<script>")},
		{"linked data, much of it", n.rep(`<script type="application/ld+json">{"@type":"Dataset"}</script>`)},
		{"linked data that is broken", n.rep(`<script type="application/ld+json">{"Dataset</script>`)},
		{"closed scripts in XHTML", n.rep("<script/>")},
		{"open tags", n.rep("<script ")},
	})
}

// formattingBombs are open elements that a parser opens again in each following element, and
// headings that are open while others begin.
func (n length) formattingBombs() []Bomb {
	return bombs([]text{
		{"open formatting, many paragraphs", formatting(250, max(1, (int(n)-2000)/4), "")},
		{"nested headings", n.after(headings(200), "words of a heading ")},
		{"formatting with attributes", formatting(60, max(1, (int(n)-60*600)/4), attrs(100))},
		{"formatting in blocks", n.after(formatting(200, 1, ""), "<div>x</div>")},
		{"formatting in cells", n.after(formatting(200, 1, "")+"<table>", "<tr><td>x")},
		{"headings, each in the one before", n.rep("<h2><div>a</div>")},
		{"headings and blanks", n.after(headings(200), "<br> ")},
		{"adoption", n.rep("<b><p></b>")},
		{"adoption, deep", n.after(strings.Repeat("<i><div>", 200), "</i><i>")},
		{"nobr", n.rep("<nobr>x")},
		{"markers", n.rep("<object><b c>")},
		{"captions", "<table>" + n.rep("<caption><b>")},
	})
}

// textBombs are text, references and links: pages of many small pieces.
func (n length) textBombs() []Bomb {
	return bombs([]text{
		{"text cut by ignored end tags", n.rep("a</z>")},
		{"text cut by ignored start tags", n.rep("a<tr>")},
		{"text pushed out of a table", "<table>" + n.rep("a<tr>")},
		{"text in a select", "<select>" + n.rep("a<b>")},
		{"empty elements", n.rep("<br>")},
		{"empty comments", n.rep("<!>")},
		{"processing instructions", n.rep("<?>")},
		{"nulls", n.rep("\x00")},
		{"controls", n.rep("\x01")},
		{"references", n.rep("&amp;")},
		{"references that grow", n.rep("&ngE;")},
		{"links", n.each("<a href=%d>")},
		{"plain text", n.rep("word ")},
		{"letters", n.rep("x")},
		{"words", n.each("word%d ")},
	})
}

// attributeBombs have elements with many attributes.
func (n length) attributeBombs() []Bomb {
	return bombs([]text{
		{"attributes", "<p " + n.rep("a ") + ">"},
		{"attributes of a link", "<a " + n.rep("b=1 ") + "href=x>"},
		{"attributes of many bodies", "<body" + attrs(int(n)/16) + ">" + strings.Repeat("<body a>", int(n)/16)},
		{"attributes of many htmls", strings.Repeat("<html"+attrs(100)+">", int(n)/500+1)},
		{"equal elements with many attributes", strings.Repeat("<b"+attrs(1000)+">", int(n)/6000+1)},
		{"attributes and references", n.rep(`<a href="&#97;">`)},
		{"metas and references", n.rep(`<meta name="&#97;">`)},
	})
}

// elementBombs are elements within each other, and elements with parsing rules of their own.
func (n length) elementBombs() []Bomb {
	return bombs([]text{
		{"deep nesting", n.rep("<div>")},
		{"500 deep, then closed where nothing is", n.after(strings.Repeat("<span>", 500), "</z>")},
		{"500 deep, then paragraphs", n.after(strings.Repeat("<span>", 500), "<p></p>")},
		{"500 deep, then list items", n.after(strings.Repeat("<span>", 500), "<li>")},
		{"templates", n.rep("<template>")},
		{"templates closed", n.rep("<template></template>")},
		{"selects and options", "<select>" + n.rep("<option><optgroup>")},
		{"framesets", "<frameset>" + n.rep("<frameset>")},
		{"framesets closed", n.rep("<frameset><frame></frameset>")},
		{"drawings", n.rep("<svg><title>")},
		{"drawings left by elements", n.rep("<svg><p>")},
		{"formulas", n.rep("<math><mi><svg>")},
		{"forms and buttons", n.rep("<form><button>")},
		{"links in links", n.rep("<a href=x>")},
		{"columns", "<table>" + n.rep("<colgroup><col>")},
	})
}
