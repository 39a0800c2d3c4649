package pagetext

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

const schemaDataset = `itemscope itemtype="http://schema.org/Dataset"`

// The HTML standard's microdata (chapter 5), as portals write it. The wanted text is the JSON of
// the page's nodes.
var microdataCases = []struct{ name, page, want string }{
	{"texts", `<div ` + schemaDataset + `><h1 itemprop="name">Rain</h1><p itemprop=description>Of <b>all</b> years.</p></div>`,
		`{"@type":["http://schema.org/Dataset"],"description":["Of all years."],"name":["Rain"]}`},
	{"TensorFlow's tags", `<div itemscope itemtype="http://schema.org/Dataset">
  <div itemscope itemprop="includedInDataCatalog" itemtype="http://schema.org/DataCatalog">
    <meta itemprop="name" content="TensorFlow Datasets" />
  </div>
  <meta itemprop="name" content="anli" />
  <meta itemprop="description" content="A&#10;B" />
  <meta itemprop="url" content="https://tf.example/anli" />
</div>`, `{"@type":["http://schema.org/Dataset"],"description":["A\nB"],"includedInDataCatalog":[{"@type":["http://schema.org/DataCatalog"],"name":["TensorFlow Datasets"]}],"name":["anli"],"url":["https://tf.example/anli"]}`},
	{"links by element", `<div ` + schemaDataset + `><a itemprop=url href=" /d ">x</a><link itemprop=license href=http://l><img itemprop=image src=i.png><object itemprop=o data=o.svg>x</object><area itemprop=a href=b><iframe itemprop=f src=g></iframe></div>`,
		`{"@type":["http://schema.org/Dataset"],"a":["b"],"f":["g"],"image":["i.png"],"license":["http://l"],"o":["o.svg"],"url":["/d"]}`},
	{"values by element", `<div ` + schemaDataset + `><time itemprop=datePublished datetime=2024-01-02>2 January</time><time itemprop=dateModified>2024</time><data itemprop=version value=3>three</data><meter itemprop=m value=4>four</meter></div>`,
		`{"@type":["http://schema.org/Dataset"],"dateModified":["2024"],"datePublished":["2024-01-02"],"m":["4"],"version":["3"]}`},
	{"content of any element", `<div ` + schemaDataset + `><span itemprop=name content="Rain">R.</span><a itemprop=url content=http://u href=x>y</a></div>`,
		`{"@type":["http://schema.org/Dataset"],"name":["Rain"],"url":["http://u"]}`},
	{"an address as text", `<table ` + schemaDataset + `><tr><td>contentUrl</td><td><code itemprop="contentUrl">https://h/x.zip</code></td></tr></table>`,
		`{"@type":["http://schema.org/Dataset"],"contentUrl":["https://h/x.zip"]}`},
	{"a file", `<div ` + schemaDataset + `><ul><li itemprop="distribution" itemscope itemtype="http://schema.org/DataDownload"><a itemprop="contentUrl" href="/f.csv"><span itemprop=name>F</span></a><span itemprop=encodingFormat>CSV</span></ul></div>`,
		`{"@type":["http://schema.org/Dataset"],"distribution":[{"@type":["http://schema.org/DataDownload"],"contentUrl":["/f.csv"],"encodingFormat":["CSV"],"name":["F"]}]}`},
	{"files without end tags", `<div ` + schemaDataset + `><ul><li itemprop=distribution itemscope itemtype=http://schema.org/DataDownload><link itemprop=contentUrl href=a><li itemprop=distribution itemscope itemtype=http://schema.org/DataDownload><link itemprop=contentUrl href=b></ul><p itemprop=name>N</div>`,
		`{"@type":["http://schema.org/Dataset"],"distribution":[{"@type":["http://schema.org/DataDownload"],"contentUrl":["a"]},{"@type":["http://schema.org/DataDownload"],"contentUrl":["b"]}],"name":["N"]}`},
	{"a file without itemprop", `<div ` + schemaDataset + `><div itemtype="http://schema.org/DataDownload" itemscope="itemscope"><a href="/f.csv" itemprop="url">F</a></div></div>`,
		`{"@type":["http://schema.org/Dataset"],"distribution":[{"@type":["http://schema.org/DataDownload"],"url":["/f.csv"]}]}`},
	{"an item without itemprop", `<div ` + schemaDataset + `><i itemprop=name>N</i><div itemscope itemtype=http://schema.org/Person><b itemprop=name>P</b></div></div>`,
		`{"@type":["http://schema.org/Dataset"],"name":["N"]},{"@type":["http://schema.org/Person"],"name":["P"]}`},
	{"several properties", `<div ` + schemaDataset + `><i itemprop="name alternateName">N</i></div>`, `{"@type":["http://schema.org/Dataset"],"alternateName":["N"],"name":["N"]}`},
	{"values of one property", `<div ` + schemaDataset + `><i itemprop=keywords>a</i><i itemprop=keywords>b</i></div>`, `{"@type":["http://schema.org/Dataset"],"keywords":["a","b"]}`},
	{"an empty value", `<div ` + schemaDataset + `><i itemprop=name> </i><meta itemprop=url></div>`, `{"@type":["http://schema.org/Dataset"]}`},
	{"values in values", `<div ` + schemaDataset + `><p itemprop=description>A <i itemprop=name>B</i> C</div>`, `{"@type":["http://schema.org/Dataset"],"description":["A B C"],"name":["B"]}`},
	{"itemid", `<div ` + schemaDataset + ` itemid="https://doi.org/10.1/x"><i itemprop=name>N</i></div>`, `{"@id":"https://doi.org/10.1/x","@type":["http://schema.org/Dataset"],"name":["N"]}`},
	{"types", `<div itemscope itemtype="http://schema.org/Dataset http://www.w3.org/ns/dcat#Dataset"></div>`, `{"@type":["http://schema.org/Dataset","http://www.w3.org/ns/dcat#Dataset"]}`},
	{"names in full", `<div ` + schemaDataset + `><i itemprop="http://schema.org/name">N</i></div>`, `{"@type":["http://schema.org/Dataset"],"http://schema.org/name":["N"]}`},
	{"as a plugin of WordPress writes it", `<article vocab="http://schema.org/"></article><div ` + schemaDataset + `><meta itemprop="contentURL" content="/f"></div>`, `{"@type":["http://schema.org/Dataset"],"contentUrl":["/f"]}`},
	{"as React writes it", `<div itemScope="" itemType="http://schema.org/Dataset"><h1 itemProp="name">N</h1></div>`, `{"@type":["http://schema.org/Dataset"],"name":["N"]}`},
	{"itemref to what follows", `<div ` + schemaDataset + ` itemref="a b"></div><p id=a><i itemprop=name>N</i></p><p id=b itemprop=description>D</p>`, `{"@type":["http://schema.org/Dataset"],"description":["D"],"name":["N"]}`},
	{"itemref to what precedes", `<p id=a itemprop=name>N</p><div ` + schemaDataset + ` itemref=a></div>`, `{"@type":["http://schema.org/Dataset"],"name":["N"]}`},
	{"itemref to an item", `<div ` + schemaDataset + ` itemref=f></div><p id=f itemprop=distribution itemscope itemtype=http://schema.org/DataDownload><b itemprop=name>F</b>`,
		`{"@type":["http://schema.org/Dataset"],"distribution":[{"@type":["http://schema.org/DataDownload"],"name":["F"]}]}`},
	{"itemref to nothing", `<div ` + schemaDataset + ` itemref=x><i itemprop=name>N</i></div>`, `{"@type":["http://schema.org/Dataset"],"name":["N"]}`},
	{"itemref to itself", `<div ` + schemaDataset + ` itemref=x id=x itemprop=hasPart><i itemprop=name>N</i></div>`, `{"@type":["http://schema.org/Dataset"],"name":["N"]}`},
	{"a base", `<base href="https://b.example/x/"><div ` + schemaDataset + `><a itemprop=url href=y>z</a></div>`, `{"@type":["http://schema.org/Dataset"],"url":["https://b.example/x/y"]}`},
	{"a catalogue", `<div itemscope itemtype=http://schema.org/DataCatalog><div itemprop=dataset ` + schemaDataset + `><i itemprop=name>N</i></div></div>`,
		`{"@type":["http://schema.org/DataCatalog"],"dataset":[{"@type":["http://schema.org/Dataset"],"name":["N"]}]}`},
	{"references in text", `<div ` + schemaDataset + `><i itemprop=name>A &amp; B</i></div>`, `{"@type":["http://schema.org/Dataset"],"name":["A \u0026 B"]}`},
	{"lines of a text", `<div ` + schemaDataset + `><div itemprop=description><p>A</p><p>B<br>C</div></div>`, `{"@type":["http://schema.org/Dataset"],"description":["A  B C"]}`},
	{"end tags that close nothing", `<div ` + schemaDataset + `></p></span><i itemprop=name>N</i></b></div><i itemprop=name>M</i>`, `{"@type":["http://schema.org/Dataset"],"name":["N"]}`},
	{"after the item", `<section ` + schemaDataset + `><i itemprop=name>N</i></section><i itemprop=name>M</i>`, `{"@type":["http://schema.org/Dataset"],"name":["N"]}`},
	{"a list of terms", `<dl ` + schemaDataset + `><dt>Name<dd itemprop=name>N<dt>Text<dd itemprop=description>D</dl>`, `{"@type":["http://schema.org/Dataset"],"description":["D"],"name":["N"]}`},
	{"a table without end tags", `<table ` + schemaDataset + `><tr><th>Name<td itemprop=name>N<tr><th>Text<td itemprop=description>D</table>`, `{"@type":["http://schema.org/Dataset"],"description":["D"],"name":["N"]}`},
	{"a drawing", `<div ` + schemaDataset + `><svg><path d=x /><g/></svg><i itemprop=name>N</i></div>`, `{"@type":["http://schema.org/Dataset"],"name":["N"]}`},
	{"in a template", `<template><div ` + schemaDataset + `><i itemprop=name>M</i></div></template><div ` + schemaDataset + `><i itemprop=name>N</i></div>`, `{"@type":["http://schema.org/Dataset"],"name":["N"]}`},
	{"no dataset", `<div itemscope itemtype=http://schema.org/Person><i itemprop=name>Dataset</i></div>`, ``},
	{"in a comment", `<!-- <div ` + schemaDataset + `><i itemprop=name>N</i></div> -->`, ``},
	{"in a script", `<script>"<div ` + schemaDataset + `>"</script>`, ``},
}

