package pagetext

import (
	"bytes"

	"github.com/curtsy/curtsy/internal/html"
)

// appendEscaped appends text with a backslash before every character that Markdown would take for
// the beginning of a list, a heading, a link or emphasis. begins means that the text begins a
// block, cell that it is in a table, link that it is in a link. Each decision needs one byte and
// its neighbours, so the cost is linear. The converter from HTML has an escaping of its own, which
// looks ahead from every character. It is therefore switched off. The converter still writes
// references for < and >; the function angles keeps these characters from it.
func appendEscaped(dst, text []byte, begins, cell, link bool) []byte {
	at := func(i int) byte {
		if i < 0 || i >= len(text) {
			return 0
		}
		return text[i]
	}
	if begins {
		text = bytes.TrimLeft(text, " \t\r\n\f")
		if n := markerEnd(text); n > 0 {
			dst, text = append(append(append(dst, text[:n-1]...), '\\'), text[n-1]), text[n:]
		}
	}
	from := 0
	for i, c := range text {
		escape := false
		switch c {
		case '\\':
			next := at(i + 1)
			escape = next == 0 || next > ' ' && next < 0x7f && !html.IsAlnum(next)
		case '*':
			escape = !(isBlank(at(i-1)) && isBlank(at(i+1)))
		case '_':
			escape = !(wordByte(at(i-1)) && wordByte(at(i+1)))
		case '`':
			escape = true
		case '~':
			escape = at(i+1) == '~' || at(i-1) == '~' || at(i+1) == 0 || i == 0
		case ']':
			next := at(i + 1)
			escape = link || next == 0 || next == '(' || next == '[' || next == ':'
		case '[':
			escape = link
		case '&':
			next := at(i + 1)
			escape = next == '#' || html.IsLetter(next)
		case '|':
			escape = cell
		}
		if escape {
			dst, from = append(append(dst, text[from:i]...), '\\'), i
		}
	}
	return append(dst, text[from:]...)
}

// angles replaces < and > by characters of private use, because the converter would write
// references for them.
func angles(text []byte) []byte {
	if bytes.IndexByte(text, '<') < 0 && bytes.IndexByte(text, '>') < 0 {
		return text
	}
	return bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("<"), []byte(leftAngle)), []byte(">"), []byte(rightAngle))
}

// angled puts < and > back. A < that would begin a tag gets a backslash.
func angled(md []byte) []byte {
	if !bytes.Contains(md, []byte(leftAngle)) && !bytes.Contains(md, []byte(rightAngle)) {
		return md
	}
	out := make([]byte, 0, len(md))
	for {
		i := bytes.Index(md, []byte(leftAngle))
		if i < 0 {
			break
		}
		out, md = append(out, md[:i]...), md[i+len(leftAngle):]
		if len(md) > 0 && (html.IsLetter(md[0]) || md[0] == '/' || md[0] == '!' || md[0] == '?') {
			out = append(out, '\\')
		}
		out = append(out, '<')
	}
	return bytes.ReplaceAll(append(out, md...), []byte(rightAngle), []byte(">"))
}

// markerEnd returns where the marker at the beginning of a line ends that makes the line a heading,
// a quotation, a list item or a rule. It returns 0 if there is no marker.
func markerEnd(line []byte) int {
	if len(line) == 0 {
		return 0
	}
	switch line[0] {
	case '#', '+', '-', '=', '>':
		return 1
	}
	n := 0
	for n < len(line) && n < 9 && '0' <= line[n] && line[n] <= '9' {
		n++
	}
	if n > 0 && n < len(line) && (line[n] == '.' || line[n] == ')') && (n+1 == len(line) || isBlank(line[n+1])) {
		return n + 1
	}
	return 0
}

// wordByte reports whether a byte belongs to a word. All bytes beyond ASCII count as such.
func wordByte(c byte) bool { return html.IsAlnum(c) || c == '_' || c >= 0x80 }
