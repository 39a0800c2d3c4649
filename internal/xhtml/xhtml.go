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
	"slices"
)

// MediaType is the type of XHTML.
const MediaType = "application/xhtml+xml"

// namespace is what a prefix must stand for to be one of HTML's names.
const namespace = "http://www.w3.org/1999/xhtml"

// HTML returns the page in HTML's syntax: page itself where both are the same. It is in UTF-8, as
// page must be. Line breaks stay, so that lines have the same numbers; comments and processing
// instructions do not, because HTML ends them elsewhere. What would be more than three times as
// long as the page, and 64 KiB, is left out. It may be called from many goroutines.
func HTML(page []byte) []byte {
	if !differs(page) {
		return page
	}
	w := writer{src: page, out: make([]byte, 0, len(page)+len(page)/8), limit: 3*len(page) + 64<<10}
	w.run()
	if len(w.out) > w.limit {
		w.out = w.out[:w.limit]
	}
	return w.out
}

// differs reports whether a page has anything that HTML reads in another way, cheaply.
func differs(page []byte) bool {
	if bytes.Contains(page, []byte("/>")) || bytes.Contains(page, []byte("xmlns:")) {
		return true
	}
	for {
		i := bytes.IndexByte(page, '<')
		if i < 0 || i == len(page)-1 {
			return false
		}
		page = page[i+1:]
		switch page[0] | 0x20 {
		case '!' | 0x20, '?' | 0x20:
			return true
		case 's', 'p', 'x', 'n', 'l':
			n := lower(page[:name(page)])
			if isRaw(n) || renamed[n] != "" {
				return true
			}
		}
	}
}

// isRaw reports whether HTML reads what is in an element as text, and so do we.
func isRaw(name string) bool { return name == "script" || name == "style" }

// renamed are the elements whose inside HTML reads as text although XHTML does not, and what they
// are called instead.
var renamed = map[string]string{"plaintext": "pre", "xmp": "pre", "listing": "pre", "noembed": "div", "noframes": "div"}

// lower is the name of an element in lower case; "" for one that is longer than those that count.
func lower(name []byte) string {
	if len(name) > len("plaintext") {
		return ""
	}
	return string(bytes.ToLower(name))
}

// writer rewrites one page.
type writer struct {
	src, out []byte
	limit    int             // of out, about
	prefixes [][]byte        // that stand for the namespace
	raw      string          // the script or style element that is open; "": none is
	code     []byte          // what is in it so far
	typed    bool            // the document type was met
	none     map[string]bool // ends that do not occur any more
}

func (w *writer) run() {
	for len(w.src) > 0 && len(w.out) <= w.limit {
		i := bytes.IndexByte(w.src, '<')
		if i < 0 {
			i = len(w.src)
		}
		w.text(w.src[:i])
		if w.src = w.src[i:]; len(w.src) == 0 {
			break
		}
		switch {
		case w.between("<!--", "-->", w.drop):
		case w.between("<![CDATA[", "]]>", w.cdata):
		case w.raw != "":
			w.inScript()
		case w.between("<?", "?>", w.drop):
		case bytes.HasPrefix(w.src, []byte("<!")):
			w.docType()
		case bytes.HasPrefix(w.src, []byte("</")):
			w.endTag()
		default:
			w.startTag()
		}
	}
	w.script()
}

// text writes text between tags. That of a script is decoded, because HTML does not do so there.
func (w *writer) text(b []byte) {
	if w.raw == "" {
		w.out = append(w.out, b...)
		return
	}
	if bytes.IndexByte(b, '&') >= 0 {
		b = []byte(html.UnescapeString(string(b)))
	}
	w.code = append(w.code, b...)
}

// inScript reads what begins with < in a script: its end tag, or text.
func (w *writer) inScript() {
	if bytes.HasPrefix(w.src, []byte("</")) && lower(w.local(w.src[2:2+name(w.src[2:])])) == w.raw {
		w.script()
		w.endTag()
		return
	}
	w.code = append(w.code, '<')
	w.src = w.src[1:]
}

