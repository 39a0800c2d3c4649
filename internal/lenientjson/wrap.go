package lenientjson

import (
	"bytes"
	"regexp"
)

var (
	cdata    = []byte("<![CDATA[")
	cdataEnd = []byte("]]>")
)

// What programs write before JSON, up to its first bracket.
var (
	call       = regexp.MustCompile(`^(typeof\s+[\w$.]+\s*={2,3}\s*['"]function['"]\s*&&\s*)?[\w$.]+\s*\(\s*$`)
	assignment = regexp.MustCompile(`^((var|let|const)\s+)?[\w$.]+\s*=\s*$`)
)

// guards keep a browser from running JSON as a program.
var guards = [][]byte{[]byte(")]}',"), []byte(")]}'"), []byte("while(1);"), []byte("for(;;);"), []byte("for (;;);"), []byte("while (1);"), []byte("\x1e")}

// between reads what is before, between and after documents. It reports whether a document or the
// end of the input follows. Otherwise the reader is done.
func (r *Reader) between() bool {
	if r.at() == 0 && r.has(3) && bytes.HasPrefix(r.buf[r.pos:], []byte("\xef\xbb\xbf")) {
		r.pos += 3 // allowed (RFC 8259, section 8.1)
	}
	for {
		r.space()
		if !r.has(1) || r.err != nil {
			return true
		}
		c := r.buf[r.pos]
		switch {
		case (c == '{' || c == '[') && r.seen:
			return r.another()
		case r.mark(r.seen):
		case r.seen && r.ending(c):
		case r.seen:
			r.behind()
			return false
		case c == '{' || c == '[' || c == '"' || c == '-' || isDigit(c):
			r.seen = true
			return true
		default:
			r.seen = true
			return r.before()
		}
	}
}

// mark passes over the marks in which authors wrap scripts for old browsers. seen: a document has
// begun.
func (s *source) mark(seen bool) bool {
	s.has(len(cdata))
	b := s.buf[s.pos:]
	switch {
	case bytes.HasPrefix(b, cdata):
		s.forgive(s.at(), "a CDATA mark")
		s.pos += len(cdata)
	case bytes.HasPrefix(b, cdataEnd):
		s.forgive(s.at(), "a CDATA mark")
		s.pos += len(cdataEnd)
	case bytes.HasPrefix(b, []byte("<!--")):
		// A comment ends before the JSON. Otherwise the JSON is in it.
		s.forgive(s.at(), "a comment of HTML")
		if n := s.until("-->", 4); n > 0 && !bytes.ContainsAny(s.buf[s.pos:s.pos+n], "{[") {
			s.pos += n
		} else {
			s.pos += 4
		}
	case bytes.HasPrefix(b, []byte("-->")):
		s.forgive(s.at(), "a comment of HTML")
		s.pos += 3
	case !seen:
		for _, g := range guards {
			if bytes.HasPrefix(b, g) {
				s.forgive(s.at(), "a mark before the JSON")
				s.pos += len(g)
				return true
			}
		}
		return false
	default:
		return false
	}
	return true
}

// ending passes over a byte after a document that has no meaning there.
func (r *Reader) ending(c byte) bool {
	switch {
	case c == ',':
		if n := r.after(1); n < 0 || r.buf[r.pos+n] != '{' && r.buf[r.pos+n] != '[' {
			r.forgive(r.at(), "a comma after the end")
		}
	case c == ';':
		r.forgive(r.at(), "; after the end")
	case c == ')' && r.call:
		r.call = false
	case c == '}' || c == ']':
		r.forgive(r.at(), "a "+string(rune(c))+" too many")
	case c == 0 || c == 0x1a || c == 0x1e:
		r.forgiveOnce(onceZero, "a control character after the end")
	default:
		return false
	}
	r.pos++
	return true
}

// before passes over what is before the brackets of the document, if that is certain.
func (r *Reader) before() bool {
	r.has(maxWrap)
	b := r.buf[r.pos:min(len(r.buf), r.pos+maxWrap)]
	if n := r.wordLength(); n > 0 {
		if _, known := words[string(bytes.ToLower(b[:n]))]; known {
			return true
		}
	}
	if r.quote() >= 0 {
		return true
	}
	n := bytes.IndexAny(b, "{[")
	switch {
	case n < 0:
	case call.Match(b[:n]):
		r.forgive(r.at(), "a call around the JSON")
		r.call, r.wrapped = true, true
		r.pos += n
		return true
	case assignment.Match(b[:n]):
		r.forgive(r.at(), "an assignment of the JSON")
		r.wrapped = true
		r.pos += n
		return true
	default:
		if n = beginning(b); n >= 0 {
			r.forgive(r.at(), "text before the JSON")
			r.wrapped = true
			r.pos += n
			return true
		}
	}
	r.fail(found(r.buf[r.pos]) + " where JSON should begin")
	return false
}

// beginning returns where the first brace or bracket is that begins JSON, -1 if another brace is
// before it.
func beginning(b []byte) int {
	for i, c := range b {
		if c != '{' && c != '[' {
			continue
		}
		rest := bytes.TrimLeft(b[i+1:], " \t\r\n")
		if bytes.Contains(b[:i], []byte(`":`)) {
			return -1 // a part of other JSON
		}
		if c == '[' && bytes.HasPrefix(rest, []byte("{")) || c == '{' && len(rest) > 0 && bytes.IndexByte([]byte(`"'}&`), rest[0]) >= 0 {
			return i
		}
		if c == '{' {
			return -1
		}
	}
	return -1
}

func (s *source) wordLength() (n int) {
	for n < maxWord && s.has(n+1) && isWordByte(s.buf[s.pos+n]) {
		n++
	}
	return n
}

// behind ends the reading at text after the last document.
func (r *Reader) behind() {
	if r.wrapped {
		r.fail("more than JSON: a program")
		return
	}
	r.has(maxAhead)
	if rest := r.buf[r.pos:min(len(r.buf), r.pos+maxAhead)]; bytes.ContainsAny(rest, "{[") {
		r.lose(r.at(), "text after the JSON")
	} else {
		r.forgive(r.at(), "text after the JSON")
	}
	r.finish()
}

// another begins one more document. It reports false if a program has more.
func (r *Reader) another() bool {
	if r.wrapped {
		r.fail("more than JSON: a program")
		return false
	}
	r.forgiveOnce(onceMany, "another document after the first")
	l := r.top()
	switch {
	case r.many:
	case l.n > 0 && (l.in < r.at()-r.keep || l.out < r.outBase+int64(r.sent)):
		r.put('\n')
		return true
	default:
		i := int(l.out - r.outBase)
		r.out = append(r.out, 0)
		copy(r.out[i+1:], r.out[i:])
		r.out[i] = '['
		l.list, r.many = true, true
		r.report.Entries += l.n
	}
	l.in, l.out = r.at(), r.outAt()
	r.comma, r.due = true, l.n > 0
	return true
}

// fail notes that nothing can be read.
func (r *Reader) fail(what string) {
	r.lose(r.at(), what)
	r.report.Failed, r.done = true, true
	r.out = r.out[:r.sent]
}
