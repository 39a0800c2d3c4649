// Package documenttest makes documents for tests: small ones with given contents, and hostile ones.
package documenttest

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
)

// Content is the content of a document.
type Content struct {
	Title, Text string
	Link        string // the target of a link; "": no link
}

// esc escapes text for XML.
func esc(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s))
	return b.String()
}

// Zip makes a zip file of parts: name and content alternate.
func Zip(parts ...string) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i+1 < len(parts); i += 2 {
		w, err := z.Create(parts[i])
		if err != nil {
			panic(err)
		}
		if _, err := w.Write([]byte(parts[i+1])); err != nil {
			panic(err)
		}
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

const (
	ooxmlRels  = `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">%s</Relationships>`
	officeType = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
)

func rel(id, kind, target string, external bool) string {
	mode := ""
	if external {
		mode = ` TargetMode="External"`
	}
	return fmt.Sprintf(`<Relationship Id="%s" Type="%s%s" Target="%s"%s/>`, id, officeType, kind, esc(target), mode)
}

func core(title string) string {
	return `<cp:coreProperties xmlns:cp="c" xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>` + esc(title) + `</dc:title><dc:language>en-GB</dc:language></cp:coreProperties>`
}

// DOCX is a text document of Office Open XML.
func (s Content) DOCX() []byte {
	body := fmt.Sprintf(`<w:document xmlns:w="w" xmlns:r="r"><w:body><w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Head of %s</w:t></w:r></w:p>`+
		`<w:p><w:r><w:t xml:space="preserve">%s </w:t></w:r><w:hyperlink r:id="rId9"><w:r><w:t>on</w:t></w:r></w:hyperlink></w:p></w:body></w:document>`, esc(s.Title), esc(s.Text))
	links := ""
	if s.Link != "" {
		links = rel("rId9", "hyperlink", s.Link, true)
	}
	return Zip("_rels/.rels", fmt.Sprintf(ooxmlRels, rel("r1", "officeDocument", "word/document.xml", false)), "docProps/core.xml", core(s.Title),
		"word/document.xml", body, "word/_rels/document.xml.rels", fmt.Sprintf(ooxmlRels, links))
}

// XLSX is a table of Office Open XML.
func (s Content) XLSX() []byte {
	return Zip("_rels/.rels", fmt.Sprintf(ooxmlRels, rel("r1", "officeDocument", "xl/workbook.xml", false)), "docProps/core.xml", core(s.Title),
		"xl/workbook.xml", `<workbook xmlns:r="r"><sheets><sheet name="Sheet of things" sheetId="1" r:id="s1"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels", fmt.Sprintf(ooxmlRels, rel("s1", "worksheet", "worksheets/sheet1.xml", false)+rel("s2", "sharedStrings", "sharedStrings.xml", false)),
		"xl/sharedStrings.xml", `<sst><si><t>`+esc(s.Text)+`</t><rPh><t>NOT</t></rPh></si></sst>`,
		"xl/worksheets/sheet1.xml", `<worksheet xmlns:r="r"><sheetData><row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1"><v>42.5</v></c><c t="inlineStr"><is><t>inline</t></is></c></row></sheetData>`+
			`<hyperlinks><hyperlink ref="A1" r:id="h1"/></hyperlinks></worksheet>`,
		"xl/worksheets/_rels/sheet1.xml.rels", fmt.Sprintf(ooxmlRels, rel("h1", "hyperlink", s.Link, true)))
}

// PPTX is a set of slides of Office Open XML.
func (s Content) PPTX() []byte {
	return Zip("_rels/.rels", fmt.Sprintf(ooxmlRels, rel("r1", "officeDocument", "ppt/presentation.xml", false)), "docProps/core.xml", core(s.Title),
		"ppt/presentation.xml", `<p:presentation xmlns:p="p" xmlns:r="r"><p:sldIdLst><p:sldId id="256" r:id="s1"/></p:sldIdLst></p:presentation>`,
		"ppt/_rels/presentation.xml.rels", fmt.Sprintf(ooxmlRels, rel("s1", "slide", "slides/slide1.xml", false)),
		"ppt/slides/slide1.xml", `<p:sld xmlns:p="p" xmlns:a="a" xmlns:r="r"><p:sp><a:p><a:r><a:rPr><a:hlinkClick r:id="h1"/></a:rPr><a:t>`+esc(s.Text)+`</a:t></a:r></a:p></p:sp></p:sld>`,
		"ppt/slides/_rels/slide1.xml.rels", fmt.Sprintf(ooxmlRels, rel("h1", "hyperlink", s.Link, true)))
}

// EPUB is a book of two chapters.
func (s Content) EPUB() []byte {
	chapter := func(body string) string {
		return `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title>NOT</title><style>NOT</style></head><body>` + body + `</body></html>`
	}
	return Book(`<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>`+esc(s.Title)+`</dc:title><dc:language>en-GB</dc:language></metadata>`+
		`<manifest><item id="b" href="b.xhtml"/><item id="a" href="text/a.xhtml"/></manifest><spine><itemref idref="a"/><itemref idref="b"/></spine>`,
		"OPS/text/a.xhtml", chapter(`<h1>Head of `+esc(s.Title)+`</h1>`), "OPS/b.xhtml", chapter(`<p>`+esc(s.Text)+` <a href="`+esc(s.Link)+`">on</a> <a href="text/a.xhtml">back</a></p>`))
}

// Book is an EPUB with this content of its package document, OPS/content.opf, and these parts.
func Book(content string, parts ...string) []byte {
	return Zip(append([]string{"mimetype", "application/epub+zip",
		"META-INF/container.xml", `<container><rootfiles><rootfile full-path="OPS/content.opf" media-type="application/oebps-package+xml"/></rootfiles></container>`,
		"OPS/content.opf", `<package version="3.0">` + content + `</package>`}, parts...)...)
}

// ODT is a text document of OpenDocument.
func (s Content) ODT() []byte {
	return s.odf("text", `<office:text><text:h text:outline-level="1">Head of `+esc(s.Title)+`</text:h><text:p>`+esc(s.Text)+`<text:s/><text:a xlink:href="`+esc(s.Link)+`">on</text:a></text:p></office:text>`)
}

// ODS is a table of OpenDocument.
func (s Content) ODS() []byte {
	return s.odf("spreadsheet", `<office:spreadsheet><table:table table:name="Sheet of things"><table:table-row><table:table-cell><text:p><text:a xlink:href="`+esc(s.Link)+`">`+esc(s.Text)+
		`</text:a></text:p></table:table-cell><table:table-cell><text:p>42.5</text:p></table:table-cell></table:table-row></table:table></office:spreadsheet>`)
}

// ODP is a set of slides of OpenDocument.
func (s Content) ODP() []byte {
	return s.odf("presentation", `<office:presentation><draw:page draw:name="p1"><draw:frame><draw:text-box><text:p><text:a xlink:href="`+esc(s.Link)+`">`+esc(s.Text)+`</text:a></text:p></draw:text-box></draw:frame></draw:page></office:presentation>`)
}

func (s Content) odf(kind, body string) []byte {
	const ns = ` xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:table="t" xmlns:draw="d"`
	return Zip("mimetype", "application/vnd.oasis.opendocument."+kind,
		"meta.xml", `<office:document-meta`+ns+`><office:meta><dc:title>`+esc(s.Title)+`</dc:title><dc:language>en-GB</dc:language></office:meta></office:document-meta>`,
		"content.xml", `<office:document-content`+ns+`><office:automatic-styles>NOT</office:automatic-styles><office:body>`+body+`</office:body></office:document-content>`)
}

// PDF is a PDF of one page.
func (s Content) PDF() []byte {
	annots := ""
	if s.Link != "" {
		annots = "/Annots[<</Type/Annot/Subtype/Link/Rect[0 0 9 9]/A<</S/URI/URI(" + lit(s.Link) + ")>>>>]"
	}
	content := fmt.Sprintf("BT /F1 24 Tf 72 700 Td (Head of %s) Tj ET BT /F1 10 Tf 72 600 Td (%s) Tj ET", lit(s.Title), lit(s.Text))
	return PDF("/Info<</Title("+lit(s.Title)+")>>",
		"<</Type/Catalog/Pages 2 0 R/Lang(en)>>",
		"<</Type/Pages/Kids[3 0 R]/Count 1>>",
		"<</Type/Page/Parent 2 0 R/Resources<</Font<</F1 5 0 R>>>>/Contents 4 0 R"+annots+">>",
		fmt.Sprintf("<</Length %d>>stream\n%s\nendstream", len(content), content),
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>")
}

// lit escapes text for a literal string.
func lit(s string) string {
	return strings.NewReplacer(`\`, `\\`, "(", `\(`, ")", `\)`).Replace(s)
}

// PDF makes a file of objects, numbered from 1. The first object is the catalog. more is added to
// the trailer.
func PDF(more string, objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	at := make([]int, len(objects))
	for i, o := range objects {
		at[i] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	table := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, n := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", n)
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d/Root 1 0 R%s>>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, more, table)
	return b.Bytes()
}
