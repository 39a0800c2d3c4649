package robotstag

import (
	"bytes"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// fromHTML returns the set of a page's meta elements for our token, as a full HTML parser without
// scripting finds them (formats §4.3). ScanHTML is compared with it.
func fromHTML(token string, page []byte) *Set {
	s := New(token)
	doc, err := html.ParseWithOptions(bytes.NewReader(trimBOM(page)), html.ParseOptionEnableScripting(false))
	if err != nil {
		// The parser refuses pages that are nested too deeply. Their head counts nevertheless.
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

// addTree adds the meta elements below n. The content of a template is a separate document
// fragment, not part of the head.
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
