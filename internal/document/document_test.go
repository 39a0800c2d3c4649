package document_test

import (
	"strings"
	"testing"

	"golang.org/x/text/encoding/unicode"

	"github.com/curtsy/curtsy/internal/document"
	"github.com/curtsy/curtsy/internal/document/documenttest"
)

var sample = documenttest.Content{Title: "A <title> & more", Text: "The <quick> fox jumps over the lazy dog", Link: "https://a.example/x?a=1&b=2"}

// The HTML of each type of document has its text, escaped, with title and link.
func TestHTML(t *testing.T) {
	rss := `<?xml version="1.0"?><rss version="2.0"><channel><title>A &lt;title> &amp; more</title><link>https://a.example/</link><language>en</language>` +
		`<item><title>One</title><link>https://a.example/x?a=1&amp;b=2</link><description>&lt;p>The &amp;lt;quick&amp;gt; fox&lt;script>NOT&lt;/script></description></item></channel></rss>`
	atom := `<feed xmlns="http://www.w3.org/2005/Atom"><title>A &lt;title> &amp; more</title><entry><title>One</title><link rel="alternate" href="https://a.example/x?a=1&amp;b=2"/>` +
		`<content type="html">The &amp;lt;quick&amp;gt; fox</content></entry></feed>`
	for _, c := range []struct {
		kind string
		body []byte
		also string // further text that must occur
	}{
		{document.PDF, sample.PDF(), "<h1>Head of A &lt;title&gt; &amp; more</h1>"},
		{document.DOCX, sample.DOCX(), "<h1>Head of A &lt;title&gt; &amp; more</h1>"},
		{document.XLSX, sample.XLSX(), "<h2>Sheet of things</h2>\n<p>The &lt;quick&gt; fox jumps over the lazy dog 42.5 inline</p>"},
		{document.PPTX, sample.PPTX(), `<a href="https://a.example/x?a=1&amp;b=2">The &lt;quick&gt; fox jumps over the lazy dog</a>`},
		{document.ODT, sample.ODT(), "<h1>Head of A &lt;title&gt; &amp; more</h1>"},
		{document.ODS, sample.ODS(), "42.5</p>"},
		{document.EPUB, sample.EPUB(), "<h1>Head of A &lt;title&gt; &amp; more</h1>"},
		{document.ODP, sample.ODP(), ">The &lt;quick&gt; fox jumps over the lazy dog</a>"},
		{document.RSS, []byte(rss), `<h2><a href="https://a.example/x?a=1&amp;b=2">One</a></h2>`},
		{document.Atom, []byte(atom), `<h2><a href="https://a.example/x?a=1&amp;b=2">One</a></h2>`},
		{document.JSON, []byte(`{"title":"A <title> & more","n":1,"list":["The <quick> fox",{"u":"https://a.example/x?a=1&b=2"}]}`), "<p>n: 1</p>"},
		{document.CSV, []byte("name;text\n\"The <quick> fox\";https://a.example/x?a=1&b=2\n"), "<p>name text</p>"},
		{document.TSV, []byte("name\ttext\nThe <quick> fox\thttps://a.example/x?a=1&b=2\n"), "<p>name text</p>"},
	} {
		p, err := document.HTML(document.File{Type: c.kind, Body: c.body}, document.Limits{})
		html := string(p.HTML)
		wants := []string{"The &lt;quick&gt; fox", `<a href="https://a.example/x?a=1&amp;b=2">`, c.also, "<title>A &lt;title&gt; &amp; more</title>"}
		if c.kind == document.CSV || c.kind == document.TSV {
			wants = wants[:3]
		}
		for _, want := range wants {
			if !strings.Contains(html, want) {
				t.Errorf("%s: no %q in\n%s", c.kind, want, html)
			}
		}
		if err != nil || p.Cut || strings.Contains(html, "NOT") {
			t.Errorf("%s: %v, cut %v, %s", c.kind, err, p.Cut, html)
		}
	}
}

