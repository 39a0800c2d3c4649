package browser

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// tree makes snapshots for tests.
type tree struct {
	s     snapshot
	index map[string]int
}

func newTree(url, base string) *tree {
	t := &tree{index: map[string]int{}}
	t.s.Documents = []documentSnapshot{{URL: t.str(url), Base: t.str(base), PublicID: -1, SystemID: -1}}
	t.node(-1, 9, "#document", "")
	return t
}

func (t *tree) str(s string) int {
	if i, ok := t.index[s]; ok {
		return i
	}
	t.index[s] = len(t.s.Strings)
	t.s.Strings = append(t.s.Strings, s)
	return t.index[s]
}

func (t *tree) node(parent, kind int, name, value string, attrs ...string) int {
	n := &t.s.Documents[0].Nodes
	var a []int
	for _, s := range attrs {
		a = append(a, t.str(s))
	}
	n.Parent, n.Type = append(n.Parent, parent), append(n.Type, kind)
	n.Name, n.Value = append(n.Name, t.str(name)), append(n.Value, t.str(value))
	n.Attributes = append(n.Attributes, a)
	return len(n.Parent) - 1
}

func (t *tree) el(parent int, name string, attrs ...string) int {
	return t.node(parent, isElement, name, "", attrs...)
}

func (t *tree) text(parent int, s string) int { return t.node(parent, isText, "#text", s) }

func (t *tree) in(kind string, nodes ...int) {
	r := &t.s.Documents[0].Nodes.Shadow
	for _, i := range nodes {
		r.Index, r.Value = append(r.Index, i), append(r.Value, t.str(kind))
	}
}

// body makes a document and returns its body.
func (t *tree) body() int {
	t.node(0, isDoctype, "html", "")
	root := t.el(0, "HTML")
	t.el(root, "HEAD")
	return t.el(root, "BODY")
}

func (t *tree) html(tt *testing.T, page string, most int) (string, bool) {
	tt.Helper()
	d, err := newDocument(&t.s)
	if err != nil {
		tt.Fatal(err)
	}
	b, cut := d.html(page, most)
	return string(b), cut
}

const (
	pageURL = "https://a.example/dir/page"
	before  = "<!DOCTYPE html>\n" + `<html><head><meta charset="utf-8"></head><body>`
	after   = `</body></html>`
)

