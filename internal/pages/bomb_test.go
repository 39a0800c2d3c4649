package pages

import (
	"bytes"
	"testing"

	"github.com/curtsy/curtsy/internal/pagebomb"
	"github.com/curtsy/curtsy/internal/racing"
)

// What reading a page costs is bounded whatever is in it: 64 MiB beside its own size, and a second.
func TestNoPageCostsMuch(t *testing.T) {
	for _, size := range []int{100 << 10, 2 << 20} {
		// The smaller one finds all that grows with a square.
		if (testing.Short() || racing.Enabled) && size > 1<<20 {
			continue
		}
		for _, b := range pagebomb.HTML(size) {
			for _, kind := range []string{"text/html", "application/xhtml+xml"} {
				if kind != "text/html" && size > 1<<20 {
					continue
				}
				var x Extractor
				pagebomb.Check(t, kind+" text of "+b.Name, len(b.Body), 20, func() { x.Text(kind, "utf-8", b.Body) })
				pagebomb.Check(t, kind+" title of "+b.Name, len(b.Body), 20, func() { x.Title(kind, "utf-8", b.Body) })
				pagebomb.Check(t, kind+" reading of "+b.Name, len(b.Body), 20, func() { x.Read("http://a.example/", kind, "utf-8", b.Body) })
				linked := bytes.Clone(append(b.Body, `<script type="application/ld+json">{"@type":"Dataset"}</script>`...))
				pagebomb.Check(t, kind+" linked data of "+b.Name, len(linked), 20, func() { x.LinkedData(kind, "utf-8", linked, 1<<20) })
			}
		}
	}
}
