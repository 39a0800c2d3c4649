package siterules

import (
	"bytes"
	"slices"

	"golang.org/x/net/html"
)

// What a rule reads from a page and shows to people, its fields, title and description, is an
// excerpt of the page. So elements with data-nosnippet do not exist for them (formats.md §8.26):
// their text can be found, and is never shown. Conditions, which show nothing, see the whole page.

const noSnippet = "data-nosnippet"

// page returns the tree of the page for what is read now, which is made when a rule needs it.
func (in *input) page() *page {
	if in.tree == nil {
		in.tree = treeOf(in.ContentType, in.Charset, in.Body)
		if in.tree.cut {
			in.cut("the page has more than %d elements and texts; rules see only its beginning", maxNodes)
		}
	}
	if !in.showing || !in.tree.quiet {
		return in.tree
	}
	if in.shown == nil {
		in.shown = treeOf(in.ContentType, in.Charset, in.Body)
		in.shown.hide()
	}
	return in.shown
}

// saysNoSnippet reports whether nothing of an element may be shown. As everywhere, only span, div
// and section can say so.
func saysNoSnippet(n *html.Node) bool {
	return n.Type == html.ElementNode && slices.Contains([]string{"span", "div", "section"}, n.Data) && hasAttribute(n, noSnippet)
}

// mayHide reports whether a page may have elements with data-nosnippet.
func mayHide(src []byte) bool {
	return bytes.Contains(bytes.ToLower(src), []byte(noSnippet))
}

// hide removes the elements with data-nosnippet from a tree.
func (p *page) hide() {
	var next *html.Node
	for n := p.root.FirstChild; n != nil; n = next {
		if quiet := saysNoSnippet(n); !quiet && n.FirstChild != nil {
			next = n.FirstChild
			continue
		} else if next = following(n, p.root); quiet {
			n.Parent.RemoveChild(n)
		}
	}
	p.sizes = nil
}

// following is the node after n and its descendants, in the order of the page; nil at its end.
func following(n, root *html.Node) *html.Node {
	for ; n != root; n = n.Parent {
		if n.NextSibling != nil {
			return n.NextSibling
		}
	}
	return nil
}
