package pagetext

import (
	"bytes"
	"strconv"
	"strings"

	nethtml "golang.org/x/net/html"

	"github.com/curtsy/curtsy/internal/html"
	"github.com/curtsy/curtsy/pkg/canon"
)

// rewriter writes a page again for the Markdown converter. A tree builder copies open inline
// elements into later blocks. The rewriter therefore closes them wherever a block begins or ends,
// and opens them again before the next text, so that none is open across a block.
type rewriter struct {
	x     *Extractor
	s     html.Reader
	out   []byte
	base  *canon.Base
	self  canon.URL
	based bool // a <base> was found; only the first counts
	tags  int
	quiet quiet // elements with data-nosnippet
	// Text was left out because of data-nosnippet.
	hushed bool

	line    []inlineTag // open in the page
	written int         // how many of these are open in out
	blocks  []openBlock
	deeper  int    // open blocks beyond maxBlocks, which are not written
	gap     bool   // in a cell, a line break is due before the next text
	begins  bool   // the next text begins a block or a line
	tables  int    // open <table>
	pre     int    // open <pre>
	skip    int    // open <template> elements
	svg     int    // open <svg> elements, whose text is the labels of a drawing
	lang    string // the language of the next <pre>, from an element around it
	ownSpot bool   // in a link to a place in the page itself
	ref     []byte
}

// inlineTag is an open inline element.
type inlineTag struct {
	name string // in the rewritten page
	href string // of a link
}

// The deepest nesting of inline elements and of blocks. Deeper elements are ignored.
const (
	maxInline = 8
	maxBlocks = 64
)

// unmarked removes the characters that have a meaning on the way: those with which the converter
// marks escapes and line breaks, and ours for < and >.
var unmarked = strings.NewReplacer("\a", "", "\uF002", "", leftAngle, "", rightAngle, "")

const reserved = "\a\uF002" + leftAngle + rightAngle

// These stand for < and > in text until the converter has finished. Otherwise it would write &lt;
// and &gt;.
const (
	leftAngle  = "\uF003"
	rightAngle = "\uF004"
)

// marksAttr is the attribute that carries marks from the rewriter to prune.
const marksAttr = "m"

func newRewriter(x *Extractor, p *Page) *rewriter {
	return &rewriter{x: x, out: x.page[:0], base: canon.NewBase(p.URL), self: p.URL}
}

