package pagetext

import (
	"bytes"
	"runtime"
	"testing"
)

// What reading a page allocates is limited by its length, whatever is in it, also if the same text
// is repeated again and again.
func FuzzReadBudget(f *testing.F) {
	for _, s := range []string{`<p><b a=1><i b=2><p>x`, `<h1><div>a<h2>`, "+json</script>ataset", `<svg><title>x</svg>`, "<table>a<tr><td>b", "<select><option>c",
		`<script type="application/ld+json">{"@type":"Dataset"}</script>`, "<body a><html b>", "<!--><!-- --!>", "a&ampb;<b>&lt", "<template><frameset>"} {
		f.Add([]byte(s), []byte("<p>y"), uint16(300), false)
	}
	f.Fuzz(func(t *testing.T, head, unit []byte, times uint16, xml bool) {
		if n := 128 << 10; len(head) > n || len(unit)*int(times) > n {
			return
		}
		kind := "text/html"
		if xml {
			kind = "application/xhtml+xml"
		}
		page := append(bytes.Clone(head), bytes.Repeat(unit, int(times))...)
		var x Extractor
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		x.Text(kind, "utf-8", page)
		x.Title(kind, "utf-8", page)
		x.LinkedData(kind, "utf-8", page, 1<<20)
		x.Read("http://a.example/", kind, "utf-8", page)
		runtime.ReadMemStats(&after)
		// A node of 112 bytes for each three bytes of the page, what contains the nodes, and
		// buffers that grow by doubling.
		if alloc, limit := int(after.TotalAlloc-before.TotalAlloc), 1<<20+160*len(page); alloc > limit {
			t.Fatalf("%d bytes: %d allocated, limit %d", len(page), alloc, limit)
		}
	})
}
