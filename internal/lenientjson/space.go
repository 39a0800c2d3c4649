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
			if !r.comment(c) {
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

func (r *Reader) oddSpace() int {
	r.has(3)
	for _, s := range oddSpaces {
		if bytes.HasPrefix(r.buf[r.pos:], s) {
			return len(s)
		}
	}
	return 0
}

// comment passes over a comment of JavaScript, or one that begins with #. It reports whether there
// was one.
func (r *Reader) comment(c byte) bool {
	begin, end, mark := r.at(), 0, false
	switch {
	case c == '#' && r.state != wantDocument:
		end = r.lineEnd(1)
	case c == '#' || !r.has(2):
	case r.buf[r.pos+1] == '/':
		// A script for XHTML has CDATA in such a comment. JSON may follow it in the same line.
		n := 2
		for r.has(n+1) && n < maxWord && (r.buf[r.pos+n] == ' ' || r.buf[r.pos+n] == '\t') {
			n++
		}
		if r.has(n+len(cdata)) && bytes.HasPrefix(r.buf[r.pos+n:], cdata) {
			end, mark = n+len(cdata), true
		} else {
			end = r.lineEnd(2)
		}
	case r.buf[r.pos+1] == '*':
		end = r.until("*/", 2)
	}
	if end <= 0 {
		return false
	}
	what := "a comment"
	if mark {
		what = "a CDATA mark"
	}
	r.forgive(begin, what)
	r.pos += end
	return true
}

// markup passes over a comment of HTML.
func (r *Reader) markup() bool {
	if !r.has(4) || !bytes.HasPrefix(r.buf[r.pos:], []byte("<!--")) {
		return false
	}
	n := r.until("-->", 4)
	if n < 0 {
		return false
	}
	r.forgive(r.at(), "a comment")
	r.pos += n
	return true
}

// lineEnd returns how far the end of the line is, or the end of the input, from n on. It returns -1
// if it is more than maxAhead bytes away.
func (r *Reader) lineEnd(n int) int {
	n = max(n, int(r.noEnd[0]-r.at()))
	for ; n < maxAhead; n++ {
		if !r.has(n+1) || r.buf[r.pos+n] == '\n' || r.buf[r.pos+n] == '\r' {
			return n
		}
	}
	r.noEnd[0] = r.at() + maxAhead
	return -1
}

// until returns how far the end of a mark is, from n on. It returns -1 if there is none in maxAhead
// bytes. Each byte is looked at once, however often this is asked.
func (r *Reader) until(mark string, n int) int {
	none := &r.noEnd[1]
	if mark[0] == '-' {
		none = &r.noEnd[2]
	}
	n = max(n, int(*none-r.at()))
	for ; n < maxAhead && r.has(n+len(mark)); n++ {
		if string(r.buf[r.pos+n:r.pos+n+len(mark)]) == mark {
			return n + len(mark)
		}
	}
	*none = r.at() + int64(n)
	return -1
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

// once are problems that are noted once in an input, because they are a habit of its author.
type once uint16

const (
	onceSpace once = 1 << iota
	onceQuotes
	onceNames
	onceMany
	onceZero
	oncePython
)

func (r *Reader) forgiveOnce(o once, what string) {
	if r.habits&o == 0 {
		r.habits |= o
		r.forgive(r.at(), what)
	}
}