// RDFa 1.1 (RDFa Core, HTML+RDFa), as portals write it.
var rdfaCases = []struct{ name, page, want string }{
	{"vocab", `<div vocab="http://schema.org/" typeof="Dataset"><meta property="name" content="N"/><span property=description>D</span></div>`,
		`{"@id":"_:markup1","@type":["http://schema.org/Dataset"],"http://schema.org/description":["D"],"http://schema.org/name":["N"]}`},
	{"vocab without a slash", `<div vocab="http://schema.org" typeof="Dataset"><i property=name>N</i></div>`, `{"@id":"_:markup1","@type":["http://schema.org/Dataset"],"http://schema.org/name":["N"]}`},
	{"a prefix of the initial context", `<div about="http://h/d" typeof="schema:Dataset"><i property="schema:name">N</i></div>`, `{"@id":"http://h/d","@type":["http://schema.org/Dataset"],"http://schema.org/name":["N"]}`},
	{"a prefix that is declared", `<div prefix="d: http://www.w3.org/ns/dcat# t: http://purl.org/dc/terms/" resource="http://h/d" typeof="d:Dataset"><i property="t:title">N</i></div>`,
		`{"@id":"http://h/d","@type":["http://www.w3.org/ns/dcat#Dataset"],"http://purl.org/dc/terms/title":["N"]}`},
	{"xmlns", `<div xmlns:d="http://www.w3.org/ns/dcat#" about="http://h/d" typeof="d:Dataset"></div>`, `{"@id":"http://h/d","@type":["http://www.w3.org/ns/dcat#Dataset"]}`},
	{"dc means the terms", `<article about="/node/1" typeof="dcat:Dataset"><dl><dt>Name:</dt><dd property="dc:title">N</dd><dt>Download<dd><a rel="dcat:distribution" href="/f.csv"><span property="dc:title">F</span></a></dl></article>`,
		`{"@id":"/node/1","@type":["http://www.w3.org/ns/dcat#Dataset"],"http://purl.org/dc/terms/title":["N"],"http://www.w3.org/ns/dcat#distribution":[{"@id":"/f.csv"}]},{"@id":"/f.csv","http://purl.org/dc/terms/title":["F"]}`},
	{"a nested node", `<div vocab="http://schema.org/" typeof="Dataset"><div property="distribution" typeof="DataDownload"><meta property="contentUrl" content="http://h/f"></div></div>`,
		`{"@id":"_:markup1","@type":["http://schema.org/Dataset"],"http://schema.org/distribution":[{"@id":"_:markup2"}]},{"@id":"_:markup2","@type":["http://schema.org/DataDownload"],"http://schema.org/contentUrl":["http://h/f"]}`},
	{"a nested node with a name", `<div about="http://h/d" typeof="dcat:Dataset"><p property="dcat:distribution" typeof="dcat:Distribution" resource="http://h/f"><a property="dcat:accessURL" href="http://h/f.csv">x</a></p></div>`,
		`{"@id":"http://h/d","@type":["http://www.w3.org/ns/dcat#Dataset"],"http://www.w3.org/ns/dcat#distribution":[{"@id":"http://h/f"}]},{"@id":"http://h/f","@type":["http://www.w3.org/ns/dcat#Distribution"],"http://www.w3.org/ns/dcat#accessURL":[{"@id":"http://h/f.csv"}]}`},
	{"rel with a node within", `<div about="http://h/d" typeof="dcat:Dataset"><div rel="dcat:distribution"><div typeof="dcat:Distribution" about="http://h/f"></div></div></div>`,
		`{"@id":"http://h/d","@type":["http://www.w3.org/ns/dcat#Dataset"],"http://www.w3.org/ns/dcat#distribution":[{"@id":"http://h/f"}]},{"@id":"http://h/f","@type":["http://www.w3.org/ns/dcat#Distribution"]}`},
	{"rel with properties within", `<div about="http://h/d" typeof="dcat:Dataset"><div rel="dct:publisher"><i property="foaf:name">P</i><i property="foaf:nick">Q</i></div></div>`,
		`{"@id":"http://h/d","@type":["http://www.w3.org/ns/dcat#Dataset"],"http://purl.org/dc/terms/publisher":[{"@id":"_:markup1"}]},{"@id":"_:markup1","http://xmlns.com/foaf/0.1/name":["P"],"http://xmlns.com/foaf/0.1/nick":["Q"]}`},
	{"rel and typeof", `<div vocab="http://schema.org/" about="http://h/d" typeof="Dataset"><div rel="creator" typeof="Person"><i property=name>P</i></div></div>`,
		`{"@id":"http://h/d","@type":["http://schema.org/Dataset"],"http://schema.org/creator":[{"@id":"_:markup1"}]},{"@id":"_:markup1","@type":["http://schema.org/Person"],"http://schema.org/name":["P"]}`},
	{"rev", `<div about="http://h/c" typeof="dcat:Catalog"><div rev="dcat:inCatalog" resource="http://h/d" typeof="dcat:Dataset"></div></div>`,
		`{"@id":"http://h/c","@type":["http://www.w3.org/ns/dcat#Catalog"]},{"@id":"http://h/d","@type":["http://www.w3.org/ns/dcat#Dataset"],"http://www.w3.org/ns/dcat#inCatalog":[{"@id":"http://h/c"}]}`},
	{"rel of HTML", `<div vocab="http://schema.org/" about="http://h/d" typeof="Dataset"><a rel="nofollow license" href="http://l">x</a></div>`, `{"@id":"http://h/d","@type":["http://schema.org/Dataset"],"http://schema.org/license":[{"@id":"http://l"}]}`},
	{"rel beside property", `<div vocab="http://schema.org/" about="http://h/d" typeof="Dataset"><a rel="license" property="url" href="http://u">x</a></div>`, `{"@id":"http://h/d","@type":["http://schema.org/Dataset"],"http://schema.org/url":[{"@id":"http://u"}]}`},
	{"content and datatype", `<div about="http://h/d" typeof="dcat:Dataset"><i property="dcat:byteSize" content="5120.0" datatype="xsd:decimal">5 kB</i><i property="dct:issued" datatype="xsd:date">2024</i></div>`,
		`{"@id":"http://h/d","@type":["http://www.w3.org/ns/dcat#Dataset"],"http://purl.org/dc/terms/issued":["2024"],"http://www.w3.org/ns/dcat#byteSize":["5120.0"]}`},
	{"a time", `<div about="http://h/d" typeof="dcat:Dataset"><time property="dct:issued" datetime="2024-01-02">today</time></div>`, `{"@id":"http://h/d","@type":["http://www.w3.org/ns/dcat#Dataset"],"http://purl.org/dc/terms/issued":["2024-01-02"]}`},
	{"a resource as value", `<div about="http://h/d" typeof="dcat:Dataset"><td property="dct:license" resource="http://l">L</td></div>`, `{"@id":"http://h/d","@type":["http://www.w3.org/ns/dcat#Dataset"],"http://purl.org/dc/terms/license":[{"@id":"http://l"}]}`},
	{"a safe CURIE", `<div about="[schema:x]" typeof="schema:Dataset"></div>`, `{"@id":"http://schema.org/x","@type":["http://schema.org/Dataset"]}`},
	{"a blank node", `<div about="_:d" typeof="schema:Dataset"><a property="schema:url" href="/u">x</a></div><p about="_:d" property="schema:name">N</p>`,
		`{"@id":"_:page-d","@type":["http://schema.org/Dataset"],"http://schema.org/name":["N"],"http://schema.org/url":[{"@id":"/u"}]}`},
	{"the page", `<html prefix="dcat: http://www.w3.org/ns/dcat#" typeof="dcat:Dataset"><head><title property="dct:title">N</title></head><body><p property="dct:description">D</body></html>`,
		`{"@type":["http://www.w3.org/ns/dcat#Dataset"],"http://purl.org/dc/terms/description":["D"],"http://purl.org/dc/terms/title":["N"]}`},
	{"a page about a dataset", `<body typeof="schema:WebPage"><main property="schema:about" resource="http://h/d" typeof="schema:Dataset"><i property="schema:name">N</i></main></body>`,
		`{"@type":["http://schema.org/WebPage"],"http://schema.org/about":[{"@id":"http://h/d"}]},{"@id":"http://h/d","@type":["http://schema.org/Dataset"],"http://schema.org/name":["N"]}`},
	{"a source that is another's", `<figure resource="http://h/i" typeof="schema:ImageObject"><a property="schema:isBasedOn" href="http://o/d" typeof="schema:Dataset"><cite property="schema:name">N</cite></a></figure>`,
		`{"@id":"http://h/i","@type":["http://schema.org/ImageObject"],"http://schema.org/isBasedOn":[{"@id":"http://o/d"}]},{"@included":[{"@id":"http://o/d","@type":["http://schema.org/Dataset"],"http://schema.org/name":["N"]}]}`},
	{"words without a vocabulary", `<div typeof="Dataset" about="http://h/d"><i property="name">N</i></div>`, `{"@id":"http://h/d","@type":["Dataset"]}`},
	{"a catalogue", `<div about="http://h/" typeof="dcat:Catalog"><div property="dcat:dataset" typeof="dcat:Dataset" resource="http://h/d"><h3 property="dct:title">N</h3></div></div>`,
		`{"@id":"http://h/","@type":["http://www.w3.org/ns/dcat#Catalog"],"http://www.w3.org/ns/dcat#dataset":[{"@id":"http://h/d"}]},{"@id":"http://h/d","@type":["http://www.w3.org/ns/dcat#Dataset"],"http://purl.org/dc/terms/title":["N"]}`},
	{"both", `<div itemscope itemtype="http://schema.org/Dataset" about="http://h/d" typeof="dcat:Dataset"><i itemprop=name property="dct:title">N</i></div>`,
		`{"@type":["http://schema.org/Dataset"],"name":["N"]},{"@id":"http://h/d","@type":["http://www.w3.org/ns/dcat#Dataset"],"http://purl.org/dc/terms/title":["N"]}`},
	{"no dataset", `<div typeof="schema:Person"><i property="schema:name">Dataset</i></div>`, ``},
}

