package pages

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/curtsy/curtsy/pkg/canon"
	"golang.org/x/net/html"
)

// rewriter writes a page anew for the Markdown converter. Elements for words of a line are what a
// tree builder copies about; here they are closed wherever a block begins or ends, and begun again
// where text comes, so that none is ever open across a block.
type rewriter struct {
	x     *Extractor
	s     scanner
	out   []byte
	base  *canon.Base
	self  canon.URL
	based bool // a <base> was seen: the first counts
	tags  int
	quiet quiet // what says data-nosnippet
	// Something was left out for that.
	hushed bool

	line    []inlineTag // open in the page
	written int         // how many of them are open in out
	blocks  []openBlock
	deeper  int    // blocks that are open below maxBlocks, and are not written
	gap     bool   // in a cell, a line ends before the next text
	begins  bool   // no text has come since a block began, or a line
	tables  int    // open <table>
	pre     int    // open <pre>
	skip    int    // open <template>
	svg     int    // open <svg>: its text is labels of a drawing
	lang    string // of the next <pre>, as an element around it says
	ownSpot bool   // in a link to a place of the page itself
	ref     []byte
}

// inlineTag is an open element for words of a line.
type inlineTag struct {
	name string // as it is written anew
	href string // of a
}

// The most that is kept of elements in one another. Those further in are passed over.
const (
	maxInline = 8
	maxBlocks = 64
)

// unmarked takes out the characters that mean something on the way: the converter's own for what is
// escaped and for a line's end, and ours for angles.
var unmarked = strings.NewReplacer("\a", "", "\uF002", "", leftAngle, "", rightAngle, "")

const reserved = "\a\uF002" + leftAngle + rightAngle

// What stands for < and > in text until the converter is done, which would write &lt; and &gt;.
const (
	leftAngle  = "\uF003"
	rightAngle = "\uF004"
)

// marksAttr is the attribute in which marks travel to prune.
const marksAttr = "m"

func newRewriter(x *Extractor, p *Page) *rewriter {
	return &rewriter{x: x, out: x.page[:0], base: canon.NewBase(p.URL), self: p.URL}
}

// page returns the page as it is written anew; ok is false when it is too large.
func (r *rewriter) page(src []byte) (page []byte, ok bool) {
	r.x.reset()
	r.s = scanner{src: src}
	defer func() { r.x.page = r.out[:0] }()
	for {
		kind, val, attrs := r.s.next()
		if r.tags > maxMarkdownTags || len(r.out)+len(val) > maxMarkdownBytes {
			return nil, false
		}
		switch kind {
		case atEnd:
			return r.out, true
		case text:
			if r.skip == 0 && r.svg == 0 && !r.quiet.on() {
				r.text(val)
			}
		case startTag:
			slash := len(attrs) > 0 && attrs[len(attrs)-1] == '/'
			if r.quiet.on() || len(attrs) > 0 {
				if r.quiet.start(val, attrs, r.svg > 0 && slash) {
					r.hushed = true
					r.text([]byte(" … "))
				}
			}
			r.start(val, attrs, slash)
		case endTag:
			hushed := r.quiet.on()
			if hushed {
				r.quiet.end(val)
			}
			r.end(val, hushed)
		}
		if r.quiet.lost {
			return nil, false
		}
	}
}

// text writes text, in the elements that are open around it.
func (r *rewriter) text(val []byte) {
	if r.ownSpot && permalink(val) {
		return
	}
	if len(bytes.TrimSpace(val)) > 0 {
		if r.gap {
			r.gap = false
			r.out = append(r.out, "<br>"...)
		}
		r.reopen()
	}
	r.mark(val)
}

// reopen begins the elements of a line that are open in the page.
func (r *rewriter) reopen() {
	if r.pre > 0 {
		return
	}
	for _, t := range r.line[r.written:] {
		r.tags++
		r.out = append(append(r.out, '<'), t.name...)
		if t.href != "" {
			r.out = append(append(append(r.out, ` href="`...), html.EscapeString(t.href)...), '"')
		}
		r.out = append(r.out, '>')
	}
	r.written = len(r.line)
}

// mark writes text that is Markdown's, from a page's.
func (r *rewriter) mark(val []byte) {
	blank := len(bytes.TrimSpace(val)) == 0
	if blank && (r.begins || len(val) == 0) && r.pre == 0 {
		return
	}
	val = unescape(val)
	if bytes.ContainsAny(val, reserved) {
		val = []byte(unmarked.Replace(string(val)))
	}
	code, link := r.pre > 0, false
	for _, t := range r.line {
		code, link = code || t.name == "code", link || t.name == "a"
	}
	switch {
	case !code:
		r.ref = appendEscaped(r.ref[:0], val, r.begins, r.tables > 0, link)
		val = angles(r.ref)
	case r.tables > 0 && r.pre == 0:
		val = bytes.ReplaceAll(val, []byte("|"), []byte(`\|`))
	}
	r.begins = r.begins && blank
	r.out = append(r.out, html.EscapeString(string(val))...)
}

