package document_test

import (
	"bytes"
	"encoding/xml"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/curtsy/curtsy/internal/document"
	"github.com/curtsy/curtsy/internal/document/documenttest"
)

// For any document, the result is plain: it has only elements for text and links, and is within the
// limits.
func check(t *testing.T, f document.File) {
	const most = 64 << 10
	p, err := document.HTML(f, document.Limits{HTML: most, Pages: 20, Links: 100, Until: time.Now().Add(time.Second)})
	if err != nil {
		return
	}
	if len(p.HTML) > 8*most {
		t.Fatalf("%d bytes of HTML", len(p.HTML))
	}
	z := html.NewTokenizer(bytes.NewReader(p.HTML))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return
		case html.CommentToken:
			t.Fatalf("a comment: %q", z.Raw())
		case html.StartTagToken, html.SelfClosingTagToken:
			tok := z.Token()
			switch tok.Data {
			case "html", "head", "title", "body", "p", "h1", "h2", "h3", "h4", "h5", "h6":
				for _, a := range tok.Attr {
					if tok.Data != "html" || a.Key != "lang" {
						t.Fatalf("an attribute: %v", tok)
					}
				}
			case "a":
				if len(tok.Attr) != 1 || tok.Attr[0].Key != "href" {
					t.Fatalf("an attribute: %v", tok)
				}
			case "meta":
				if len(tok.Attr) != 1 || tok.Attr[0].Key != "charset" {
					t.Fatalf("a meta: %v", tok)
				}
			default:
				t.Fatalf("an element: %v", tok)
			}
		}
	}
}

func FuzzPDF(f *testing.F) {
	f.Add(sample.PDF())
	f.Add(bytes.Replace(sample.PDF(), []byte("xref"), []byte("xrxx"), 1))
	for _, h := range documenttest.All() {
		if h.Type == document.PDF && !strings.Contains(h.Name, "million") && !strings.Contains(h.Name, "bomb") {
			f.Add(h.Make())
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) { check(t, document.File{Type: document.PDF, Body: b}) })
}

// FuzzXML reads the main part of office documents directly, because the fuzzer would not find it in
// a zip file.
func FuzzXML(f *testing.F) {
	f.Add(`<w:document><w:body><w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:hyperlink r:id="r1"><w:t>x</w:t></w:hyperlink><w:instrText>HYPERLINK "u"</w:instrText></w:p></w:body></w:document>`,
		`<Relationships><Relationship Id="r1" Type="/hyperlink" Target="https://a.example/" TargetMode="External"/></Relationships>`)
	f.Add(`<office:body><text:h text:outline-level="2">h</text:h><text:p>a<text:a xlink:href="u">b</text:a></text:p></office:body>`, "")
	f.Add(`<workbook><sheets><sheet name="n" r:id="r1"/></sheets></workbook>`, `<Relationship Id="r1" Type="/worksheet" Target="s.xml"/>`)
	f.Fuzz(func(t *testing.T, main, rels string) {
		parts := []string{"content.xml", main, "meta.xml", main, "s.xml", main, "META-INF/manifest.xml", rels}
		for _, p := range [...]string{"word/document.xml", "xl/workbook.xml", "ppt/presentation.xml"} {
			dir, file, _ := strings.Cut(p, "/")
			parts = append(parts, p, main, dir+"/_rels/"+file+".rels", rels, dir+"/s.xml", main)
		}
		zip := documenttest.Zip(parts...)
		for _, kind := range [...]string{document.DOCX, document.XLSX, document.PPTX, document.ODT, document.ODS} {
			check(t, document.File{Type: kind, Body: zip})
		}
	})
}

// FuzzBook reads the package document and a chapter of a book directly.
func FuzzBook(f *testing.F) {
	f.Add(`<metadata><dc:title>t</dc:title><dc:language>en</dc:language></metadata><manifest><item id="a" href="a.xhtml"/></manifest><spine><itemref idref="a"/></spine>`,
		`<html><body><h1>x</h1><p>a&nbsp;<a href="https://a.example/">b</a><br/><script>c</script></p></body></html>`)
	f.Fuzz(func(t *testing.T, content, chapter string) {
		check(t, document.File{Type: document.EPUB, Body: documenttest.Book(content, "OPS/a.xhtml", chapter, "META-INF/encryption.xml", chapter)})
	})
}

// FuzzSheet reads numbers with formats.
func FuzzSheet(f *testing.F) {
	f.Add("yyyy-mm-dd hh:mm", "44197.5", false)
	f.Add("[h]:mm:ss;@", "-1", true)
	f.Add(`"day "0.00%`, "1e300", true)
	f.Fuzz(func(t *testing.T, code, value string, from1904 bool) {
		var text [2]bytes.Buffer
		_ = xml.EscapeText(&text[0], []byte(code))
		_ = xml.EscapeText(&text[1], []byte(value))
		check(t, document.File{Type: document.XLSX, Body: sheet(text[0].String(), from1904, `<c s="1"><v>`+text[1].String()+`</v></c>`)})
	})
}

func FuzzText(f *testing.F) {
	f.Add([]byte(`<rss><channel><title>t</title><item><title>i</title><link>https://a.example/</link><description>&lt;p>x&lt;/p></description></item></channel></rss>`), "")
	f.Add([]byte(`<feed xml:lang="de"><entry><link href="u"/><content type="html">&lt;a href="v">x</content></entry></feed>`), "utf-8")
	f.Add([]byte("a;b\n\"c;d\";https://a.example/\n"), "iso-8859-1")
	f.Add([]byte(`{"title":"t","a":[1,true,null,{"b":"https://a.example/"}]}`), "")
	f.Fuzz(func(t *testing.T, b []byte, charset string) {
		for _, kind := range [...]string{document.RSS, document.Atom, document.CSV, document.TSV, document.JSON} {
			check(t, document.File{Type: kind, Charset: charset, Body: b})
		}
		document.LooksLikeFeed(b)
	})
}
