package pagetext

import (
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/testaid"
)

// Formats §8.34: a page in Markdown is read as the HTML that it means: its title, headings, text
// and links, and the directives in HTML within it.
func TestUsage_8_34_Read(t *testing.T) {
	const md = "---\ntitle: The page\n---\n# Heading *one*\n\nText & [a link](linked.md).\n\n<div data-nosnippet>\n\nwalrus\n\n</div>\n\n```go\nf()\n```\n\n<script>zebra</script>\n"
	var x Extractor
	p := htmlPage("text/markdown", "The page")
	if got := x.Text(p.ContentType, "utf-8", []byte(md)); string(got.Title) != "The page" || string(got.Headings) != "Heading one" || string(got.Body) != "Heading one\nText & a link.\nwalrus\nf()" {
		t.Errorf("%q, %q, %q", got.Title, got.Headings, got.Body)
	}
	if title, _ := x.Title(p.ContentType, "utf-8", []byte(md)); title != "The page" {
		t.Errorf("title %q", title)
	}
	r := x.Read(p.URL, p.ContentType, "utf-8", []byte(md))
	if string(r.Title) != "The page" || marked(r) != "Heading one/Text & a link./[walrus]/f()" || len(r.Links) != 1 || r.Links[0].Href != "http://a.example/dir/linked.md" {
		t.Errorf("%q, %s, %+v", r.Title, marked(r), r.Links)
	}
	if text, none := x.Quotable(p.URL, p.ContentType, "utf-8", []byte(md)); none || strings.Contains(string(text), "walrus") || !strings.Contains(string(text), "a link") {
		t.Errorf("%q, %v", text, none)
	}
	if got, none := x.Markdown(p, []byte(md)); none || string(got) != "# Heading *one*\n\nText & [a link](http://a.example/dir/linked.md).\n\n…\n\n```go\nf()\n```" {
		t.Errorf("%q, %v", got, none)
	}
	if got := x.LinkedData(p.ContentType, "utf-8", []byte(md+`<script type="application/ld+json">{"@type":"Dataset"}</script>`), 1<<20); got != nil {
		t.Errorf("%s", got)
	}
	if got := x.Text(p.ContentType, "iso-8859-1", []byte("# \xe4")); string(got.Title) != "ä" {
		t.Errorf("%q", got.Title)
	}
}

func TestMarkdownPageCostsLittle(t *testing.T) {
	p := htmlPage("text/markdown", "")
	for what, read := range map[string]func(x *Extractor, body []byte){
		"text":     func(x *Extractor, body []byte) { x.Text(p.ContentType, "utf-8", body) },
		"reading":  func(x *Extractor, body []byte) { x.Read(p.URL, p.ContentType, "utf-8", body) },
		"Markdown": func(x *Extractor, body []byte) { x.Markdown(p, body) },
	} {
		testaid.CheckCost(t, what, 100<<10, linesBombs, func(b testaid.Bomb) func() {
			var x Extractor
			return func() { read(&x, b.Body) }
		})
	}
}
