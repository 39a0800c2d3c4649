package siterules

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"
)

// outline writes the elements of a tree and their text, one on a line.
func outline(n *html.Node) string {
	var b strings.Builder
	var walk func(n *html.Node, depth int)
	walk = func(n *html.Node, depth int) {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			switch c.Type {
			case html.ElementNode:
				fmt.Fprintf(&b, "%s%s\n", strings.Repeat(" ", depth), c.Data)
				walk(c, depth+1)
			case html.TextNode:
				if t := strings.Join(strings.Fields(c.Data), " "); t != "" {
					fmt.Fprintf(&b, "%s%q\n", strings.Repeat(" ", depth), t)
				}
			}
		}
	}
	walk(n, 0)
	return b.String()
}

// Beside the parser of x/net/html, which follows the standard: the trees of pages are equal.
func TestTreeEqualsStandard(t *testing.T) {
	pages := map[string]string{}
	for _, p := range []string{
		sample, "", "text", "<p>a<p>b", "<ul><li>a<li>b<ul><li>c</ul><li>d</ul>", "<dl><dt>a<dd>b<dt>c<dd><p>d</dl>",
		"<table><tr><td>a<td>b<tr><td>c</table>x", "<table><thead><tr><th>a<tbody><tr><td>b</table>", "<table><caption>c<col><tr><td>a</table>",
		"<table><tr><td><table><tr><td>in</table>out</table>", "<p>a<table><tr><td>b</table>", "<h1>a<h2>b</h2>c", "<h1>a</h2>b",
		"<select><option>a<option>b</select>", "<select><optgroup><option>a<optgroup><option>b</select>", "<a href=1>x<a href=2>y</a>",
		"<p><b>a<i>b</i></b>c</p>", "<title>a &amp; <b></title><p>x", "<head><script>if (a<b) {}</script><style>p{}</style><body><p>x",
		"<body><div>a</div></body><p>after", "<div><span>a</div>b", "<p>a</div>b", "<div><p>a</div>b", "</p>x", "a</br>b", "<br/><div/>x</div>",
		"<svg><title>t</title><path d=x /><g><rect/></g></svg><p>x", "<p><svg><circle/></svg>b", "<svg><p>x</svg>y", "<math><mi>x</mi></math>",
		"<textarea><p></textarea><p>x", "<button>a<p>b</button>c", "<ruby>a<rt>b<rt>c</ruby>", "<pre>\na</pre>", "<form><form><p>x</form>",
		"<noscript><p>a</noscript><p>b", "<p>x<!-- c -->y", "<image src=x>", "<html lang=en><body class=b><p>x", "<div><li>a<div><li>b</div></div>",
		"<article><header><h1>t</h1></header><p>x<aside>y</aside></article>", "<video><source src=a><track></video>x", "<object><param>x</object>",
		"<address><p>a<address>b", "<blockquote><p>a</blockquote>b", "<td>x", "<tr><td>x", "<p>a<hr>b", "<details><summary>s</summary>t</details>",
		"<iframe><p></iframe>x", "<template><p>a</template>b", "<body><title>x</title><meta name=a><link>y",
	} {
		pages[p] = p
	}
	files, _ := filepath.Glob("testdata/pages/*.html")
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		pages[f] = string(text)
	}
	for name, text := range pages {
		std, err := html.ParseWithOptions(strings.NewReader(text), html.ParseOptionEnableScripting(false))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := outline(parse([]byte(text)).root), outline(std); got != want {
			t.Errorf("%.80q:\n%s\nwant\n%s", name, got, want)
		}
	}
}

