package documenttest

import (
	"fmt"
	"strings"
)

// books are EPUB files.
func books() []Hostile {
	const chapter = "<html><body><p>Once there was a harbour</p></body></html>"
	const one = `<manifest><item id="a" href="a.xhtml"/></manifest>`
	return []Hostile{
		{"epub: one chapter, a million times", epubType, func() []byte {
			return Book(one+"<spine>"+strings.Repeat(`<itemref idref="a"/>`, 1<<20)+"</spine>", "OPS/a.xhtml", chapter)
		}, "Once there was"},
		{"epub: a long chapter, a thousand times", epubType, func() []byte {
			return Book(one+"<spine>"+strings.Repeat(`<itemref idref="a"/>`, 1000)+"</spine>", "OPS/a.xhtml", "<html><body>"+strings.Repeat(" ", 10<<20)+"</body></html>")
		}, ""},
		{"epub: a quarter of a million files", epubType, func() []byte {
			var b strings.Builder
			for i := range 1 << 18 {
				fmt.Fprintf(&b, `<item id="i%d" href="%d.xhtml"/>`, i, i)
			}
			return Book("<manifest>"+b.String()+"</manifest>"+`<spine><itemref idref="i0"/></spine>`, "OPS/0.xhtml", chapter)
		}, "Once there was"},
		{"epub: elements a million deep, and a chapter behind them", epubType, func() []byte {
			return Book(`<manifest><item id="a" href="a.xhtml"/><item id="b" href="b.xhtml"/></manifest><spine><itemref idref="a"/><itemref idref="b"/></spine>`,
				"OPS/a.xhtml", "<html><body>"+strings.Repeat("<div>", 1<<20), "OPS/b.xhtml", chapter)
		}, "Once there was"},
		{"epub: a chapter outside of the file", epubType, func() []byte {
			return Book(`<manifest><item id="a" href="../../../../etc/passwd"/></manifest><spine><itemref idref="a"/></spine>`)
		}, "*"},
		{"epub: a list of chapters that is its own chapter", epubType, func() []byte {
			return Book(`<manifest><item id="a" href="content.opf"/></manifest><spine><itemref idref="a"/></spine>`)
		}, "*"},
		{"epub: an encrypted chapter", epubType, func() []byte {
			return Book(one+`<spine><itemref idref="a"/></spine>`, "META-INF/encryption.xml", `<encryption><CipherReference URI="OPS/a.xhtml"/></encryption>`, "OPS/a.xhtml", "random")
		}, ""},
		{"epub: no chapters", epubType, func() []byte { return Book("<manifest/><spine/>") }, ""},
		{"epub: cut in the middle", epubType, func() []byte { b := words.EPUB(); return b[:len(b)/2] }, ""},
	}
}
