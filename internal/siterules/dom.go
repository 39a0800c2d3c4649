package siterules

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// How a page becomes a tree. The parser of x/net/html repeats open <b>, <i> and the like in each
// block, so a small page can become a tree of any size, and it returns no tree for deep pages. This
// builder makes at most one node for a tag or a text, and its work is bounded by the length of the
// page and maxDepth. It follows the HTML standard for what is left out (html, head, body, tbody, tr
// and most end tags), which selectors depend on. Where elements overlap, as in <b><p></b></p>, the
// outer one ends with the inner one, and what is misplaced in a table stays there.

// page is a page as a tree.
type page struct {
	root *html.Node // the document
	head *html.Node
	body *html.Node
	cut  bool // the tree is only the beginning of the page
	// quiet says that some elements may forbid that they are shown.
	quiet bool

	sizes map[*html.Node]size // see weigh
	data  []any               // JSON-LD
	read  bool                // data was read
}

type builder struct {
	page
	doc     *html.Node
	open    []*html.Node // the elements that are open; html and head or body are the first
	kinds   []kind       // of open
	inBody  bool
	nodes   int
	over    int // elements too deep to be open
	ending  map[*html.Node]bool
	foreign int  // open svg and math elements
	strict  bool // the page has a document type
	divided bool // a comment follows the last text
}

// parse makes the tree of a page, which is in UTF-8.
func parse(src []byte) *page {
	b := &builder{ending: map[*html.Node]bool{}}
	b.root = &html.Node{Type: html.DocumentNode}
	b.doc = element("html", nil)
	b.head = element("head", nil)
	b.body = element("body", nil)
	b.root.AppendChild(b.doc)
	b.doc.AppendChild(b.head)
	b.doc.AppendChild(b.body)
	b.open, b.kinds = []*html.Node{b.doc, b.head}, make([]kind, 2, maxDepth)
	z := html.NewTokenizer(bytes.NewReader(src))
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return &b.page
		}
		if b.nodes >= maxNodes {
			b.cut = true
			return &b.page
		}
		switch kind {
		case html.DoctypeToken:
			b.strict = true
		case html.CommentToken:
			b.divided = true
		case html.TextToken:
			b.text(string(z.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			if t.Data == "noscript" || b.inForeign() {
				z.NextIsNotRawText()
			}
			b.start(&t, kind == html.SelfClosingTagToken)
		case html.EndTagToken:
			name, _ := z.TagName()
			b.end(string(name))
		}
	}
}

func element(name string, attr []html.Attribute) *html.Node {
	return &html.Node{Type: html.ElementNode, Data: name, DataAtom: atom.Lookup([]byte(name)), Attr: attr}
}

// inForeign reports whether elements are those of a drawing or a formula, not of HTML.
func (b *builder) inForeign() bool {
	for i := len(b.open) - 1; i >= 2 && b.foreign > 0; i-- {
		switch b.open[i].Data {
		case "svg", "math":
			return true
		case "foreignobject", "desc", "title", "annotation-xml", "mi", "mo", "mn", "ms", "mtext":
			return false
		}
	}
	return false
}

func (b *builder) top() *html.Node { return b.open[len(b.open)-1] }

func (b *builder) text(s string) {
	if b.top() == b.head {
		if strings.TrimSpace(s) == "" {
			return
		}
		b.begin()
	}
	top := b.top()
	if last := top.LastChild; last != nil && last.Type == html.TextNode && !b.divided && len(last.Data) < 4<<10 {
		last.Data += s
		return
	}
	b.nodes, b.divided = b.nodes+1, false
	top.AppendChild(&html.Node{Type: html.TextNode, Data: s})
}

// begin ends the head of the page.
func (b *builder) begin() {
	if !b.inBody {
		b.inBody, b.open, b.kinds = true, append(b.open[:0], b.doc, b.body), b.kinds[:2]
		b.foreign = 0
	}
}

// merge adds attributes that an element does not have.
func merge(n *html.Node, attr []html.Attribute) {
	if len(n.Attr) == 0 {
		n.Attr = attr
	}
}

// push appends an element. It is open afterwards unless it cannot have content.
func (b *builder) push(n *html.Node, empty bool) {
	b.nodes++
	b.top().AppendChild(n)
	switch {
	case empty:
	case len(b.open) >= maxDepth:
		b.over++
	default:
		b.open, b.kinds = append(b.open, n), append(b.kinds, kinds[n.Data])
		if n.Data == "svg" || n.Data == "math" {
			b.foreign++
		}
	}
}

// cutTo closes all elements from one on, and those that were to end with them.
func (b *builder) cutTo(i int) {
	if i < 2 {
		return
	}
	for len(b.open) > i || len(b.open) > 2 && b.ending[b.top()] {
		n := b.top()
		delete(b.ending, n)
		if n.Data == "svg" || n.Data == "math" {
			b.foreign--
		}
		b.open, b.kinds = b.open[:len(b.open)-1], b.kinds[:len(b.kinds)-1]
	}
}

// find returns where the innermost open element with one of the names is, 0 if there is none up to
// an element that bounds the search.
func (b *builder) find(bounds kind, names ...string) int {
	for i := len(b.open) - 1; i >= 2; i-- {
		name := b.open[i].Data
		for _, want := range names {
			if name == want {
				return i
			}
		}
		if b.kinds[i]&bounds != 0 {
			return 0
		}
	}
	return 0
}