// A feed and its entries have their own titles, addresses and texts. Those of the feed's image, of
// pictures, of another feed from which an entry was copied, and of a second element of the same
// kind do not count.
func TestFeedParts(t *testing.T) {
	for _, c := range []struct{ feed, want string }{
		{`<rss version="2.0"><channel><title>Foo</title><link>https://a.example/</link><description>About</description>
<image><url>x</url><title>Foo</title><link>https://a.example/</link></image>
<textInput><title>Search</title><description>look</description><link>https://a.example/s</link></textInput>
<item><title>One</title><media:title>Photo</media:title><atom:link rel="self" href="/self"/><link>https://a.example/1</link><atom:link href="/other"/>
<description>short</description><content:encoded>long</content:encoded></item></channel></rss>`,
			`<title>Foo</title></head><body>
<h1><a href="https://a.example/">Foo</a></h1>
<p>About</p>
<h2><a href="https://a.example/1">One</a></h2>
<p>short</p>
<p>long</p>
`},
		{`<feed><title>Planet</title><entry><title>One</title><source><title>From</title><link href="/from"/></source><link href="/1"/>
<summary>short</summary><content type="xhtml"><div><p>a &lt;b&gt; <a href="/in?a=1&amp;b=2">in</a></p><svg><title>drawn</title></svg></div></content></entry></feed>`,
			`<title>Planet</title></head><body>
<h1>Planet</h1>
<h2><a href="/1">One</a></h2>
<p>short</p>
<p>a &lt;b&gt; <a href="/in?a=1&amp;b=2">in</a></p>
<p>drawn</p>
`},
	} {
		p, err := document.HTML(document.File{Type: document.RSS, Body: []byte(c.feed)}, document.Limits{})
		if _, got, _ := strings.Cut(string(p.HTML), "<meta charset=\"utf-8\">"); err != nil || got != c.want+"</body></html>\n" {
			t.Errorf("%v\n%s", err, got)
		}
	}
}

// The title of a feed may come after its entries, an entry may have its address as its id, and
// addresses may have a base of their own. A feed that is truncated or has a character that XML does
// not allow loses only that part.
func TestFeedOrderAndBase(t *testing.T) {
	for _, c := range []struct {
		feed, want string
		cut        bool
	}{
		{`<feed><entry><title>One</title><link href="/1"/></entry><subtitle>About</subtitle><title>Late</title><link href="/"/></feed>`,
			`<title>Late</title></head><body>
<h2><a href="/1">One</a></h2>
<h1><a href="/">Late</a></h1>
<p>About</p>
`, false},
		{`<feed xml:base="https://b.example/blog/"><title>Foo</title><link href="."/><entry xml:base="2026/"><title>One</title><link href="one"/>
<summary type="html">&lt;a href="#x">x&lt;/a> &lt;a href="in">in&lt;/a> &lt;a href="mailto:a@b.example">m&lt;/a></summary>
<content type="xhtml" xml:base="https://c.example/a/b"><div><a href="up">up</a></div></content></entry>
<entry><title>Two</title><link href="two"/></entry></feed>`,
			`<title>Foo</title></head><body>
<h1><a href="https://b.example/blog/">Foo</a></h1>
<h2><a href="https://b.example/blog/2026/one">One</a></h2>
<p>x <a href="https://b.example/blog/2026/in">in</a> <a href="mailto:a@b.example">m</a></p>
<p><a href="https://c.example/a/up">up</a></p>
<h2><a href="https://b.example/blog/two">Two</a></h2>
`, false},
		{`<rss><channel><title>Foo</title><item><title>One</title><guid>https://a.example/1</guid></item>
<item><title>Two</title><guid isPermaLink="false">https://a.example/2</guid></item></channel></rss>`,
			`<title>Foo</title></head><body>
<h1>Foo</h1>
<h2><a href="https://a.example/1">One</a></h2>
<h2>Two</h2>
`, false},
		{"<rss><channel><title>F\x0boo</title><item><title>O&#0;ne</title><description>a&#x1F;b \xff &#xD800;</description></item><item><title>Two</title></item></channel></rss>",
			"<title>F oo</title></head><body>\n<h1>F oo</h1>\n<h2>O ne</h2>\n<p>a b \ufffd</p>\n<h2>Two</h2>\n", false},
		{`<rss><channel><title>Foo</title>`, "<title>Foo</title></head><body>\n<h1>Foo</h1>\n", true},
		{`<rss><channel><title>Foo</title><item><title>One</title><link>/1</link><description>half`,
			"<title>Foo</title></head><body>\n<h1>Foo</h1>\n<h2><a href=\"/1\">One</a></h2>\n<p>half</p>\n", true},
	} {
		p, err := document.HTML(document.File{Type: document.RSS, Body: []byte(c.feed)}, document.Limits{})
		if _, got, _ := strings.Cut(string(p.HTML), "<meta charset=\"utf-8\">"); err != nil || got != c.want+"</body></html>\n" || p.Cut != c.cut {
			t.Errorf("%v, cut %v\n%s", err, p.Cut, got)
		}
	}
}

