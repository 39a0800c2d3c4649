package siterules

import (
	"strings"
	"testing"
)

// What a page forbids to show is no value of a field, and no title or description: the rest of the
// element is. Conditions, which show nothing, see it.
func TestUsage_8_26_Fields(t *testing.T) {
	const body = `<!doctype html><title>T</title><div data-nosnippet><meta name=author content=Eve><h1 id=hidden>secret</h1>
<script type="application/ld+json">{"@type":"Thing","name":"secret"}</script></div>
<p class=a>shown <span DATA-NOSNIPPET>secret</span> again<p class=b data-nosnippet>not a span<section data-nosnippet=""><i class=c>secret</i></section>
<ul><li>1<li><div data-nosnippet><div>2</div></div><li>3</ul>`
	for field, want := range map[string]string{
		`{css: h1}`: "", `{css: "#hidden", attr: id}`: "", `{css: p.a}`: "shown again", `{css: p.b}`: "not a span", `{css: i.c}`: "", `{css: "section"}`: "",
		`{css: "li", many: true}`: "1|3", `{xpath: "//h1"}`: "", `{xpath: "string(//p[1])"}`: "shown again", `{xpath: "count(//h1)"}`: "0",
		`{xpath: "//@id"}`: "", `{meta: author}`: "", `{jsonld: name}`: "", `{css: title}`: "T",
	} {
		if got := strings.Join(fieldsOf(t, field, body), "|"); got != want {
			t.Errorf("%s is %q, want %q", field, got, want)
		}
	}
	r := mustParse(t, `sites:
  docs.example.org:
    fields: {kind: {css: h1}}
    content: {title: {css: h1}, description: {css: .c}}
    skip: [{css: "#hidden", matches: secret}]
`)
	u := mustURL(t, "https://docs.example.org/")
	out := r.For(u).Read(Input{URL: u, ContentType: "text/html", Body: []byte(body)})
	if out.Ruled.Title != "" || out.Ruled.Description != "" || len(out.Ruled.Fields) > 0 {
		t.Errorf("shown although it is forbidden: %+v", out.Ruled)
	}
	if !out.Skip {
		t.Error("a condition does not see what may not be shown")
	}
}
