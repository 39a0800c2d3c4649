package html

import (
	"bytes"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// MaxReference is longer than the name of any character reference. Numbers may be longer, and mean
// nothing then.
const MaxReference = 40

// Unescape resolves the character references of text. It returns text itself if there are none.
func Unescape(text []byte) []byte {
	if bytes.IndexByte(text, '&') < 0 {
		return text
	}
	return []byte(html.UnescapeString(string(text)))
}

// Reference resolves the character reference at the beginning of text, if it is a common one: one
// of five names, or a decimal number of a character that stands for itself. n is its length, 0 for
// any other reference: see LongReference.
func Reference(text []byte) (r rune, n int) {
	switch {
	case len(text) >= 4 && text[2] == 't' && text[3] == ';' && text[1] == 'l':
		return '<', 4
	case len(text) >= 4 && text[2] == 't' && text[3] == ';' && text[1] == 'g':
		return '>', 4
	case len(text) >= 5 && string(text[:5]) == "&amp;":
		return '&', 5
	case len(text) >= 6 && string(text[:6]) == "&quot;":
		return '"', 6
	case len(text) >= 6 && string(text[:6]) == "&nbsp;":
		return '\u00A0', 6
	case len(text) >= 2 && (text[1] == ' ' || text[1] == '\n'):
		return '&', 1
	case len(text) < 5 || text[1] != '#':
		return 0, 0
	}
	for i := 2; i < len(text) && i < 8; i++ {
		c := text[i]
		if c == ';' && i > 2 && (r > ' ' && r < 0x7F || r >= 0xA0 && utf8.ValidRune(r)) {
			return r, i + 1
		}
		if !IsDigit(c) {
			break
		}
		r = 10*r + rune(c-'0')
	}
	return 0, 0
}

// LongReference resolves any character reference at the beginning of text. s stands for the first n
// bytes of text: up to a semicolon, or all of it, since a reference may have no semicolon.
func LongReference(text []byte) (s string, n int) {
	n = len(text)
	for i := 1; i < len(text) && i < MaxReference && text[i] != '&'; i++ {
		if text[i] == ';' {
			n = i + 1
			break
		}
	}
	return html.UnescapeString(string(text[:n])), n
}

// Value returns the value of an attribute with its character references resolved, and its line ends
// as "\n". It returns raw itself if nothing changes.
func Value(raw []byte) []byte {
	for _, c := range raw {
		if c == '&' || c == '\r' || c == 0 {
			return AppendValue(nil, raw)
		}
	}
	return raw
}

// AppendValue appends the value of an attribute as Value has it.
func AppendValue(dst, raw []byte) []byte {
	for {
		n := bytes.IndexByte(raw, '&')
		if n < 0 {
			return appendLines(dst, raw)
		}
		dst, raw = appendLines(dst, raw[:n]), raw[n:]
		if bytes.HasPrefix(raw, []byte("&amp;")) {
			dst, raw = append(dst, '&'), raw[len("&amp;"):]
			continue
		}
		s, size := valueReference(raw)
		dst, raw = append(dst, s...), raw[size:]
	}
}

// appendLines appends a part of a value without references. It is not cut between "\r" and "\n".
func appendLines(dst, raw []byte) []byte {
	if bytes.IndexByte(raw, '\r') < 0 && bytes.IndexByte(raw, 0) < 0 {
		return append(dst, raw...)
	}
	for i, c := range raw {
		switch {
		case c == 0:
			dst = utf8.AppendRune(dst, utf8.RuneError)
		case c == '\r' && i+1 < len(raw) && raw[i+1] == '\n':
		case c == '\r':
			dst = append(dst, '\n')
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// valueReference resolves the "&" at the beginning of a part of an attribute's value. In a value,
// unlike in text, &name= is no reference, and neither is a name that only begins like one, because
// queries are written so: ?a=1&copy=2. s stands for the first n bytes.
func valueReference(raw []byte) (s string, n int) {
	end := 1
	if end < len(raw) && raw[end] == '#' {
		digit := IsDigit
		if end++; end < len(raw) && raw[end]|0x20 == 'x' {
			digit = isHex
			end++
		}
		from := end
		for end < len(raw) && digit(raw[end]) {
			end++
		}
		if end == from {
			return "&", 1
		}
		if end < len(raw) && raw[end] == ';' {
			end++
		}
		return html.UnescapeString(string(raw[:end])), end
	}
	for end < len(raw) && IsAlnum(raw[end]) {
		end++
	}
	switch {
	case end == 1, end > MaxReference:
		return "&", 1
	case end < len(raw) && raw[end] == ';':
		end++
	case end < len(raw) && raw[end] == '=':
		return "&", 1
	}
	// If only the beginning of the name is a reference, then the end of the name is left in s.
	s = html.UnescapeString(string(raw[:end]))
	if utf8.RuneCountInString(s) > 1 && s[len(s)-1] == raw[end-1] {
		return "&", 1
	}
	return s, end
}

func isHex(c byte) bool { return IsDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }
