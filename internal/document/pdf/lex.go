package pdf

import (
	"bytes"
	"math"
)

// The objects of a PDF are nil, bool, int, float64, str, name, array, dict, ref and *stream. An
// operator of a content stream is an op.
type (
	str   []byte
	name  string
	array []any
	dict  map[name]any
	ref   struct{ num, gen int }
	op    string
)

type stream struct {
	dict dict
	raw  []byte // as in the file
	key  ref    // the object it belongs to, for decryption
	open bool   // it was decrypted already, or never encrypted
}

// lexer reads objects from bytes. It accepts any input and always advances.
type lexer struct {
	b   []byte
	i   int
	doc *document // resolves the length of streams; nil in content streams
	key ref       // the current object, for decryption of its strings
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == 0
}

func isDelim(c byte) bool {
	switch c {
	case '(', ')', '<', '>', '[', ']', '{', '}', '/', '%':
		return true
	}
	return false
}

// skip skips white space and comments.
func (l *lexer) skip() {
	for l.i < len(l.b) {
		switch c := l.b[l.i]; {
		case isSpace(c):
			l.i++
		case c == '%':
			for l.i < len(l.b) && l.b[l.i] != '\n' && l.b[l.i] != '\r' {
				l.i++
			}
		default:
			return
		}
	}
}

// eof is what next returns at the end.
type eof struct{}

// closing is a bracket that closes an array or a dictionary.
type closing byte

// next reads one object or operator. At the end it returns eof{}.
func (l *lexer) next(depth int) any {
	l.skip()
	if l.i >= len(l.b) {
		return eof{}
	}
	switch c := l.b[l.i]; c {
	case '/':
		l.i++
		return l.name()
	case '(':
		l.i++
		return l.decrypted(l.literal())
	case '[':
		l.i++
		return l.array(depth)
	case '<':
		if l.i+1 < len(l.b) && l.b[l.i+1] == '<' {
			l.i += 2
			return l.dict(depth)
		}
		l.i++
		return l.decrypted(l.hex())
	case '>':
		l.i++
		if l.i < len(l.b) && l.b[l.i] == '>' {
			l.i++
		}
		return closing('>')
	case ']', ')', '{', '}':
		l.i++
		return closing(c)
	}
	from := l.i
	for l.i < len(l.b) && !isSpace(l.b[l.i]) && !isDelim(l.b[l.i]) {
		l.i++
	}
	return word(l.b[from:l.i])
}

// word converts a sequence of letters to a number, a constant or an operator.
func word(w []byte) any {
	if c := w[0]; c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.' {
		if n, ok := number(w); ok {
			return n
		}
	}
	switch string(w) {
	case "true":
		return true
	case "false":
		return false
	case "null":
		return nil
	}
	return op(w)
}

// number reads an int or a float64. Signs after the first are ignored, because some programs repeat
// them.
func number(w []byte) (any, bool) {
	neg, whole, frac, scale, point, digits := false, 0.0, 0.0, 1.0, false, 0
	for i, c := range w {
		switch {
		case c == '-' && digits == 0:
			neg = true
		case c == '+' && i == 0, c == '-':
		case c == '.' && !point:
			point = true
		case c >= '0' && c <= '9':
			if digits++; point {
				scale /= 10
				frac += float64(c-'0') * scale
			} else {
				whole = whole*10 + float64(c-'0')
			}
		default:
			return nil, false
		}
	}
	if digits == 0 && !point {
		return nil, false
	}
	n := whole + frac
	if neg {
		n = -n
	}
	if !point && math.Abs(n) < 1<<53 {
		return int(n), true
	}
	return n, true
}

func (l *lexer) name() name {
	var out []byte
	for l.i < len(l.b) && !isSpace(l.b[l.i]) && !isDelim(l.b[l.i]) {
		c := l.b[l.i]
		if c == '#' && l.i+2 < len(l.b) && unhex(l.b[l.i+1]) >= 0 && unhex(l.b[l.i+2]) >= 0 {
			c = byte(unhex(l.b[l.i+1])<<4 | unhex(l.b[l.i+2]))
			l.i += 2
		}
		out = append(out, c)
		l.i++
	}
	return name(out)
}

