package pagetext

import (
	"strings"
	"testing"
)

// What is left out of a page on its way to the tree builder changes nothing that is read.
func TestReduce(t *testing.T) {
	for in, want := range map[string]string{
		`<p class="a>b">x<b>y</b> z</p>`:                     `<p>xy z</p>`,
		`R&D<b>elta;`:                                        `R&amp;Delta;`,
		`&copy<b>y &am<i>p; a&b;`:                            `©y &amp;amp; a&b;`,
		`1 < 2 <3`:                                           `1 &lt; 2 &lt;3`,
		`<xmp>&lt;<p></xmp>`:                                 `<pre>&amp;lt;&lt;p&gt;</pre>`,
		`<title>a &lt; <b></title>`:                          `<title>a &lt; &lt;b></title>`,
		`<title></title><p>`:                                 `<title></title><p>`,
		`<svg viewBox="0" /><svg><title>t</title></svg>`:     `<svg/><svg><title>t</title></svg>`,
		`a<textarea><p></textarea>b<iframe src=x></iframe>c`: `a<textarea></textarea>b<iframe></iframe>c`,
		`a<script>"<p>"</script><style>p</style><noscript><p>x</noscript>b<!-- <p> -->c`: `abc`,
		`<custom-element-of-some-length>a</custom-element-of-some-length>`:               `a`,
	} {
		var x Extractor
		got, ok := x.reduce([]byte(in))
		if string(got) != want || !ok {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
}

// A page beyond the limits of a tree is read by its tags: its text is there all the same.
func TestTreeLimits(t *testing.T) {
	page := func(tags, queued int) []byte {
		return []byte("<html lang=en><title>T</title><h1>H</h1>" + strings.Repeat("<br>", tags) + strings.Repeat("x", queued) + "<p>end")
	}
	fixed := len("<html><title></title><h1></h1><p>") // the rewritten page has 6 tags
	for _, c := range []struct {
		tags, queued int
		tree         bool
	}{{maxTreeTags - 6, 1, true}, {maxTreeTags - 4, 1, false}, {0, maxTreeBytes - fixed - 10, true}, {0, maxTreeBytes, false}} {
		var x Extractor
		body := page(c.tags, c.queued)
		if _, ok := x.reduce(body); ok != c.tree {
			t.Errorf("%d tags, %d letters: tree %v", c.tags, c.queued, ok)
		}
		got := x.Text("text/html", "utf-8", body)
		if string(got.Title) != "T" || got.Lang != "en" || string(got.Headings) != "H" || !strings.HasSuffix(string(got.Body), "x\nend") {
			t.Errorf("%d tags, %d letters: title %q lang %q headings %q", c.tags, c.queued, got.Title, got.Lang, got.Headings)
		}
	}
}

// Nested headings are in the order of the page, each with all its text, up to a limit for all of
// them.
func TestHeadingsInHeadings(t *testing.T) {
	var x Extractor
	if got := x.Text("text/html", "", []byte("<h1>a<div>b<h2>c</h2></div>d</h1><h3>e</h3>")); string(got.Headings) != "a b c d\nc\ne" {
		t.Errorf("%q", got.Headings)
	}
	deep := strings.Repeat("<h1><div>", 200) + strings.Repeat("word ", 300)
	page := strings.Repeat(deep+strings.Repeat("</div></h1>", 200), 2)
	if got := x.Text("text/html", "", []byte(page)); len(got.Headings) > maxHeads || len(got.Headings) < maxHeads-2*maxTitle {
		t.Errorf("%d bytes of headings, limit %d", len(got.Headings), maxHeads)
	}
}
