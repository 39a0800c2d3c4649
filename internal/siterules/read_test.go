package siterules

import (
	"net/http"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

func mustParse(t testing.TB, text string) *Rules {
	t.Helper()
	r, err := Parse("sites.yaml", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return r
}

func mustURL(t testing.TB, raw string) canon.URL {
	t.Helper()
	u, err := canon.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// fieldsOf is what a field of an entry reads from a page.
func fieldsOf(t testing.TB, field, body string) []string {
	t.Helper()
	r := mustParse(t, "sites:\n  docs.example.org:\n    fields:\n      f: "+field+"\n")
	u := mustURL(t, "https://docs.example.org/docs/16/intro.html?lang=en")
	out := r.For(u).Read(Input{
		URL: u, ContentType: "text/html; charset=utf-8", Charset: "utf-8", Body: []byte(body),
		Header: http.Header{"Last-Modified": {"Sun, 06 Nov 1994 08:49:37 GMT"}},
	})
	if len(out.Ruled.Fields) == 0 {
		return nil
	}
	return out.Ruled.Fields[0].Values
}

const sample = `<!doctype html><html lang=en><head><title>Intro - Manual 16</title>
<meta name="Author" content="Ada  Lovelace"><meta property="og:type" content="article">
<script type="application/ld+json">{"@context":"https://schema.org","@graph":[
 {"@type":"Article","headline":"Intro","author":[{"@type":"Person","name":"Ada"},{"name":"Charles"}],"datePublished":"2024-05-06","wordCount":1200},
 {"@type":"BreadcrumbList","itemListElement":[{"position":1,"name":"Docs"},{"position":2,"name":"Intro"}]}]}</script></head>
<body><nav><ul class=crumbs><li><a href="/">Home</a><li><a href="/docs/">Docs</a></ul></nav>
<main id=m><h1>Introduction<a class=headerlink href="#x">¶</a></h1><p>Version 16.2 of 2 January 2024<p>Price: 1,234.50
<table><tr><th>Name<td>x</table></main><footer>Imprint</footer></body></html>`

func TestFields(t *testing.T) {
	for _, c := range []struct{ field, want string }{
		{`{css: h1}`, "Introduction¶"},
		{`{css: "a.headerlink", attr: href}`, "#x"},
		{`{css: ".crumbs li", many: true}`, "Home|Docs"},
		{`{css: ".crumbs li"}`, "Home"},
		{`{css: "tbody > tr > th + td"}`, "x"},
		{`{css: p, matches: 'Version (\S+)'}`, "16.2"},
		{`{css: p, matches: 'of (.*)', format: 2 January 2006}`, "2024-01-02T00:00:00Z"},
		{`{css: p, matches: 'of (.*)', type: date}`, "2024-01-02T00:00:00Z"},
		{`{css: "p + p", matches: 'Price: ([0-9.,]+)', type: number}`, "1234.5"},
		{`{xpath: "//ul[@class='crumbs']/li[2]"}`, "Docs"},
		{`{xpath: "//ul/li/a/@href", many: true}`, "/|/docs/"},
		{`{xpath: "count(//li)", type: number}`, "2"},
		{`{xpath: "string(//title)"}`, "Intro - Manual 16"},
		{`{meta: author}`, "Ada Lovelace"},
		{`{meta: "og:type"}`, "article"},
		{`{jsonld: author.name, many: true}`, "Ada|Charles"},
		{`{jsonld: "author[1].name"}`, "Charles"},
		{`{jsonld: "@graph[0].headline"}`, "Intro"},
		{`{jsonld: "BreadcrumbList:itemListElement.name", many: true}`, "Docs|Intro"},
		{`{jsonld: "Article:name"}`, ""},
		{`{jsonld: wordCount, type: number}`, "1200"},
		{`{jsonld: datePublished, type: date}`, "2024-05-06T00:00:00Z"},
		{`{path: '^/docs/(\d+)/', type: number}`, "16"},
		{`{url: 'lang=(\w+)'}`, "en"},
		{`{header: last-modified, type: date}`, "1994-11-06T08:49:37Z"},
		{`{const: [b, a, b], many: true}`, "b|a"},
		{`{css: ".none", default: page}`, "page"},
		{`{css: ".none"}`, ""},
		{`{css: h1, type: number}`, ""},
		{`{css: h1, type: number, default: 3.50}`, "3.5"},
		{`{const: yes, type: boolean}`, "true"},
		// Of a list, the first with a value; with many the values of all, in its order.
		{`{css: [.none, h1, title]}`, "Introduction¶"},
		{`{css: [h1, "p + p"], matches: '([0-9.,]+)$', type: number}`, "1234.5"},
		{`{css: ["p + p", ".crumbs li", "#m th"], many: true}`, "Price: 1,234.50|Home|Docs|Name"},
		{`{xpath: ["//th", "string(//title)", "//ul/li[1]"], many: true}`, "Name|Intro - Manual 16|Home"},
		{`{css: [.none, a.headerlink], attr: href}`, "#x"},
		{`{meta: [none, "og:type"]}`, "article"},
		{`{path: ['^/api/(\w+)', '^/docs/(\w+)']}`, "16"},
		// The first line that fits; what no line fits has no value.
		{`{css: title, map: {'^Manual': a, 'Manual (\d+)$': "v$1", 'Intro': b}}`, "v16"},
		{`{css: title, matches: '(Intro)', map: {'Manual': a, '^Intro$': b}}`, "b"},
		{`{css: ".crumbs li", many: true, map: {'^(D).*(s)$': "${2}x$1", 'H': "$$1"}}`, "$1|sxD"},
		{`{css: ".crumbs li", many: true, map: {'D': docs}}`, "docs"},
		{`{css: title, map: {'x': y}, default: z}`, "z"},
		{`{css: title, map: {'(?P<n>\d+)': "${n}0.5"}, type: number}`, "160.5"},
		{`{xpath: "boolean(//table)", map: {'true': table}}`, "table"},
	} {
		if got := strings.Join(fieldsOf(t, c.field, sample), "|"); got != c.want {
			t.Errorf("%s = %q, want %q", c.field, got, c.want)
		}
	}
}

func TestSkipAndOverrides(t *testing.T) {
	r := mustParse(t, `sites:
  docs.example.org:
    content: {main: ["#m"], drop: [a.headerlink], title: {css: h1}, description: {meta: author}}
    fields:
      kind: {css: .none, required: true}
      author: {meta: author}
      at: {header: last-modified, type: date}
    skip:
      - {css: body.error404}
      - {field: author, equals: Ada}
      - {css: h1, matches: "^Intro"}
`)
	u := mustURL(t, "http://docs.example.org/x")
	s := r.For(u)
	earlier := crawl.Fields{{Name: "at", Type: crawl.FieldDate, Values: []string{"2024-05-06T00:00:00Z"}}}
	out := s.Read(Input{URL: u, ContentType: "text/html", Body: []byte(sample), Earlier: earlier})
	if want := `sites.yaml:11: css "h1" matches "^Intro"`; !out.Skip || out.Why != want {
		t.Errorf("skip = %v %q, want %q", out.Skip, out.Why, want)
	}
	if out.Ruled.Title != "Introduction¶" || out.Ruled.Description != "Ada Lovelace" || out.Ruled.Rules != r.Hash() {
		t.Errorf("ruled: %+v", out.Ruled)
	}
	if got := strings.Join(out.Missing, " "); got != "kind" || strings.Join(out.Empty, " ") != "kind" {
		t.Errorf("missing %q, empty %q", got, out.Empty)
	}
	if len(out.Ruled.Fields) != 2 || out.Ruled.Fields[0].Name != "at" || out.Ruled.Fields[0].Values[0] != "2024-05-06T00:00:00Z" {
		t.Errorf("fields: %+v", out.Ruled.Fields)
	}
	page, changed := s.Content("text/html", "utf-8", []byte(sample))
	text := string(page)
	if !changed || strings.Contains(text, "¶") || strings.Contains(text, "Imprint") || strings.Contains(text, "crumbs") {
		t.Errorf("content: %s", text)
	}
	for _, want := range []string{`<html lang="en">`, "<title>Intro - Manual 16</title>", "<h1>Introduction</h1>", `content="article"`, `{"@context":"https://schema.org"`} {
		if !strings.Contains(text, want) {
			t.Errorf("content lacks %q: %s", want, text)
		}
	}
	if _, changed := s.Content("text/html", "utf-8", []byte("<p>nothing of it")); changed {
		t.Error("a page without the elements changed")
	}
}

// Charsets and documents that are no HTML.
func TestReadDecodes(t *testing.T) {
	r := mustParse(t, "sites:\n  x.example:\n    fields: {f: {css: h1}}\n")
	u := mustURL(t, "https://x.example/")
	for _, c := range []struct{ kind, charset, body, want string }{
		{"text/html", "windows-1252", "<h1>Caf\xe9</h1>", "Café"},
		{"application/xhtml+xml", "utf-8", `<html xmlns="http://www.w3.org/1999/xhtml"><script/><h1>A</h1></html>`, "A"},
		{"text/markdown", "utf-8", "# Head\n\ntext", "Head"},
		{"text/plain", "utf-8", "<h1>no</h1>", ""},
	} {
		out := r.For(u).Read(Input{URL: u, ContentType: c.kind, Charset: c.charset, Body: []byte(c.body)})
		got := ""
		if len(out.Ruled.Fields) > 0 {
			got = out.Ruled.Fields[0].Values[0]
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.kind, got, c.want)
		}
	}
}
