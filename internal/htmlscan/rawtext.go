package htmlscan

import "bytes"

// rawElements are those whose content is text, whatever it looks like. noscript is not among them,
// since we run no scripts.
var rawElements = [...]string{"script", "style", "title", "textarea", "iframe", "noembed", "noframes", "xmp", "plaintext"}

// rawElement returns the element's name in lower case if its content is raw text, else "".
func rawElement(name []byte) string {
	switch name[0] | 0x20 {
	case 's', 't', 'i', 'n', 'x', 'p':
		for _, s := range rawElements {
			if equalFold(name, s) {
				return s
			}
		}
	}
	return ""
}

// rawEnd returns where the raw text of an element ends that begins at i: at its end tag, or at
// the end of the page.
func rawEnd(b []byte, i int, element string) int {
	switch element {
	case "plaintext":
		return len(b)
	case "script":
		return scriptEnd(b, i)
	}
	for {
		n := bytes.IndexByte(b[i:], '<')
		if n < 0 {
			return len(b)
		}
		i += n + 1
		if i < len(b) && b[i] == '/' {
			switch end, ok := rawEndTag(b, i+1, element); {
			case ok:
				return i - 1
			case end == len(b):
				return end
			default:
				i = end
			}
		}
	}
}

// rawEndTag looks for an element's name and what may follow it in an end tag, at i. It
// returns how far it read.
func rawEndTag(b []byte, i int, element string) (end int, ok bool) {
	for j := range len(element) {
		if i == len(b) {
			return i, false
		}
		if c := b[i]; c != element[j] && c != element[j]-0x20 {
			return i, false
		}
		i++
	}
	if i == len(b) {
		return i, false
	}
	if c := b[i]; isSpace(c) || c == '/' || c == '>' {
		return i + 1, true
	}
	return i, false
}

// scriptEnd returns where the text of a script ends that begins at i. A script may hide
// its end tag from old browsers in a comment, and inside that a second script element.
// Each has rules of its own.
func scriptEnd(b []byte, i int) int {
	const (
		plain   = iota // no comment
		comment        // after "<!--": an end tag counts still
		nested         // after "<!-- <script>": the end tag is that of the inner one
	)
	state, dashes := plain, 0
	for i < len(b) {
		c := b[i]
		if state == plain {
			n := bytes.IndexByte(b[i:], '<')
			if n < 0 {
				return len(b)
			}
			i += n
			c = '<'
		}
		i++
		switch {
		case c == '-' && state != plain:
			dashes++
			continue
		case c == '>' && state != plain && dashes >= 2:
			state = plain
		case c != '<':
		case i == len(b):
			return i
		case b[i] == '/':
			end, ok := rawEndTag(b, i+1, "script")
			switch {
			case ok && state == nested:
				state, i = comment, end
			case ok:
				return i - 1
			case end == len(b):
				return end
			default:
				i = end
			}
		case state == plain && b[i] == '!':
			// Two dashes must follow; they count as the first of the comment's end.
			i++
			for dashes = 0; dashes < 2 && i < len(b) && b[i] == '-'; dashes++ {
				i++
			}
			if dashes == 2 {
				state = comment
				continue
			}
		case state == comment && isLetter(b[i]):
			end, ok := rawEndTag(b, i, "script")
			if ok {
				state = nested
			} else if end == len(b) {
				return end
			}
			i = end
		case state == comment:
			state = plain // as html.Tokenizer does; by the standard the comment would go on
		}
		dashes = 0
	}
	return len(b)
}
