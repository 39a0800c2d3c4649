package documenttest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
)

// office are files of Office Open XML and of OpenDocument.
func office() []Hostile {
	return []Hostile{
		{"office: more blanks than are inflated", docxType, func() []byte {
			return Zip("word/document.xml", "<w:document><w:body><w:p><w:r><w:t>"+strings.Repeat(" ", 66<<20)+"</w:t></w:r></w:p></w:body></w:document>")
		}, ""},
		{"office: parts that claim to be small", docxType, func() []byte {
			b := Zip("word/document.xml", "<w:document>"+strings.Repeat("<w:p><w:r><w:t>x</w:t></w:r></w:p>", 1<<20)+"</w:document>")
			// The central directory states a size of one byte.
			i := bytes.LastIndex(b, []byte("PK\x01\x02"))
			binary.LittleEndian.PutUint32(b[i+24:], 1)
			return b
		}, "*"},
		{"office: twenty thousand parts", docxType, func() []byte {
			var parts []string
			for i := range 20_000 {
				parts = append(parts, fmt.Sprint("p", i), "")
			}
			return Zip(append(parts, "word/document.xml", "<w:document/>")...)
		}, ""},
		{"office: an archive in an archive in an archive", odtType, func() []byte {
			b := Zip("content.xml", strings.Repeat("0", 10<<20))
			for range 5 {
				b = Zip("content.xml", string(b), "other.zip", string(b))
			}
			return b
		}, ""},
		{"office: entities that multiply", odtType, func() []byte {
			var b strings.Builder
			b.WriteString(`<!DOCTYPE x [<!ENTITY a0 "aaaaaaaaaa">`)
			for i := range 12 {
				fmt.Fprintf(&b, `<!ENTITY a%d "%s">`, i+1, strings.Repeat(fmt.Sprintf("&a%d;", i), 10))
			}
			b.WriteString(`<!ENTITY f SYSTEM "file:///etc/passwd">]><office:document-content><office:body><text:p>&a12;&f;</text:p></office:body></office:document-content>`)
			return Zip("content.xml", b.String())
		}, "*"},
		{"office: elements a million deep", odtType, func() []byte {
			return Zip("content.xml", "<office:document-content><office:body>"+strings.Repeat("<text:p>", 1<<20))
		}, ""},
		{"office: an element with a million attributes", odtType, func() []byte {
			return Zip("content.xml", "<a "+strings.Repeat(`b="c" `, 1<<20)+"/>")
		}, "*"},
		{"office: a table of a thousand million rows", xlsxType, func() []byte {
			return Zip("xl/workbook.xml", `<workbook><sheets><sheet name="s" r:id="1"/></sheets></workbook>`, "xl/_rels/workbook.xml.rels",
				fmt.Sprintf(ooxmlRels, rel("1", "worksheet", "s.xml", false)), "xl/s.xml", "<sheetData>"+strings.Repeat(`<row r="999999999"><c t="s"><v>99999999</v></c></row>`, 1<<19)+"</sheetData>")
		}, "*"},
		{"office: encrypted", odtType, func() []byte {
			return Zip("META-INF/manifest.xml", `<manifest><file-entry full-path="content.xml"><encryption-data checksum="x"/></file-entry></manifest>`, "content.xml", "random")
		}, ""},
		{"office: the older kind, which is what an encrypted one looks like", docxType, func() []byte {
			return append([]byte("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"), make([]byte, 4096)...)
		}, ""},
		{"office: cut in the middle", docxType, func() []byte { b := words.DOCX(); return b[:len(b)/2] }, ""},
		{"office: relations in a circle", docxType, func() []byte {
			return Zip("_rels/.rels", fmt.Sprintf(ooxmlRels, rel("1", "officeDocument", "_rels/.rels", false)), "_rels/_rels/.rels.rels", fmt.Sprintf(ooxmlRels, rel("2", "footnotes", "_rels/.rels", false)))
		}, "*"},
	}
}