// script writes what was in a script. Nothing in it may end it but its end tag, and nothing may
// have HTML look for another one. What is written instead means the same in JSON.
func (w *writer) script() {
	b := w.code
	for {
		i := bytes.IndexByte(b, '<')
		if i < 0 {
			break
		}
		w.out = append(w.out, b[:i]...)
		switch b = b[i+1:]; {
		case bytes.HasPrefix(b, []byte("/")):
			w.out = append(w.out, `<\`...)
		case bytes.HasPrefix(b, []byte("!--")) || len(b) >= 6 && bytes.EqualFold(b[:6], []byte("script")):
			w.out = append(w.out, `\u003c`...)
		default:
			w.out = append(w.out, '<')
		}
	}
	w.out = append(w.out, b...)
	w.code = w.code[:0]
}

// between passes the inside of a construct to write, if one begins here, and reports whether it
// did. A construct without an end extends to the end of the page. In a script it is text instead,
// and a processing instruction ends at the first >, as in HTML.
func (w *writer) between(begin, end string, write func(inner []byte)) bool {
	if !bytes.HasPrefix(w.src, []byte(begin)) {
		return false
	}
	inner, i := w.src[len(begin):], -1
	if !w.none[end] {
		i = bytes.Index(inner, []byte(end))
	}
	if i < 0 {
		if w.none == nil {
			w.none = make(map[string]bool)
		}
		w.none[end] = true
		if w.raw != "" {
			return false
		}
		if end = ""; begin == "<?" {
			if i = bytes.IndexByte(inner, '>'); i >= 0 {
				end = ">"
			}
		}
		if i < 0 {
			i = len(inner)
		}
	}
	w.src = inner[i+len(end):]
	write(inner[:i])
	return true
}

// drop writes the line breaks of what is left out.
func (w *writer) drop(inner []byte) {
	for range bytes.Count(inner, []byte{'\n'}) {
		if w.raw != "" {
			w.code = append(w.code, '\n')
		} else {
			w.out = append(w.out, '\n')
		}
	}
}

func (w *writer) cdata(inner []byte) {
	if w.raw != "" {
		w.code = append(w.code, inner...)
		return
	}
	for _, c := range inner {
		switch {
		case len(w.out) > w.limit:
			return
		case c == '<':
			w.out = append(w.out, "&lt;"...)
		case c == '&':
			w.out = append(w.out, "&amp;"...)
		default:
			w.out = append(w.out, c)
		}
	}
}

// docType writes a document type without the declarations that it may have inside. Any other
// declaration, and a document type without an end, goes up to the first >, as in HTML.
func (w *writer) docType() {
	end := -1
	if opening := "<!doctype"; !w.typed && len(w.src) >= len(opening) && bytes.EqualFold(w.src[:len(opening)], []byte(opening)) {
		w.typed = true
		end = docTypeEnd(w.src)
	}
	if end < 0 {
		end = bytes.IndexByte(w.src, '>')
	}
	whole := w.src[:end+1]
	if end < 0 {
		whole = w.src
	}
	w.src = w.src[len(whole):]
	i := bytes.IndexByte(whole, '[')
	if i < 0 {
		w.out = append(w.out, whole...)
		return
	}
	w.out = append(w.out, whole[:i]...)
	w.drop(whole[i:])
	w.out = append(w.out, '>')
}

// docTypeEnd is where the > of a document type is; -1 when it has none.
func docTypeEnd(b []byte) int {
	quote, depth := byte(0), 0
	for i := 0; i < len(b); i++ {
		c := b[i]
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
			return i
		case c == '<' && depth > 0:
			for begin, end := range map[string]string{"<!--": "-->", "<?": "?>"} {
				if !bytes.HasPrefix(b[i:], []byte(begin)) {
					continue
				}
				n := bytes.Index(b[i+len(begin):], []byte(end))
				if n < 0 {
					return -1
				}
				i += len(begin) + n + len(end) - 1
				break
			}
		}
	}
	return -1
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
	w.raw = ""
	if void[lower(local)] { // its start tag has done
		w.drop(tail)
		return
	}
	w.out = append(append(w.out, "</"...), inHTML(local)...)
	w.out = append(w.out, tail...)
}

// inHTML is the name by which HTML reads an element as XHTML does.
func inHTML(name []byte) []byte {
	if other := renamed[lower(name)]; other != "" {
		return []byte(other)
	}
	return name
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
	local := inHTML(w.local(w.src[1:n]))
	w.src = w.src[end+1:]
	w.out = append(append(append(w.out, '<'), local...), attrs...)
	w.out = append(w.out, '>')
	switch known := lower(local); {
	case void[known]:
	case closed:
		w.out = append(append(append(w.out, "</"...), local...), '>')
	case isRaw(known):
		w.raw = known
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
			if !slices.ContainsFunc(w.prefixes, func(p []byte) bool { return bytes.Equal(p, prefix) }) {
				w.prefixes = append(w.prefixes, prefix)
			}
		}
	}
}

// void are the elements that HTML knows to be empty.
var void = map[string]bool{
	"area": true, "base": true, "br": true, "col": true, "embed": true, "hr": true, "img": true, "input": true, "link": true,
	"meta": true, "param": true, "source": true, "track": true, "wbr": true, "basefont": true, "bgsound": true, "frame": true, "keygen": true,
}
