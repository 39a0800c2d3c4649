package htmlscan

import (
	"bytes"

	"golang.org/x/net/html"
)

// appendValue appends an attribute's value with its character references decoded. It handles the
// cases that nearly all links are: no reference, &amp;, and an "&" that begins no reference. For
// anything else it returns false.
func appendValue(dst, raw []byte) ([]byte, bool) {
	for {
		n := bytes.IndexByte(raw, '&')
		if n < 0 {
			n = len(raw)
		}
		part := raw[:n]
		if bytes.IndexByte(part, '\r') >= 0 || bytes.IndexByte(part, 0) >= 0 {
			return dst, false
		}
		dst = append(dst, part...)
		if n == len(raw) {
			return dst, true
		}
		dst = append(dst, '&')
		raw = raw[n+1:]
		if bytes.HasPrefix(raw, []byte("amp;")) {
			raw = raw[len("amp;"):]
			continue
		}
		// In an attribute &name= is no reference, whatever the name: ?a=1&copy=2 is how
		// queries are written.
		j := 0
		for j < len(raw) && (isLetter(raw[j]) || isDigit(raw[j])) {
			j++
		}
		if j == 0 && len(raw) > 0 && raw[0] == '#' || j > 0 && (j == len(raw) || raw[j] != '=') {
			return dst, false
		}
	}
}

// decode replaces the attributes of a tag by their decoded values, for those that
// appendValue leaves alone.
//
// It costs some 5 KiB, for which a page made of such tags is a way to make us spend
// much: see maxDecoded.
func decode(tag []byte, attrs []attr) []attr {
	z := html.NewTokenizer(bytes.NewReader(tag))
	z.Next()
	attrs = attrs[:0]
	_, more := z.TagName()
	for more {
		var a attr
		a.key, a.value, more = z.TagAttr()
		attrs = append(attrs, a)
	}
	return attrs
}

// maxDecoded is how many tags of a page are decoded in full. After that, links that need it are
// left out, and Result.Cut says so; robots tags are decoded as text is, which is the same except
// for references without a semicolon.
const maxDecoded = 8_000

// decodeAsText does the same as decode for robots tags after maxDecoded.
func decodeAsText(attrs []attr) []attr {
	for i := range attrs {
		if needsDecoding(attrs[i].value) {
			attrs[i].value = plainText(attrs[i].value)
		}
	}
	return attrs
}

// needsDecoding reports whether a value is not what it looks like.
func needsDecoding(raw []byte) bool {
	for _, c := range raw {
		if c == '&' || c == '\r' || c == 0 {
			return true
		}
	}
	return false
}
