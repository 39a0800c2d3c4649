package documenttest

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"strings"
)

// zeros returns n bytes of one value, deflated.
func zeros(n int, c byte) []byte {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	chunk := bytes.Repeat([]byte{c}, 1<<20)
	for ; n > 0; n -= len(chunk) {
		if _, err := w.Write(chunk[:min(n, len(chunk))]); err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func pdfStream(dict string, b []byte) string {
	return fmt.Sprintf("<<%s/Length %d>>stream\n%s\nendstream", dict, len(b), b)
}

// page returns a PDF of one page with this content, and with further objects from 5 on.
func page(resources, content string, more ...string) []byte {
	return PDF("", append([]string{"<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>",
		"<</Type/Page/Parent 2 0 R/Resources<<" + resources + ">>/Contents 4 0 R>>", content}, more...)...)
}

const helvetica = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"

// largePDFs are files that ask their reader for much work or much memory.
func largePDFs() []Hostile {
	text := pdfStream("", []byte("BT /F1 10 Tf (Once there was a harbour) Tj ET"))
	return []Hostile{
		{"pdf bomb: 100 MiB of blanks in a stream", pdfType, func() []byte {
			return page("/Font<</F1 5 0 R>>", pdfStream("/Filter/FlateDecode", zeros(100<<20, ' ')), helvetica)
		}, "*"},
		{"pdf bomb: deflated twice", pdfType, func() []byte {
			var b bytes.Buffer
			w := zlib.NewWriter(&b)
			_, _ = w.Write(zeros(256<<20, ' '))
			_ = w.Close()
			return page("", pdfStream("/Filter[/FlateDecode/FlateDecode]", b.Bytes()))
		}, "*"},
		{"pdf bomb: one stream drawn a thousand times", pdfType, func() []byte {
			return page("/XObject<</X 5 0 R>>", pdfStream("", []byte(strings.Repeat("/X Do ", 1000))),
				pdfStream("/Subtype/Form/Filter/FlateDecode", zeros(30<<20, ' ')))
		}, ""},
		{"pdf: forms that draw forms, ten each, twelve deep", pdfType, func() []byte {
			var forms []string
			for i := range 12 {
				forms = append(forms, pdfStream(fmt.Sprintf("/Subtype/Form/Resources<</XObject<</X %d 0 R>>>>", 6+i), []byte(strings.Repeat("/X Do ", 10))))
			}
			return page("/XObject<</X 5 0 R>>", pdfStream("", []byte("/X Do")), forms...)
		}, "*"},
		{"pdf: a form that draws itself", pdfType, func() []byte {
			return page("/XObject<</X 5 0 R>>/Font<</F1 6 0 R>>", text, pdfStream("/Subtype/Form/Resources<</XObject<</X 5 0 R>>>>", []byte("/X Do /X Do")), helvetica)
		}, "*"},
		{"pdf: a million objects", pdfType, func() []byte {
			var b bytes.Buffer
			b.WriteString("%PDF-1.4\n")
			for i := range 1_100_000 {
				fmt.Fprintf(&b, "%d 0 obj<<>>endobj\n", i+1)
			}
			b.WriteString("trailer<</Root 1 0 R>>")
			return b.Bytes()
		}, ""},
		{"pdf: a table that claims to have two thousand million objects", pdfType, func() []byte {
			return []byte("%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\nxref\n0 2000000000\n0000000000 65535 f \ntrailer<</Size 2000000000/Root 1 0 R>>\nstartxref\n42\n%%EOF")
		}, ""},
		{"pdf: arrays a million deep", pdfType, func() []byte {
			return page("", pdfStream("", bytes.Repeat([]byte("["), 1<<20)))
		}, "*"},
		{"pdf: dictionaries a million deep in its trailer", pdfType, func() []byte {
			return append([]byte("%PDF-1.4\ntrailer"), bytes.Repeat([]byte("<</A"), 1<<20)...)
		}, ""},
		{"pdf: a predictor with rows of a gigabyte", pdfType, func() []byte {
			return page("", pdfStream("/Filter/FlateDecode/DecodeParms<</Predictor 12/Columns 1000000000/Colors 60/BitsPerComponent 16>>", zeros(1<<20, 1)))
		}, "*"},
		{"pdf: widths from here to nowhere", pdfType, func() []byte {
			return page("/Font<</F1 5 0 R>>", text, "<</Type/Font/Subtype/Type0/Encoding/Identity-H/DescendantFonts[<</W[0 2000000000 5 1 2000000000 5]>>]>>")
		}, "*"},
		{"pdf: endless text", pdfType, func() []byte {
			return page("/Font<</F1 5 0 R>>/XObject<</X 6 0 R>>", pdfStream("", []byte(strings.Repeat("/X Do ", 5000))), helvetica,
				pdfStream("/Subtype/Form", []byte("BT /F1 10 Tf "+strings.Repeat("(Once there was a harbour) Tj ", 2000)+"ET")))
		}, "Once there was"},
	}
}

// brokenPDFs are files whose structure is invalid: circles, cut files, unreadable contents.
func brokenPDFs() []Hostile {
	return []Hostile{
		{"pdf: tables that lead to one another", pdfType, func() []byte {
			b := words.PDF()
			at := bytes.Index(b, []byte("xref\n0"))
			return bytes.Replace(b, []byte("/Root"), fmt.Appendf(nil, "/Prev %d/XRefStm %d/Root", at, at), 1)
		}, "Once there was"},
		{"pdf: references in a circle", pdfType, func() []byte {
			return PDF("", "<</Type/Catalog/Pages 2 0 R>>", "3 0 R", "2 0 R")
		}, ""},
		{"pdf: a tree of pages that contains itself", pdfType, func() []byte {
			return PDF("", "<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[2 0 R 2 0 R 3 0 R]/Count 9>>", "<</Type/Pages/Kids[2 0 R 3 0 R]>>")
		}, ""},
		{"pdf: the length of a stream is itself", pdfType, func() []byte {
			return page("/Font<</F1 5 0 R>>", "<</Length 4 0 R>>stream\nBT /F1 10 Tf (Once there was a harbour) Tj ET\nendstream", helvetica)
		}, "Once there was"},
		{"pdf: cut in the middle", pdfType, func() []byte {
			b := words.PDF()
			return b[:bytes.Index(b, []byte("5 0 obj"))]
		}, "*"},
		{"pdf: its first bytes alone", pdfType, func() []byte { return []byte("%PDF-1.7\n") }, ""},
		{"pdf: nothing", pdfType, func() []byte { return nil }, ""},
		{"pdf: encrypted with a password", pdfType, func() []byte {
			b := words.PDF()
			return bytes.Replace(b, []byte("/Root"), []byte("/ID[(1)(1)]/Encrypt<</Filter/Standard/V 2/R 3/Length 128/P -1/O("+strings.Repeat("o", 32)+")/U("+strings.Repeat("u", 32)+")>>/Root"), 1)
		}, ""},
	}
}
