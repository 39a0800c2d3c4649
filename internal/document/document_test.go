package document_test

import (
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/document"
	"github.com/curtsy/curtsy/internal/document/documenttest"
)

var say = documenttest.Say{Title: "A <title> & more", Text: "The <quick> fox jumps over the lazy dog", Link: "https://a.example/x?a=1&b=2"}

// Documents of every type say what they say, escaped, with title, text and link.
func TestHTML(t *testing.T) {
	rss := `<?xml version="1.0"?><rss version="2.0"><channel><title>A &lt;title> &amp; more</title><link>https://a.example/</link><language>en</language>` +
		`<item><title>One</title><link>https://a.example/x?a=1&amp;b=2</link><description>&lt;p>The &amp;lt;quick&amp;gt; fox&lt;script>NOT&lt;/script></description></item></channel></rss>`
	atom := `<feed xmlns="http://www.w3.org/2005/Atom"><title>A &lt;title> &amp; more</title><entry><title>One</title><link rel="alternate" href="https://a.example/x?a=1&amp;b=2"/>` +
		`<content type="html">The &amp;lt;quick&amp;gt; fox</content></entry></feed>`
	for _, c := range []struct {
		kind string
		body []byte
		also string // further text that must be there
	}{
		{document.PDF, say.PDF(), "<h1>Head of A &lt;title&gt; &amp; more</h1>"},
		{document.DOCX, say.DOCX(), "<h1>Head of A &lt;title&gt; &amp; more</h1>"},
		{document.XLSX, say.XLSX(), "<h2>Sheet of things</h2>\n<p>The &lt;quick&gt; fox jumps over the lazy dog 42.5 inline</p>"},
		{document.PPTX, say.PPTX(), `<a href="https://a.example/x?a=1&amp;b=2">The &lt;quick&gt; fox jumps over the lazy dog</a>`},
		{document.ODT, say.ODT(), "<h1>Head of A &lt;title&gt; &amp; more</h1>"},
		{document.ODS, say.ODS(), "42.5</p>"},
		{document.ODP, say.ODP(), ">The &lt;quick&gt; fox jumps over the lazy dog</a>"},
		{document.RSS, []byte(rss), `<h2><a href="https://a.example/x?a=1&amp;b=2">One</a></h2>`},
		{document.Atom, []byte(atom), `<h2><a href="https://a.example/x?a=1&amp;b=2">One</a></h2>`},
		{document.JSON, []byte(`{"title":"A <title> & more","n":1,"list":["The <quick> fox",{"u":"https://a.example/x?a=1&b=2"}]}`), "<p>n: 1</p>"},
		{document.CSV, []byte("name;text\n\"The <quick> fox\";https://a.example/x?a=1&b=2\n"), "<p>name text</p>"},
		{document.TSV, []byte("name\ttext\nThe <quick> fox\thttps://a.example/x?a=1&b=2\n"), "<p>name text</p>"},
	} {
		p, err := document.HTML(document.File{Type: c.kind, Body: c.body}, document.Limits{})
		html := string(p.HTML)
		wants := []string{"The &lt;quick&gt; fox", `<a href="https://a.example/x?a=1&amp;b=2">`, c.also, "<title>A &lt;title&gt; &amp; more</title>"}
		if c.kind == document.CSV || c.kind == document.TSV {
			wants = wants[:3]
		}
		for _, want := range wants {
			if !strings.Contains(html, want) {
				t.Errorf("%s: no %q in\n%s", c.kind, want, html)
			}
		}
		if err != nil || p.Cut || strings.Contains(html, "NOT") {
			t.Errorf("%s: %v, cut %v, %s", c.kind, err, p.Cut, html)
		}
	}
}