func (b *builder) closeOpen(bounds kind, names ...string) {
	if i := b.find(bounds, names...); i > 0 {
		b.cutTo(i)
	}
}

func (b *builder) start(t *html.Token, closed bool) {
	name := t.Data
	switch name {
	case "html":
		merge(b.doc, t.Attr)
		return
	case "head":
		merge(b.head, t.Attr)
		return
	case "body":
		merge(b.body, t.Attr)
		b.begin()
		return
	case "image":
		name = "img"
	case "plaintext":
		name = "pre"
	}
	if !b.inBody && kinds[name]&inHead == 0 && (b.top() == b.head || b.top().Data == "noscript") {
		b.begin()
	}
	n := element(name, t.Attr)
	if b.inForeign() {
		if kinds[name]&(endsP|leaves) == 0 {
			b.push(n, closed || kinds[name]&void != 0)
			return
		}
		b.cutTo(b.find(0, "svg", "math"))
	}
	if name == "form" && b.find(0, "form") > 0 {
		return
	}
	if b.inBody {
		b.imply(name)
	}
	if kinds[name]&inTable != 0 && !b.cell(name) {
		return // it means nothing outside of a table
	}
	b.push(n, kinds[name]&void != 0 || closed && (name == "svg" || name == "math"))
}

// imply closes the elements that a start tag ends.
func (b *builder) imply(name string) {
	if kinds[name]&endsP != 0 {
		b.closeOpen(scope|buttons, "p")
	}
	switch name {
	case "h1", "h2", "h3", "h4", "h5", "h6":
		if kinds[b.top().Data]&heading != 0 {
			b.cutTo(len(b.open) - 1)
		}
	case "li":
		b.closeOpen(lists, "li")
	case "dd", "dt":
		b.closeOpen(lists, "dd", "dt")
	case "option", "optgroup":
		if b.top().Data == "option" {
			b.cutTo(len(b.open) - 1)
		}
		if name == "optgroup" && b.top().Data == "optgroup" {
			b.cutTo(len(b.open) - 1)
		}
	case "rt", "rp", "rb", "rtc":
		switch b.top().Data {
		case "rt", "rp", "rb":
			b.cutTo(len(b.open) - 1)
		}
	case "a":
		b.closeOpen(scope, "a")
	case "button":
		b.closeOpen(scope, "button")
	case "table":
		if b.strict {
			b.closeOpen(scope|buttons, "p")
		}
	}
}

// cell closes what ends before a part of a table and opens what it needs. It returns false outside
// of tables.
func (b *builder) cell(name string) bool {
	table := b.find(0, "table")
	if table == 0 {
		return false
	}
	under := func(names ...string) int {
		for i := len(b.open) - 1; i > table; i-- {
			for _, n := range names {
				if b.open[i].Data == n {
					return i
				}
			}
		}
		return 0
	}
	body := func() {
		if i := under("tbody", "thead", "tfoot"); i > 0 {
			b.cutTo(i + 1)
			return
		}
		b.cutTo(table + 1)
		b.push(element("tbody", nil), false)
	}
	switch name {
	case "td", "th":
		if i := under("tr"); i > 0 {
			b.cutTo(i + 1)
			break
		}
		body()
		b.push(element("tr", nil), false)
	case "tr":
		body()
	case "col":
		if i := under("colgroup"); i > 0 {
			b.cutTo(i + 1)
			break
		}
		b.cutTo(table + 1)
		b.push(element("colgroup", nil), false)
	default: // tbody, thead, tfoot, caption, colgroup
		b.cutTo(table + 1)
	}
	return true
}

func (b *builder) end(name string) {
	if b.over > 0 && kinds[name]&void == 0 {
		b.over--
		return
	}
	switch name {
	case "head":
		if !b.inBody {
			b.cutTo(2)
		}
		return
	case "html", "body":
		return
	case "p":
		if b.inBody && b.find(scope|buttons, "p") == 0 && !b.inForeign() {
			b.push(element("p", nil), true)
			return
		}
	case "br":
		if b.top() == b.head {
			b.begin()
		}
		b.push(element("br", nil), true)
		return
	case "h1", "h2", "h3", "h4", "h5", "h6":
		b.closeOpen(scope, "h1", "h2", "h3", "h4", "h5", "h6")
		return
	}
	k := kinds[name]
	switch {
	case b.inForeign() || name == "svg" || name == "math":
		b.closeOpen(0, name)
	case name == "table" || k&inTable != 0:
		if i := b.find(tables, name); i > 0 {
			b.cutTo(i)
		}
	case name == "li":
		b.closeOpen(lists2|scope, name)
	case k&special != 0:
		b.closeOpen(scope, name)
	default:
		b.inline(name)
	}
}

// inline ends an element that is no block. If a block is open in it, it ends with that block.
func (b *builder) inline(name string) {
	for i := len(b.open) - 1; i >= 2; i-- {
		n := b.open[i]
		if n.Data == name {
			b.cutTo(i)
			return
		}
		if b.kinds[i]&special != 0 {
			if j := b.find(scope, name); j > 0 && formatting(name) {
				b.ending[b.open[j]] = true
			}
			return
		}
	}
}

func formatting(name string) bool {
	switch name {
	case "a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u":
		return true
	}
	return false
}
