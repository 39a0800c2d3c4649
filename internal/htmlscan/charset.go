package htmlscan

import (
	"bytes"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/transform"
)

// encodingOf is how a page spells its characters.
type encodingOf struct {
	name string
	// nil: UTF-8, or close enough that decoding changes nothing we look at
	enc         encoding.Encoding
	legacyQuery bool // queries are sent in the page's own charset, as browsers do
}

// Charset names the charset of a body that is not HTML, from its byte order mark, the charset
// parameter of its Content-Type, or what its bytes look like.
func Charset(body []byte, contentType string) string { return detect(body, contentType, false).name }

// PageCharset names the charset of an HTML page in the same way as Scan.
func PageCharset(body []byte, contentType string) string { return detect(body, contentType, true).name }

// detect decides a page's charset in the order of the HTML standard: byte order mark, Content-Type
// header, declaration in the page. Without these it is UTF-8 if the body is valid UTF-8, else a
// declaration further on in the page counts, else it is windows-1252.
func detect(body []byte, contentType string, isHTML bool) encodingOf {
	switch {
	case bytes.HasPrefix(body, []byte("\xEF\xBB\xBF")):
		return encodingOf{name: "utf-8"}
	case bytes.HasPrefix(body, []byte("\xFE\xFF")):
		return lookup("utf-16be", body)
	case bytes.HasPrefix(body, []byte("\xFF\xFE")):
		return lookup("utf-16le", body)
	}
	if label := charsetParam(contentType); label != "" {
		if e := lookup(label, body); e.name != "" {
			return e
		}
	}
	if isHTML {
		if e := prescan(body); e.name != "" {
			return e
		}
	}
	if looksUTF8(body) {
		return encodingOf{name: "utf-8"}
	}
	if isHTML {
		if e := late(body); e.name != "" {
			return e
		}
	}
	return lookup("windows-1252", body)
}

// looksUTF8 reports whether a body is UTF-8, but for a last character that may have been cut off
// with the rest of it.
func looksUTF8(body []byte) bool {
	if utf8.Valid(body) {
		return true
	}
	for n := 1; n < utf8.UTFMax && n <= len(body); n++ {
		if tail := body[len(body)-n:]; utf8.RuneStart(tail[0]) {
			whole := body[:len(body)-n]
			// otherwise that character would be the only sign of a charset
			return !utf8.FullRune(tail) && utf8.Valid(whole) && !isASCII(whole)
		}
	}
	return false
}

// charsetParam returns the charset parameter of a Content-Type. The common spelling is
// read without parsing.
func charsetParam(contentType string) string {
	i := strings.IndexByte(contentType, ';')
	if i < 0 {
		return ""
	}
	rest := strings.TrimLeft(contentType[i+1:], " \t")
	if len(rest) > 8 && strings.EqualFold(rest[:8], "charset=") && !strings.ContainsAny(rest[8:], "; \t\"'") {
		return rest[8:]
	}
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		// `text/html; charset=utf-8; foo` is wrong, but its charset is clear.
		_, after, ok := strings.Cut(strings.ToLower(contentType), "charset=")
		if !ok {
			return ""
		}
		label, _, _ := strings.Cut(after, ";")
		return strings.Trim(label, " \t\"'")
	}
	return strings.Trim(params["charset"], " \t'")
}

// lookup finds a charset by one of its names; the zero encodingOf says that nobody knows it.
func lookup(label string, body []byte) encodingOf {
	if strings.EqualFold(label, "utf-8") || strings.EqualFold(label, "utf8") {
		return encodingOf{name: "utf-8"}
	}
	enc, name := charset.Lookup(label)
	if enc == nil || name == "" {
		return encodingOf{}
	}
	e := encodingOf{name: name, enc: enc}
	switch name {
	case "utf-8":
		return encodingOf{name: name}
	case "utf-16be", "utf-16le":
	case "iso-2022-jp", "replacement":
		// seven-bit charsets: a body that looks like ASCII may not be ASCII
		e.legacyQuery = true
	default:
		if isASCII(body) {
			// nothing to decode, and nothing that could need the page's charset in a query
			e.enc = nil
			return e
		}
		e.legacyQuery = true
	}
	return e
}

// utf8 returns the body in UTF-8: body itself if it is UTF-8, else decoded into
// the scanner's buffer.
func (s *Scanner) utf8(body []byte, e encodingOf) []byte {
	if e.enc == nil {
		return body
	}
	t := e.enc.NewDecoder()
	s.text = s.text[:0]
	for len(body) > 0 {
		if cap(s.text)-len(s.text) < utf8.UTFMax+len(body) {
			s.text = append(make([]byte, 0, 2*cap(s.text)+2*len(body)+64), s.text...)
		}
		nDst, nSrc, err := t.Transform(s.text[len(s.text):cap(s.text)], body, true)
		s.text, body = s.text[:len(s.text)+nDst], body[nSrc:]
		if err != transform.ErrShortDst {
			break
		}
	}
	return s.text
}

// queryBytes returns a reference whose query is spelled in the page's charset: that is how a
// browser would ask for it, and the only spelling an old server understands. The path is UTF-8
// whatever the page is.
func (e encodingOf) queryBytes(ref []byte) []byte {
	i := bytes.IndexByte(ref, '?')
	if i < 0 || isASCII(ref[i:]) {
		return ref
	}
	enc := encoding.HTMLEscapeUnsupported(e.enc.NewEncoder())
	query, err := enc.Bytes(ref[i+1:])
	if err != nil {
		return ref
	}
	const digits = "0123456789ABCDEF"
	out := append(make([]byte, 0, len(ref)+3*len(query)), ref[:i+1]...)
	for j := 0; j < len(query); j++ {
		switch c := query[j]; {
		case c >= utf8.RuneSelf, c == 0x1B, c == '#', c == '&' && j+1 < len(query) && query[j+1] == '#':
			// The escapes of HTMLEscapeUnsupported, &#233;, are part of the value.
			out = append(out, '%', digits[c>>4], digits[c&15])
		default:
			out = append(out, c)
		}
	}
	return out
}

func isASCII(b []byte) bool {
	for len(b) >= 8 {
		if (b[0]|b[1]|b[2]|b[3]|b[4]|b[5]|b[6]|b[7])&0x80 != 0 {
			return false
		}
		b = b[8:]
	}
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// containsFold reports whether b contains an ASCII word, whatever its case; lower
// must be lower case.
func containsFold(b []byte, lower string) bool {
	for i := 0; i+len(lower) <= len(b); i++ {
		if b[i]|0x20 == lower[0] && equalFold(b[i:i+len(lower)], lower) {
			return true
		}
	}
	return false
}
