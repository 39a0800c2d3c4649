package htmlscan

import (
	"bytes"
	"strings"
)

// The HTML standard's "prescan a byte stream to determine its encoding". It reads bytes, and knows
// comments, tags and attributes, but not scripts or titles. x/net/html/charset has one too, but
// does not tell what it found from what it guessed.

// prescanBytes is how much of a page is searched for a charset declaration, as in
// the HTML standard.
const prescanBytes = 1024

// lateBytes is how much of a page is searched when the first search finds nothing and the page is
// not UTF-8. A browser that meets a declaration later reads the page again in that charset.
const lateBytes = 256 << 10

// prescan looks for a declaration in the first bytes of a page; the zero encodingOf says
// that there is none.
func prescan(body []byte) encodingOf {
	start := body[:min(len(body), prescanBytes)]
	switch {
	case bytes.HasPrefix(start, []byte("<\x00?\x00x\x00")):
		return lookup("utf-16le", body)
	case bytes.HasPrefix(start, []byte("\x00<\x00?\x00x")):
		return lookup("utf-16be", body)
	}
	if containsFold(start, "charset") {
		p := prescanner{b: start}
		if e := p.find(body, false); e.name != "" {
			return e
		}
	}
	return declared(xmlEncoding(start), body)
}

// late looks for a declaration further on in a page, outside its scripts and the like.
func late(body []byte) encodingOf {
	p := prescanner{b: body[:min(len(body), lateBytes)]}
	return p.find(body, true)
}

// declared finds the charset that a page says it is in. What could be read as ASCII is not UTF-16.
func declared(label string, body []byte) encodingOf {
	if label == "" {
		return encodingOf{}
	}
	e := lookup(label, body)
	switch {
	case strings.HasPrefix(e.name, "utf-16"):
		return encodingOf{name: "utf-8"}
	case e.name == "x-user-defined":
		return lookup("windows-1252", body)
	}
	return e
}

// xmlEncoding is the encoding of the XML declaration a page begins with, if it has one.
func xmlEncoding(b []byte) string {
	if !bytes.HasPrefix(b, []byte("<?xml")) {
		return ""
	}
	end := bytes.IndexByte(b, '>')
	if end < 0 {
		return ""
	}
	_, rest, ok := bytes.Cut(b[:end], []byte("encoding"))
	if !ok {
		return ""
	}
	blank := func(r rune) bool { return r <= ' ' }
	rest, ok = bytes.CutPrefix(bytes.TrimLeftFunc(rest, blank), []byte("="))
	if rest = bytes.TrimLeftFunc(rest, blank); !ok || len(rest) == 0 || rest[0] != '"' && rest[0] != '\'' {
		return ""
	}
	label, _, ok := bytes.Cut(rest[1:], rest[:1])
	if !ok || bytes.ContainsFunc(label, blank) {
		return ""
	}
	return string(label)
}

// prescanner walks through b.
type prescanner struct {
	b []byte
	i int
}

// find returns the charset of the first meta element that declares one we know. With skipRaw,
// elements inside scripts and other raw text do not count.
func (p *prescanner) find(body []byte, skipRaw bool) encodingOf {
	for p.i < len(p.b) {
		next := bytes.IndexByte(p.b[p.i:], '<')
		if next < 0 {
			break
		}
		p.i += next
		rest := p.b[p.i:]
		switch {
		case bytes.HasPrefix(rest, []byte("<!--")):
			end := bytes.Index(rest[2:], []byte("-->"))
			if end < 0 {
				return encodingOf{}
			}
			p.i += 2 + end + 3
		case len(rest) > 5 && equalFold(rest[1:5], "meta") && (isSpace(rest[5]) || rest[5] == '/'):
			p.i += 5
			if e := declared(p.meta(body), body); e.name != "" {
				return e
			}
		case len(rest) > 1 && isLetter(rest[1]), len(rest) > 2 && rest[1] == '/' && isLetter(rest[2]):
			n := 1
			for n < len(rest) && !isSpace(rest[n]) && rest[n] != '>' {
				n++
			}
			p.i += n
			for name, _ := p.attribute(); name != ""; name, _ = p.attribute() {
			}
			if skipRaw {
				p.skip(rest[1:n])
			}
		case len(rest) > 1 && (rest[1] == '!' || rest[1] == '/' || rest[1] == '?'):
			end := bytes.IndexByte(rest, '>')
			if end < 0 {
				return encodingOf{}
			}
			p.i += end + 1
		default:
			p.i++
		}
	}
	return encodingOf{}
}

