package pdf_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/document/documenttest"
	"github.com/curtsy/curtsy/internal/document/pdf"
)

// paragraphs reads a page with this content. Its font F has characters of half its size.
func paragraphs(t *testing.T, content string) string {
	t.Helper()
	widths := strings.TrimSpace(strings.Repeat("500 ", 224))
	b := documenttest.PDF("", "<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>", "<</Type/Page/Parent 2 0 R/Resources<</Font<</F 5 0 R>>>>/Contents 4 0 R>>",
		fmt.Sprintf("<</Length %d>>stream\n%s\nendstream", len(content), content),
		"<</Type/Font/Subtype/Type1/BaseFont/Courier/Encoding/WinAnsiEncoding/FirstChar 32/LastChar 255/Widths["+widths+"]>>")
	read, err := pdf.Read(b, pdf.Limits{Pages: 10, Text: 1 << 20, Links: 10})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, p := range read.Paragraphs {
		all = append(all, p.Text)
	}
	return strings.Join(all, "|")
}

// each shows the characters of a text one by one, in steps.
func each(text string, x, y, dx, dy float64, turn string) string {
	var b strings.Builder
	for i, c := range text {
		if c != ' ' {
			fmt.Fprintf(&b, "%s %.2f %.2f Tm (%c) Tj ", turn, x+float64(i)*dx, y+float64(i)*dy, c)
		}
	}
	return b.String()
}

// Characters that are set apart are words, whatever sets them apart and in whatever direction. A
// space of the document, and a gap that is larger than the others, is between words.
func TestSpacedLetters(t *testing.T) {
	between := func(text string, by int) string {
		var b strings.Builder
		for _, c := range text {
			fmt.Fprintf(&b, "(%c)%d", c, by)
		}
		return "[" + b.String() + "] TJ"
	}
	for _, c := range []struct{ name, content, want string }{
		{"a line", "10 700 Td (plain words) Tj", "plain words"},
		{"Tc", "10 700 Td 3 Tc (spaced words) Tj", "spaced words"},
		{"Tc, wide", "10 700 Td 6 Tc (spaced words) Tj", "spaced words"},
		{"negative Tc", "10 700 Td -1 Tc (tight words) Tj", "tight words"},
		{"Tc and a move between words", "10 700 Td 3 Tc (one) Tj 36 0 Td (two) Tj", "one two"},
		{"Tc by the operator with three operands", "10 700 Td 2 3 (spaced words) \"", "spaced words"},
		{"Tc and Tz", "10 700 Td 150 Tz 3 Tc (spaced words) Tj", "spaced words"},
		{"Tw", "10 700 Td 20 Tw (wide gaps here) Tj", "wide gaps here"},
		{"Tw, negative", "10 700 Td -2 Tw (small gaps here) Tj", "small gaps here"},
		{"TJ", "10 700 Td " + between("spaced words", -300), "spaced words"},
		{"TJ, no spaces", "10 700 Td " + strings.Replace(between("spacedwords", -300), "(d)-300", "(d)-1200", 1), "spaced words"},
		{"TJ, words", "10 700 Td [(two)-400(words)-400(here)] TJ", "two words here"},
		{"TJ, kerning", "10 700 Td [(T)80(o)10(g)-20(e)-40(ther)] TJ", "Together"},
		{"positions", each("spaced", 10, 700, 9, 0, "1 0 0 1"), "spaced"},
		{"positions of words", each("spaced words", 10, 700, 9, 0, "1 0 0 1"), "spaced words"},
		{"turned", "0 1 -1 0 100 100 Tm (rotated words here) Tj", "rotated words here"},
		{"turned, with Tc", "0 1 -1 0 100 100 Tm 3 Tc (rotated words here) Tj", "rotated words here"},
		{"turned the other way", "0 -1 1 0 100 700 Tm (rotated words here) Tj", "rotated words here"},
		{"upside down", "-1 0 0 -1 400 700 Tm (turned around) Tj", "turned around"},
		{"at 45 degrees", "0.7071 0.7071 -0.7071 0.7071 100 100 Tm 3 Tc (a steep line) Tj", "a steep line"},
		{"turned, each at a position", each("rotated words", 100, 100, 0, 9, "0 1 -1 0"), "rotated words"},
		{"turned in two lines", "0 1 -1 0 100 100 Tm 12 TL (rotated words) Tj T* (in two lines) Tj", "rotated words in two lines"},
		{"a scaled matrix", "3 0 0 3 10 700 Tm (scaled words) Tj", "scaled words"},
		{"digits of a table", each("1234567", 10, 700, 9, 0, "1 0 0 1"), "1 2 3 4 5 6 7"},
		{"letters of a table", each("abcdef", 10, 700, 40, 0, "1 0 0 1"), "a b c d e f"},
		{"single letters among words", "10 700 Td [(a)-400(b)-400(word)-400(c)] TJ", "a b word c"},
	} {
		if got := paragraphs(t, "BT /F 12 Tf "+c.content+" ET"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
