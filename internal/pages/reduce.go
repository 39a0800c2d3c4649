package pages

import (
	"bytes"

	"golang.org/x/net/html"
)

// A tree builder can be made to work hard by a short page: formatting elements left open are copied
// into every later paragraph, and attributes are compared with one another. So the builder never
// sees a stranger's page. It gets the page written anew, without attributes, and with only those
// elements that decide what is a heading, what is hidden and where lines end. The size of that tree
// is bounded by the number of tags, it is built in half the time, and the text is the same.

// The most that a tree is built of. A larger page is read by its tags alone, which costs no
// memory beyond its text.
const (
	maxTreeTags  = 100_000 // tags that matter; 10 MiB of ordinary page have fewer
	maxTreeBytes = 6 << 20 // bytes of the page as it is written anew
)

// matters reports whether an element is part of the tree.
func matters(name []byte) bool {
	switch string(name) {
	case "html", "frameset", "frame", "h1", "h2", "h3", "td", "th", "option", "optgroup", "select", "img", "input", "button", "label",
		"template", "svg", "col", "colgroup":
		return true
	}
	return isBlock(name) && string(name) != "xmp"
}

// reduce writes a page anew. ok is false when the page is too large for a tree.
func (x *Extractor) reduce(body []byte) (page []byte, ok bool) {
	out, tags := x.page[:0], 0
	s := scanner{src: body}
	defer func() { x.page = out[:0] }()
	for {
		kind, val, attrs := s.next()
		if tags > maxTreeTags || len(out)+len(val) > maxTreeBytes {
			return nil, false
		}
		switch kind {
		case atEnd:
			return out, true
		case text:
			out = appendText(out, val)
		case startTag:
			closed := len(attrs) > 0 && attrs[len(attrs)-1] == '/'
			if string(val) == "html" && x.lang == "" {
				x.lang = primaryLang(unescape(attr(attrs, "lang", "xml:lang")))
			}
			if raw := rawElement(val); raw != "" {
				tags++
				s.raw = raw
				at := s.i
				kind, val, _ := s.next()
				if kind != rawText {
					s.i, val = at, nil // it is empty; its end tag comes next, or nothing
				}
				if len(out)+len(val) > maxTreeBytes && (raw == "title" || raw == "xmp") {
					return nil, false
				}
				out = appendRaw(out, raw, val)
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
		case endTag:
			if matters(val) {
				tags++
				out = append(append(append(out, '<', '/'), val...), '>')
			}
		}
	}
}

// appendRaw appends an element that holds no markup, with its text where a reader sees it.
func appendRaw(out []byte, name string, content []byte) []byte {
	switch name {
	case "title":
		return append(appendText(append(out, "<title>"...), content), "</title>"...)
	case "xmp": // its text is shown as it is written
		out = append(out, "<pre>"...)
		return append(append(out, html.EscapeString(string(content))...), "</pre>"...)
	case "textarea", "iframe":
		return append(append(append(append(append(out, '<'), name...), "></"...), name...), '>')
	}
	return out
}

// appendText appends text with its character references. A reference that the end of the text cuts
// off must not continue in the next text.
func appendText(out, val []byte) []byte {
	if i := bytes.LastIndexByte(val, '&'); i >= 0 && len(val)-i <= longestReference && bytes.IndexByte(val[i:], ';') < 0 {
		return append(out, html.EscapeString(html.UnescapeString(string(val)))...)
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

// longestReference is longer than any character reference's name; numbers may be longer,
// and mean nothing then.
const longestReference = 40