// skip goes to the end tag of an element that has begun, if its content is raw text.
func (p *prescanner) skip(name []byte) {
	for _, raw := range [...]string{"script", "style", "title", "textarea", "noscript", "iframe", "xmp", "noembed", "noframes"} {
		if !equalFold(name, raw) {
			continue
		}
		for p.i < len(p.b) {
			end := bytes.Index(p.b[p.i:], []byte("</"))
			if end < 0 {
				p.i = len(p.b)
				return
			}
			p.i += end
			if rest := p.b[p.i+2:]; len(rest) >= len(raw) && equalFold(rest[:len(raw)], raw) {
				return
			}
			p.i += 2
		}
	}
}

// meta reads the attributes of a meta element and returns the label it declares, or nothing.
func (p *prescanner) meta(body []byte) (label string) {
	const (
		unknown = iota
		needed
		notNeeded
	)
	pragma, gotPragma := unknown, false
	seen := make(map[string]bool)
	for name, value := p.attribute(); name != ""; name, value = p.attribute() {
		if seen[name] {
			continue
		}
		seen[name] = true
		switch name {
		case "http-equiv":
			gotPragma = value == "content-type"
		case "content":
			if l := labelInContent(value); pragma == unknown && lookup(l, body).name != "" {
				label, pragma = l, needed
			}
		case "charset":
			label, pragma = value, notNeeded
		}
	}
	if pragma == unknown || pragma == needed && !gotPragma {
		return ""
	}
	return label
}

// attribute reads the next attribute of a tag, in lower case; an empty name says
// that there is none.
func (p *prescanner) attribute() (name, value string) {
	for p.i < len(p.b) && (isSpace(p.b[p.i]) || p.b[p.i] == '/') {
		p.i++
	}
	if p.i >= len(p.b) || p.b[p.i] == '>' {
		return "", ""
	}
	from := p.i
	p.i++ // an "=" may begin a name
	for p.i < len(p.b) && p.b[p.i] != '=' && p.b[p.i] != '/' && p.b[p.i] != '>' && !isSpace(p.b[p.i]) {
		p.i++
	}
	name = lowerASCII(p.b[from:p.i])
	p.blanks()
	if p.i >= len(p.b) || p.b[p.i] != '=' {
		return name, ""
	}
	p.i++
	p.blanks()
	if p.i >= len(p.b) {
		return "", ""
	}
	if q := p.b[p.i]; q == '"' || q == '\'' {
		end := bytes.IndexByte(p.b[p.i+1:], q)
		if end < 0 { // cut off: its value is not known
			p.i = len(p.b)
			return "", ""
		}
		value = lowerASCII(p.b[p.i+1:][:end])
		p.i += end + 2
		return name, value
	}
	from = p.i
	for p.i < len(p.b) && p.b[p.i] != '>' && !isSpace(p.b[p.i]) {
		p.i++
	}
	if p.i >= len(p.b) {
		return "", ""
	}
	return name, lowerASCII(p.b[from:p.i])
}

func (p *prescanner) blanks() {
	for p.i < len(p.b) && isSpace(p.b[p.i]) {
		p.i++
	}
}

// labelInContent is the HTML standard's "extracting a character encoding from a meta
// element"; s is lower case.
func labelInContent(s string) string {
	for {
		i := strings.Index(s, "charset")
		if i < 0 {
			return ""
		}
		s = strings.TrimLeft(s[i+len("charset"):], "\t\n\f\r ")
		if !strings.HasPrefix(s, "=") {
			continue
		}
		s = strings.TrimLeft(s[1:], "\t\n\f\r ")
		if s == "" {
			return ""
		}
		if q := s[0]; q == '"' || q == '\'' {
			label, _, closed := strings.Cut(s[1:], s[:1])
			if !closed {
				return ""
			}
			return label
		}
		if end := strings.IndexAny(s, "; \t\n\f\r"); end >= 0 {
			return s[:end]
		}
		return s
	}
}

func lowerASCII(b []byte) string {
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			out := []byte(string(b))
			for ; i < len(out); i++ {
				if 'A' <= out[i] && out[i] <= 'Z' {
					out[i] |= 0x20
				}
			}
			return string(out)
		}
	}
	return string(b)
}
