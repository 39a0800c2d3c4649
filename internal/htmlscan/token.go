package htmlscan

import "bytes"

// tokenizer splits a page, all of which is in memory, into text and tags. It finds the same tokens
// with the same names and attributes as html.Tokenizer of golang.org/x/net (FuzzTokens holds the
// two together), at a sixth of the cost. That one reads byte by byte from a reader and copies every
// attribute, and was the largest single cost of a page. Comments, doctypes and processing
// instructions are passed over.
type tokenizer struct {
	b []byte
	i int // where the next token begins

	// Of the current token, as written in the page.
	tag   []byte // the whole tag, "<" and ">" included
	name  []byte
	attrs []attr
	text  []byte

	raw string // the element whose raw text comes next, in lower case; "" for none
}

type attr struct{ key, value []byte }

// maxAttrs is how many attributes of a tag are looked at. Nobody writes so many.
const maxAttrs = 10_000

type tokenKind uint8

const (
	endOfPage tokenKind = iota
	// ordinary text, with its character references; that of script, title and the
	// like is passed over
	textToken
	startTag
	endTag
)

// next returns the kind of the next token. What it leaves in z is valid until the next call.
func (z *tokenizer) next() tokenKind {
	if z.raw != "" {
		z.i = rawEnd(z.b, z.i, z.raw)
		z.raw = ""
	}
	start := z.i // of text
	for i := z.i; ; {
		n := bytes.IndexByte(z.b[i:], '<')
		if n < 0 || i+n+1 >= len(z.b) {
			return z.lastText(start)
		}
		i += n
		switch c := z.b[i+1]; {
		case isLetter(c):
			if i > start {
				return z.textUpTo(start, i)
			}
			return z.readStartTag(i)
		case c == '/':
			if i > start {
				return z.textUpTo(start, i)
			}
			if i+2 >= len(z.b) {
				return z.lastText(start)
			}
			switch c := z.b[i+2]; {
			case isLetter(c):
				return z.readEndTag(i)
			case c == '>': // </> is nothing at all
				i += 3
			default:
				i = after(z.b, i+2, '>')
			}
			start = i
		case c == '!', c == '?':
			if i > start {
				return z.textUpTo(start, i)
			}
			if c == '!' && bytes.HasPrefix(z.b[i+2:], []byte("--")) {
				i = commentEnd(z.b, i+4)
			} else {
				i = after(z.b, i+1+b2i(c == '!'), '>')
			}
			start = i
		default:
			i++ // a lone "<" is text
		}
	}
}

func (z *tokenizer) textUpTo(start, end int) tokenKind {
	z.text, z.i = z.b[start:end], end
	return textToken
}

func (z *tokenizer) lastText(start int) tokenKind {
	z.i = len(z.b)
	if start >= len(z.b) {
		return endOfPage
	}
	z.text = z.b[start:]
	return textToken
}

// readStartTag reads the tag that begins at i. A tag that is cut off by the page's
// end does not count.
func (z *tokenizer) readStartTag(i int) tokenKind {
	end, ok := z.readTag(i, i+1, true)
	if !ok {
		return endOfPage
	}
	z.tag, z.i = z.b[i:end], end
	z.raw = rawElement(z.name)
	return startTag
}

func (z *tokenizer) readEndTag(i int) tokenKind {
	end, ok := z.readTag(i, i+2, false)
	if !ok {
		return endOfPage
	}
	z.tag, z.i = z.b[i:end], end
	return endTag
}

// readTag reads a tag's name, which begins at i, and its attributes, and returns where the tag
// ends. Attributes are kept only of elements that have some we look at.
func (z *tokenizer) readTag(start, i int, keep bool) (end int, ok bool) {
	b := z.b
	from := i
	for i++; i < len(b) && !isSpace(b[i]) && b[i] != '/' && b[i] != '>'; i++ {
	}
	if i == len(b) {
		z.i = i
		return i, false
	}
	z.name, z.attrs = b[from:i], z.attrs[:0]
	if b[i] == '>' {
		return i + 1, true
	}
	keep = keep && hasAttributes(z.name)
	for {
		for i < len(b) && isSpace(b[i]) {
			i++
		}
		if i == len(b) {
			z.i = i
			return i, false
		}
		if b[i] == '>' {
			return i + 1, true
		}
		var a attr
		if a, i = readAttr(b, i); keep && len(a.key) > 0 && len(z.attrs) < maxAttrs {
			z.attrs = append(z.attrs, a)
		}
	}
}

// readAttr reads one attribute, or a "/" between attributes.
func readAttr(b []byte, i int) (a attr, next int) {
	from := i
	if b[i] == '=' { // before a name it is part of the name
		i++
	}
	for i < len(b) && b[i] != '=' && b[i] != '/' && b[i] != '>' && !isSpace(b[i]) {
		i++
	}
	a.key = b[from:i]
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	switch {
	case i == len(b):
		return a, i
	case b[i] == '/':
		return a, i + 1
	case b[i] != '=':
		return a, i
	}
	for i++; i < len(b) && isSpace(b[i]); i++ {
	}
	if i == len(b) || b[i] == '>' {
		return a, i
	}
	if q := b[i]; q == '"' || q == '\'' {
		i++
		n := bytes.IndexByte(b[i:], q)
		if n < 0 {
			a.value = b[i:]
			return a, len(b)
		}
		a.value = b[i : i+n]
		return a, i + n + 1
	}
	from = i
	for i < len(b) && !isSpace(b[i]) && b[i] != '>' {
		i++
	}
	a.value = b[from:i]
	return a, i
}

// hasAttributes reports whether an element has attributes that Scan looks at.
func hasAttributes(name []byte) bool {
	switch name[0] | 0x20 {
	case 'a', 'l', 'b', 'f', 'i', 'm':
	default:
		return false
	}
	switch len(name) {
	case 1:
		return true // a, and others of one letter, whose attributes do no harm
	case 4:
		return equalFold(name, "area") || equalFold(name, "link") || equalFold(name, "base") || equalFold(name, "meta")
	case 5:
		return equalFold(name, "frame")
	case 6:
		return equalFold(name, "iframe")
	}
	return false
}

// commentEnd returns where a comment ends whose text begins at i: behind "-->" or "--!>", and at
// once if it is only dashes.
func commentEnd(b []byte, i int) int {
	from := i
	for first := true; ; first = false {
		n := bytes.IndexByte(b[i:], '>')
		if n < 0 {
			return len(b)
		}
		i += n + 1
		text := b[from : i-1]
		if bytes.HasSuffix(text, []byte("--")) || bytes.HasSuffix(text, []byte("--!")) ||
			first && len(bytes.TrimLeft(text, "-")) == 0 {
			return i
		}
	}
}

// after returns where b goes on after the next c at or behind i.
func after(b []byte, i int, c byte) int {
	n := bytes.IndexByte(b[i:], c)
	if n < 0 {
		return len(b)
	}
	return i + n + 1
}

func isLetter(c byte) bool { c |= 0x20; return 'a' <= c && c <= 'z' }

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
