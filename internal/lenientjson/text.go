package lenientjson

import (
	"bytes"
	"html"
	"strconv"
	"unicode/utf8"
)

// quotes are the marks that begin a text, except the one of JSON, and those that end it.
var quotes = []struct{ open, close, what string }{
	{"'", "'", "texts in single quotes"},
	{"`", "`", "texts in backquotes"},
	{`\"`, `\"`, `quotes written \"`},
	{"&quot;", "&quot;", "quotes written &quot;"},
	{"&#34;", "&#34;", "quotes written &#34;"},
	{"&#034;", "&#034;", "quotes written &#034;"},
	{"&#x22;", "&#x22;", "quotes written &#x22;"},
	{"&#39;", "&#39;", "quotes written &#39;"},
	{"&#039;", "&#039;", "quotes written &#039;"},
	{"&apos;", "&apos;", "quotes written &apos;"},
	{"\u201c", "\u201d", "typographic quotes"},
	{"\u201d", "\u201d", "typographic quotes"},
	{"\u2018", "\u2019", "typographic quotes"},
}

// quote returns the number of the quote at the next byte, -1 if there is none.
func (s *source) quote() int {
	switch s.buf[s.pos] {
	case '\'', '`', '\\', '&', 0xe2:
	default:
		return -1
	}
	s.has(6)
	for i, q := range quotes {
		if bytes.HasPrefix(s.buf[s.pos:], []byte(q.open)) {
			return i
		}
	}
	return -1
}

// oddText reads a text in quotes other than those of JSON.
func (r *Reader) oddText(quote int) {
	q := quotes[quote]
	r.forgiveOnce(onceQuotes, q.what)
	r.pos += len(q.open)
	r.put('"')
	r.text(q.close)
}

// transcriber reads parts of texts and numbers, and writes them.
type transcriber struct {
	source
	output
}

// special are the bytes that are not copied in a text.
var special = func() (t [256]bool) {
	for c := range 0x20 {
		t[c] = true
	}
	t['"'], t['\\'] = true, true
	return t
}()

// text reads the rest of a text up to the mark that ends it, a name or a value.
func (r *Reader) text(end string) {
	odd := oddity(0)
	for {
		n := r.pos
		for n < len(r.buf) && !special[r.buf[n]] && r.buf[n] != end[0] {
			n++
		}
		r.out = append(r.out, r.buf[r.pos:n]...)
		if r.pos = n; n == len(r.buf) {
			if r.has(1) {
				continue
			}
			r.textCut()
			return
		}
		switch c := r.buf[n]; {
		case c == end[0] && r.has(len(end)) && string(r.buf[r.pos:r.pos+len(end)]) == end:
			r.pos += len(end)
			r.textEnded()
			return
		case c == '"':
			r.out = append(r.out, `\"`...)
			r.pos++
		case c == '\\':
			r.escape(end, &odd)
		case c == '&':
			r.reference()
		case c >= 0x20:
			r.put(c)
			r.pos++
		default:
			r.control(c, &odd)
			r.pos++
		}
	}
}

func (r *Reader) textEnded() {
	r.put('"')
	if r.state == wantName {
		r.state = wantColon
		return
	}
	r.textEnd = r.outAt()
	r.ended(kindText)
}

// textCut ends a text at the end of the input.
func (r *Reader) textCut() {
	r.put('"')
	r.unfinished = true
	if r.state == wantName {
		r.state = wantColon
		return
	}
	l := r.top()
	if l.n++; l.list {
		r.report.Entries++
	}
	r.state = wantSeparator
}

// oddity are the problems of one text that were noted.
type oddity byte

const (
	oddEscape oddity = 1 << iota
	oddLine
	oddTab
	oddControl
)

func (t *transcriber) note(odd *oddity, o oddity, what string) {
	if *odd&o == 0 {
		*odd |= o
		t.forgive(t.at(), what)
	}
}

// control writes a control character as an escape.
func (t *transcriber) control(c byte, odd *oddity) {
	switch c {
	case '\n', '\r':
		t.note(odd, oddLine, "a line end in a text")
	case '\t':
		t.note(odd, oddTab, "a tab in a text")
	default:
		t.note(odd, oddControl, "a control character in a text")
	}
	t.rune(rune(c))
}

