package document_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/document"
	"github.com/curtsy/curtsy/internal/document/documenttest"
)

// body returns what is between the body's tags of a document's HTML.
func body(t *testing.T, kind string, b []byte) string {
	t.Helper()
	p, err := document.HTML(document.File{Type: kind, Body: b}, document.Limits{})
	if err != nil || p.Cut {
		t.Errorf("%s: %v, cut %v", kind, err, p.Cut)
	}
	_, html, _ := strings.Cut(string(p.HTML), "<body>\n")
	return strings.TrimSuffix(html, "</body></html>\n")
}

func relations(all ...string) string {
	text := ""
	for i := 0; i+1 < len(all); i += 2 {
		text += fmt.Sprintf(`<Relationship Id="r%d" Type="http://x/relationships/%s" Target="%s"/>`, i, all[i], all[i+1])
	}
	return "<Relationships>" + text + "</Relationships>"
}

// word is a text document with this content, and parts beside it.
func word(content string, parts ...string) []byte {
	return documenttest.Zip(append([]string{"word/document.xml", "<w:document><w:body>" + content + "</w:body></w:document>"}, parts...)...)
}

// run is a paragraph of one run.
func run(text string) string { return "<w:p><w:r><w:t>" + text + "</w:t></w:r></w:p>" }

