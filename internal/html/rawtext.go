package html

import "bytes"

// mayBeRaw reports whether the name of an element with raw text can begin with these letters. It
// spares most tags the comparison of names.
func mayBeRaw(first, second byte) bool {
	switch first {
	case 's':
		return second == 'c' || second == 't'
	case 't':
		return second == 'i' || second == 'e'
	case 'n':
		return second == 'o'
	case 'i':
		return second == 'f'
	case 'p':
		return second == 'l'
	case 'x':
		return second == 'm'
	}
	return false
}

// rawElement returns the name of an element whose content is raw text, "" for all others. That of
// noscript is raw text only where scripts run.
func rawElement(name []byte, scripts bool) string {
	switch string(name) {
	case "script":
		return "script"
	case "style":
		return "style"
	case "title":
		return "title"
	case "textarea":
		return "textarea"
	case "iframe":
		return "iframe"
	case "noembed":
		return "noembed"
	case "noframes":
		return "noframes"
	case "noscript":
		if scripts {
			return "noscript"
		}
	case "xmp":
		return "xmp"
	case "plaintext":
		return "plaintext"
	}
	return ""
}

// Raw returns the content of the element whose start tag Next has just returned, up to its end tag
// or to the end of the page, if that content is raw text; nil otherwise. What comes next is the end
// tag. Only in title and textarea can there be character references.
func (r *Reader) Raw() []byte {
	if r.raw == "" {
		return nil
	}
	from := r.i
	r.i = rawEnd(r.Page, from, r.raw)
	r.raw = ""
	return r.Page[from:r.i]
}

// NotRaw says that the element whose start tag Next has just returned has no raw text, whatever its
// name: a title in a drawing that closes itself has none.
func (r *Reader) NotRaw() { r.raw = "" }

// rawEnd returns where the raw text of an element ends that begins at i: at its end tag, or at the
// end of the page.
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

// rawEndTag reports whether the name of an element, and what may follow it in an end tag, is at i.
// It returns how far it read.
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
	if c := b[i]; IsSpace(c) || c == '/' || c == '>' {
		return i + 1, true
	}
	return i, false
}

// scriptEnd returns where the text of a script ends that begins at i. A script may hide its end tag
// from old browsers in a comment, and a second script element within that. Each has its own rules.
func scriptEnd(b []byte, i int) int {
	const (
		plain   = iota // outside of a comment
		comment        // after "<!--": an end tag still counts
		nested         // after "<!-- <script>": the end tag belongs to the inner script
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
		case state == comment && IsLetter(b[i]):
			end, ok := rawEndTag(b, i, "script")
			if ok {
				state = nested
			} else if end == len(b) {
				return end
			}
			i = end
		case state == comment:
			state = plain // as in html.Tokenizer; in the standard the comment would continue
		}
		dashes = 0
	}
	return len(b)
}
