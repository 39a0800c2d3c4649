package pagetext

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/html"
)

// Text is the visible text of a page, in UTF-8. Its slices belong to the Extractor that returned it
// and are valid until its next use.
type Text struct {
	Title    []byte // <title>, otherwise the first h1
	Lang     string // <html lang> in lower case, without its region
	Headings []byte // h1 to h3, one on each line
	Body     []byte // all visible text with headings; one line for each block, blanks folded
}

// maxTitle limits titles and headings, in bytes.
const maxTitle = crawl.MaxTitle

// Extractor reads the text of one page after another, and keeps its buffers. It is for one
// goroutine.
//
// Text builds the tree of the page, so that it recognises headings and hidden text as a browser
// does. Its reader is search, which may lag behind the crawl. Title only reads tags, at a twentieth
// of the cost, because the storing of pages waits for it. Pages for which no tree is built are read
// by their tags as well.
type Extractor struct {
	title, heads, body, scratch []byte
	page                        []byte    // the page for the tree builder
	headings                    []heading // in the tree
	lang                        string
	gap                         byte   // the separator before the next word: 0, ' ' or '\n'
	skip, svg                   int    // depth of <template> and <svg>
	hushed                      bool   // the open heading must not be shown
	heading                     int    // where in body the open heading begins, -1 if none is open
	open                        byte   // its level
	h1                          []byte // the first h1
	read                        walk   // the state of Read
}

// Text returns the visible text of a page. The body is decoded from its content coding, but in its
// own charset. It may be any bytes.
func (x *Extractor) Text(contentType, charsetName string, body []byte) Text {
	x.reset()
	body = html.Decode(body, charsetName)
	contentType, body = html.Convert(contentType, body)
	if contentType == "text/plain" {
		x.plain(body)
	} else if !x.document(body) {
		x.reset()
		x.html(body, false)
	}
	return Text{Title: x.bestTitle(), Lang: x.lang, Headings: x.heads, Body: x.body}
}

// Title returns title and language only. It reads up to </title>, or without a title up to the end
// of the first h1, which takes a few microseconds.
func (x *Extractor) Title(contentType, charsetName string, body []byte) (title, lang string) {
	if contentType == "text/plain" {
		return "", ""
	}
	x.reset()
	_, body = html.Convert(contentType, html.Decode(body, charsetName))
	x.html(body, true)
	return string(x.bestTitle()), x.lang
}

// keepBuffer is the largest buffer that an Extractor keeps, in bytes. One large page must not
// occupy memory during all the small ones after it.
const keepBuffer = 1 << 20

func (x *Extractor) reset() {
	if cap(x.body) > keepBuffer || cap(x.page) > keepBuffer || cap(x.headings) > keepBuffer/32 {
		x.body, x.page, x.headings = nil, nil, nil
	}
	x.headings = x.headings[:0]
	x.title, x.heads, x.body, x.h1 = x.title[:0], x.heads[:0], x.body[:0], x.h1[:0]
	x.lang, x.gap, x.skip, x.svg, x.heading, x.open = "", 0, 0, 0, -1, 0
}

func (x *Extractor) bestTitle() []byte {
	if len(x.title) > 0 {
		return x.title
	}
	return x.h1
}

func (x *Extractor) plain(body []byte) {
	for line := range bytes.Lines(body) {
		x.words(line)
		x.breakLine()
	}
}

// html reads the tags of a page. titleOnly ends it at the title, or without a title at the end of
// the first h1.
func (x *Extractor) html(body []byte, titleOnly bool) {
	s := html.Reader{Page: body, Scripts: true}
	var q quiet // for titleOnly: a heading that must not be shown is no title
	for {
		kind, val, attrs := s.Next()
		switch kind {
		case html.End:
			x.closeHeading()
			return
		case html.Text:
			if x.skip == 0 {
				x.words(val)
			}
		case html.StartTag:
			if titleOnly && (q.on() || len(attrs) > 0) {
				q.start(val, attrs, false)
			}
			x.hushed = q.on() || x.hushed && x.heading >= 0
			x.startTag(val, attrs)
			raw := s.Raw()
			switch {
			case x.skip > 0:
			case string(val) == "title" && x.svg == 0 && len(x.title) == 0:
				x.title = fold(x.title, html.Unescape(raw))
			case shownRaw(val):
				x.words(raw)
			}
			if titleOnly && len(x.title) > 0 {
				return
			}
		case html.EndTag:
			q.end(val)
			x.endTag(val)
			if titleOnly && len(x.h1) > 0 {
				return
			}
		}
	}
}

// shownRaw reports whether the content of an element is visible as it is written, including tags.
func shownRaw(name []byte) bool { return string(name) == "xmp" || string(name) == "plaintext" }

