package robots_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/pkg/robots"
)

// benchFile returns size bytes of typical rules, records and comments.
func benchFile(size int) []byte {
	var b strings.Builder
	b.WriteString("# robots.txt of a shop\nUser-agent: *\nCrawl-delay: 2\nSitemap: https://www.example.org/sitemap.xml\n")
	for i := 0; b.Len() < size-64; i++ {
		switch i % 8 {
		case 0:
			fmt.Fprintf(&b, "\nDisallow: /*?sort%d=\n", i)
		case 1:
			fmt.Fprintf(&b, "Allow: /shop/%d/open$\n", i)
		case 2:
			b.WriteString("# not for robots\n")
		default:
			fmt.Fprintf(&b, "Disallow: /shop/%d/cart\n", i*7919%100_000)
		}
	}
	return []byte(b.String())
}

func BenchmarkParse(b *testing.B) {
	for _, size := range []int{2 << 10, 64 << 10, 500 << 10} {
		body := benchFile(size)
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				robots.Parse(body)
			}
		})
	}
}

func BenchmarkRules(b *testing.B) {
	for _, size := range []int{2 << 10, 64 << 10, 500 << 10} {
		f := robots.Parse(benchFile(size))
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f.Rules("anybot", origin)
			}
		})
	}
}

func BenchmarkMatch(b *testing.B) {
	hostile := "User-agent: *\nDisallow: /" + strings.Repeat("a*", 50) + "b\n"
	for _, bm := range []struct {
		name string
		body []byte
		path string
	}{
		{"2KiB", benchFile(2 << 10), "/shop/120/cart?sort=1&page=2"},
		{"500KiB", benchFile(500 << 10), "/shop/120/cart?sort=1&page=2"},
		{"hostile", []byte(hostile), "/" + strings.Repeat("a", 2000)},
		{"nonASCII", benchFile(2 << 10), "/магазин/120"},
	} {
		r := robots.Parse(bm.body).Rules("anybot", origin)
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r.Match(bm.path)
			}
		})
	}
}
