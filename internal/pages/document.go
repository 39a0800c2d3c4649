package pages

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"
)

// unseen reports elements whose text a reader does not see. A crawler without scripts might show noscript; what stands
// there is mostly "please enable JavaScript".
func unseen(name string) bool {
	switch name {
	case "script", "style", "noscript", "template", "iframe", "textarea", "noembed", "noframes", "head":
		return true
	}
	return false
}

// closedRaw finds elements that are complete in XHTML and, read as HTML, would swallow what follows them.
var closedRaw = regexp.MustCompile(`(?i)<(script|style|title|textarea|iframe)(\s[^<>]*)?/>`)

// document reads a page through its tree, as goquery builds it. It reports false for what the parser refuses (elements
// nested hundreds deep): then nothing was read.
func (x *Extractor) document(body []byte, xml bool) bool {
	if xml {
		body = closedRaw.ReplaceAll(body, []byte("<$1$2></$1>"))
	}
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(body))
	if err != nil {
		return false
	}
	root := doc.Find("html").First()
	x.lang = primaryLang([]byte(root.AttrOr("lang", root.AttrOr("xml:lang", ""))))
	// One selection for all that is wanted by name: each is a walk over the whole tree.
	doc.Find("title, h1, h2, h3").Each(func(_ int, s *goquery.Selection) {
		n := s.Nodes[0]
		if n.Data == "title" {
			if n.Namespace == "" && len(x.title) == 0 { // a drawing has titles of its own
				x.title = fold(x.title, []byte(s.Text()))
			}
			return
		}
		if hidden(n) {
			return
		}
		x.scratch = fold(x.scratch[:0], textOf(n))
		if len(x.scratch) == 0 {
			return
		}
		if n.Data == "h1" && len(x.h1) == 0 {
			x.h1 = append(x.h1, x.scratch...)
		}
		if len(x.heads) > 0 {
			x.heads = append(x.heads, '\n')
		}
		x.heads = append(x.heads, x.scratch...)
	})
	for _, n := range doc.Nodes {
		x.visible(n)
	}
	return true
}

// hidden reports whether a node lies in something a reader does not see.
func hidden(n *html.Node) bool {
	for p := n.Parent; p != nil; p = p.Parent {
		if p.Type == html.ElementNode && unseen(p.Data) {
			return true
		}
	}
	return false
}

// textOf is the text below a node, with a blank where a block or a line ends.
func textOf(n *html.Node) []byte {
	var b bytes.Buffer
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		}
		if n.Type == html.ElementNode && unseen(n.Data) {
			return
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
		if n.Type == html.ElementNode && (n.Data == "br" || isBlock([]byte(n.Data))) {
			b.WriteByte(' ')
		}
	}
	walk(n)
	return b.Bytes()
}

// visible appends the text below a node to the body, one line to a block. The parser bounds how deep a tree is.
func (x *Extractor) visible(n *html.Node) {
	switch n.Type {
	case html.TextNode:
		x.fold(n.Data)
		return
	case html.ElementNode:
		if unseen(n.Data) {
			x.separate([]byte(n.Data))
			return
		}
		switch n.Data {
		case "svg":
			x.space()
		case "title": // of a drawing
			return
		case "h1", "h2", "h3":
			x.breakLine()
		default:
			x.separate([]byte(n.Data))
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		x.visible(c)
	}
	if n.Type == html.ElementNode {
		if strings.HasPrefix(n.Data, "h") && len(n.Data) == 2 {
			x.breakLine()
			return
		}
		x.separate([]byte(n.Data))
	}
}