func markupOf(page string, limit int) string {
	out := appendMarkup([]byte("["), []byte(page), limit)
	return string(out[1:])
}

func TestMarkup(t *testing.T) {
	for _, cases := range [][]struct{ name, page, want string }{microdataCases, rdfaCases} {
		for _, c := range cases {
			if got := markupOf(c.page, 1<<20); !sameJSON(got, c.want) {
				t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
			}
			if c.want != "" && !mayMark([]byte(c.page)) {
				t.Errorf("%s: it is not looked at", c.name)
			}
		}
	}
}

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte("["+a+"]"), &x) == nil && json.Unmarshal([]byte("["+b+"]"), &y) == nil && reflect.DeepEqual(x, y)
}

// The markup follows the page's scripts with JSON-LD.
func TestMarkupBesideScripts(t *testing.T) {
	var x Extractor
	page := `<script type="application/ld+json">{"@type":"Dataset"}</script><div ` + schemaDataset + `><i itemprop=name>N</i></div>`
	if got, want := string(x.LinkedData("text/html", "utf-8", []byte(page), 1<<20)), `[{"@type":"Dataset"},{"@type":["http://schema.org/Dataset"],"name":["N"]}]`; got != want {
		t.Errorf("%s", got)
	}
	if h := x.Head("text/html", "utf-8", []byte(page)); h != nil {
		t.Error("the page store would not read its markup")
	}
	for _, page := range []string{"<p>Dataset typeof x", `<script>a="typeof="</script>`, `<i itemtype="http://schema.org/Person">`, `Dataset <i itemtype="http://schema.org/Person">`} {
		if mayMark([]byte(page)) {
			t.Errorf("%q is looked at", page)
		}
	}
}

