package robotstag

import (
	"bytes"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// ScanHTML adds the meta elements in a page's head. It reads the page only to the end of the head.
// The page must be UTF-8; a byte order mark is dropped.
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

// scanMeta adds the meta element whose start tag the tokenizer is at. If an attribute is repeated,
// the tokenizer returns only the first.
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
