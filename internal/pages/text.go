package pages

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/mdhtml"
	"github.com/curtsy/curtsy/internal/xhtml"
)

// Text is what a reader of a page sees, UTF-8. Its slices live in the Extractor that returned it,
// until its next use.
type Text struct {
	Title    []byte // <title>, else the first h1
	Lang     string // <html lang>, lower case, without region
	Headings []byte // h1 to h3, one to a line
	Body     []byte // all visible text, headings included; one line to a block, blanks folded
}

// maxTitle bounds titles and lines of headings, in bytes.
const maxTitle = crawl.MaxTitle

// Extractor reads the text of pages, one after another, and keeps its buffers. It
// is for one goroutine.
//
// Text goes through the page's tree, so that headings and hidden text are recognised as a
// browser recognises them. It is for search, which lags behind the crawl. Title only walks
// the tags, at a twentieth of the cost, because storing waits for it. The same walk reads the
// pages that get no tree.
type Extractor struct {
	title, heads, body, scratch []byte
	page                        []byte    // as it is given to the tree builder
	headings                    []heading // of the tree
	lang                        string
	gap                         byte   // what separates the next word from the last: 0, ' ' or '\n'
	skip, svg                   int    // depth of <template> and <svg>
	hushed                      bool   // that heading is not to be shown
	heading                     int    // where in body the open heading began, -1 for none
	open                        byte   // its level
	h1                          []byte // the first one
	read                        walk   // of Read
}

// Text returns what is visible of a body that is content-decoded but in its own charset.
// Anything may be passed.
func (x *Extractor) Text(contentType, charsetName string, body []byte) Text {
	x.reset()
	body = DecodeCharset(body, charsetName)
	contentType, body = readable(contentType, body)
	if contentType == "text/plain" {
		x.plain(body)
	} else if !x.document(body) {
		x.reset()
		x.html(body, false)
	}
	return Text{Title: x.bestTitle(), Lang: x.lang, Headings: x.heads, Body: x.body}
}

// readable converts Markdown and XHTML, in UTF-8, to HTML. It returns other types unchanged.
func readable(contentType string, body []byte) (string, []byte) {
	switch contentType {
	case mdhtml.MediaType:
		return "text/html", mdhtml.HTML(body)
	case xhtml.MediaType:
		return "text/html", xhtml.HTML(body)
	}
	return contentType, body
}

// Title returns title and language only, which costs a few microseconds: reading stops at </title>.
// Without a title it goes on to the first h1.
func (x *Extractor) Title(contentType, charsetName string, body []byte) (title, lang string) {
	if contentType == "text/plain" {
		return "", ""
	}
	x.reset()
	_, body = readable(contentType, DecodeCharset(body, charsetName))
	x.html(body, true)
	return string(x.bestTitle()), x.lang
}

// keepBuffer is the size up to which an Extractor keeps a buffer: one large page must not hold
// memory for all the small ones after it.
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

// DecodeCharset returns a body in UTF-8, without a byte order mark. It returns body itself if that
// is UTF-8 already. A body in a charset nobody knows is read as UTF-8. Bytes that cannot be decoded
// become U+FFFD.
func DecodeCharset(body []byte, name string) []byte {
	if name != "" && !strings.EqualFold(name, "utf-8") {
		if enc, canonical := charset.Lookup(name); enc != nil && canonical != "utf-8" {
			if out, err := enc.NewDecoder().Bytes(body); err == nil {
				body = out
			}
		}
	}
	body = bytes.TrimPrefix(body, []byte("\uFEFF"))
	if utf8.Valid(body) {
		return body
	}
	return bytes.ToValidUTF8(body, []byte("\uFFFD"))
}

func (x *Extractor) plain(body []byte) {
	for line := range bytes.Lines(body) {
		x.words(line)
		x.breakLine()
	}
}

// html walks the pieces of a page. titleOnly stops at the title, or without one at the
// end of the first h1.
func (x *Extractor) html(body []byte, titleOnly bool) {
	s := scanner{src: body}
	var q quiet // of titleOnly: a heading that is not to be shown is no title
	for {
		kind, val, attrs := s.next()
		switch kind {
		case atEnd:
			x.closeHeading()
			return
		case text:
			if x.skip == 0 {
				x.words(val)
			}
		case startTag:
			if titleOnly && (q.on() || len(attrs) > 0) {
				q.start(val, attrs, false)
			}
			x.hushed = q.on() || x.hushed && x.heading >= 0
			x.startTag(val, attrs)
			if raw := rawElement(val); raw != "" {
				s.raw = raw
				kind, val, _ := s.next()
				if kind == rawText && raw == "title" && x.svg == 0 && x.skip == 0 && len(x.title) == 0 {
					x.title = fold(x.title, unescape(val))
				}
				if kind == rawText && raw == "xmp" && x.skip == 0 {
					x.words(val)
				}
			}
			if titleOnly && len(x.title) > 0 {
				return
			}
		case endTag:
			q.end(val)
			x.endTag(val)
			if titleOnly && len(x.h1) > 0 {
				return
			}
		}
	}
}

// rawElement returns the name of an element that holds no markup, "" for all others.
func rawElement(name []byte) string {
	switch string(name) {
	case "title":
		return "title"
	case "script":
		return "script"
	case "style":
		return "style"
	case "noscript":
		return "noscript"
	case "iframe":
		return "iframe"
	case "textarea":
		return "textarea"
	case "noembed":
		return "noembed"
	case "noframes":
		return "noframes"
	case "xmp":
		return "xmp"
	}
	return ""
}

func (x *Extractor) startTag(name, attrs []byte) {
	switch string(name) {
	case "html":
		if x.lang == "" {
			x.lang = primaryLang(attr(attrs, "lang", "xml:lang"))
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

// separate ends the word at tags that stand between words, and the line at those of blocks.
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

// closeHeading takes the text since the heading began.
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
		"center", "dir", "menu", "video", "audio", "object", "canvas", "xmp":
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

// fold appends text to the body with its whitespace folded: inside a block every run of
// blanks is one space.
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

// unescape resolves character references.
func unescape(val []byte) []byte {
	if bytes.IndexByte(val, '&') < 0 {
		return val
	}
	return []byte(html.UnescapeString(string(val)))
}

// maybeBlank marks the bytes that a blank can begin with. Hardly any byte of a text is one, so most
// bytes cost one look.
var maybeBlank = [256]bool{0: true, ' ': true, '\t': true, '\n': true, '\v': true, '\f': true, '\r': true, 0xC2: true}

// blank returns the length of the whitespace val begins with, 0 if none: ASCII's, and
// the no-break space.
func blank(val string) int {
	switch c := val[0]; {
	case isBlank(c), c == 0:
		return 1
	case c == 0xC2 && len(val) > 1 && val[1] == 0xA0:
		return 2
	}
	return 0
}

// fold appends text as one line, at most maxTitle bytes.
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

// primaryLang returns the language of a BCP 47 tag: "de" of "de-AT". Anything else is "".
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
