package pagetext

import (
	"bytes"
	"strings"

	"github.com/PuerkitoBio/goquery"
	nethtml "golang.org/x/net/html"
)

// unseen reports whether the text of an element is invisible. Curtsy runs no scripts and could show
// noscript, but its content is mostly "please enable JavaScript".
func unseen(name string) bool {
	switch name {
	case "script", "style", "noscript", "template", "iframe", "textarea", "noembed", "noframes", "head":
		return true
	}
	return false
}

// maxHeads bounds the text of all headings together. Only nested headings can reach it.
const maxHeads = 256 << 10

// heading is where the text of an h1, h2 or h3 is in the text of the page.
type heading struct {
	level    byte
	from, to int
}

// document reads a page through the tree that goquery builds. It returns false if no tree is built,
// because the page is too large or its elements are nested hundreds deep. Then it has read nothing.
func (x *Extractor) document(body []byte) bool {
	page, ok := x.reduce(body)
	if !ok {
		return false
	}
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(page))
	if err != nil {
		return false
	}
	doc.Find("title").EachWithBreak(func(_ int, s *goquery.Selection) bool {
		// a drawing has titles of its own
		if n := s.Nodes[0]; n.Namespace == "" && n.FirstChild != nil {
			x.title = fold(x.title, []byte(n.FirstChild.Data))
		}
		return len(x.title) == 0
	})
	for _, n := range doc.Nodes {
		x.visible(n)
	}
	for _, h := range x.headings {
		if h.from >= h.to {
			continue
		}
		x.scratch = fold(x.scratch[:0], x.body[h.from:h.to])
		if len(x.scratch) == 0 {
			continue
		}
		if h.level == '1' && len(x.h1) == 0 {
			x.h1 = append(x.h1, x.scratch...)
		}
		if len(x.heads)+len(x.scratch) > maxHeads {
			break
		}
		if len(x.heads) > 0 {
			x.heads = append(x.heads, '\n')
		}
		x.heads = append(x.heads, x.scratch...)
	}
	return true
}

// visible appends the text below a node to the body, one line for each block. The parser bounds the
// depth of the tree.
func (x *Extractor) visible(n *nethtml.Node) {
	switch n.Type {
	case nethtml.TextNode:
		x.fold(n.Data)
		return
	case nethtml.ElementNode:
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
			x.headings = append(x.headings, heading{n.Data[1], len(x.body), 0})
			defer func(i int) { x.headings[i].to = len(x.body) }(len(x.headings) - 1)
		default:
			x.separate([]byte(n.Data))
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		x.visible(c)
	}
	if n.Type == nethtml.ElementNode {
		if strings.HasPrefix(n.Data, "h") && len(n.Data) == 2 {
			x.breakLine()
			return
		}
		x.separate([]byte(n.Data))
	}
}
