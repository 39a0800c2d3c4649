package lenientjson

import (
	"bytes"
	"fmt"
)

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// space passes over white space, which it copies, and comments.
func (r *Reader) space() {
	for {
		n := r.pos
		for n < len(r.buf) && isSpace(r.buf[n]) {
			n++
		}
		r.out = append(r.out, r.buf[r.pos:n]...)
		if r.pos = n; n == len(r.buf) {
			if !r.has(1) {
				return
			}
			continue
		}
		switch c := r.buf[n]; c {
		case '/', '#':
			if !r.comment(c, r.state != wantDocument) {
				return
			}
		case '<':
			if r.state == wantDocument || !r.markup() {
				return
			}
		case '\v', '\f', 0xc2, 0xe2, 0xe3, 0xef:
			n := r.oddSpace()
			if n == 0 {
				return
			}
			r.forgiveOnce(onceSpace, "a space that JSON does not know")
			r.pos += n
		default:
			return
		}
	}
}

// oddSpaces are the spaces of Unicode that authors copy from texts, and the byte order mark.
var oddSpaces = [][]byte{
	[]byte("\v"), []byte("\f"), []byte("\u00a0"), []byte("\u2028"), []byte("\u2029"), []byte("\u200b"), []byte("\u2003"), []byte("\u2009"), []byte("\u202f"),
	[]byte("\u3000"), []byte("\ufeff"),
}

func (s *source) oddSpace() int {
	s.has(3)
	for _, space := range oddSpaces {
		if bytes.HasPrefix(s.buf[s.pos:], space) {
			return len(space)
		}
	}
	return 0
}

// comment passes over a comment of JavaScript, or one that begins with #. It reports whether there
// was one. inside: it is in a document.
func (s *source) comment(c byte, inside bool) bool {
	begin, end, mark := s.at(), 0, false
	switch {
	case c == '#' && inside:
		end = s.lineEnd(1)
	case c == '#' || !s.has(2):
	case s.buf[s.pos+1] == '/':
		// A script for XHTML has CDATA in such a comment. JSON may follow it in the same line.
		n := 2
		for s.has(n+1) && n < maxWord && (s.buf[s.pos+n] == ' ' || s.buf[s.pos+n] == '\t') {
			n++
		}
		if s.has(n+len(cdata)) && bytes.HasPrefix(s.buf[s.pos+n:], cdata) {
			end, mark = n+len(cdata), true
		} else {
			end = s.lineEnd(2)
		}
	case s.buf[s.pos+1] == '*':
		end = s.until("*/", 2)
	}
	if end <= 0 {
		return false
	}
	what := "a comment"
	if mark {
		what = "a CDATA mark"
	}
	s.forgive(begin, what)
	s.pos += end
	return true
}

// markup passes over a comment of HTML.
func (s *source) markup() bool {
	if !s.has(4) || !bytes.HasPrefix(s.buf[s.pos:], []byte("<!--")) {
		return false
	}
	n := s.until("-->", 4)
	if n < 0 {
		return false
	}
	s.forgive(s.at(), "a comment")
	s.pos += n
	return true
}

// found describes a byte for a Problem.
func found(c byte) string {
	switch {
	case c > ' ' && c < 0x7f:
		return fmt.Sprintf("%q", string(rune(c)))
	case c < ' ' || c == 0x7f:
		return fmt.Sprintf("a control character (0x%02x)", c)
	}
	return "text"
}
