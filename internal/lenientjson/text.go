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
func (r *Reader) quote() int {
	switch r.buf[r.pos] {
	case '\'', '`', '\\', '&', 0xe2:
	default:
		return -1
	}
	r.has(6)
	for i, q := range quotes {
		if bytes.HasPrefix(r.buf[r.pos:], []byte(q.open)) {
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

func (r *Reader) note(odd *oddity, o oddity, what string) {
	if *odd&o == 0 {
		*odd |= o
		r.forgive(r.at(), what)
	}
}

// control writes a control character as an escape.
func (r *Reader) control(c byte, odd *oddity) {
	switch c {
	case '\n', '\r':
		r.note(odd, oddLine, "a line end in a text")
	case '\t':
		r.note(odd, oddTab, "a tab in a text")
	default:
		r.note(odd, oddControl, "a control character in a text")
	}
	r.rune(rune(c))
}

// rune writes a character in a text.
func (r *Reader) rune(c rune) {
	const digits = "0123456789abcdef"
	switch {
	case c == '"' || c == '\\':
		r.out = append(r.out, '\\', byte(c))
	case c == '\n':
		r.out = append(r.out, `\n`...)
	case c == '\r':
		r.out = append(r.out, `\r`...)
	case c == '\t':
		r.out = append(r.out, `\t`...)
	case c < 0x20:
		r.out = append(r.out, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
	default:
		r.out = utf8.AppendRune(r.out, c)
	}
}

// escape reads an escape. Before a character that needs none, the backslash is kept: it is part of a
// formula or of a path.
func (r *Reader) escape(end string, odd *oddity) {
	if end == `\"` && r.has(2) && r.buf[r.pos+1] == '\\' {
		// The whole document was escaped once more.
		if r.has(4) && string(r.buf[r.pos:r.pos+4]) == `\\\"` {
			r.out = append(r.out, `\"`...)
			r.pos += 4
			return
		}
		r.pos++
	}
	var c byte
	if r.has(2) {
		c = r.buf[r.pos+1]
	}
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		r.out = append(r.out, '\\', c)
		r.pos += 2
		return
	case 'u':
		if r.has(6) && areHex(r.buf[r.pos+2:r.pos+6]) {
			r.out = append(r.out, r.buf[r.pos:r.pos+6]...)
			r.pos += 6
			return
		}
	}
	r.note(odd, oddEscape, "an escape that JSON does not know")
	switch {
	case c == 'x' && r.has(4) && areHex(r.buf[r.pos+2:r.pos+4]):
		v, _ := strconv.ParseUint(string(r.buf[r.pos+2:r.pos+4]), 16, 8)
		r.rune(rune(v))
		r.pos += 4
	case c == 'u' && r.has(3) && r.buf[r.pos+2] == '{':
		n := 3
		for n < 9 && r.has(n+1) && areHex(r.buf[r.pos+n:r.pos+n+1]) {
			n++
		}
		v, err := strconv.ParseUint(string(r.buf[r.pos+3:r.pos+n]), 16, 32)
		if err != nil || !r.has(n+1) || r.buf[r.pos+n] != '}' || !utf8.ValidRune(rune(v)) {
			r.rune('\\')
			r.pos++
			return
		}
		r.rune(rune(v))
		r.pos += n + 1
	case c == '\n' || c == '\r': // the text goes on in the next line
		if r.pos += 2; c == '\r' && r.has(1) && r.buf[r.pos] == '\n' {
			r.pos++
		}
	case c == '\'' || c == '`':
		r.put(c)
		r.pos += 2
	case c == '&' && end[0] == '&' && r.has(1+len(end)) && string(r.buf[r.pos+1:r.pos+1+len(end)]) == end:
		r.rune('"')
		r.pos += 1 + len(end)
	default:
		r.rune('\\')
		r.pos++
	}
}

// reference reads a character reference of HTML, in a document whose quotes are such references.
func (r *Reader) reference() {
	n := 1
	for n < 32 && r.has(n+1) && r.buf[r.pos+n] != ';' && r.buf[r.pos+n] > ' ' && r.buf[r.pos+n] != '&' {
		n++
	}
	if n == 32 || !r.has(n+1) || r.buf[r.pos+n] != ';' {
		n = 0
	}
	for _, c := range html.UnescapeString(string(r.buf[r.pos : r.pos+n+1])) {
		r.rune(c)
	}
	r.pos += n + 1
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
