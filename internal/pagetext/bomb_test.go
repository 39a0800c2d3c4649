package pagetext

import (
	"bytes"
	"testing"

	"github.com/curtsy/curtsy/internal/testaid"
)

// Reading a page has limited costs, whatever is in it: 64 MiB in addition to its own size, and time
// in proportion to its size.
func TestNoPageCostsMuch(t *testing.T) {
	for kind, size := range map[string]int{"text/html": testaid.Volume(2<<20, 100<<10), "application/xhtml+xml": 100 << 10} {
		check := func(what string, read func(x *Extractor, body []byte)) {
			testaid.CheckCost(t, kind+" "+what, size, testaid.HTMLBombs, func(b testaid.Bomb) func() {
				var x Extractor
				return func() { read(&x, b.Body) }
			})
		}
		check("text", func(x *Extractor, body []byte) { x.Text(kind, "utf-8", body) })
		check("title", func(x *Extractor, body []byte) { x.Title(kind, "utf-8", body) })
		check("reading", func(x *Extractor, body []byte) { x.Read("http://a.example/", kind, "utf-8", body) })
		testaid.CheckCost(t, kind+" linked data", size, testaid.HTMLBombs, func(b testaid.Bomb) func() {
			linked := append(bytes.Clone(b.Body), `<script type="application/ld+json">{"@type":"Dataset"}</script>`...)
			var x Extractor
			return func() { x.LinkedData(kind, "utf-8", linked, 1<<20) }
		})
	}
}