// permalink reports whether a text is the sign that generators put beside a heading, so that its
// address can be copied.
func permalink(val []byte) bool {
	switch string(bytes.TrimSpace(val)) {
	case "¶", "§", "#", "🔗", "⚓", "&para;", "&sect;", "&#182;", "&#167;", "&#xb6;", "&#xB6;":
		return true
	}
	return false
}

// closeLine ends elements of a line down to the n outermost, in what is written.
func (r *rewriter) closeLine(n int) {
	for ; r.written > n; r.written-- {
		r.out = append(append(append(r.out, "</"...), r.line[r.written-1].name...), '>')
	}
}

func (r *rewriter) open(name, href string) {
	if len(r.line) < maxInline && r.pre == 0 {
		r.line = append(r.line, inlineTag{name, href})
	}
}

// shut ends the innermost element of a line that has a name.
func (r *rewriter) shut(name string) {
	for i := len(r.line) - 1; i >= 0; i-- {
		if r.line[i].name == name {
			r.closeLine(i)
			r.line = append(r.line[:i], r.line[i+1:]...)
			return
		}
	}
}

// block writes the start tag of a block.
func (r *rewriter) block(name string, attrs ...string) {
	r.closeLine(0)
	r.begins = true
	r.tags++
	r.out = append(append(r.out, '<'), name...)
	for i := 0; i+1 < len(attrs); i += 2 {
		if attrs[i+1] != "" {
			r.out = append(append(append(append(append(r.out, ' '), attrs[i]...), `="`...), attrs[i+1]...), '"')
		}
	}
	r.out = append(r.out, '>')
}

// start takes a start tag. Of what says data-nosnippet, and of what is in it, nothing is written.
func (r *rewriter) start(name, attrs []byte, slash bool) {
	if raw := rawElement(name); raw != "" {
		r.raw(raw)
		return
	}
	switch string(name) {
	case "template":
		r.skip++
		return
	case "svg":
		r.svg += int(1 - bit(slash))
		return
	}
	if r.skip > 0 || r.svg > 0 || r.quiet.on() {
		return
	}
	if inline := lineTag(name); inline != "" {
		if pre := []byte("<pre>"); bytes.HasSuffix(r.out, pre) && inline == "code" {
			if l := language(attrs); l != "" {
				r.out = append(append(append(r.out[:len(r.out)-1], ` class="language-`...), l...), `">`...)
			}
		}
		r.open(inline, "")
		return
	}
	switch string(name) {
	case "a":
		r.shut("a")
		written := attr(attrs, "href")
		href := r.resolve(written)
		r.ownSpot = href == "" && len(written) > 0 && written[0] == '#'
		if href != "" {
			r.open("a", href)
		}
	case "base":
		if href := attr(attrs, "href"); href != nil && !r.based {
			r.based = true
			r.base, _ = r.base.Rebase(string(appendAttr(nil, href)))
		}
	case "br":
		if r.pre > 0 {
			r.out = append(r.out, '\n')
		} else if !bytes.HasSuffix(r.out, []byte("<br><br>")) {
			r.tags++
			r.out = append(r.out, "<br>"...)
			r.begins = true
		}
	case "hr":
		r.block("hr")
	case "img":
		r.image(attrs)
	case "td", "th":
		r.begin(string(name), string(name), "colspan", span(attrs, "colspan"), "rowspan", span(attrs, "rowspan"))
	case "ol":
		r.begin("ol", "ol", "start", number(attr(attrs, "start"), 1<<20), marksAttr, marks(elementOL, attrs))
	case "pre":
		lang := language(attrs)
		if lang == "" {
			lang = r.lang
		}
		if r.lang = ""; lang != "" {
			lang = "language-" + lang
		}
		r.begin("pre", "pre", "class", lang)
	case "dt":
		r.begin("dt", "div")
		r.open("strong", "")
	case "option", "input", "button", "label", "select":
		r.out = append(r.out, ' ')
	default:
		if as := blockTag(name); as != "" {
			if l := language(attrs); l != "" {
				r.lang = l
			}
			r.begin(string(name), as, marksAttr, marks(elementOf(name), attrs))
		}
	}
}

// raw steps over an element that holds no markup.
func (r *rewriter) raw(name string) {
	r.s.raw = name
	at := r.s.i
	kind, val, _ := r.s.next()
	if kind != rawText {
		r.s.i = at // it is empty; what was read comes next
		return
	}
	if name == "xmp" && r.skip == 0 && r.svg == 0 && !r.quiet.on() && len(r.out)+len(val) < maxMarkdownBytes/6 {
		r.block("pre")
		r.out = append(append(r.out, html.EscapeString(string(val))...), "</pre>"...)
	}
}

// end takes an end tag. hushed: it stands in what says data-nosnippet, or ends it.
func (r *rewriter) end(name []byte, hushed bool) {
	switch string(name) {
	case "template":
		r.skip = max(0, r.skip-1)
		return
	case "svg":
		r.svg = max(0, r.svg-1)
		return
	}
	if r.skip > 0 || r.svg > 0 || hushed {
		return
	}
	if inline := lineTag(name); inline != "" {
		r.shut(inline)
		return
	}
	switch string(name) {
	case "a":
		r.ownSpot = false
		r.shut("a")
	case "td", "th", "ol", "dt", "pre":
		r.endOf(string(name))
	default:
		if blockTag(name) != "" {
			r.endOf(string(name))
		}
	}
}