func TestSnapshot(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(t *tree, body int)
		want string
	}{
		{"text and attributes are escaped", func(t *tree, b int) {
			t.text(t.el(b, "P", "title", "a \"b\" <c> & d\u00a0\r", "x<y", "1", "", "2", "onclick", "f()"), "1 < 2 && <b>\u00a0\r\x00")
		}, `<p title="a &quot;b&quot; &lt;c&gt; &amp; d&nbsp;&#13;">1 &lt; 2 &amp;&amp; &lt;b&gt;&nbsp;&#13;</p>`},
		{"no end tags of void elements", func(t *tree, b int) { t.el(b, "BR"); t.el(b, "IMG", "src", "a.png"); t.text(b, "x") }, `<br><img src="a.png">x`},
		{"comments, scripts, styles and what nobody with scripts sees are left out", func(t *tree, b int) {
			t.node(b, 8, "#comment", "c")
			t.text(t.el(b, "SCRIPT"), "f()")
			t.text(t.el(b, "script"), "of a drawing")
			t.text(t.el(b, "STYLE"), "p{}")
			t.text(t.el(b, "NOSCRIPT"), "<p>enable</p>")
			t.text(t.el(b, "TEMPLATE"), "template")
			t.el(b, "IFRAME", "src", "/x")
			t.text(b, "y")
		}, `y`},
		{"blocks of data stay", func(t *tree, b int) {
			t.text(t.el(b, "SCRIPT", "type", "application/ld+json"), `{"a":"1 < 2 & </script>"}`)
			t.text(t.el(b, "SCRIPT", "type", "application/json; x"), `{"b":"1 < 2"}`)
			t.text(t.el(b, "SCRIPT", "type", "text/turtle"), "<a> <b> </script>")
			t.text(t.el(b, "SCRIPT", "type", "module"), "f()")
		}, `<script type="application/ld+json">{"a":"1 \u003c 2 & \u003c/script>"}</script><script type="application/json; x">{"b":"1 < 2"}</script>`},
		{"the first line feed of pre stays", func(t *tree, b int) { t.text(t.el(b, "PRE"), "\na"); t.text(t.el(b, "TEXTAREA"), "\n<b>") }, "<pre>\n\na</pre><textarea>\n\n&lt;b&gt;</textarea>"},
		{"what would end the text of a page is read as pre", func(t *tree, b int) { t.text(t.el(b, "PLAINTEXT"), "a"); t.text(b, "b") }, `<pre>a</pre>b`},
		{"drawings keep the case of their names", func(t *tree, b int) { t.el(t.el(b, "svg", "viewBox", "0 0 1 1"), "linearGradient") }, `<svg viewBox="0 0 1 1"><linearGradient></linearGradient></svg>`},
		{"of an element without a name that can be written, the content", func(t *tree, b int) { t.text(t.el(b, "A\"B"), "x") }, `x`},
		{"what the browser adds is left out", func(t *tree, b int) {
			i := t.el(b, "::before")
			t.s.Documents[0].Nodes.Pseudo = rareString{[]int{i}, []int{t.str("before")}}
			d := t.el(b, "DETAILS")
			div := t.el(d, "DIV")
			t.in("user-agent", div, t.text(div, "of the browser"))
			t.text(div, "of the page")
		}, `<details>of the page</details>`},
		{"slots show their content", func(t *tree, b int) {
			host := t.el(b, "X-CARD")
			h := t.el(host, "H2")
			slot := t.el(h, "SLOT", "name", "title")
			base := t.el(h, "BASE", "href", "https://b.example/")
			t.text(t.el(slot, "B", "slot", "title"), "a title")
			t.in("closed", h, slot, base)
		}, `<x-card><h2><b slot="title">a title</b><base href="https://b.example/"></h2></x-card>`},
		{"half of a pair of surrogates", func(t *tree, b int) { t.text(b, "a\xed\xa0\x80b") }, "a\ufffdb"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := newTree(pageURL, pageURL)
			c.make(tr, tr.body())
			if got, cut := tr.html(t, pageURL, 1<<20); got != before+c.want+after || cut {
				t.Errorf("got  %s\nwant %s", strings.TrimSuffix(strings.TrimPrefix(got, before), after), c.want)
			}
		})
	}
}

