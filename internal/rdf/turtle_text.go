package rdf

import (
	"bufio"
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// source is the document, with the position in it.
type source struct {
	in *bufio.Reader
	at int64

	fresh bool // the last white space had a line end in it
	ended bool // the full stop of a broken statement was read already
}

// peek returns the next byte. ok is false at the end.
func (s *source) peek() (b byte, ok bool) {
	all, _ := s.in.Peek(1)
	if len(all) == 0 {
		return 0, false
	}
	return all[0], true
}

// rune returns the next character and how many bytes it has. Both are 0 at the end. An invalid one
// is utf8.RuneError.
func (s *source) rune() (c rune, n int) {
	b, ok := s.peek()
	if !ok {
		return 0, 0
	}
	if b < utf8.RuneSelf {
		return rune(b), 1
	}
	ahead, _ := s.in.Peek(utf8.UTFMax)
	return utf8.DecodeRune(ahead)
}

// has reports whether the document goes on with these bytes.
func (s *source) has(text string) bool {
	ahead, _ := s.in.Peek(len(text))
	return string(ahead) == text
}

func (s *source) skip(n int) {
	done, _ := s.in.Discard(n)
	s.at += int64(done)
}

// space skips white space and comments.
func (s *source) space() {
	for first := true; ; first = false {
		b, ok := s.peek()
		if first && (b == '#' || b <= ' ') {
			s.fresh = false
		}
		switch {
		case !ok:
			return
		case b == ' ' || b == '\t' || b == '\n' || b == '\r':
			s.fresh = s.fresh || b == '\n'
			s.skip(1)
		case b == '#':
			s.line()
		default:
			return
		}
	}
}

// line skips to the end of the line.
func (s *source) line() {
	for {
		b, ok := s.peek()
		if !ok || b == '\n' || b == '\r' {
			return
		}
		s.skip(1)
	}
}

// iri reads an IRI in angle brackets and resolves it. Characters that no IRI may have are forgiven,
// but a line end is not: then the bracket was probably forgotten.
func (t *turtle) iri() (string, error) {
	if !t.has("<") {
		return "", t.broken("no IRI")
	}
	t.skip(1)
	text, odd := t.text[:0], false
	for {
		b, ok := t.peek()
		switch {
		case !ok || b == '\n' || b == '\r':
			t.ended = bytes.HasSuffix(text, []byte("%20."))
			return "", t.broken("an IRI is not closed")
		case len(text) > maxIRI:
			return "", t.broken("an IRI is longer than " + strconv.Itoa(maxIRI) + " bytes")
		case b == '>':
			t.skip(1)
			t.text = text
			if odd {
				t.forgive("an IRI with characters that must be escaped")
			}
			iri := t.base.resolve(clean(text))
			if len(iri) > 2*maxIRI {
				return "", t.broken("an IRI is too long")
			}
			return iri, nil
		case b == '\\':
			c, n := t.unicodeEscape()
			if n == 0 {
				odd = true
				text = append(text, b)
				n = 1
			} else {
				odd = odd || c <= ' ' || strings.ContainsRune("<>\"{}|^`\\", c)
				text = appendIRI(text, c)
			}
			t.skip(n)
		case b <= ' ':
			odd = true
			text = appendIRI(text, rune(b))
			t.skip(1)
		default:
			odd = odd || strings.IndexByte("<\"{}|^`", b) >= 0
			text = append(text, b)
			t.skip(1)
		}
	}
}

// appendIRI appends a character of an IRI. White space and control characters are escaped.
func appendIRI(dst []byte, c rune) []byte {
	if c <= ' ' {
		const hex = "0123456789ABCDEF"
		return append(dst, '%', hex[c>>4], hex[c&15])
	}
	return utf8.AppendRune(dst, c)
}

// clean returns a text as valid UTF-8.
func clean(text []byte) string { return strings.ToValidUTF8(string(text), "\uFFFD") }

// unicodeEscape decodes the escape \uXXXX or \UXXXXXXXX that follows. n is its length, 0 if there
// is none.
func (t *turtle) unicodeEscape() (c rune, n int) {
	ahead, _ := t.in.Peek(10)
	switch {
	case len(ahead) >= 6 && ahead[1] == 'u':
		n = 6
	case len(ahead) == 10 && ahead[1] == 'U':
		n = 10
	default:
		return 0, 0
	}
	v, err := strconv.ParseUint(string(ahead[2:n]), 16, 32)
	if err != nil {
		return 0, 0
	}
	if c = rune(v); v > utf8.MaxRune || !utf8.ValidRune(c) {
		c = utf8.RuneError
	}
	return c, n
}

// escapes are the escapes of one letter in a literal.
var escapes = map[byte]byte{'t': '\t', 'b': '\b', 'n': '\n', 'r': '\r', 'f': '\f', '"': '"', '\'': '\'', '\\': '\\'}

// literal reads a literal in quotes, with its language or datatype.
func (t *turtle) literal() (Term, error) {
	quote, _ := t.peek()
	long := t.has(strings.Repeat(string(quote), 3))
	if t.skip(1); long {
		t.skip(2)
	}
	if err := t.quoted(quote, long); err != nil {
		return Term{}, err
	}
	o := Term{Kind: Literal, Value: clean(t.text)}
	switch {
	case t.has("@"):
		t.skip(1)
		if o.Language = t.language(); o.Language == "" {
			return o, t.broken("no language after the @")
		}
	case t.has("^^"):
		t.skip(2)
		t.space()
		kind, err := t.resource()
		if err == nil && kind.Kind != IRI {
			err = t.broken("a datatype is no IRI")
		}
		if err != nil {
			return o, err
		}
		if o.Datatype = kind.Value; o.Datatype == nsXSD+"string" {
			o.Datatype = ""
		}
	}
	return o, nil
}

// quoted reads the text of a literal into t.text.
func (t *turtle) quoted(quote byte, long bool) error {
	text, cut, odd := t.text[:0], false, false
	put := func(c ...byte) {
		if cut = cut || len(text)+len(c) > maxLiteral; !cut {
			text = append(text, c...)
		}
	}
	for {
		b, ok := t.peek()
		switch {
		case !ok:
			return t.broken("a literal is not closed")
		case b == quote && long:
			// Up to two quotes may stand before the three that end it.
			ahead, _ := t.in.Peek(5)
			n := len(ahead) - len(bytes.TrimLeft(ahead, string(quote)))
			for range max(0, n-3) {
				put(quote)
			}
			if n < 3 {
				put(ahead[:n]...)
			}
			if t.skip(n); n < 3 {
				continue
			}
			fallthrough
		case b == quote:
			if !long {
				t.skip(1)
			}
			if t.text = text; cut {
				t.report.add(t.at, true, "a literal is longer than "+strconv.Itoa(maxLiteral)+" bytes")
			}
			if odd {
				t.forgive("a literal with an unknown escape or a line end")
			}
			return nil
		case b == '\\':
			c, n := t.unicodeEscape()
			ahead, _ := t.in.Peek(2)
			switch {
			case n > 0:
				odd = odd || c == utf8.RuneError
				put(utf8.AppendRune(nil, c)...)
			case len(ahead) == 2 && escapes[ahead[1]] != 0:
				put(escapes[ahead[1]])
				n = 2
			default: // a path of Windows, say
				put('\\')
				n, odd = 1, true
			}
			t.skip(n)
		case (b == '\n' || b == '\r') && !long && !odd && !t.closesLater(quote):
			t.ended = bytes.HasSuffix(text, []byte(" ."))
			return t.broken("a literal is not closed before the line end")
		default:
			odd = odd || (b == '\n' || b == '\r') && !long
			put(b)
			t.skip(1)
		}
	}
}

// closesLater reports whether a short literal that contains a line end is probably closed on a
// later line: what follows the next quote can follow a literal.
func (t *turtle) closesLater(quote byte) bool {
	if t.format == NTriples || t.format == NQuads {
		return false
	}
	ahead, _ := t.in.Peek(16 << 10)
	for i := 0; i < len(ahead); i++ {
		switch ahead[i] {
		case '\\':
			i++
		case quote:
			rest := bytes.TrimLeft(ahead[i+1:], " \t\r\n")
			return len(rest) > 0 && bytes.IndexByte([]byte(";,.@^])"), rest[0]) >= 0
		}
	}
	return false
}

// language reads a language tag. An underscore in it is forgiven.
func (t *turtle) language() string {
	text := t.text[:0]
	for {
		b, _ := t.peek()
		letter := 'a' <= b|0x20 && b|0x20 <= 'z'
		if !letter && (len(text) == 0 || !isDigit(b) && b != '-' && b != '_') || len(text) == maxName {
			t.text = text
			return strings.ToLower(strings.TrimRight(string(text), "-"))
		}
		if b == '_' {
			b = '-'
			t.forgive("an underscore in a language tag")
		}
		text = append(text, b)
		t.skip(1)
	}
}

// recover skips the rest of a broken statement: up to a full stop that ends a line or has white
// space behind it, and is neither in a literal nor in an IRI. In N-Triples a statement is a line.
func (t *turtle) recover() {
	if t.ended {
		t.ended = false
		return
	}
	if t.format == NTriples || t.format == NQuads {
		t.line()
		return
	}
	var quote byte // of the literal around
	var long, inIRI bool
	for {
		b, ok := t.peek()
		if !ok {
			return
		}
		switch {
		case quote != 0 && b == '\\':
			t.skip(1)
		case quote != 0 && long && b == quote && t.has(strings.Repeat(string(quote), 3)):
			t.skip(2)
			quote, long = 0, false
		case quote != 0 && !long && (b == quote || b == '\n'):
			quote = 0
		case quote != 0:
		case inIRI:
			inIRI = b != '>' && b > ' '
		case b == '"' || b == '\'':
			quote = b
			if long = t.has(strings.Repeat(string(b), 3)); long {
				t.skip(2)
			}
		case b == '<':
			inIRI = true
		case b == '#':
			t.line()
			continue
		case b == '}' && t.inGraph:
			return
		case b == '.':
			if ahead, _ := t.in.Peek(2); len(ahead) < 2 || strings.IndexByte(" \t\r\n#", ahead[1]) >= 0 {
				t.skip(1)
				return
			}
		}
		t.skip(1)
	}
}