// image writes an image that has a text for those who do not see it.
func (r *rewriter) image(attrs []byte) {
	alt := fold(nil, unescape(attr(attrs, "alt")))
	alt = bytes.ToValidUTF8(alt[:min(len(alt), maxAnchor)], nil)
	if len(alt) == 0 || r.pre > 0 {
		r.out = append(r.out, ' ')
		return
	}
	src := r.resolve(attr(attrs, "src"))
	if src == "" { // data: and the like
		r.text([]byte(html.EscapeString(string(alt))))
		return
	}
	r.reopen()
	r.tags++
	r.begins = false
	alt = appendEscaped(nil, []byte(unmarked.Replace(string(alt))), false, r.tables > 0, true)
	r.out = append(append(append(r.out, `<img alt="`...), html.EscapeString(string(alt))...), `" src="`...)
	r.out = append(append(r.out, html.EscapeString(src)...), `">`...)
}

// resolve makes an address absolute; "" for those within the page, and of other schemes than http
// and https.
func (r *rewriter) resolve(href []byte) string {
	if href == nil {
		return ""
	}
	r.ref = appendAttr(r.ref[:0], href)
	if ref := bytes.TrimSpace(r.ref); len(ref) == 0 || ref[0] == '#' {
		return ""
	}
	u, err := r.base.JoinBytes(r.ref)
	if err != nil || u == r.self {
		return ""
	}
	return string(u)
}

// endless reports whether an element is complete with its start tag, in HTML too.
func endless(name []byte) bool {
	switch string(name) {
	case "a", "base", "br", "hr", "img", "input":
		return true
	}
	return false
}

// lineTag is as what an element for words of a line is written; "" for what is not one, or says
// nothing in Markdown.
func lineTag(name []byte) string {
	switch string(name) {
	case "b", "strong":
		return "strong"
	case "i", "em":
		return "em"
	case "code", "kbd", "samp", "tt":
		return "code"
	case "del", "s", "strike":
		return "del"
	}
	return ""
}

// blockTag is as what a block is written; "" for all others.
func blockTag(name []byte) string {
	switch string(name) {
	case "p", "div", "section", "article", "main", "header", "footer", "nav", "aside", "ul", "li", "table", "thead", "tbody", "tfoot", "tr",
		"caption", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "figure":
		return string(name)
	case "figcaption", "address", "summary", "legend":
		return "p"
	case "details", "form", "fieldset", "center", "dl", "dd", "video", "audio", "object", "canvas":
		return "div"
	case "menu", "dir":
		return "ul"
	}
	return ""
}

// number is an attribute's value where it is a number from 0 to most, else "".
func number(val []byte, most int) string {
	if n, err := strconv.Atoi(string(val)); err == nil && 0 <= n && n <= most {
		return strconv.Itoa(n)
	}
	return ""
}

// span is how many columns or rows a cell spans: a few, since the converter writes out each.
func span(attrs []byte, name string) string {
	if s := number(attr(attrs, name), 8); s != "0" && s != "1" {
		return s
	}
	return ""
}

// language is the language of code that an element's class names.
func language(attrs []byte) string {
	class := attr(attrs, "class")
	for word := range bytes.FieldsSeq(class[:min(len(class), maxClass)]) {
		for _, prefix := range []string{"language-", "lang-", "highlight-", "highlight-source-", "brush:"} {
			l, ok := bytes.CutPrefix(word, []byte(prefix))
			if !ok || len(l) == 0 || len(l) > 20 {
				continue
			}
			if bytes.ContainsFunc(l, func(c rune) bool { return c > 'z' || c != '+' && c != '#' && c != '-' && !isAlnum(byte(c)) }) {
				continue
			}
			switch string(l) {
			case "default", "none", "text", "plain", "plaintext", "notranslate":
				return ""
			}
			return string(l)
		}
	}
	return ""
}

// asideNote reports whether an element is called a sidebar, by that word alone. What is called so
// stands beside the text: navigation, or, in books, a box that belongs to it.
func asideNote(attrs []byte) bool {
	for name, val, rest := nextAttr(attrs); name != nil; name, val, rest = nextAttr(rest) {
		if is(name, "class") && is(bytes.TrimSpace(val), "sidebar") {
			return true
		}
	}
	return false
}

// marks are what markOf makes of an element outside of a main text, and in one, as an attribute for
// prune: two digits, or "m" for one that holds a main text.
func marks(e element, attrs []byte) string {
	if !e.follows() {
		return ""
	}
	out, main := markOf(e, attrs, false)
	if main {
		return "m"
	}
	in, _ := markOf(e, attrs, true)
	if out == plain && in == plain {
		return ""
	}
	if e == elementDiv && asideNote(attrs) {
		out, in = sideNote, sideNote
	}
	return string([]byte{'0' + byte(out), '0' + byte(in)})
}
