package siterules

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/antchfx/xpath"
	"go.yaml.in/yaml/v3"
	"golang.org/x/net/html"
)

// xpathExpr is a compiled XPath expression. Evaluating one changes it, so each use has its own.
type xpathExpr struct {
	text string
	pool sync.Pool
}

// xpath compiles an XPath expression. It returns nil after a mistake.
func (r *reader) xpath(text string, n *yaml.Node, what string) *xpathExpr {
	e, err := compileXPath(text)
	if err != nil {
		r.At(n, "%s `%s` is not an XPath expression: %s; use for example //div[@class='content']/h1", what, text, strings.TrimPrefix(err.Error(), text+" "))
		return nil
	}
	x := &xpathExpr{text: text}
	x.pool.Put(e)
	return x
}

// compileXPath is xpath.Compile, which panics for some expressions.
func compileXPath(text string) (e *xpath.Expr, err error) {
	defer func() {
		if p := recover(); p != nil {
			e, err = nil, fmt.Errorf("%v", p)
		}
	}()
	if e, err = xpath.Compile(text); err == nil {
		// Wrong types of arguments are found when the expression is used.
		root := parse([]byte("<p>")).root
		probe := &navigator{steps: new(maxSteps), root: root, curr: root, attr: -1}
		switch v := e.Evaluate(probe).(type) {
		case *xpath.NodeIterator:
			for range maxMatches {
				if !v.MoveNext() {
					break
				}
			}
		}
		e, err = xpath.Compile(text)
	}
	return e, err
}

// tooLong ends an expression that takes too many steps.
type tooLong struct{}

// eval returns the values of an expression: nodes, or one string, number or boolean.
func (x *xpathExpr) eval(p *page, w *work) (nodes []found, value string, isNodes bool) {
	e, _ := x.pool.Get().(*xpath.Expr)
	if e == nil {
		if e, _ = compileXPath(x.text); e == nil {
			return nil, "", false
		}
	}
	defer func() {
		switch r := recover().(type) {
		case nil:
			x.pool.Put(e)
		case tooLong:
			nodes, value = nil, ""
		default:
			w.cut = append(w.cut, fmt.Sprintf("xpath `%s` failed: %.100v", x.text, r))
			nodes, value = nil, ""
		}
	}()
	nav := &navigator{steps: &w.steps, root: p.root, curr: p.root, attr: -1}
	switch v := e.Evaluate(nav).(type) {
	case *xpath.NodeIterator:
		for len(nodes) < maxMatches && v.MoveNext() {
			at := v.Current().(*navigator)
			f := found{node: at.curr}
			if at.attr >= 0 {
				f.text, f.isText = at.curr.Attr[at.attr].Val, true
			}
			nodes = append(nodes, f)
		}
		return nodes, "", true
	case string:
		return nil, v, false
	case float64:
		return nil, strconv.FormatFloat(v, 'f', -1, 64), false
	case bool:
		return nil, strconv.FormatBool(v), false
	}
	return nil, "", false
}

// navigator moves over the tree of a page for package xpath. It ends an expression after a number
// of steps.
type navigator struct {
	steps *int
	root  *html.Node
	curr  *html.Node
	attr  int // -1: the node itself
}

func (n *navigator) step(cost int) {
	if *n.steps -= cost; *n.steps < 0 {
		panic(tooLong{})
	}
}

func (n *navigator) NodeType() xpath.NodeType {
	n.step(1)
	switch {
	case n.attr >= 0:
		return xpath.AttributeNode
	case n.curr.Type == html.TextNode:
		return xpath.TextNode
	case n.curr.Type == html.ElementNode:
		return xpath.ElementNode
	case n.curr.Type == html.DocumentNode:
		return xpath.RootNode
	}
	return xpath.CommentNode
}

func (n *navigator) LocalName() string {
	n.step(1)
	switch {
	case n.attr >= 0:
		return n.curr.Attr[n.attr].Key
	case n.curr.Type == html.ElementNode:
		return n.curr.Data
	}
	return ""
}

func (*navigator) Prefix() string { return "" }

func (n *navigator) Value() string {
	if n.attr >= 0 {
		n.step(1 + len(n.curr.Attr[n.attr].Val)/16)
		return n.curr.Attr[n.attr].Val
	}
	if n.curr.Type == html.TextNode {
		n.step(1 + len(n.curr.Data)/16)
		return n.curr.Data
	}
	var b strings.Builder
	n.value(&b, n.curr)
	return b.String()
}

func (n *navigator) value(b *strings.Builder, of *html.Node) {
	for c := of.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.TextNode {
			n.step(1 + len(c.Data)/16)
			b.WriteString(c.Data)
		} else {
			n.step(1)
			n.value(b, c)
		}
	}
}

func (n *navigator) Copy() xpath.NodeNavigator {
	n.step(1)
	c := *n
	return &c
}

func (n *navigator) MoveToRoot() { n.curr, n.attr = n.root, -1 }

func (n *navigator) to(node *html.Node) bool {
	n.step(1)
	if node == nil {
		return false
	}
	n.curr = node
	return true
}

func (n *navigator) MoveToParent() bool {
	if n.attr >= 0 {
		n.step(1)
		n.attr = -1
		return true
	}
	if n.curr == n.root {
		return false
	}
	return n.to(n.curr.Parent)
}

func (n *navigator) MoveToNextAttribute() bool {
	n.step(1)
	if n.attr+1 >= len(n.curr.Attr) {
		return false
	}
	n.attr++
	return true
}

func (n *navigator) MoveToChild() bool    { return n.attr < 0 && n.to(n.curr.FirstChild) }
func (n *navigator) MoveToNext() bool     { return n.attr < 0 && n.to(n.curr.NextSibling) }
func (n *navigator) MoveToPrevious() bool { return n.attr < 0 && n.to(n.curr.PrevSibling) }

func (n *navigator) MoveToFirst() bool {
	return n.attr < 0 && n.curr.Parent != nil && n.to(n.curr.Parent.FirstChild)
}

func (n *navigator) MoveTo(other xpath.NodeNavigator) bool {
	o, ok := other.(*navigator)
	if !ok || o.root != n.root {
		return false
	}
	n.step(1)
	n.curr, n.attr = o.curr, o.attr
	return true
}

func (n *navigator) String() string { return n.Value() }