func TestMarkupLimits(t *testing.T) {
	text := func(n int) string {
		return `<div ` + schemaDataset + `><i itemprop=name>` + strings.Repeat("x", n) + `</i></div>`
	}
	for n, want := range map[int]int{maxMarkupText: maxMarkupText, maxMarkupText + 1: maxMarkupText} {
		if got := strings.Count(markupOf(text(n), 1<<20), "xx"); got != want/2 {
			t.Errorf("a text of %d bytes: %d", n, 2*got)
		}
	}
	files := func(n int) string {
		return `<div ` + schemaDataset + `>` + strings.Repeat(`<b itemprop=distribution itemscope><i itemprop=name>f</i></b>`, n) + `</div>`
	}
	for n, want := range map[int]int{maxMarkupNodes - 1: maxMarkupNodes - 1, maxMarkupNodes: maxMarkupNodes - 1} {
		if got := strings.Count(markupOf(files(n), 8<<20), `"name"`); got != want {
			t.Errorf("%d files: %d", n, got)
		}
	}
	// Beyond the depth, elements are passed over, and what follows them is read.
	deep := func(n int) string {
		return strings.Repeat("<b>", n) + `<div ` + schemaDataset + `></div>` + strings.Repeat("</b>", n) + `<div ` + schemaDataset + `><i itemprop=name>N</i></div>`
	}
	for n, want := range map[int]int{maxMarkupOpen - 2: 2, maxMarkupOpen: 1} {
		if got := strings.Count(markupOf(deep(n), 1<<20), "Dataset"); got != want {
			t.Errorf("%d deep: %d", n, got)
		}
	}
	one := markupOf(text(10), 1<<20)
	if got := markupOf(text(10), len(one)+3); got != one {
		t.Errorf("at the limit: %s", got)
	}
	if got := markupOf(text(10), len(one)+2); got != "" {
		t.Errorf("beyond the limit: %s", got)
	}
	// Items that refer to one another many times are written a limited number of times.
	var refs, groups strings.Builder
	for i := range 30 {
		fmt.Fprintf(&refs, "g%d ", i)
		fmt.Fprintf(&groups, `<p id=g%d><b itemprop=hasPart %s itemref="REFS"></b></p>`, i, schemaDataset)
	}
	hostile := `<div ` + schemaDataset + ` itemref="` + refs.String() + `"></div>` + strings.ReplaceAll(groups.String(), "REFS", refs.String())
	if got := markupOf(hostile, 1<<20); len(got) > 1<<20 {
		t.Errorf("%d bytes", len(got))
	}
}