// Headers, footers, notes and comments of a text document come behind its text, each once. Text
// boxes are where they stand.
func TestWordParts(t *testing.T) {
	b := word(run("body words"),
		"word/_rels/document.xml.rels", relations("footer", "footer1.xml", "header", "header1.xml", "header", "header1.xml", "comments", "comments.xml", "footnotes", "footnotes.xml",
			"endnotes", "endnotes.xml", "header", "gone.xml", "theme", "theme.xml"),
		"word/header1.xml", "<w:hdr>"+run("letterhead")+"</w:hdr>", "word/footer1.xml", "<w:ftr>"+run("footer ref")+"</w:ftr>", "word/comments.xml", "<w:comments><w:comment>"+run("a comment")+"</w:comment></w:comments>",
		"word/footnotes.xml", "<w:footnotes><w:footnote>"+run("a footnote")+"</w:footnote></w:footnotes>", "word/endnotes.xml", "<w:endnotes>"+run("an endnote")+"</w:endnotes>", "word/theme.xml", run("NOT"))
	if got, want := body(t, document.DOCX, b), "<p>body words</p>\n<p>letterhead</p>\n<p>footer ref</p>\n<p>a footnote</p>\n<p>an endnote</p>\n<p>a comment</p>\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	box := `<w:p><w:r><w:t>before</w:t></w:r><w:r><mc:AlternateContent><mc:Choice><w:txbxContent>` + run("in the box") + `</w:txbxContent></mc:Choice><mc:Fallback><w:txbxContent>` + run("in the box") +
		`</w:txbxContent></mc:Fallback></mc:AlternateContent></w:r><w:r><w:t>behind</w:t></w:r></w:p>`
	if got, want := body(t, document.DOCX, word(box)), "<p>before</p>\n<p>in the box</p>\n<p>behind</p>\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A field HYPERLINK is a link with the text that it shows.
func TestWordFields(t *testing.T) {
	char := func(kind string) string { return `<w:r><w:fldChar w:fldCharType="` + kind + `"/></w:r>` }
	code := func(s string) string { return "<w:r><w:instrText>" + s + "</w:instrText></w:r>" }
	text := func(s string) string { return "<w:r><w:t>" + s + "</w:t></w:r>" }
	complete := func(c string) string {
		return "<w:p>" + text("a ") + char("begin") + code(c) + char("separate") + text("shown") + char("end") + text(" b") + "</w:p>"
	}
	link := func(to string) string { return `<p>a <a href="` + to + `">shown</a> b</p>` + "\n" }
	for _, c := range []struct{ content, want string }{
		{complete(` HYPERLINK "https://a.example/" `), link("https://a.example/")},
		{complete(` HYPERLINK https://a.example/ `), link("https://a.example/")},
		{complete(` hyperlink "https://a.example/" \o "a tip" \t "_blank"`), link("https://a.example/")},
		{complete(` HYPERLINK \o "a tip" "https://a.example/"`), link("https://a.example/")},
		{complete(` HYPERLINK "https://a.example/" \l "part"`), link("https://a.example/#part")},
		{complete(` HYPERLINK \l "part"`), "<p>a shown b</p>\n"},
		{complete(` PAGEREF x \h `), "<p>a shown b</p>\n"},
		{"<w:p>" + char("begin") + code("HYPER") + code(`LINK "u`) + code(`v"`) + char("separate") + text("one") + text("two") + char("end") + text("three") + "</w:p>", `<p><a href="uv">onetwo</a>three</p>` + "\n"},
		{`<w:p><w:fldSimple w:instr=' HYPERLINK "u" '>` + text("shown") + "</w:fldSimple>" + text("b") + "</w:p>", `<p><a href="u">shown</a>b</p>` + "\n"},
		{"<w:p>" + char("begin") + code("IF ") + char("begin") + code(`HYPERLINK "u"`) + char("separate") + text("inner") + char("end") + char("separate") + text("outer") + char("end") + "</w:p>",
			`<p><a href="u">inner</a>outer</p>` + "\n"},
		{"<w:p>" + char("end") + char("separate") + text("lost ends") + "</w:p>", "<p>lost ends</p>\n"},
	} {
		if got := body(t, document.DOCX, word(c.content)); got != c.want {
			t.Errorf("%s\n%q, want %q", c.content, got, c.want)
		}
	}
}

// Footnotes and comments of OpenDocument do not divide the paragraph that they are in. Headers and
// footers come at the end.
func TestOpenDocumentParts(t *testing.T) {
	const comment = `<office:annotation><dc:creator>WHO</dc:creator><dc:date>WHEN</dc:date><text:p>a <text:span>comment</text:span></text:p></office:annotation>`
	const footnote = `<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>a note</text:p><text:p>of two</text:p></text:note-body></text:note>`
	b := documenttest.Zip("content.xml", "<office:document-content><office:body><office:text><text:p>one "+comment+"two"+footnote+" three</text:p><text:p>four</text:p></office:text></office:body></office:document-content>",
		"styles.xml", `<office:document-styles><office:styles><text:p>NOT</text:p></office:styles><office:master-styles><style:master-page><style:header><text:p>letterhead</text:p></style:header>`+
			`<style:footer><text:p>footer <text:page-number>1</text:page-number></text:p></style:footer><style:header-left><text:p>left</text:p></style:header-left></style:master-page></office:master-styles></office:document-styles>`)
	if got, want := body(t, document.ODT, b), "<p>one two 1 three</p>\n<p>a comment</p>\n<p>a note</p>\n<p>of two</p>\n<p>four</p>\n<p>letterhead</p>\n<p>footer 1</p>\n<p>left</p>\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// sheet is a table with a number format, which style 1 has, and these cells.
func sheet(code string, from1904 bool, cells string) []byte {
	pr := ""
	if from1904 {
		pr = `<workbookPr date1904="1"/>`
	}
	return documenttest.Zip("xl/workbook.xml", "<workbook>"+pr+`<sheets><sheet name="S" r:id="r0"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels", relations("worksheet", "s.xml", "styles", "styles.xml", "sharedStrings", "t.xml"),
		"xl/s.xml", "<worksheet><sheetData><row>"+cells+"</row></sheetData></worksheet>",
		"xl/t.xml", "<sst><si><r><t>rich </t></r><r><t>text</t></r><rPh><t>NOT</t></rPh></si></sst>",
		"xl/styles.xml", `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="`+code+`"/></numFmts><cellStyleXfs><xf numFmtId="9"/></cellStyleXfs>`+
			`<cellXfs><xf numFmtId="0"/><xf numFmtId="164"/><xf numFmtId="14"/><xf numFmtId="22"/><xf numFmtId="10"/><xf numFmtId="9"/><xf numFmtId="46"/><xf numFmtId="27"/><xf numFmtId="21"/><xf numFmtId="4"/></cellXfs></styleSheet>`)
}

// Cells are shown as their formats say: dates in the form of ISO 8601.
func TestSheetFormats(t *testing.T) {
	cell := func(style int, v string) string { return fmt.Sprintf(`<c s="%d"><v>%s</v></c>`, style, v) }
	for _, c := range []struct {
		code, cells string
		from1904    bool
		want        string
	}{
		{"General", cell(0, "44197"), false, "44197"},
		{"General", cell(1, "44197.5"), false, "44197.5"},
		{"General", cell(2, "44197"), false, "2021-01-01"},
		{"General", cell(2, "44197.25"), false, "2021-01-01 06:00:00"},
		{"General", cell(3, "44197.25"), false, "2021-01-01 06:00:00"},
		{"General", cell(2, "42735"), true, "2021-01-01"},
		{"General", cell(2, "0"), true, "1904-01-01"},
		{"General", cell(2, "1"), false, "1900-01-01"},
		{"General", cell(2, "60"), false, "1900-02-29"},
		{"General", cell(2, "61"), false, "1900-03-01"},
		{"General", cell(2, "2958465"), false, "9999-12-31"},
		{"General", cell(2, "2958467"), false, "2958467"},
		{"General", cell(2, "-1"), false, "-1"},
		{"General", cell(2, "words"), false, "words"},
		{"General", cell(4, "0.25"), false, "25.00%"},
		{"General", cell(5, "0.25"), false, "25%"},
		{"General", cell(6, "1.5"), false, "36:00:00"},
		{"General", cell(7, "44197"), false, "2021-01-01"},
		{"General", cell(8, "0.75"), false, "18:00:00"},
		{"General", cell(9, "1234.5"), false, "1234.5"},
		{"General", cell(99, "7"), false, "7"},
		{"yyyy-mm-dd", cell(1, "44197"), false, "2021-01-01"},
		{"d. mmmm yyyy", cell(1, "44197"), false, "2021-01-01"},
		{"[$-407]dddd, d. mmmm yyyy;@", cell(1, "44197"), false, "2021-01-01"},
		{"dd/mm/yy hh:mm", cell(1, "44197.5"), false, "2021-01-01 12:00:00"},
		{"h:mm AM/PM", cell(1, "0.5"), false, "12:00:00"},
		{"mm:ss", cell(1, "0.5"), false, "12:00:00"},
		{"[h]:mm", cell(1, "2"), false, "48:00:00"},
		{"mmm-yy", cell(1, "44197"), false, "2021-01-01"},
		{"0.0%", cell(1, "0.255"), false, "25.5%"},
		{"&quot;days&quot; 0", cell(1, "44197"), false, "44197"},
		{"0\\d", cell(1, "44197"), false, "44197"},
		{"[Red]#,##0.00", cell(1, "44197"), false, "44197"},
		{"0.00E+00", cell(1, "44197"), false, "44197"},
		{"#,##0 _d", cell(1, "44197"), false, "44197"},
		{"General", `<c t="b"><v>1</v></c><c t="b"><v>0</v></c><c t="e"><v>#DIV/0!</v></c><c t="str"><f>A1</f><v>formula result</v></c><c t="d"><v>2021-01-01</v></c><c t="s" s="2"><v>0</v></c><c t="inlineStr"><is><r><t>in</t></r><r><t>line</t></r></is></c>`,
			false, "TRUE FALSE #DIV/0! formula result 2021-01-01 rich text inline"},
	} {
		if got, want := body(t, document.XLSX, sheet(c.code, c.from1904, c.cells)), "<h2>S</h2>\n<p>"+c.want+"</p>\n"; got != want {
			t.Errorf("%s %s: %q, want %q", c.code, c.cells, got, want)
		}
	}
}

// What a file of Office Open XML is, its parts decide.
func TestOfficeByContent(t *testing.T) {
	for _, kind := range []string{document.DOCX, document.XLSX, document.PPTX} {
		for _, b := range [][]byte{sample.DOCX(), sample.XLSX(), sample.PPTX()} {
			if got := body(t, kind, b); !strings.Contains(got, "The &lt;quick&gt; fox") {
				t.Errorf("%s: %q", kind, got)
			}
		}
	}
	for kind, want := range map[string]string{"application/msword": document.DOCX, "application/vnd.ms-excel": document.XLSX, "application/vnd.ms-powerpoint": document.PPTX, "text/html": ""} {
		if got := document.Old(kind, sample.DOCX()); got != want {
			t.Errorf("%s: %s", kind, got)
		}
		if got := document.Old(kind, []byte("\xD0\xCF\x11\xE0")); got != "" {
			t.Errorf("%s of the old kind: %s", kind, got)
		}
	}
	for kind, want := range map[string]string{"application/x-pdf": document.PDF, "application/acrobat": document.PDF, "text/html": "text/html", "application/epub+zip": document.EPUB} {
		if got := document.Canonical(kind); got != want {
			t.Errorf("%s: %s", kind, got)
		}
	}
}

// A book is read in the order of its spine. A chapter that is no XML loses its end only.
func TestBook(t *testing.T) {
	b := documenttest.Book(`<metadata><dc:title>The book</dc:title><dc:title>a subtitle</dc:title><dc:language>de</dc:language></metadata><manifest><item id="x" href="x%20y.xhtml"/>`+
		`<item id="y" href="y.xhtml#top"/><item id="z" href="gone.xhtml"/><item id="n" href="nav.xhtml" properties="nav"/></manifest>`+
		`<spine><itemref idref="y"/><itemref idref="z"/><itemref idref="none"/><itemref idref="x"/></spine>`,
		"OPS/x y.xhtml", `<html><head><title>NOT</title></head><body><ul><li>one</li><li>two<br/>three</li></ul><table><tr><td>a</td><td>b</td></tr></table><script>NOT</script></body></html>`,
		"OPS/y.xhtml", `<html><body><h2>Chapter&nbsp;y</h2><p>words <em>and</em> <ruby>more<rt>NOT</rt></ruby></p><p>end & <`, "OPS/nav.xhtml", `<html><body>NOT</body></html>`,
		"META-INF/encryption.xml", `<encryption><CipherReference URI="OPS/font.otf"/></encryption>`)
	p, err := document.HTML(document.File{Type: document.EPUB, Body: b}, document.Limits{})
	want := `<!DOCTYPE html>
<html lang="de"><head><meta charset="utf-8"><title>The book</title></head><body>
<h2>Chapter y</h2>
<p>words and more</p>
<p>end &amp;</p>
<p>one</p>
<p>two three</p>
<p>a b</p>
</body></html>
`
	if err != nil || !p.Cut || string(p.HTML) != want {
		t.Errorf("%v, cut %v\n%s", err, p.Cut, p.HTML)
	}
}