// A byte order mark determines the encoding of a document, whatever else is stated. The charset
// that a feed declares applies, even if the feed has a character that XML does not allow.
func TestEncodings(t *testing.T) {
	utf16 := func(s string) []byte {
		b, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().Bytes([]byte(s))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	const feed = `<rss><channel><title>Häfen</title></channel></rss>`
	for name, f := range map[string]document.File{
		"feed, UTF-16":  {Type: document.RSS, Body: utf16(`<?xml version="1.0" encoding="UTF-16"?>` + feed)},
		"feed, Latin-1": {Type: document.RSS, Body: []byte("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><rss><channel><title>\x01H\xe4fen</title></channel></rss>")},
		"feed, mark":    {Type: document.RSS, Body: []byte("\xef\xbb\xbf" + feed)},
		"feed, plain":   {Type: document.RSS, Body: []byte(feed)},
		"table, UTF-16": {Type: document.CSV, Body: utf16("a;b\r\nHäfen;1\r\n")},
		"table, wrong":  {Type: document.CSV, Charset: "iso-8859-1", Body: []byte("\xef\xbb\xbfa,b\nHäfen,1\n")},
		"JSON, UTF-16":  {Type: document.JSON, Charset: "utf-8", Body: utf16(`{"a":"Häfen"}`)},
		"text, UTF-16": {Type: document.DOCX, Body: documenttest.Zip("word/document.xml",
			string(utf16(`<?xml version="1.0" encoding="UTF-16"?><w:document><w:body><w:p><w:r><w:t>Häfen</w:t></w:r></w:p></w:body></w:document>`)))},
	} {
		p, err := document.HTML(f, document.Limits{})
		if err != nil || !strings.Contains(string(p.HTML), "Häfen") || strings.Contains(string(p.HTML), "\ufeff") {
			t.Errorf("%s: %v %s", name, err, p.HTML)
		}
	}
}

// A document may use any prefix for relations: openpyxl writes ns0. If XML is invalid somewhere,
// the text before that counts.
func TestOfficeOddities(t *testing.T) {
	rels := func(kind, target string) string {
		return `<Relationships><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/` + kind + `" Target="` + target + `"/>` +
			`<Relationship Id="rId2" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/hyperlink" Target="https://a.example/" TargetMode="External"/></Relationships>`
	}
	for _, c := range []struct {
		kind  string
		parts []string
		want  string
		cut   bool
	}{
		{document.XLSX, []string{
			"xl/workbook.xml", `<workbook xmlns="m"><sheets><sheet xmlns:ns0="rel" name="S" sheetId="1" state="visible" ns0:id="rId1" /></sheets></workbook>`,
			"xl/_rels/workbook.xml.rels", rels("worksheet", "/xl/worksheets/sheet1.xml"),
			"xl/worksheets/sheet1.xml", `<worksheet><sheetData><row><c><v>42</v></c></row></sheetData><hyperlinks><hyperlink xmlns:ns0="rel" ref="A1" ns0:id="rId2"/></hyperlinks></worksheet>`,
			"xl/worksheets/_rels/sheet1.xml.rels", rels("x", "y"),
		}, "<h2>S</h2>\n<p>42</p>\n<p><a href=\"https://a.example/\"></a></p>\n", false},
		{document.PPTX, []string{
			"ppt/presentation.xml", `<p:presentation><p:sldIdLst><p:sldId id="256" rel:id="rId1"/></p:sldIdLst></p:presentation>`,
			"ppt/_rels/presentation.xml.rels", rels("slide", "slides/slide1.xml"),
			"ppt/slides/slide1.xml", `<p:sld><a:p><a:r><a:t>words</a:t></a:r></a:p></p:sld>`,
		}, "<p>words</p>\n", false},
		{document.DOCX, []string{"word/document.xml", "<w:document><w:p><w:r><w:t>one</w:t></w:r></w:p><w:p><w:r><w:t>t\x0bwo</w:t></w:r></w:p></w:document>"}, "<p>one</p>\n", true},
		{document.ODT, []string{"content.xml", "<office:document-content><office:body><text:p>one</text:p><text:p>two</text:p><text:p>\x0b</text:p></office:body></office:document-content>"}, "<p>one</p>\n<p>two</p>\n", true},
	} {
		p, err := document.HTML(document.File{Type: c.kind, Body: documenttest.Zip(c.parts...)}, document.Limits{})
		if _, got, _ := strings.Cut(string(p.HTML), "<body>\n"); err != nil || got != c.want+"</body></html>\n" || p.Cut != c.cut {
			t.Errorf("%s: %v, cut %v: %q", c.kind, err, p.Cut, got)
		}
	}
	if p, err := document.HTML(document.File{Type: document.ODT, Body: documenttest.Zip("content.xml", "<a\x0b")}, document.Limits{}); err == nil {
		t.Errorf("nothing but what is broken: %s", p.HTML)
	}
}

// Words are those that a reader sees: they are not joined with the number of a note or with a
// phonetic text, and not divided or joined at a hyphen. Moved text is only where it was moved to.
func TestOfficeWords(t *testing.T) {
	for kind, c := range map[string]struct{ part, text, want string }{
		document.DOCX: {"word/document.xml", `<w:document><w:p><w:r><w:t>e</w:t><w:noBreakHyphen/><w:t>mail har</w:t><w:softHyphen/><w:t>bour</w:t></w:r>` +
			`<w:moveFrom w:id="1"><w:r><w:t>moved</w:t></w:r></w:moveFrom><w:ruby><w:rt><w:r><w:t>SPOKEN</w:t></w:r></w:rt><w:rubyBase><w:r><w:t> base</w:t></w:r></w:rubyBase></w:ruby></w:p>` +
			`<w:p><w:pPr><w:rPr><w:moveTo w:id="2"/></w:rPr></w:pPr><w:moveTo w:id="2"><w:r><w:t>moved</w:t></w:r></w:moveTo></w:p></w:document>`,
			"<p>e-mail harbour base</p>\n<p>moved</p>\n"},
		document.ODT: {"content.xml", `<office:document-content><office:body><text:p>harbour<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>note</text:p></text:note-body></text:note>` +
			`<text:ruby><text:ruby-base>base</text:ruby-base><text:ruby-text>SPOKEN</text:ruby-text></text:ruby></text:p></office:body></office:document-content>`,
			"<p>harbour 1 base</p>\n<p>note</p>\n"},
	} {
		p, err := document.HTML(document.File{Type: kind, Body: documenttest.Zip(c.part, c.text)}, document.Limits{})
		if _, got, _ := strings.Cut(string(p.HTML), "<body>\n"); err != nil || got != c.want+"</body></html>\n" {
			t.Errorf("%s: %v %q", kind, err, got)
		}
	}
}