// page returns the rewritten page. ok is false if it is too large.
func (r *rewriter) page(src []byte) (page []byte, ok bool) {
	r.x.reset()
	r.s = html.Reader{Page: src, Scripts: true}
	defer func() { r.x.page = r.out[:0] }()
	for {
		kind, val, attrs := r.s.Next()
		if r.tags > maxMarkdownTags || len(r.out)+len(val) > maxMarkdownBytes {
			return nil, false
		}
		switch kind {
		case html.End:
			return r.out, true
		case html.Text:
			if r.skip == 0 && r.svg == 0 && !r.quiet.on() {
				r.text(val)
			}
		case html.StartTag:
			slash := len(attrs) > 0 && attrs[len(attrs)-1] == '/'
			if r.quiet.on() || len(attrs) > 0 {
				if r.quiet.start(val, attrs, r.svg > 0 && slash) {
					r.hushed = true
					r.text([]byte(" … "))
				}
			}
			r.start(val, attrs, slash)
		case html.EndTag:
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

// text writes text, within the inline elements that are open around it.
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

// reopen opens the inline elements that are open in the page.
func (r *rewriter) reopen() {
	if r.pre > 0 {
		return
	}
	for _, t := range r.line[r.written:] {
		r.tags++
		r.out = append(append(r.out, '<'), t.name...)
		if t.href != "" {
			r.out = append(append(append(r.out, ` href="`...), nethtml.EscapeString(t.href)...), '"')
		}
		r.out = append(r.out, '>')
	}
	r.written = len(r.line)
}

// mark writes text of the page, escaped for Markdown.
func (r *rewriter) mark(val []byte) {
	blank := len(bytes.TrimSpace(val)) == 0
	if blank && (r.begins || len(val) == 0) && r.pre == 0 {
		return
	}
	val = html.Unescape(val)
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
	r.out = append(r.out, nethtml.EscapeString(string(val))...)
}

// permalink reports whether a text is the sign that generators put next to a heading as a link to
// it.
func permalink(val []byte) bool {
	switch string(bytes.TrimSpace(val)) {
	case "¶", "§", "#", "🔗", "⚓", "&para;", "&sect;", "&#182;", "&#167;", "&#xb6;", "&#xB6;":
		return true
	}
	return false
}

// closeLine closes inline elements in the rewritten page, except for the n outermost.
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

// shut ends the innermost inline element with a name.
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

// start reads a start tag. It writes nothing of an element with data-nosnippet, or of anything in
// it.
func (r *rewriter) start(name, attrs []byte, slash bool) {
	if raw := r.s.Raw(); raw != nil {
		r.raw(name, raw)
		return
	}
	switch string(name) {
	case "template":
		r.skip++
		return
	case "svg":
		if !slash {
			r.svg++
		}
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
		written := html.Attr(attrs, "href")
		href := r.resolve(written)
		r.ownSpot = href == "" && len(written) > 0 && written[0] == '#'
		if href != "" {
			r.open("a", href)
		}
	case "base":
		if href := html.Attr(attrs, "href"); href != nil && !r.based {
			r.based = true
			r.base, _ = r.base.Rebase(string(html.AppendValue(nil, href)))
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
		r.begin("ol", "ol", "start", number(html.Attr(attrs, "start"), 1<<20), marksAttr, marks(elementOL, attrs))
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

// raw reads the content of an element that contains no markup.
func (r *rewriter) raw(name, val []byte) {
	if len(val) > 0 && shownRaw(name) && r.skip == 0 && r.svg == 0 && !r.quiet.on() && len(r.out)+len(val) < maxMarkdownBytes/6 {
		r.block("pre")
		r.out = append(append(r.out, nethtml.EscapeString(string(val))...), "</pre>"...)
	}
}

// end reads an end tag. hushed means that it ends an element with data-nosnippet, or is in one.
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

// image writes an image if it has an alternative text.
func (r *rewriter) image(attrs []byte) {
	alt := fold(nil, html.Value(html.Attr(attrs, "alt")))
	alt = bytes.ToValidUTF8(alt[:min(len(alt), maxAnchor)], nil)
	if len(alt) == 0 || r.pre > 0 {
		r.out = append(r.out, ' ')
		return
	}
	src := r.resolve(html.Attr(attrs, "src"))
	if src == "" { // data: and the like
		r.text([]byte(nethtml.EscapeString(string(alt))))
		return
	}
	r.reopen()
	r.tags++
	r.begins = false
	alt = appendEscaped(nil, []byte(unmarked.Replace(string(alt))), false, r.tables > 0, true)
	r.out = append(append(append(r.out, `<img alt="`...), nethtml.EscapeString(string(alt))...), `" src="`...)
	r.out = append(append(r.out, nethtml.EscapeString(src)...), `">`...)
}

// resolve returns an absolute address. It returns "" for an address within the page, and for
// schemes other than http and https.
func (r *rewriter) resolve(href []byte) string {
	if href == nil {
		return ""
	}
	r.ref = html.AppendValue(r.ref[:0], href)
	if ref := bytes.TrimSpace(r.ref); len(ref) == 0 || ref[0] == '#' {
		return ""
	}
	u, err := r.base.JoinBytes(r.ref)
	if err != nil || u == r.self {
		return ""
	}
	return string(u)
}

// lineTag returns the element by which an inline element is rewritten. It returns "" for other
// elements, and for those that Markdown cannot express.
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

// blockTag returns the element by which a block is rewritten, "" for other elements.
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

// number returns the value of an attribute if it is a number from 0 to most, "" otherwise.
func number(val []byte, most int) string {
	if n, err := strconv.Atoi(string(val)); err == nil && 0 <= n && n <= most {
		return strconv.Itoa(n)
	}
	return ""
}

// span returns how many columns or rows a cell spans. The number is small, because the converter
// writes each of them.
func span(attrs []byte, name string) string {
	if s := number(html.Attr(attrs, name), 8); s != "0" && s != "1" {
		return s
	}
	return ""
}

// language returns the language of code that the class of an element names.
func language(attrs []byte) string {
	class := html.Attr(attrs, "class")
	for word := range bytes.FieldsSeq(class[:min(len(class), maxClass)]) {
		for _, prefix := range []string{"language-", "lang-", "highlight-", "highlight-source-", "brush:"} {
			l, ok := bytes.CutPrefix(word, []byte(prefix))
			if !ok || len(l) == 0 || len(l) > 20 {
				continue
			}
			if bytes.ContainsFunc(l, func(c rune) bool { return c > 'z' || c != '+' && c != '#' && c != '-' && !html.IsAlnum(byte(c)) }) {
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

// asideNote reports whether the class of an element is just "sidebar". In web pages this is
// navigation; in books it is a box that belongs to the text.
func asideNote(attrs []byte) bool {
	for name, val, rest := html.NextAttr(attrs); name != nil; name, val, rest = html.NextAttr(rest) {
		if html.Is(name, "class") && html.Is(bytes.TrimSpace(val), "sidebar") {
			return true
		}
	}
	return false
}

// marks returns what markOf decides about an element outside and inside a main text, as an
// attribute for prune: two digits, or "m" for an element that contains the main text.
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