// Hostile pages: the tree has few nodes, whatever is in the page.
func TestTreeBounds(t *testing.T) {
	count := func(p *page) (nodes, depth int) {
		var walk func(n *html.Node, d int)
		walk = func(n *html.Node, d int) {
			nodes, depth = nodes+1, max(depth, d)
			for c := n.FirstChild; c != nil; c = c.NextSibling {
				walk(c, d+1)
			}
		}
		walk(p.root, 0)
		return nodes, depth
	}
	var many strings.Builder
	for i := range 400 {
		fmt.Fprintf(&many, "<b id=%d>", i)
	}
	for name, text := range map[string]string{
		"deep":       strings.Repeat("<div>", 30_000),
		"formatting": many.String() + strings.Repeat("<p>x</p>", 5_000),
		"comments":   strings.Repeat("a<!---->", 20_000),
		"cells":      strings.Repeat("<table><td>", 10_000),
		"ends":       strings.Repeat("<i>", 600) + strings.Repeat("</x>", 20_000),
	} {
		p := parse([]byte(text))
		if nodes, depth := count(p); nodes > 2*len(text)/3 || depth > maxDepth+2 || p.cut {
			t.Errorf("%s: %d nodes, depth %d, cut %v", name, nodes, depth, p.cut)
		}
	}
	at := strings.Repeat("<br>", maxNodes)
	if nodes, _ := count(parse([]byte(at))); nodes != maxNodes+4 || parse([]byte(at)).cut {
		t.Errorf("at the limit: %d nodes", nodes)
	}
	if nodes, _ := count(parse([]byte(at + "<br><br>"))); nodes != maxNodes+4 || !parse([]byte(at+"<br>")).cut {
		t.Errorf("past the limit: %d nodes", nodes)
	}
}

var selectors = []string{
	"p", "#m", ".crumbs li", "ul > li", "li + li", "li ~ li", "nav a[href]", "h1, p", "main > p:first-child", "table td, th + td", "*",
	"li:nth-child(2)", "main :not(p)", "div:has(p)", "p:contains('Version')", `[content^="Ada"]`, "ul li:last-child a", "html > body main p",
	`a[href="/docs/"]`, "body *", "p:empty", ":root", "tr:only-child > th", "div div div p", "b i", "div > div p + p ~ p", "p:matches('[0-9]+')",
}

// Beside cascadia: both find the same elements.
func sameElements(t *testing.T, text string, page []byte) {
	t.Helper()
	r := &reader{}
	s := r.selectorText(text)
	group, err := cascadia.ParseGroup(text)
	if s == nil || err != nil {
		return
	}
	p := parse(page)
	var got []*html.Node
	w := &work{css: maxWork}
	p.find(s, w, func(n *html.Node) bool { got = append(got, n); return true })
	if w.css < 0 {
		return
	}
	want := cascadia.QueryAll(p.root, group)
	if len(got) != len(want) {
		t.Fatalf("%q finds %d elements of %q, want %d", text, len(got), page, len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("%q finds other elements of %q", text, page)
		}
	}
}

func TestSelectorsEqualCascadia(t *testing.T) {
	for _, s := range selectors {
		sameElements(t, s, []byte(sample))
	}
}

func FuzzSelector(f *testing.F) {
	for _, s := range selectors {
		f.Add(s, []byte(sample))
	}
	f.Add("a b c d", []byte("<a><b><b><c><d>"))
	f.Fuzz(func(t *testing.T, text string, page []byte) {
		if len(page) < 4<<10 && len(text) < 200 {
			sameElements(t, text, page)
		}
	})
}

// What Content writes is read as the same tree again.
func FuzzContent(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte("<svg><style>&lt;/style><p>x"))
	s := mustParse(f, "sites:\n  x.example:\n    content: {drop: .none, main: body}\n").For("https://x.example/")
	f.Fuzz(func(t *testing.T, page []byte) {
		out, changed := s.Content("text/html", "utf-8", page)
		if !changed {
			return
		}
		again, _ := s.Content("text/html", "utf-8", out)
		if third, _ := s.Content("text/html", "utf-8", again); !bytes.Equal(again, third) {
			t.Fatalf("%q became %q, then %q", page, again, third)
		}
	})
}
