package draft

import (
	"fmt"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/siterules"
	"github.com/curtsy/curtsy/pkg/canon"
)

// site makes n pages of a template with two verbs: the number of a page, twice.
func site(t *testing.T, folder, template string, n int) (pages []Page) {
	t.Helper()
	for i := range n {
		u, err := canon.Parse(fmt.Sprintf("https://docs.example.org%s%d.html", folder, i))
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf(template, i, strings.Repeat(fmt.Sprintf("Words of page %d. ", i), 20))
		pages = append(pages, Page{URL: u, ContentType: "text/html", Charset: "utf-8", Body: []byte(text)})
	}
	return pages
}

// found are the names and numbers of pages of the fields.
func found(d *Draft) string {
	var all []string
	for _, f := range d.Fields {
		all = append(all, fmt.Sprintf("%s %d", f.Name, f.Pages))
	}
	return strings.Join(all, ", ")
}

func TestTemplates(t *testing.T) {
	for name, c := range map[string]struct{ folder, template, fields, main, drop string }{
		"sphinx": {"/3/", `<!doctype html><title>Page %[1]d — Manual 3.11.2 documentation</title><div class=related><ul><li class="nav-item nav-item-0"><a href=i>Manual</a>
			<li class="nav-item nav-item-1"><a href=c>Chapter %[1]d</a></ul></div><div class=document><div class=body><h1>Page %[1]d<a class=headerlink href="#x">¶</a></h1><p>%[2]s</div></div><div class=footer>Last updated on May 1%[1]d, 2024.</div>`,
			"version 6, breadcrumb 6, chapter 6, updated 6", "div.body", "a.headerlink div.related div.footer"},
		"docbook": {"/docs/", `<!doctype html><meta name=generator content="DocBook XSL"><link rel=home title="Manual 15.2"><link rel=up title="Chapter %[1]d"><title>%[1]d</title>
			<div class=navheader>Prev Next %[1]d</div><div class=sect1><h2>Title %[1]d</h2><p>%[2]s</div><div class=navfooter>Prev</div>`,
			"version 6, chapter 6, manual 6", "", ".navheader .navfooter"},
		"numbered sections":  {"/book/", `<title>4.%[1]d. Installing</title><h1>4.%[1]d. Installing</h1><p>%[2]s`, "", "", ""},
		"versions in titles": {"/book/", `<title>Installing %[1]d - Manual 4.2</title><p>%[2]s`, "version 6", "", ""},
		"blog": {"/", `<!doctype html><meta property="article:published_time" content="2024-05-0%[1]dT10:00:00Z"><meta name=product-line content="p%[1]d"><title>Blog</title>
			<script type="application/ld+json">{"@type":"Article","author":{"name":"Ada"},"articleSection":"S%[1]d"}</script><nav>Menu</nav><main><h1>Post %[1]d</h1><p>%[2]s</main><footer>Imprint</footer>`,
			"author 6, section 6, published 5, product_line 6", "main", "nav footer"},
		"nothing": {"/", `<title>%[1]d</title><p>%[2]s`, "", "", ""},
	} {
		d, err := Of(site(t, c.folder, c.template, 6))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := found(d); got != c.fields || d.Main != c.main || strings.Join(d.Drop, " ") != c.drop {
			t.Errorf("%s: fields %q, main %q, drop %q; want %q, %q, %q", name, got, d.Main, d.Drop, c.fields, c.main, c.drop)
		}
		if _, err := siterules.Parse("draft", d.Text()); err != nil {
			t.Errorf("%s: %v\n%s", name, err, d.Text())
		}
	}
}

// All candidates are right, and so are the comments of a hostile page.
func TestText(t *testing.T) {
	d := &Draft{Entry: "docs.example.org:8080/a/", Generator: "x\nsites: {}\u2028y", Main: `a[b="c"]`, Drop: []string{`[x='"']`}, Title: true, Pages: 3}
	for i, c := range candidates {
		d.Fields = append(d.Fields, Field{Name: fmt.Sprintf("f%d", i), Source: c.source, Pages: 1, Values: 1, Example: "a\n#\"b"})
	}
	r, err := siterules.Parse("draft", d.Text())
	if err != nil {
		t.Fatalf("%v\n%s", err, d.Text())
	}
	if len(r.Schema()) != len(candidates) {
		t.Errorf("%d fields, want %d", len(r.Schema()), len(candidates))
	}
}

func TestLinks(t *testing.T) {
	page := Page{URL: "https://docs.example.org/a/index.html", Body: []byte(`<a href=b.html>b</a><a href=b.html#x>b</a><a href=../c.html>c</a><a href=d.png>d</a>
		<a href=e.html rel=nofollow>e</a><a href="https://other.example/a/f.html">f</a><a href=g/h>h</a><a href="i.html?x=1">i</a>`)}
	if got := fmt.Sprint(Links(page, page.URL)); got != "[https://docs.example.org/a/b.html https://docs.example.org/a/g/h]" {
		t.Errorf("links %s", got)
	}
	page.Body = append(page.Body, `<meta name=robots content="NOFOLLOW">`...)
	if got := Links(page, page.URL); got != nil {
		t.Errorf("links of a page that asks for none: %s", got)
	}
	list := []canon.URL{"1", "2", "3", "4", "5", "6"}
	if got := fmt.Sprint(Spread(list, 3), Spread(list, 9)); got != "[1 3 5] [1 2 3 4 5 6]" {
		t.Errorf("spread %s", got)
	}
}

func FuzzOf(f *testing.F) {
	f.Add([]byte(`<meta name="x y" content=1><script type="application/ld+json">{"author":{"name":"A"}}</script><main><h1>T</h1></main>`))
	f.Fuzz(func(t *testing.T, page []byte) {
		p := Page{URL: "https://x.example/1/", ContentType: "text/html", Charset: "utf-8", Body: page}
		if _, err := Of([]Page{p, p}); err != nil {
			t.Fatalf("%q: %v", page, err)
		}
		Links(p, p.URL)
	})
}
