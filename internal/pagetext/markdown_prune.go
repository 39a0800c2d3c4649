package pagetext

import (
	"strings"

	nethtml "golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// pruner recognises boilerplate in a tree by the same rules as boilerplate.go does in tags. Each of
// its passes is linear in the size of the tree. The parser bounds the depth of the tree.
type pruner struct{ is map[*nethtml.Node]mark }

// Further marks, which boilerplate.go does not have.
const (
	sideNote mark = 9   // a box of the text if it has at least 100 bytes and is not mostly links
	mainText mark = 255 // it contains the main text
)

// cuts says which kinds of elements are removed.
type cuts struct{ hard, soft, outside bool }

// prune removes boilerplate. If no heading of level 1 is left, the title becomes one.
func prune(doc *nethtml.Node, title string) {
	body := find(doc, atom.Body)
	if body == nil {
		return
	}
	p := pruner{map[*nethtml.Node]mark{}}
	all := p.classify(body, false).text
	cut := cuts{hard: true}
	if left := p.left(body, cut, false); 5*left < all {
		cut.hard = false // everything looks like boilerplate, so nothing is
	} else {
		outside := cuts{hard: true, outside: true}
		if main := p.left(body, outside, false); 2*main > left && 5*main >= all {
			cut = outside
		}
		soft := cut
		soft.soft = true
		if 5*p.left(body, soft, false) >= all {
			cut = soft
		}
	}
	p.cut(body, cut, false)
	if title = strings.TrimSpace(title); title != "" && !titled(body, title) {
		h := &nethtml.Node{Type: nethtml.ElementNode, Data: "h1", DataAtom: atom.H1}
		h.AppendChild(&nethtml.Node{Type: nethtml.TextNode, Data: string(angles(appendEscaped(nil, []byte(unmarked.Replace(title)), false, false, false)))})
		body.InsertBefore(h, body.FirstChild)
	}
}

// content counts what an element contains.
type content struct {
	text, anchored  int // bytes
	links, headings int
	h1              bool
}

// classify marks the elements in n.
func (p *pruner) classify(n *nethtml.Node, inMain bool) (c content) {
	if n.Type != nethtml.ElementNode {
		return content{text: textSize(n)}
	}
	m := plain
	for _, a := range n.Attr {
		switch {
		case a.Key != marksAttr:
		case a.Val == "m":
			m = mainText
		case inMain:
			m = mark(a.Val[1] - '0')
		default:
			m = mark(a.Val[0] - '0')
		}
	}
	for k := n.FirstChild; k != nil; k = k.NextSibling {
		in := p.classify(k, inMain || m == mainText)
		c.text, c.anchored, c.links, c.headings, c.h1 = c.text+in.text, c.anchored+in.anchored, c.links+in.links, c.headings+in.headings, c.h1 || in.h1
	}
	switch n.DataAtom {
	case atom.A:
		c.links, c.anchored = 1, c.text
	case atom.H1:
		c.h1 = true
		c.headings++
	case atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		c.headings++
	}
	switch {
	case m == sideNote && c.text >= 100 && 2*c.anchored < c.text:
		m = plain
	case m == sideNote:
		m = hard
	case m == hardHeader && c.h1:
		m = plain
	case m == hardHeader:
		m = hard
	case m == plain && !inMain && c.links >= 3 && c.headings == 0 && 4*c.anchored >= 3*c.text && elementOf([]byte(n.Data)).follows():
		m = soft
	}
	if m != plain {
		p.is[n] = m
	}
	return c
}

// left returns how many bytes of text the cuts would leave.
func (p *pruner) left(n *nethtml.Node, c cuts, inMain bool) (size int) {
	gone, inMain := p.gone(n, c, inMain)
	switch {
	case gone:
		return 0
	case n.Type == nethtml.TextNode && (inMain || !c.outside):
		return textSize(n)
	}
	for k := n.FirstChild; k != nil; k = k.NextSibling {
		size += p.left(k, c, inMain)
	}
	return size
}

// cut removes elements, and reports whether anything is left.
func (p *pruner) cut(n *nethtml.Node, c cuts, inMain bool) (kept bool) {
	gone, inMain := p.gone(n, c, inMain)
	switch {
	case gone:
		return false
	case n.Type == nethtml.TextNode:
		return inMain || !c.outside
	}
	kept = inMain || !c.outside
	for k := n.FirstChild; k != nil; {
		next := k.NextSibling
		if p.cut(k, c, inMain) {
			kept = true
		} else {
			n.RemoveChild(k)
		}
		k = next
	}
	return kept
}

// gone reports whether a node is removed with everything in it, and whether it is the main text or
// in it. Within the main text only a hard mark removes an element.
func (p *pruner) gone(n *nethtml.Node, c cuts, inMain bool) (gone, main bool) {
	switch p.is[n] {
	case mainText:
		return false, true
	case hard:
		return c.hard, inMain
	case soft:
		return c.soft, inMain
	}
	return false, inMain
}

func textSize(n *nethtml.Node) int {
	if n.Type != nethtml.TextNode {
		return 0
	}
	return len(strings.TrimSpace(n.Data))
}

// find returns the first element in a node with a name.
func find(n *nethtml.Node, a atom.Atom) *nethtml.Node {
	for k := range n.Descendants() {
		if k.DataAtom == a && k.Type == nethtml.ElementNode {
			return k
		}
	}
	return nil
}

// titled reports whether a page has a heading of level 1, or a first heading that repeats its
// title.
func titled(body *nethtml.Node, title string) bool {
	if find(body, atom.H1) != nil {
		return true
	}
	first := firstHeading(body)
	if first == nil {
		return false
	}
	var text strings.Builder
	for n := range first.Descendants() {
		if n.Type == nethtml.TextNode {
			text.WriteString(n.Data)
		}
	}
	head := strings.Join(strings.Fields(text.String()), " ")
	return head != "" && strings.Contains(strings.ToLower(title), strings.ToLower(head))
}

func firstHeading(n *nethtml.Node) *nethtml.Node {
	for k := range n.Descendants() {
		switch k.DataAtom {
		case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
			return k
		}
	}
	return nil
}