func (x *Extractor) startTag(name, attrs []byte) {
	switch string(name) {
	case "html":
		if x.lang == "" {
			x.lang = primaryLang(html.Attr(attrs, "lang", "xml:lang"))
		}
	case "template":
		x.skip++
	case "svg":
		x.svg++
		x.space()
	case "h1", "h2", "h3":
		x.closeHeading()
		x.breakLine()
		if x.skip == 0 {
			x.heading, x.open = len(x.body), name[1]
		}
	default:
		x.separate(name)
	}
}

func (x *Extractor) endTag(name []byte) {
	switch string(name) {
	case "template":
		x.skip = max(0, x.skip-1)
	case "svg":
		x.svg = max(0, x.svg-1)
		x.space()
	case "h1", "h2", "h3":
		x.closeHeading()
		x.breakLine()
	default:
		x.separate(name)
	}
}

// separate ends the word at tags that separate words, and the line at tags of blocks.
func (x *Extractor) separate(name []byte) {
	switch string(name) {
	case "td", "th", "option", "img", "input", "button", "label", "select", "textarea", "iframe":
		x.space()
	default:
		if isBlock(name) {
			x.breakLine()
		}
	}
}

// closeHeading stores the text since the heading began.
func (x *Extractor) closeHeading() {
	if x.heading < 0 {
		return
	}
	x.scratch = fold(x.scratch[:0], x.body[x.heading:])
	if len(x.scratch) > 0 {
		if x.open == '1' && len(x.h1) == 0 && !x.hushed {
			x.h1 = append(x.h1, x.scratch...)
		}
		if len(x.heads) > 0 {
			x.heads = append(x.heads, '\n')
		}
		x.heads = append(x.heads, x.scratch...)
	}
	x.heading = -1
}

func isBlock(name []byte) bool {
	switch string(name) {
	case "p", "div", "li", "br", "tr", "ul", "ol", "dl", "dt", "dd", "pre", "table", "section", "article", "aside",
		"header", "footer", "nav", "main", "figure", "figcaption", "blockquote", "form", "fieldset", "legend", "hr",
		"address", "h4", "h5", "h6", "details", "summary", "caption", "thead", "tbody", "tfoot", "body", "head",
		"center", "dir", "menu", "video", "audio", "object", "canvas", "xmp", "plaintext":
		return true
	}
	return false
}

func (x *Extractor) space() {
	if x.gap == 0 {
		x.gap = ' '
	}
}

func (x *Extractor) breakLine() { x.gap = '\n' }

// fold appends text to the body. Each run of blanks within a block becomes one space.
func (x *Extractor) fold(val string) {
	for len(val) > 0 {
		if n := blank(val); n > 0 {
			x.space()
			val = val[n:]
			continue
		}
		n := 1
		for n < len(val) && (!maybeBlank[val[n]] || blank(val[n:]) == 0) {
			n++
		}
		if x.gap != 0 && len(x.body) > 0 {
			x.body = append(x.body, x.gap)
		}
		x.gap = 0
		x.body, val = append(x.body, val[:n]...), val[n:]
	}
}

// maybeBlank marks the bytes with which a blank can begin. Hardly any byte of a text is marked, so
// most bytes need only one test.
var maybeBlank = [256]bool{0: true, ' ': true, '\t': true, '\n': true, '\v': true, '\f': true, '\r': true, 0xC2: true}

func isBlank(c byte) bool { return c == ' ' || c <= '\r' && c >= '\t' }

// blank returns the length of the white space at the beginning of val, 0 if there is none. White
// space is that of ASCII, and the no-break space.
func blank(val string) int {
	switch c := val[0]; {
	case isBlank(c), c == 0:
		return 1
	case c == 0xC2 && len(val) > 1 && val[1] == 0xA0:
		return 2
	}
	return 0
}

// fold appends text as one line of at most maxTitle bytes.
func fold(dst, text []byte) []byte {
	from := len(dst)
	for word := range bytes.FieldsFuncSeq(text, isSpaceRune) {
		if len(dst) > from {
			dst = append(dst, ' ')
		}
		dst = append(dst, word...)
		if len(dst)-from > maxTitle {
			cut := from + maxTitle
			for cut > from && !utf8.RuneStart(dst[cut]) {
				cut--
			}
			return dst[:cut]
		}
	}
	return dst
}

func isSpaceRune(r rune) bool { return r <= ' ' || r == '\u00A0' }

// primaryLang returns the language of a BCP 47 tag: "de" for "de-AT". For anything else it returns
// "".
func primaryLang(tag []byte) string {
	tag = bytes.TrimSpace(tag)
	if i := bytes.IndexAny(tag, "-_"); i >= 0 {
		tag = tag[:i]
	}
	if len(tag) < 2 || len(tag) > 3 {
		return ""
	}
	for _, c := range tag {
		if c|0x20 < 'a' || c|0x20 > 'z' {
			return ""
		}
	}
	return strings.ToLower(string(tag))
}
