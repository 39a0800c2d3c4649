package pages

import (
	"bytes"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// nextAttr cuts the next attribute off the inside of a tag. The value is as it is written, without
// its quotes; name is nil at the end. The scanner has seen that every quote closes.
func nextAttr(attrs []byte) (name, val, rest []byte) {
	i := 0
	for i < len(attrs) && (isBlank(attrs[i]) || attrs[i] == '/') {
		i++
	}
	if i == len(attrs) {
		return nil, nil, nil
	}
	from := i
	for i++; i < len(attrs) && attrs[i] != '=' && attrs[i] != '/' && !isBlank(attrs[i]); i++ {
	}
	name = attrs[from:i]
	for i < len(attrs) && isBlank(attrs[i]) {
		i++
	}
	if i == len(attrs) || attrs[i] != '=' {
		return name, nil, attrs[i:]
	}
	for i++; i < len(attrs) && isBlank(attrs[i]); i++ {
	}
	if i == len(attrs) {
		return name, nil, nil
	}
	if q := attrs[i]; q == '"' || q == '\'' {
		n := bytes.IndexByte(attrs[i+1:], q)
		if n < 0 {
			return name, nil, nil
		}
		return name, attrs[i+1 : i+1+n], attrs[i+n+2:]
	}
	from = i
	for i < len(attrs) && !isBlank(attrs[i]) {
		i++
	}
	return name, attrs[from:i], attrs[i:]
}

// is compares ignoring the case of ASCII letters; lower is in lower case.
func is(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// hasWord reports whether a value that is a list of words, such as rel, has one of them.
func hasWord(list []byte, words ...string) bool {
	for word := range bytes.FieldsSeq(list) {
		for _, w := range words {
			if is(word, w) {
				return true
			}
		}
	}
	return false
}

// appendAttr appends an attribute's value with its character references resolved. Other than in
// text, &name= is none, and neither is a name that only begins like one: ?a=1&copy=2 is how
// queries are written.
func appendAttr(dst, raw []byte) []byte {
	for {
		n := bytes.IndexByte(raw, '&')
		if n < 0 {
			return append(dst, raw...)
		}
		dst, raw = append(dst, raw[:n]...), raw[n:]
		if bytes.HasPrefix(raw, []byte("&amp;")) {
			dst, raw = append(dst, '&'), raw[5:]
			continue
		}
		end := 1
		for end < len(raw) && end < longestReference && (isAlnum(raw[end]) || raw[end] == '#' && end == 1) {
			end++
		}
		if end < len(raw) && raw[end] == ';' {
			end++
		}
		if end > 1 && (end == len(raw) || raw[end] != '=') {
			if s := html.UnescapeString(string(raw[:end])); utf8.RuneCountInString(s) == 1 {
				dst, raw = append(dst, s...), raw[end:]
				continue
			}
		}
		dst, raw = append(dst, '&'), raw[1:]
	}
}

func isAlnum(c byte) bool { return isLetter(c) || '0' <= c && c <= '9' }
