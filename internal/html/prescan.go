//go:build !wasip1

package html

import (
	"bytes"
	"strings"
)

// The algorithm "prescan a byte stream to determine its encoding" of the HTML standard. It reads
// bytes whose charset is not known yet. It knows comments, tags and attributes, but neither scripts
// nor titles, so it is not Reader. x/net/html/charset has this algorithm too, but does not report
// whether its result was declared or guessed.

// prescanBytes is how many bytes of a page are searched for a charset declaration, as in the HTML
// standard.
const prescanBytes = 1024

// lateBytes is how many bytes are searched if the first search finds nothing and the page is not
// UTF-8. A browser that finds a declaration later reads the page again in that charset.
const lateBytes = 256 << 10

// prescan searches the first bytes of a page for a declaration. It returns the zero Encoding if
// there is none.
func prescan(body []byte) Encoding {
	start := body[:min(len(body), prescanBytes)]
	switch {
	case bytes.HasPrefix(start, []byte("<\x00?\x00x\x00")):
		return lookup("utf-16le", body)
	case bytes.HasPrefix(start, []byte("\x00<\x00?\x00x")):
		return lookup("utf-16be", body)
	}
	if containsFold(start, "charset") {
		p := prescanner{b: start}
		if e := p.find(body, false); e.Name != "" {
			return e
		}
	}
	return declared(xmlEncoding(start), body)
}

// late searches for a declaration further on in a page, outside of scripts and other raw text.
func late(body []byte) Encoding {
	p := prescanner{b: body[:min(len(body), lateBytes)]}
	return p.find(body, true)
}

// declared finds the charset that a page declares. A page that can be read as ASCII is not in
// UTF-16.
func declared(label string, body []byte) Encoding {
	if label == "" {
		return Encoding{}
	}
	e := lookup(label, body)
	switch {
	case strings.HasPrefix(e.Name, "utf-16"):
		return Encoding{Name: "utf-8"}
	case e.Name == "x-user-defined":
		return lookup("windows-1252", body)
	}
	return e
}

// xmlEncoding returns the encoding in the XML declaration at the beginning of a page, "" if there
// is none.
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

// find returns the charset of the first meta element that declares a known one. skipRaw ignores
// elements within scripts and other raw text.
func (p *prescanner) find(body []byte, skipRaw bool) Encoding {
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
				return Encoding{}
			}
			p.i += 2 + end + 3
		case len(rest) > 5 && Is(rest[1:5], "meta") && (IsSpace(rest[5]) || rest[5] == '/'):
			p.i += 5
			if e := declared(p.meta(body), body); e.Name != "" {
				return e
			}
		case len(rest) > 1 && IsLetter(rest[1]), len(rest) > 2 && rest[1] == '/' && IsLetter(rest[2]):
			n := 1
			for n < len(rest) && !IsSpace(rest[n]) && rest[n] != '>' {
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
				return Encoding{}
			}
			p.i += end + 1
		default:
			p.i++
		}
	}
	return Encoding{}
}

// skip moves to the end tag of an element that has begun, if its content is raw text.
func (p *prescanner) skip(name []byte) {
	for _, raw := range [...]string{"script", "style", "title", "textarea", "noscript", "iframe", "xmp", "noembed", "noframes"} {
		if !Is(name, raw) {
			continue
		}
		for p.i < len(p.b) {
			end := bytes.Index(p.b[p.i:], []byte("</"))
			if end < 0 {
				p.i = len(p.b)
				return
			}
			p.i += end
			if rest := p.b[p.i+2:]; len(rest) >= len(raw) && Is(rest[:len(raw)], raw) {
				return
			}
			p.i += 2
		}
	}
}

// meta reads the attributes of a meta element and returns the label that it declares, or "".
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
			if l := labelInContent(value); pragma == unknown && lookup(l, body).Name != "" {
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

// attribute reads the next attribute of a tag, in lower case. name is "" if there is none.
func (p *prescanner) attribute() (name, value string) {
	for p.i < len(p.b) && (IsSpace(p.b[p.i]) || p.b[p.i] == '/') {
		p.i++
	}
	if p.i >= len(p.b) || p.b[p.i] == '>' {
		return "", ""
	}
	from := p.i
	p.i++ // a name may begin with "="
	for p.i < len(p.b) && p.b[p.i] != '=' && p.b[p.i] != '/' && p.b[p.i] != '>' && !IsSpace(p.b[p.i]) {
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
	for p.i < len(p.b) && p.b[p.i] != '>' && !IsSpace(p.b[p.i]) {
		p.i++
	}
	if p.i >= len(p.b) {
		return "", ""
	}
	return name, lowerASCII(p.b[from:p.i])
}

func (p *prescanner) blanks() {
	for p.i < len(p.b) && IsSpace(p.b[p.i]) {
		p.i++
	}
}

// labelInContent is the algorithm "extracting a character encoding from a meta element" of the HTML
// standard. s is in lower case.
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
