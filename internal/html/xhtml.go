package html

import (
	"bytes"
	"slices"
)

// How XHTML becomes HTML. In XHTML any element may close itself (<script/>), text may be in CDATA
// sections, names may have a prefix, scripts are text like any other, and a document type may
// contain declarations. Read as HTML, such a page hides what follows: its words, its links, and its
// robots directives. Only application/xhtml+xml is rewritten, because in text/html the slash has no
// meaning. A page that is not well-formed is rewritten as far as possible.

// TypeXHTML is the media type of XHTML, which is rewritten as HTML.
const TypeXHTML = "application/xhtml+xml"

// namespace is the namespace of the elements of HTML.
const namespace = "http://www.w3.org/1999/xhtml"

// FromXHTML returns a page, which must be in UTF-8, in the syntax of HTML. It returns page itself
// if both are equal. Line breaks stay, so that line numbers stay the same. Comments and processing
// instructions do not, because HTML ends them elsewhere. Output beyond three times the length of
// the page plus 64 KiB is left out. It may be called concurrently.
func FromXHTML(page []byte) []byte {
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

// differs reports, cheaply, whether a page contains anything that HTML reads in another way.
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

// isRaw reports whether HTML reads the content of an element as text, and we do, too.
func isRaw(name string) bool { return name == "script" || name == "style" }

// renamed are elements whose content is text in HTML but not in XHTML, and the elements by which
// they are replaced.
var renamed = map[string]string{"plaintext": "pre", "xmp": "pre", "listing": "pre", "noembed": "div", "noframes": "div"}

// lower returns the name of an element in lower case, or "" if it is longer than all names that
// matter.
func lower(name []byte) string {
	if len(name) > len("plaintext") {
		return ""
	}
	return string(bytes.ToLower(name))
}

// writer rewrites one page.
type writer struct {
	src, out []byte
	limit    int             // of out, roughly
	prefixes [][]byte        // prefixes that mean the namespace
	raw      string          // the open script or style element, "" if none is open
	code     []byte          // its content so far
	typed    bool            // the document type was read
	none     map[string]bool // ends that do not occur in the rest of the page
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

// text writes text between tags. It resolves the character references of scripts, because HTML does
// not do so there.
func (w *writer) text(b []byte) {
	if w.raw == "" {
		w.out = append(w.out, b...)
		return
	}
	if bytes.IndexByte(b, '&') >= 0 {
		b = Unescape(b)
	}
	w.code = append(w.code, b...)
}

// inScript reads a "<" in a script: its end tag, or text.
func (w *writer) inScript() {
	if bytes.HasPrefix(w.src, []byte("</")) && lower(w.local(w.src[2:2+name(w.src[2:])])) == w.raw {
		w.script()
		w.endTag()
		return
	}
	w.code = append(w.code, '<')
	w.src = w.src[1:]
}

// script writes the content of a script. Only its end tag may end it, and nothing in it may make
// HTML look for another end. The replacements mean the same in JSON.
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

// between reads a construct if one begins here, passes its content to write, and reports whether it
// did. A construct without an end extends to the end of the page. In a script it is text instead. A
// processing instruction without an end extends to the first ">", as in HTML.
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

// drop writes only the line breaks of a construct that is left out.
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

// docType writes a document type without the declarations in it. Any other declaration extends to
// the first ">", as in HTML, and so does a document type without an end.
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

// docTypeEnd returns where the ">" of a document type is, -1 if it has none.
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

// name returns the length of the name at the beginning of b.
func name(b []byte) int {
	for i, c := range b {
		switch c {
		case ' ', '\t', '\n', '\r', '\f', '/', '>', '<', '"', '\'', '=':
			return i
		}
	}
	return len(b)
}

// local returns a name without its prefix, if the prefix means the namespace of HTML.
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
	if void[lower(local)] { // its start tag was enough
		w.drop(tail)
		return
	}
	w.out = append(append(w.out, "</"...), inHTML(local)...)
	w.out = append(w.out, tail...)
}

// inHTML returns the name of the element that HTML reads as XHTML reads this one.
func inHTML(name []byte) []byte {
	if other := renamed[lower(name)]; other != "" {
		return []byte(other)
	}
	return name
}

func (w *writer) startTag() {
	n := 1 + name(w.src[1:])
	if n == 1 { // not a tag
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
	if end == len(w.src) { // it has no end in HTML either
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

// maxPrefixes is how many prefixes of a page are stored.
const maxPrefixes = 8

// declared stores the prefixes that attributes declare for the namespace of HTML.
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

// void are the elements that have no content in HTML.
var void = map[string]bool{
	"area": true, "base": true, "br": true, "col": true, "embed": true, "hr": true, "img": true, "input": true, "link": true,
	"meta": true, "param": true, "source": true, "track": true, "wbr": true, "basefont": true, "bgsound": true, "frame": true, "keygen": true,
}