// escape reads an escape. Before a character that needs none, the backslash is kept: it is part of
// a formula or of a path.
func (t *transcriber) escape(end string, odd *oddity) {
	if end == `\"` && t.has(2) && t.buf[t.pos+1] == '\\' {
		// The whole document was escaped once more.
		if t.has(4) && string(t.buf[t.pos:t.pos+4]) == `\\\"` {
			t.out = append(t.out, `\"`...)
			t.pos += 4
			return
		}
		t.pos++
	}
	var c byte
	if t.has(2) {
		c = t.buf[t.pos+1]
	}
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		t.out = append(t.out, '\\', c)
		t.pos += 2
		return
	case 'u':
		if t.has(6) && areHex(t.buf[t.pos+2:t.pos+6]) {
			t.out = append(t.out, t.buf[t.pos:t.pos+6]...)
			t.pos += 6
			return
		}
	}
	t.note(odd, oddEscape, "an escape that JSON does not know")
	switch {
	case c == 'x' && t.has(4) && areHex(t.buf[t.pos+2:t.pos+4]):
		v, _ := strconv.ParseUint(string(t.buf[t.pos+2:t.pos+4]), 16, 8)
		t.rune(rune(v))
		t.pos += 4
	case c == 'u' && t.has(3) && t.buf[t.pos+2] == '{':
		n := 3
		for n < 9 && t.has(n+1) && areHex(t.buf[t.pos+n:t.pos+n+1]) {
			n++
		}
		v, err := strconv.ParseUint(string(t.buf[t.pos+3:t.pos+n]), 16, 32)
		if err != nil || !t.has(n+1) || t.buf[t.pos+n] != '}' || !utf8.ValidRune(rune(v)) {
			t.rune('\\')
			t.pos++
			return
		}
		t.rune(rune(v))
		t.pos += n + 1
	case c == '\n' || c == '\r': // the text goes on in the next line
		if t.pos += 2; c == '\r' && t.has(1) && t.buf[t.pos] == '\n' {
			t.pos++
		}
	case c == '\'' || c == '`':
		t.put(c)
		t.pos += 2
	case c == '&' && end[0] == '&' && t.has(1+len(end)) && string(t.buf[t.pos+1:t.pos+1+len(end)]) == end:
		t.rune('"')
		t.pos += 1 + len(end)
	default:
		t.rune('\\')
		t.pos++
	}
}

// reference reads a character reference of HTML, in a document whose quotes are such references.
func (t *transcriber) reference() {
	n := 1
	for n < 32 && t.has(n+1) && t.buf[t.pos+n] != ';' && t.buf[t.pos+n] > ' ' && t.buf[t.pos+n] != '&' {
		n++
	}
	if n == 32 || !t.has(n+1) || t.buf[t.pos+n] != ';' {
		n = 0
	}
	for _, c := range html.UnescapeString(string(t.buf[t.pos : t.pos+n+1])) {
		t.rune(c)
	}
	t.pos += n + 1
}

func areHex(b []byte) bool {
	for _, c := range b {
		if !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'f') {
			return false
		}
	}
	return true
}

// joined reads a text after a + that follows a text, as a program would.
func (r *Reader) joined() {
	n := r.after(1)
	if n < 0 || r.textEnd <= r.outBase+int64(r.sent) {
		r.giveUpLast("a + after a text")
		return
	}
	r.forgive(r.at(), "texts joined by +")
	r.pos += n
	end := `"`
	if q := r.quote(); q >= 0 {
		end = quotes[q].close
		r.pos += len(quotes[q].open)
	} else if r.buf[r.pos] == '"' {
		r.pos++
	} else {
		r.giveUpLast("a + after a text")
		return
	}
	r.out = r.out[:r.textEnd-1-r.outBase]
	l := r.top()
	if l.n--; l.list {
		r.report.Entries--
	}
	r.state = wantValue
	r.text(end)
}
