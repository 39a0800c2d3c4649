package siterules

import (
	"strings"

	nethtml "golang.org/x/net/html"
)

// HasContent reports whether Content changes a page.
func (s *Site) HasContent() bool { return s != nil && (len(s.main) > 0 || len(s.drop) > 0) }

// Content returns the page as it is to be read by people and search: without what is dropped, and
// only the main part if the rules name one and the page has it. The head stays, and so do the
// elements around the main part with their attributes, which may hide it or name its language. The
// result is HTML in UTF-8. It returns the body itself if nothing changes; changed reports whether
// something did. A page of which the selectors cannot be applied to all stays as it is.
func (s *Site) Content(contentType, charset string, body []byte) (out []byte, changed bool) {
	if !s.HasContent() {
		return body, false
	}
	defer func() {
		if recover() != nil {
			out, changed = body, false
		}
	}()
	p := treeOf(contentType, charset, body)
	if p.cut {
		return body, false
	}
	w := &work{css: maxWork}
	marks := marked{}
	for _, c := range s.drop {
		p.find(c, w, func(n *nethtml.Node) bool {
			if n != p.head && n != p.body && n.Parent != p.root {
				marks[n] |= dropped
				changed = true
			}
			return true
		})
	}
	main := false
	for _, c := range s.main {
		p.find(c, w, func(n *nethtml.Node) bool {
			if n == p.head || p.under(n, p.head) {
				return true
			}
			main, changed = true, true
			marks[n] |= whole
			for a := n.Parent; a != nil; a = a.Parent {
				marks[a] |= around
			}
			return true
		})
	}
	if w.css < 0 || !changed {
		return body, false
	}
	if main {
		marks[p.head] |= whole
	} else {
		marks[p.root] |= whole
	}
	var b strings.Builder
	b.Grow(len(body))
	b.WriteString("<!DOCTYPE html>")
	marks.write(&b, p.root, false)
	return []byte(b.String()), true
}

// under reports whether a node is below another one.
func (p *page) under(n, top *nethtml.Node) bool {
	for ; n != nil; n = n.Parent {
		if n == top {
			return true
		}
	}
	return false
}

// mark says what is written of a node.
type mark uint8

const (
	dropped mark = 1 << iota // nothing
	whole                    // all of it
	around                   // only what is marked below it
)

type marked map[*nethtml.Node]mark

// write writes a node as HTML. Whole says that it is in a part that is written as a whole.
func (m marked) write(b *strings.Builder, n *nethtml.Node, all bool) {
	k := m[n]
	if k&dropped != 0 {
		return
	}
	all = all || k&whole != 0
	if !all && k&around == 0 {
		return
	}
	switch n.Type {
	case nethtml.TextNode:
		if p := n.Parent; p != nil && kinds[p.Data]&rawText != 0 {
			// Only in a drawing such a text can contain its own end tag.
			if !strings.Contains(strings.ToLower(n.Data), "</"+p.Data) {
				b.WriteString(n.Data)
			}
		} else {
			b.WriteString(nethtml.EscapeString(n.Data))
		}
		return
	case nethtml.ElementNode:
		b.WriteByte('<')
		b.WriteString(n.Data)
		for _, a := range n.Attr {
			if strings.ContainsAny(a.Key, "\"'<>/= \t\r\n\f") {
				continue // such a name is an error of the page
			}
			b.WriteByte(' ')
			b.WriteString(a.Key)
			b.WriteString(`="`)
			b.WriteString(nethtml.EscapeString(a.Val))
			b.WriteByte('"')
		}
		b.WriteByte('>')
		if kinds[n.Data]&void != 0 {
			return
		}
		if n.Data == "pre" || n.Data == "textarea" || n.Data == "listing" {
			b.WriteByte('\n') // the first line break is no part of the text
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		m.write(b, c, all)
	}
	if n.Type == nethtml.ElementNode {
		b.WriteString("</")
		b.WriteString(n.Data)
		b.WriteByte('>')
	}
}