func (l *lexer) literal() str {
	out, open := str{}, 1
	for ; l.i < len(l.b); l.i++ {
		c := l.b[l.i]
		switch c {
		case '(':
			open++
		case ')':
			if open--; open == 0 {
				l.i++
				return out
			}
		case '\\':
			if l.i++; l.i >= len(l.b) {
				return out
			}
			switch c = l.b[l.i]; {
			case c == 'n':
				c = '\n'
			case c == 'r':
				c = '\r'
			case c == 't':
				c = '\t'
			case c == 'b':
				c = '\b'
			case c == 'f':
				c = '\f'
			case c == '\r':
				if l.i+1 < len(l.b) && l.b[l.i+1] == '\n' {
					l.i++
				}
				continue
			case c == '\n':
				continue
			case c >= '0' && c <= '7':
				n := int(c - '0')
				for range 2 {
					if l.i+1 >= len(l.b) || l.b[l.i+1] < '0' || l.b[l.i+1] > '7' {
						break
					}
					l.i++
					n = n<<3 | int(l.b[l.i]-'0')
				}
				c = byte(n)
			}
		}
		out = append(out, c)
	}
	return out
}

func (l *lexer) hex() str {
	out, high := str{}, -1
	for ; l.i < len(l.b); l.i++ {
		c := l.b[l.i]
		if c == '>' {
			l.i++
			break
		}
		d := unhex(c)
		switch {
		case d < 0:
		case high < 0:
			high = d
		default:
			out, high = append(out, byte(high<<4|d)), -1
		}
	}
	if high >= 0 {
		out = append(out, byte(high<<4))
	}
	return out
}

func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

func (l *lexer) array(depth int) array {
	out := array{}
	for depth < maxDepth {
		switch v := l.next(depth + 1).(type) {
		case eof, closing:
			return out
		case op:
			if n := len(out); v == "R" && n >= 2 {
				num, ok1 := out[n-2].(int)
				gen, ok2 := out[n-1].(int)
				if ok1 && ok2 {
					out = append(out[:n-2], ref{num, gen})
				}
			} else if v == "endobj" || v == "endstream" {
				return out
			}
		default:
			out = append(out, v)
		}
	}
	return out
}

func (l *lexer) dict(depth int) dict {
	out := dict{}
	if depth >= maxDepth {
		return out
	}
	var key name
	var vals []any // of the key
	flush := func() {
		if key != "" && len(vals) > 0 {
			out[key] = vals[0]
		}
		key, vals = "", vals[:0]
	}
	for {
		v := l.next(depth + 1)
		switch v := v.(type) {
		case eof, closing:
			flush()
			return out
		case op:
			if v == "R" && len(vals) >= 2 {
				num, ok1 := vals[0].(int)
				gen, ok2 := vals[1].(int)
				if ok1 && ok2 {
					vals = append(vals[:0], ref{num, gen})
				}
			} else if v == "endobj" || v == "stream" {
				flush()
				l.i -= len(v)
				return out
			}
			continue
		case name:
			if key == "" {
				key = v
				continue
			}
			if len(vals) > 0 {
				flush()
				key = v
				continue
			}
		}
		if key != "" && len(vals) < 3 {
			vals = append(vals, v)
		}
	}
}

// object reads an object after "N G obj", and for a stream also its bytes.
func (l *lexer) object() any {
	v := l.next(0)
	d, ok := v.(dict)
	if !ok {
		switch v.(type) {
		case eof, closing, op:
			return nil
		}
		return v
	}
	at := l.i
	l.skip()
	if !bytes.HasPrefix(l.b[l.i:], []byte("stream")) {
		l.i = at
		return d
	}
	l.i += len("stream")
	if l.i < len(l.b) && l.b[l.i] == '\r' {
		l.i++
	}
	if l.i < len(l.b) && l.b[l.i] == '\n' {
		l.i++
	}
	rest := l.b[l.i:]
	n, ok := l.doc.resolve(d["Length"]).(int)
	if ok && n >= 0 && n <= len(rest) {
		after := lexer{b: rest[:min(len(rest), n+32)], i: n}
		after.skip()
		ok = bytes.HasPrefix(after.b[after.i:], []byte("endstream")) || bytes.HasPrefix(after.b[after.i:], []byte("endobj"))
	} else {
		ok = false
	}
	if !ok { // its stated length is wrong
		if n = bytes.Index(rest, []byte("endstream")); n < 0 {
			n = len(rest)
		}
		for range 2 {
			if n > 0 && (rest[n-1] == '\n' || rest[n-1] == '\r') {
				n--
			}
		}
	}
	l.i += n
	return &stream{dict: d, raw: rest[:n], key: l.key}
}

func (l *lexer) decrypted(s str) str {
	if l.doc == nil || l.doc.crypt == nil || l.key.num == 0 {
		return s
	}
	return l.doc.crypt.text(s, l.key)
}
