package pages

import "bytes"

// appendEscaped appends text to Markdown's text so that it reads as it is: what would begin a list,
// a heading or a link, or set letters apart, gets a backslash. begins says that the text begins a
// block, cell that it stands in a table, link that it stands in a link. One look at each byte and
// its neighbours decides, so the cost is linear; the converter's own escaping looks ahead from
// every character, and is off. What it does to < and > all the same, angles gets round.
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
			escape = next == 0 || next > ' ' && next < 0x7f && !isAlnum(next)
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
			escape = next == '#' || isLetter(next)
		case '|':
			escape = cell
		}
		if escape {
			dst, from = append(append(dst, text[from:i]...), '\\'), i
		}
	}
	return append(dst, text[from:]...)
}

// angles puts what stands for < and > into text: the converter would make references of them.
func angles(text []byte) []byte {
	if bytes.IndexByte(text, '<') < 0 && bytes.IndexByte(text, '>') < 0 {
		return text
	}
	return bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("<"), []byte(leftAngle)), []byte(">"), []byte(rightAngle))
}

// angled puts < and > where they stand for; a < that would begin HTML gets a backslash.
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
		if len(md) > 0 && (isLetter(md[0]) || md[0] == '/' || md[0] == '!' || md[0] == '?') {
			out = append(out, '\\')
		}
		out = append(out, '<')
	}
	return bytes.ReplaceAll(append(out, md...), []byte(rightAngle), []byte(">"))
}

// markerEnd returns where the sign ends that makes of a line a heading, a quotation, an item or a
// rule, 0 for none.
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

// wordByte reports whether a byte is of a word; all beyond ASCII counts as such.
func wordByte(c byte) bool { return isAlnum(c) || c == '_' || c >= 0x80 }
