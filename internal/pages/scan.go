package pages

import "bytes"

// scanner cuts HTML into text, start tags and end tags, as a browser's tokenizer does, and
// looks at attributes only to get past them. It exists because most of a page is attributes
// nobody asks for here: a tokenizer that reads them costs five times as much (m: 18 KB,
// BenchmarkText before and after).
type scanner struct {
	src  []byte
	i    int    // where to go on
	raw  string // the element whose content is text up to its end tag, "" for none
	name [16]byte
}

type markup uint8

const (
	atEnd   markup = iota
	text           // val is text with character references in it
	rawText        // val is the content of script, style and their like
	// val is the name, lower case, cut at 16 bytes (no element we look for is longer)
	startTag
	endTag
)

// next returns the next piece. val is valid until the next call. attrs is the inside of a start tag
// after its name, with a final "/" when the tag has one.
func (s *scanner) next() (kind markup, val, attrs []byte) {
	if s.raw != "" {
		if val = s.rawContent(); len(val) > 0 {
			return rawText, val, nil
		}
	}
	for s.i < len(s.src) {
		rest := s.src[s.i:]
		n := bytes.IndexByte(rest, '<')
		if n < 0 {
			s.i = len(s.src)
			return text, rest, nil
		}
		if n > 0 {
			s.i += n
			return text, rest[:n], nil
		}
		if len(rest) < 2 {
			s.i = len(s.src)
			return text, rest, nil
		}
		switch c := rest[1]; {
		case isLetter(c):
			if kind, val, attrs = s.tag(s.i+1, startTag); kind != atEnd {
				return kind, val, attrs
			}
		case c == '/' && len(rest) > 2 && isLetter(rest[2]):
			if kind, val, attrs = s.tag(s.i+2, endTag); kind != atEnd {
				return kind, val, attrs
			}
		case c == '/' && len(rest) == 2:
			s.i = len(s.src)
			return text, rest, nil
		case c == '!' || c == '?' || c == '/':
			s.comment(rest)
		default: // "a < b"
			m := bytes.IndexByte(rest[1:], '<') + 1
			if m == 0 {
				m = len(rest)
			}
			s.i += m
			return text, rest[:m], nil
		}
	}
	return atEnd, nil, nil
}

// tag reads a tag whose name begins at i. A tag that never ends is dropped with everything after
// it, as in browsers.
func (s *scanner) tag(i int, kind markup) (markup, []byte, []byte) {
	b := s.src
	from, n := i, 0
	for i < len(b) && b[i] > ' ' && b[i] != '>' && b[i] != '/' {
		if n < len(s.name) {
			c := b[i]
			if 'A' <= c && c <= 'Z' {
				c |= 0x20
			}
			s.name[n] = c
			n++
		}
		i++
	}
	if i-from > n {
		n = 0 // too long to be an element we know
	}
	attrs := i
	for i < len(b) && b[i] != '>' {
		// Names, "=" and unquoted values need no telling apart: only a quoted value can hold a ">",
		// and a quote begins a value only after "=".
		if b[i] != '=' {
			i++
			continue
		}
		for i++; i < len(b) && isBlank(b[i]); i++ {
		}
		if i < len(b) && (b[i] == '"' || b[i] == '\'') {
			q := bytes.IndexByte(b[i+1:], b[i])
			if q < 0 {
				s.i = len(b)
				return atEnd, nil, nil
			}
			i += q + 2
			continue
		}
		for i < len(b) && b[i] != '>' && !isBlank(b[i]) {
			i++
		}
	}
	if i >= len(b) {
		s.i = len(b)
		return atEnd, nil, nil
	}
	s.i = i + 1
	return kind, s.name[:n], b[attrs:i]
}

// comment steps over <!-- -->, <!doctype>, <?xml?> and </ > with something else after the slash.
func (s *scanner) comment(rest []byte) {
	end := -1
	if bytes.HasPrefix(rest, []byte("<!--")) {
		switch {
		case bytes.HasPrefix(rest[4:], []byte(">")):
			end = 5
		case bytes.HasPrefix(rest[4:], []byte("->")):
			end = 6
		default:
			end = commentEnd(rest)
		}
	} else if n := bytes.IndexByte(rest, '>'); n >= 0 {
		end = n + 1
	}
	if end < 0 {
		end = len(rest)
	}
	s.i += end
}

// commentEnd returns where a comment that begins b ends, -1 when it does not:
// after "-->" or "--!>".
func commentEnd(b []byte) int {
	for i := 4; ; {
		n := bytes.Index(b[i:], []byte("--"))
		if n < 0 {
			return -1
		}
		i += n + 2
		switch {
		case i < len(b) && b[i] == '>':
			return i + 1
		case i+1 < len(b) && b[i] == '!' && b[i+1] == '>':
			return i + 2
		}
		i-- // "--->" ends one too
	}
}

// rawContent returns what stands before the end tag of s.raw, which is left to be read next.
func (s *scanner) rawContent() []byte {
	b, from, name := s.src, s.i, s.raw
	s.raw = ""
	for i := from; ; {
		n := bytes.Index(b[i:], []byte("</"))
		if n < 0 {
			s.i = len(b)
			return b[from:]
		}
		i += n + 2
		if end := i + len(name); end < len(b) && bytes.EqualFold(b[i:end], []byte(name)) &&
			(b[end] == '>' || b[end] == '/' || isBlank(b[end])) {
			s.i = i - 2
			return b[from:s.i]
		}
	}
}

// attr returns the value of an attribute, or nil. Of several with the same name the first counts.
// It is called for <html> only, so it is simple rather than fast.
func attr(attrs []byte, names ...string) []byte {
	for {
		attrs = bytes.TrimLeft(attrs, " \t\r\n\f/")
		if len(attrs) == 0 {
			return nil
		}
		n := bytes.IndexAny(attrs[1:], " \t\r\n\f/=") + 1
		if n == 0 {
			n = len(attrs)
		}
		name := attrs[:n]
		attrs = bytes.TrimLeft(attrs[n:], " \t\r\n\f")
		var val []byte
		if len(attrs) > 0 && attrs[0] == '=' {
			attrs = bytes.TrimLeft(attrs[1:], " \t\r\n\f")
			if len(attrs) > 0 && (attrs[0] == '"' || attrs[0] == '\'') {
				q := bytes.IndexByte(attrs[1:], attrs[0])
				if q < 0 {
					return nil
				}
				val, attrs = attrs[1:q+1], attrs[q+2:]
			} else {
				n := bytes.IndexAny(attrs, " \t\r\n\f")
				if n < 0 {
					n = len(attrs)
				}
				val, attrs = attrs[:n], attrs[n:]
			}
		}
		for _, want := range names {
			if bytes.EqualFold(name, []byte(want)) {
				return val
			}
		}
	}
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isBlank(c byte) bool { return c == ' ' || c <= '\r' && c >= '\t' }
