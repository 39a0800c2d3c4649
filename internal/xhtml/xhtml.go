// Package xhtml rewrites XHTML as the HTML that it stands for, so that one reader of HTML does for
// both.
//
// The two differ in syntax. In XHTML any element may close itself (<script/>), text may be in CDATA
// sections, names may have a prefix, scripts are text like any other, and a document type may have
// declarations inside. Read as HTML, such a page hides what follows: its words, its links, and its
// robots directives. Only application/xhtml+xml is read so: in text/html the slash means nothing.
//
// Pages that are not well-formed are rewritten as far as they go.
package xhtml

import (
	"bytes"
	"html"
)

// MediaType is the type of XHTML.
const MediaType = "application/xhtml+xml"

// namespace is what a prefix must stand for to be one of HTML's names.
const namespace = "http://www.w3.org/1999/xhtml"

// HTML returns the page in HTML's syntax: page itself where both are the same. It is in UTF-8, as
// page must be. Line breaks stay, so that lines have the same numbers. It may be called from many
// goroutines.
func HTML(page []byte) []byte {
	if !differs(page) {
		return page
	}
	w := writer{src: page, out: make([]byte, 0, len(page)+len(page)/8)}
	w.run()
	return w.out
}

// differs reports whether a page has anything that HTML reads in another way, cheaply.
func differs(page []byte) bool {
	return bytes.Contains(page, []byte("/>")) || bytes.Contains(page, []byte("<![CDATA[")) || bytes.Contains(page, []byte("xmlns:")) ||
		bytes.Contains(page, []byte("<script")) || bytes.Contains(page, []byte("<style")) || bytes.Contains(page, []byte("<!DOCTYPE"))
}

// writer rewrites one page.
type writer struct {
	src, out []byte
	prefixes [][]byte // that stand for the namespace
	raw      []byte   // the script or style element that is open; nil: none is
}

func (w *writer) run() {
	for len(w.src) > 0 {
		i := bytes.IndexByte(w.src, '<')
		if i < 0 {
			w.text(w.src)
			return
		}
		w.text(w.src[:i])
		w.src = w.src[i:]
		switch {
		case w.between("<!--", "-->", w.keep):
		case w.between("<![CDATA[", "]]>", w.cdata):
		case w.between("<?", "?>", w.keep):
		case bytes.HasPrefix(w.src, []byte("<!")):
			w.docType()
		case bytes.HasPrefix(w.src, []byte("</")):
			w.endTag()
		default:
			w.startTag()
		}
	}
}

// text writes text between tags. That of a script is decoded, because HTML does not do so there.
func (w *writer) text(b []byte) {
	if w.raw == nil || len(b) == 0 {
		w.out = append(w.out, b...)
		return
	}
	w.script([]byte(html.UnescapeString(string(b))))
}

// script writes text inside a script, which nothing may end but its end tag.
func (w *writer) script(b []byte) {
	for {
		i := bytes.Index(b, []byte("</"))
		if i < 0 {
			w.out = append(w.out, b...)
			return
		}
		w.out = append(append(w.out, b[:i]...), `<\/`...)
		b = b[i+2:]
	}
}

// between hands a construct to write, if it begins here. One without an end goes up to the page's.
func (w *writer) between(begin, end string, write func(whole, inner []byte)) bool {
	if !bytes.HasPrefix(w.src, []byte(begin)) {
		return false
	}
	inner := w.src[len(begin):]
	whole := w.src
	if i := bytes.Index(inner, []byte(end)); i >= 0 {
		inner, whole = inner[:i], w.src[:len(begin)+i+len(end)]
	}
	w.src = w.src[len(whole):]
	write(whole, inner)
	return true
}

func (w *writer) keep(whole, _ []byte) {
	if w.raw == nil { // a comment is no part of a script
		w.out = append(w.out, whole...)
	} else {
		w.newlines(whole)
	}
}

func (w *writer) cdata(_, inner []byte) {
	if w.raw != nil {
		w.script(inner)
		return
	}
	for _, c := range inner {
		switch c {
		case '<':
			w.out = append(w.out, "&lt;"...)
		case '&':
			w.out = append(w.out, "&amp;"...)
		default:
			w.out = append(w.out, c)
		}
	}
}

func (w *writer) newlines(b []byte) {
	for range bytes.Count(b, []byte{'\n'}) {
		w.out = append(w.out, '\n')
	}
}

