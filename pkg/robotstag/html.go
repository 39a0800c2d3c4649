package robotstag

import (
	"bytes"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// FromHTML returns the set of a page's meta elements for our token, as a full
// HTML parser with scripting off sees them (§4.3). It builds the whole tree, so
// it is slow and exact; ScanHTML stops where the head ends. The page must be
// UTF-8; a byte order mark is dropped.
func FromHTML(token string, page []byte) *Set {
	s := New(token)
	doc, err := html.ParseWithOptions(bytes.NewReader(trimBOM(page)), html.ParseOptionEnableScripting(false))
	if err != nil {
		// The parser refuses pages nested deeper than it likes. Their head
		// is no less binding for that.
		s.ScanHTML(page)
		return s
	}
	if root := child(doc, atom.Html); root != nil {
		if head := child(root, atom.Head); head != nil {
			s.addTree(head)
		}
	}
	return s
}

func child(n *html.Node, tag atom.Atom) *html.Node {
	for c := range n.ChildNodes() {
		if c.Type == html.ElementNode && c.DataAtom == tag {
			return c
		}
	}
	return nil
}

// addTree adds the meta elements below n. The content of a template is a
// document fragment of its own, not part of the head.
func (s *Set) addTree(n *html.Node) {
	for c := range n.ChildNodes() {
		if c.Type != html.ElementNode || c.DataAtom == atom.Template {
			continue
		}
		if c.DataAtom == atom.Meta && c.Namespace == "" {
			s.AddMeta(attr(c, "name"), attr(c, "content"))
		}
		s.addTree(c)
	}
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key && a.Namespace == "" {
			return a.Val
		}
	}
	return ""
}

// ScanHTML adds the meta elements in a page's head. It reads the page only as
// far as the head goes. The page must be UTF-8; a byte order mark is dropped.
func (s *Set) ScanHTML(page []byte) {
	var h Head
	z := html.NewTokenizer(bytes.NewReader(trimBOM(page)))
	for !h.Closed() {
		switch z.Next() {
		case html.ErrorToken:
			return
		case html.TextToken:
			h.Text(z.Text())
		case html.EndTagToken:
			name, _ := z.TagName()
			h.End(atom.Lookup(name))
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			tag := atom.Lookup(name)
			if h.Start(tag) {
				s.scanMeta(z, more)
			}
			if tag == atom.Noscript {
				z.NextIsNotRawText()
			}
		}
	}
}

// scanMeta adds the meta element whose start tag the tokenizer is at. Of a
// repeated attribute the tokenizer returns only the first.
func (s *Set) scanMeta(z *html.Tokenizer, more bool) {
	var name, content string
	for more {
		var key, val []byte
		key, val, more = z.TagAttr()
		switch string(key) {
		case "name":
			if !s.WantsMeta(val) {
				return
			}
			name = string(val)
		case "content":
			content = string(val)
		}
	}
	s.AddMeta(name, content)
}

func trimBOM(page []byte) []byte {
	return bytes.TrimPrefix(page, []byte("\uFEFF"))
}
