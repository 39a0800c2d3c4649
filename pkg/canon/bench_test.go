package canon

import (
	"net/url"
	"testing"
)

const benchPage = "https://docs.example.org/manual/en/guide/index.html"

// benchLinks is a typical mixture of links on a page: its own site, other sites, and links that are
// not pages.
var benchLinks = []string{
	"../ref/functions.html#open", "install.html", "config/options.html", "./", "#search", "/manual/de/guide/", "/search?q=open&lang=en",
	"https://docs.example.org/manual/en/changes/2024/05.html", "https://lists.example.net/archive/thread/4711.html?page=2", "//cdn.example.net/site.css",
	"mailto:docs@example.org", "../ref/caf%C3%A9.html",
}

// BenchmarkJoin is the cost of one link of the mixture, compared with the standard library (which
// leaves most of the spelling unchanged). The benchmark in reference_test.go measures whatwg-url.
func BenchmarkJoin(b *testing.B) {
	b.Run("canon", func(b *testing.B) {
		base := NewBase(benchPage)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			base.Join(benchLinks[i%len(benchLinks)])
		}
	})
	b.Run("slow", func(b *testing.B) {
		base := NewBase(benchPage)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			resolve(base, benchLinks[i%len(benchLinks)])
		}
	})
	b.Run("neturl", func(b *testing.B) {
		base, err := url.Parse(benchPage)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if u, err := base.Parse(benchLinks[i%len(benchLinks)]); err == nil {
				_ = u.String()
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	for name, raw := range map[string]string{
		"canonical": benchPage,
		"fragment":  benchPage + "#x",
		"uppercase": "HTTPS://Docs.Example.Org/Manual/",
		"idna":      "https://bücher.example/",
		"ipv4":      "http://127.0.0.1:8080/a",
		"mailto":    "mailto:docs@example.org",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Parse(raw)
			}
		})
	}
}

func BenchmarkAccessors(b *testing.B) {
	u := URL(benchPage)
	b.Run("Origin", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = u.Origin()
		}
	})
	b.Run("PathQuery", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = u.PathQuery()
		}
	})
	b.Run("Registered", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = u.Host().Registered()
		}
	})
}