// docType writes a document type without the declarations that it may have inside.
func (w *writer) docType() {
	quote, depth := byte(0), 0
	end := len(w.src)
loop:
	for i, c := range w.src {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '[':
			depth++
		case c == ']':
			depth--
		case c == '>' && depth <= 0:
			end = i + 1
			break loop
		}
	}
	whole := w.src[:end]
	w.src = w.src[end:]
	i := bytes.IndexByte(whole, '[')
	if i < 0 {
		w.out = append(w.out, whole...)
		return
	}
	w.out = append(w.out, whole[:i]...)
	w.newlines(whole[i:])
	w.out = append(w.out, '>')
}

// name is how far the name of an element goes.
func name(b []byte) int {
	for i, c := range b {
		switch c {
		case ' ', '\t', '\n', '\r', '\f', '/', '>', '<', '"', '\'', '=':
			return i
		}
	}
	return len(b)
}

// local is a name without a prefix that stands for HTML's namespace.
func (w *writer) local(b []byte) []byte {
	prefix, rest, ok := bytes.Cut(b, []byte{':'})
	if !ok {
		return b
	}
	for _, p := range w.prefixes {
		if bytes.Equal(p, prefix) {
			return rest
		}
	}
	return b
}

func (w *writer) endTag() {
	n := 2 + name(w.src[2:])
	local := w.local(w.src[2:n])
	end := bytes.IndexByte(w.src, '>')
	if end < 0 {
		end = len(w.src) - 1
	}
	tail := w.src[min(n, end+1) : end+1]
	w.src = w.src[end+1:]
	if w.raw != nil && !bytes.Equal(local, w.raw) {
		w.newlines(tail)
		return // of an element inside a script
	}
	w.raw = nil
	if void[string(local)] { // its start tag has done
		w.newlines(tail)
		return
	}
	w.out = append(append(w.out, "</"...), local...)
	w.out = append(w.out, tail...)
}

func (w *writer) startTag() {
	n := 1 + name(w.src[1:])
	if n == 1 { // no tag
		w.text(w.src[:1])
		w.src = w.src[1:]
		return
	}
	end, closed := n, false
	quote := byte(0)
	for ; end < len(w.src); end++ {
		c := w.src[end]
		if quote != 0 {
			if c == quote {
				quote = 0
			}
			continue
		}
		if c == '"' || c == '\'' {
			quote = c
		}
		if c == '>' {
			break
		}
	}
	if end == len(w.src) { // it has no end, and neither has it in HTML
		w.out = append(w.out, w.src...)
		w.src = nil
		return
	}
	closed = w.src[end-1] == '/'
	attrs := w.src[n:end]
	if closed && end > n {
		attrs = w.src[n : end-1]
	}
	w.declared(attrs)
	local := w.local(w.src[1:n])
	w.src = w.src[end+1:]
	if w.raw != nil { // an element inside a script, which HTML does not have
		w.newlines(attrs)
		return
	}
	w.out = append(append(append(w.out, '<'), local...), attrs...)
	w.out = append(w.out, '>')
	switch {
	case void[string(local)]:
	case closed:
		w.out = append(append(append(w.out, "</"...), local...), '>')
	case string(local) == "script" || string(local) == "style":
		w.raw = bytes.Clone(local)
	}
}

// maxPrefixes is how many prefixes of one page are looked up.
const maxPrefixes = 8

// declared notes the prefixes that attributes declare for HTML's namespace.
func (w *writer) declared(attrs []byte) {
	for {
		i := bytes.Index(attrs, []byte("xmlns:"))
		if i < 0 || len(w.prefixes) == maxPrefixes {
			return
		}
		attrs = attrs[i+len("xmlns:"):]
		prefix := attrs[:name(attrs)]
		value := bytes.TrimLeft(attrs[len(prefix):], " \t\r\n=")
		if len(value) > len(namespace)+1 && bytes.HasPrefix(value[1:], []byte(namespace)) && value[len(namespace)+1] == value[0] {
			w.prefixes = append(w.prefixes, bytes.Clone(prefix))
		}
	}
}

// void are the elements that HTML knows to be empty.
var void = map[string]bool{
	"area": true, "base": true, "br": true, "col": true, "embed": true, "hr": true, "img": true, "input": true, "link": true,
	"meta": true, "param": true, "source": true, "track": true, "wbr": true, "basefont": true, "bgsound": true, "frame": true, "keygen": true,
}
