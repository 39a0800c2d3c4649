//go:build !wasip1

package html

import (
	"bytes"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/transform"
)

// Encoding is the charset of a page.
type Encoding struct {
	Name string // as golang.org/x/net/html/charset knows it
	// nil means UTF-8, or so close to it that decoding changes nothing that we read
	enc         encoding.Encoding
	legacyQuery bool // browsers send queries in the charset of the page
}

// Charset names the charset of a body that is not HTML: by its byte order mark, by the charset
// parameter of its Content-Type, or by its bytes.
func Charset(body []byte, contentType string) string { return Detect(body, contentType, false).Name }

// PageCharset names the charset of an HTML page. A declaration in the page counts as well.
func PageCharset(body []byte, contentType string) string { return Detect(body, contentType, true).Name }

// Detect decides the charset of a body in the order of the HTML standard: byte order mark,
// Content-Type header, declaration in the page. Without these it is UTF-8 if the body is valid
// UTF-8, otherwise the charset of a later declaration, otherwise windows-1252.
func Detect(body []byte, contentType string, isHTML bool) Encoding {
	switch {
	case bytes.HasPrefix(body, []byte("\xEF\xBB\xBF")):
		return Encoding{Name: "utf-8"}
	case bytes.HasPrefix(body, []byte("\xFE\xFF")):
		return lookup("utf-16be", body)
	case bytes.HasPrefix(body, []byte("\xFF\xFE")):
		return lookup("utf-16le", body)
	}
	if label := charsetParam(contentType); label != "" {
		if e := lookup(label, body); e.Name != "" {
			return e
		}
	}
	if isHTML {
		if e := prescan(body); e.Name != "" {
			return e
		}
	}
	if looksUTF8(body) {
		return Encoding{Name: "utf-8"}
	}
	if isHTML {
		if e := late(body); e.Name != "" {
			return e
		}
	}
	return lookup("windows-1252", body)
}

// looksUTF8 reports whether a body is UTF-8. Its last character may be cut.
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

// charsetParam returns the charset parameter of a Content-Type. It reads the usual spelling without
// parsing.
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

// lookup finds a charset by one of its names. It returns the zero Encoding for an unknown name.
func lookup(label string, body []byte) Encoding {
	if strings.EqualFold(label, "utf-8") || strings.EqualFold(label, "utf8") {
		return Encoding{Name: "utf-8"}
	}
	enc, name := charset.Lookup(label)
	if enc == nil || name == "" {
		return Encoding{}
	}
	e := Encoding{Name: name, enc: enc}
	switch name {
	case "utf-8":
		return Encoding{Name: name}
	case "utf-16be", "utf-16le":
	case "iso-2022-jp", "replacement":
		// In a seven-bit charset a body that looks like ASCII may not be ASCII.
		e.legacyQuery = true
	default:
		if isASCII(body) {
			// Nothing needs decoding, and no query needs the charset of the page.
			e.enc = nil
			return e
		}
		e.legacyQuery = true
	}
	return e
}

// Plain reports whether a body in this charset can be read as UTF-8 as it is.
func (e Encoding) Plain() bool { return e.enc == nil }

// AppendUTF8 appends a body that is not Plain in UTF-8.
func (e Encoding) AppendUTF8(dst, body []byte) []byte {
	t := e.enc.NewDecoder()
	for len(body) > 0 {
		if cap(dst)-len(dst) < utf8.UTFMax+len(body) {
			dst = append(make([]byte, 0, 2*cap(dst)+2*len(body)+64), dst...)
		}
		nDst, nSrc, err := t.Transform(dst[len(dst):cap(dst)], body, true)
		dst, body = dst[:len(dst)+nDst], body[nSrc:]
		if err != transform.ErrShortDst {
			break
		}
	}
	return dst
}

// Reference returns an address in a page with its query spelled in the charset of the page. A
// browser would send it so, and old servers understand only this spelling. The path is in UTF-8,
// whatever the page is in.
func (e Encoding) Reference(ref []byte) []byte {
	if !e.legacyQuery {
		return ref
	}
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
			// The escapes of HTMLEscapeUnsupported, such as &#233;, are part of the value.
			out = append(out, '%', digits[c>>4], digits[c&15])
		default:
			out = append(out, c)
		}
	}
	return out
}

// Decode returns a body in UTF-8, without a byte order mark. It returns body itself if that is
// UTF-8 already. A body in an unknown charset is read as UTF-8. Bytes that cannot be decoded become
// U+FFFD.
func Decode(body []byte, name string) []byte {
	if name != "" && !strings.EqualFold(name, "utf-8") {
		if enc, canonical := charset.Lookup(name); enc != nil && canonical != "utf-8" {
			if out, err := enc.NewDecoder().Bytes(body); err == nil {
				body = out
			}
		}
	}
	body = bytes.TrimPrefix(body, []byte("\uFEFF"))
	if utf8.Valid(body) {
		return body
	}
	return bytes.ToValidUTF8(body, []byte("\uFFFD"))
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

// containsFold reports whether b contains an ASCII word in any case. lower is in lower case.
func containsFold(b []byte, lower string) bool {
	for i := 0; i+len(lower) <= len(b); i++ {
		if b[i]|0x20 == lower[0] && Is(b[i:i+len(lower)], lower) {
			return true
		}
	}
	return false
}