func TestSnapshotHead(t *testing.T) {
	for _, c := range []struct {
		name, base string
		head       func(t *tree, head int)
		want       string
	}{
		{"the charset is the one of the result", pageURL, func(t *tree, h int) {
			t.el(h, "META", "charset", "windows-1251")
			t.el(h, "META", "http-equiv", "Content-Type", "content", "text/html; charset=koi8-r")
			t.el(h, "META", "name", "robots", "content", "noindex")
		}, `<meta charset="utf-8"><meta name="robots" content="noindex">`},
		{"a script changed the address", "https://a.example/other/x?y&z", func(t *tree, h int) {}, `<meta charset="utf-8"><base href="https://a.example/other/x?y&amp;z">`},
		{"a fragment changes nothing", pageURL + "#there", func(t *tree, h int) {}, `<meta charset="utf-8">`},
		{"a base element is resolved", "https://a.example/assets/", func(t *tree, h int) { t.el(h, "BASE", "href", "../assets/"); t.el(h, "BASE", "href", "second") },
			`<meta charset="utf-8"><base href="https://a.example/assets/"><base href="second">`},
		{"a base element without an address", "https://a.example/other/", func(t *tree, h int) { t.el(h, "BASE", "target", "x") },
			`<meta charset="utf-8"><base href="https://a.example/other/"><base target="x">`},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := newTree(c.base, c.base)
			root := tr.el(0, "HTML")
			c.head(tr, tr.el(root, "HEAD"))
			got, _ := tr.html(t, pageURL, 1<<20)
			if want := "<html><head>" + c.want + "</head></html>"; got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestSnapshotDoctype(t *testing.T) {
	tr := newTree(pageURL, pageURL)
	tr.s.Documents[0].PublicID, tr.s.Documents[0].SystemID = tr.str("-//W3C//DTD HTML 4.01//EN"), tr.str("http://www.w3.org/TR/html4/strict.dtd")
	tr.node(0, isDoctype, "html", "")
	tr.el(0, "HTML")
	const want = `<!DOCTYPE html PUBLIC "-//W3C//DTD HTML 4.01//EN" "http://www.w3.org/TR/html4/strict.dtd">` + "\n<html></html>"
	if got, _ := tr.html(t, pageURL, 1<<20); got != want {
		t.Errorf("got %s", got)
	}
}

// At the limit nothing is cut; one byte less, and the text is: at a character.
func TestSnapshotLimit(t *testing.T) {
	tr := newTree(pageURL, pageURL)
	tr.text(tr.body(), "ab<ä")
	whole, _ := tr.html(t, pageURL, 1<<20)
	for _, c := range []struct {
		most int
		want string
		cut  bool
	}{
		{len(whole), whole, false}, {len(whole) - 1, before + "ab&lt;ä</body>", true}, {len(before) + 8, before + "ab&lt;ä", true}, {len(before) + 7, before + "ab&lt;", true},
		{len(before) + 5, before + "ab", true}, {len(before) - 1, before[:len(before)-len("<body>")], true}, {0, "", true},
	} {
		if got, cut := tr.html(t, pageURL, c.most); got != c.want || cut != c.cut {
			t.Errorf("%d bytes: %q, %v; want %q, %v", c.most, got, cut, c.want, c.cut)
		}
	}
}

// A tree that is deeper than any stack, and a host with many slots, cost time in proportion.
func TestSnapshotDeepAndWide(t *testing.T) {
	tr := newTree(pageURL, pageURL)
	at := tr.body()
	const deep = 200_000
	for range deep {
		at = tr.el(at, "B")
	}
	const wide = 200_000
	for range wide {
		tr.text(tr.el(at, "I"), "1")
	}
	got, cut := tr.html(t, pageURL, 64<<20)
	if cut || strings.Count(got, "<b>") != deep || strings.Count(got, "</b>") != deep || strings.Count(got, ">1</i>") != wide {
		t.Errorf("%d bytes, cut %v: %d begins, %d ends, %d texts", len(got), cut, strings.Count(got, "<b>"), strings.Count(got, "</b>"), strings.Count(got, ">1</i>"))
	}
}

func TestSnapshotWithoutSense(t *testing.T) {
	for _, text := range []string{
		`{}`, `{"documents":[{"nodes":{"parentIndex":[-1,1],"nodeType":[9,1],"nodeName":[0,0],"nodeValue":[0,0]}}]}`,
		`{"documents":[{"nodes":{"parentIndex":[-1,-1],"nodeType":[9,1],"nodeName":[0,0],"nodeValue":[0,0]}}]}`,
		`{"documents":[{"nodes":{"parentIndex":[-1],"nodeType":[],"nodeName":[0],"nodeValue":[0]}}]}`,
	} {
		var s snapshot
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Fatal(err)
		}
		if _, err := newDocument(&s); err == nil {
			t.Errorf("%s is a document", text)
		}
	}
}

// Whatever a browser returns: the HTML is no longer than the limit, valid, and has no script that
// would run.
func FuzzSnapshot(f *testing.F) {
	tr := newTree(pageURL, pageURL)
	b := tr.body()
	host := tr.el(b, "X-H")
	slot := tr.el(host, "SLOT")
	tr.in("open", slot)
	tr.text(slot, "a")
	tr.text(tr.el(b, "SCRIPT", "type", "application/ld+json"), "{}")
	seed, err := json.Marshal(&tr.s)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed, 1000)
	f.Add(seed, 20)
	f.Add([]byte(`{"documents":[{"nodes":{"parentIndex":[-1,0,1,2],"nodeType":[9,1,11,1],"nodeName":[0,0,0,0],"nodeValue":[0,0,0,0],"shadowRootType":{"index":[2],"value":[1]}}}],"strings":["SLOT","open"]}`), 100)
	f.Fuzz(func(t *testing.T, b []byte, most int) {
		var s snapshot
		if json.Unmarshal(b, &s) != nil {
			return
		}
		d, err := newDocument(&s)
		if err != nil {
			return
		}
		most = max(0, min(most, 1<<20))
		out, _ := d.html(pageURL, most)
		if len(out) > most || !utf8.Valid(out) {
			t.Fatalf("%d bytes of %d: %q", len(out), most, out)
		}
		z := html.NewTokenizer(strings.NewReader(string(out)))
		for kind := z.Next(); kind != html.ErrorToken; kind = z.Next() {
			tok := z.Token()
			if kind == html.StartTagToken && tok.Data == "script" && !slices.ContainsFunc(tok.Attr, func(a html.Attribute) bool {
				k, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(a.Val)), ";")
				return a.Key == "type" && isData(k)
			}) {
				t.Fatalf("a script in %q", out)
			}
		}
	})
}
