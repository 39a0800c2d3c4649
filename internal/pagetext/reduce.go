package pagetext

import (
	"bytes"

	nethtml "golang.org/x/net/html"

	"github.com/curtsy/curtsy/internal/html"
)

// A short page can make a tree builder work hard: open formatting elements are copied into every
// later paragraph, and attributes are compared with one another. The tree builder therefore never
// reads the original page. It reads a rewritten one, without attributes, and with only the elements
// that decide what is a heading, what is hidden, and where lines end. The number of tags limits the
// size of this tree. It is built in half the time, and its text is the same.

// The limits of a page that becomes a tree. A larger page is read by its tags alone, which needs no
// memory beyond its text.
const (
	maxTreeTags  = 100_000 // of elements in the tree; an ordinary page of 10 MiB has fewer
	maxTreeBytes = 6 << 20 // of the rewritten page
)

// matters reports whether an element is part of the tree.
func matters(name []byte) bool {
	switch string(name) {
	case "html", "frameset", "frame", "h1", "h2", "h3", "td", "th", "option", "optgroup", "select", "img", "input", "button", "label",
		"template", "svg", "col", "colgroup":
		return true
	}
	return isBlock(name) && !shownRaw(name)
}

// reduce returns the rewritten page. ok is false if it is too large for a tree.
func (x *Extractor) reduce(body []byte) (page []byte, ok bool) {
	out, tags := x.page[:0], 0
	s := html.Reader{Page: body, Scripts: true}
	defer func() { x.page = out[:0] }()
	for {
		kind, val, attrs := s.Next()
		if tags > maxTreeTags || len(out)+len(val) > maxTreeBytes {
			return nil, false
		}
		switch kind {
		case html.End:
			return out, true
		case html.Text:
			out = appendText(out, val)
		case html.StartTag:
			closed := len(attrs) > 0 && attrs[len(attrs)-1] == '/'
			if string(val) == "html" && x.lang == "" {
				x.lang = primaryLang(html.Value(html.Attr(attrs, "lang", "xml:lang")))
			}
			if raw := s.Raw(); raw != nil {
				tags++
				if len(out)+len(raw) > maxTreeBytes && (string(val) == "title" || shownRaw(val)) {
					return nil, false
				}
				out = appendRaw(out, val, raw)
				continue
			}
			if !matters(val) {
				continue
			}
			tags++
			out = append(append(out, '<'), val...)
			if closed && string(val) == "svg" {
				out = append(out, '/')
			}
			out = append(out, '>')
		case html.EndTag:
			if matters(val) {
				tags++
				out = append(append(append(out, '<', '/'), val...), '>')
			}
		}
	}
}

// appendRaw appends an element that contains no markup, with its text if that is visible.
func appendRaw(out, name, content []byte) []byte {
	switch string(name) {
	case "title":
		return append(appendText(append(out, "<title>"...), content), "</title>"...)
	case "xmp", "plaintext": // its text is shown as it is written
		out = append(out, "<pre>"...)
		return append(append(out, nethtml.EscapeString(string(content))...), "</pre>"...)
	case "textarea", "iframe":
		return append(append(append(append(append(out, '<'), name...), "></"...), name...), '>')
	}
	return out
}

// appendText appends text with its character references. If the end of the text cuts a reference,
// it must not continue in the next text.
func appendText(out, val []byte) []byte {
	if i := bytes.LastIndexByte(val, '&'); i >= 0 && len(val)-i <= html.MaxReference && bytes.IndexByte(val[i:], ';') < 0 {
		return append(out, nethtml.EscapeString(nethtml.UnescapeString(string(val)))...)
	}
	for {
		n := bytes.IndexByte(val, '<')
		if n < 0 {
			return append(out, val...)
		}
		out = append(append(out, val[:n]...), "&lt;"...)
		val = val[n+1:]
	}
}