// Whatever a page contains, the result is JSON within the limit, and the page stays as it is.
func FuzzMarkup(f *testing.F) {
	for _, c := range microdataCases {
		f.Add([]byte(c.page))
	}
	for _, c := range rdfaCases {
		f.Add([]byte(c.page))
	}
	f.Add([]byte(`<div ` + schemaDataset + ` itemref="a a"><p id=a itemprop=x><div id=a itemscope itemref=a itemprop=y typeof=Dataset rel="a:b" rev=c:d about><svg><p/></template>`))
	f.Fuzz(func(t *testing.T, page []byte) {
		const limit = 64 << 10
		before := bytes.Clone(page)
		out := appendMarkup([]byte("["), page, limit)
		if len(out)+1 > limit || !json.Valid(append(out, ']')) {
			t.Fatalf("%d bytes: %s", len(out), out)
		}
		if !bytes.Equal(page, before) {
			t.Fatal("the page was changed")
		}
	})
}

// What pages without datasets, and pages with them, cost.
func BenchmarkMarkup(b *testing.B) {
	filler := strings.Repeat(`<p class="x">Some <a href="/l">words</a> of a page, as pages are.</p>`, 260)
	for name, body := range map[string]string{
		"none":    filler,
		"other":   `<div itemscope itemtype="http://schema.org/Person"><i itemprop=name>P</i></div>` + filler,
		"dataset": microdataCases[1].page + filler,
	} {
		b.Run(name, func(b *testing.B) {
			page := []byte(body)
			for b.Loop() {
				if mayMark(page) {
					appendMarkup([]byte("["), page, 1<<20)
				}
			}
		})
	}
}
