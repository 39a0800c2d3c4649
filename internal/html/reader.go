package html

import "bytes"

// Kind is what Reader.Next has found.
type Kind uint8

// What a page is made of. Comments, document types and processing instructions are passed over.
const (
	End      Kind = iota // the page has ended
	Text                 // text with character references in it
	StartTag             // <name attrs>
	EndTag               // </name>
)

// MaxName is the longest name of a tag that is returned, in bytes. No element of HTML has a longer
// one.
const MaxName = 16

// Reader cuts a page into text and tags. It needs no more memory than its own fields.
type Reader struct {
	Page []byte // in UTF-8; it is not changed
	// Scripts says to read <noscript> as a browser with scripts does: its content is no markup.
	Scripts bool

	i     int    // where to go on
	start int    // where the last tag begins
	raw   string // the element that has just begun, if its content is raw text
	name  [MaxName]byte
}

// Next returns the next piece of the page. For Text, val is the text as it is written. For a tag,
// val is its name in lower case (empty if it is longer than MaxName), and attrs is what follows the
// name up to the ">": see NextAttr. Both are valid until the next call. A tag that the end of the
// page cuts off is skipped.
//
// The content of elements such as script and title is text, whatever it looks like. It is skipped
// as well, unless Raw or NotRaw is called after the start tag.
func (r *Reader) Next() (kind Kind, val, attrs []byte) {
	if r.raw != "" {
		r.Raw()
	}
	b := r.Page
	from := r.i // of text
	for i := from; ; {
		if i == len(b) || b[i] != '<' {
			n := bytes.IndexByte(b[i:], '<')
			if n < 0 {
				return r.lastText(from)
			}
			i += n
		}
		if i+1 == len(b) {
			return r.lastText(from)
		}
		switch c := b[i+1]; {
		case IsLetter(c):
			if i > from {
				return r.textTo(from, i)
			}
			return r.tag(i, i+1, StartTag)
		case c != '/' && c != '!' && c != '?':
			i++ // a lone "<" is text
			continue
		case i > from:
			return r.textTo(from, i)
		case c == '!' && bytes.HasPrefix(b[i+2:], []byte("--")):
			i = commentEnd(b, i+4)
		case c == '!':
			i = after(b, i+2, '>')
		case c == '?':
			i = after(b, i+1, '>')
		case i+2 == len(b):
			return r.lastText(from)
		case IsLetter(b[i+2]):
			return r.tag(i, i+2, EndTag)
		default: // </> is nothing, and </ > is a comment
			i = after(b, i+2, '>')
		}
		from = i
	}
}

func (r *Reader) textTo(from, to int) (Kind, []byte, []byte) {
	r.i = to
	return Text, r.Page[from:to], nil
}

// lastText returns what is left of the page, which is text.
func (r *Reader) lastText(from int) (Kind, []byte, []byte) {
	r.i = len(r.Page)
	if from >= len(r.Page) {
		return End, nil, nil
	}
	return Text, r.Page[from:], nil
}

// tag reads the tag that begins at start and whose name begins at i.
func (r *Reader) tag(start, i int, kind Kind) (Kind, []byte, []byte) {
	b := r.Page
	n := 0
	for ; i < len(b) && !endsName[b[i]]; i++ {
		if n < MaxName {
			c := b[i]
			if 'A' <= c && c <= 'Z' {
				c |= 0x20
			}
			r.name[n] = c
		}
		n++
	}
	if n > MaxName {
		n = 0
	}
	end := i
	if end == len(b) || b[end] != '>' {
		if end = tagEnd(b, i); end < 0 {
			r.i = len(b)
			return End, nil, nil
		}
	}
	r.start, r.i = start, end+1
	name := r.name[:n]
	if kind == StartTag && n > 2 && mayBeRaw(name[0], name[1]) {
		r.raw = rawElement(name, r.Scripts)
	}
	return kind, name, b[i:end]
}

// endsName marks the bytes that end the name of a tag.
var endsName = [256]bool{' ': true, '\t': true, '\n': true, '\f': true, '\r': true, '/': true, '>': true}

// tagEnd returns where the ">" of a tag is, -1 if it has none. The tag's name ends at i. Names of
// attributes and values without quotes need no telling apart: only a value in quotes can have a ">"
// in it, and a quote begins a value only after the "=" that follows a name.
func tagEnd(b []byte, i int) int {
	from := i // of the next attribute
	for i < len(b) && b[i] != '>' {
		if b[i] != '=' || i == from || beforeName[b[i-1]] && !follows(b[from:i]) {
			i++
			continue
		}
		for i++; i < len(b) && IsSpace(b[i]); i++ {
		}
		if i < len(b) && (b[i] == '"' || b[i] == '\'') {
			n := bytes.IndexByte(b[i+1:], b[i])
			if n < 0 {
				return -1
			}
			i += n + 2
		} else {
			for i < len(b) && b[i] != '>' && !IsSpace(b[i]) {
				i++
			}
		}
		from = i
	}
	if i >= len(b) {
		return -1
	}
	return i
}

// beforeName marks the bytes after which a "=" may be the first letter of the name of an attribute.
var beforeName = [256]bool{' ': true, '\t': true, '\n': true, '\f': true, '\r': true, '/': true}

// follows reports whether what stands before an "=" ends in the name of an attribute. Otherwise the
// "=" is the first letter of a name.
func follows(b []byte) bool {
	n := len(b)
	for n > 0 && IsSpace(b[n-1]) {
		n--
	}
	return n > 0 && b[n-1] != '/'
}

// Line is the line of the page in which the last tag begins, from 1. It counts them from the
// beginning of the page.
func (r *Reader) Line() int { return 1 + bytes.Count(r.Page[:r.start], []byte("\n")) }

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
