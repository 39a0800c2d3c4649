package pages

import (
	"bytes"

	"github.com/curtsy/curtsy/pkg/canon"
)

// Text in a span, div or section that says data-nosnippet is found and never shown (signals row
// 26). Where such an element ends is a matter of the tree a browser builds, and here is none. So
// the rules below are simpler than a browser's, and where they differ from it the element lasts
// longer, never shorter: what is badly nested costs a page excerpts and gives nothing away.
//
// Within such an element all that can decide on its end are kept on a stack: all elements but those
// for words of a line, which end no other, and those that have no content. An end tag closes the
// innermost of them if it bears its name. Elements that may be left without an end tag are closed
// with the one around them. Any other end tag is passed over.

const attribute = "data-nosnippet"

// quiet follows the outermost element that says data-nosnippet. The zero value is outside of any.
type quiet struct {
	open  []nested // what is open in it, itself first; the names lie in buf
	buf   []byte
	from  int    // where its text begins
	spans []Span // of those that have ended
	lost  bool   // a bound was passed: all of the page counts as one
}

func (q *quiet) reset() {
	*q = quiet{open: q.open[:0], buf: q.buf[:0], spans: q.spans[:0]}
}

// nested is an element that is open.
type nested struct {
	name []byte
	says bool // it says data-nosnippet: only its own end tag ends it
}

// on reports whether the text that comes next is not to be shown.
func (q *quiet) on() bool { return len(q.open) > 0 }

// start takes a start tag. It reports whether the element is one that says data-nosnippet, and
// stands in no other.
func (q *quiet) start(name, attrs []byte, closed bool) (begins bool) {
	if !q.on() {
		if closed || !saysNoSnippet(name, attrs) {
			return false
		}
		q.push(name, true)
		return true
	}
	if closed || nestsNothing(name) || len(name) >= cutName {
		return false
	}
	if inner := q.open[len(q.open)-1]; endsAlone(name) && bytes.Equal(inner.name, name) {
		return false // it ends the one before it, and stands in its place
	}
	if len(q.open) >= maxOpen {
		q.lost = true
		return false
	}
	q.push(name, saysNoSnippet(name, attrs))
	return false
}

func (q *quiet) push(name []byte, says bool) {
	at := len(q.buf)
	q.buf = append(q.buf, name...)
	q.open = append(q.open, nested{q.buf[at:len(q.buf):len(q.buf)], says})
}

// end takes an end tag. It reports whether the outermost element that says data-nosnippet ends.
func (q *quiet) end(name []byte) (ends bool) {
	if !q.on() || q.lost {
		return false
	}
	i := len(q.open) - 1
	// An end tag of an element that may go without closes nothing else, and neither does that of
	// a span: it does not reach through a paragraph.
	for ; !bytes.Equal(q.open[i].name, name); i-- {
		inner := q.open[i]
		if endsAlone(name) || string(name) == "span" || inner.says || !endsAlone(inner.name) && string(inner.name) != "span" {
			return false
		}
	}
	for _, gone := range q.open[i:] {
		q.buf = q.buf[:len(q.buf)-len(gone.name)]
	}
	q.open = q.open[:i]
	return i == 0
}

// add notes a part of the body. There is a bound on how many are kept; past it all of the body is
// one part, so that the page has no excerpt at all.
func (q *quiet) add(from, to int) {
	if from >= to {
		return
	}
	if n := len(q.spans); n > 0 && q.spans[n-1].To >= from {
		q.spans[n-1].To = to
		return
	}
	if len(q.spans) == maxSpans {
		q.lost = true
		return
	}
	q.spans = append(q.spans, Span{From: from, To: to, Kind: NoSnippet})
}

// cutName is the length at which the scanner cuts names. HTML has none that long, and elements it
// does not know are taken for words of a line.
const cutName = len(scanner{}.name)

// saysNoSnippet reports whether an element has the attribute, with whatever value, and is one of
// those it has a meaning on.
func saysNoSnippet(name, attrs []byte) bool {
	if len(attrs) < len(attribute) {
		return false
	}
	switch string(name) {
	case "span", "div", "section":
	default:
		return false
	}
	for {
		var attr []byte
		if attr, _, attrs = nextAttr(attrs); attr == nil {
			return false
		}
		if is(attr, attribute) {
			return true
		}
	}
}

// nestsNothing reports whether no other element's end depends on this one: it has no content, or it
// is for words of a line, or HTML lets it stand but once.
func nestsNothing(name []byte) bool {
	switch string(name) {
	case "area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "img", "input", "keygen", "link", "meta",
		"param", "source", "track", "wbr", "html", "head", "body",
		"a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins", "kbd",
		"label", "mark", "nobr", "output", "picture", "q", "s", "samp", "small", "strike", "strong", "sub", "sup", "time", "tt",
		"u", "var":
		return true
	}
	return false
}

// endsAlone reports whether an element may be left without an end tag.
func endsAlone(name []byte) bool {
	switch string(name) {
	case "p", "li", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot", "caption", "colgroup", "option", "optgroup":
		return true
	}
	return false
}

// Quotable is what is visible of a page and may be shown: as Text has it, but for what says
// data-nosnippet. none reports that there is text, and none of it may be shown.
func (x *Extractor) Quotable(u canon.URL, contentType, charsetName string, body []byte) (text []byte, none bool) {
	contentType, body = readable(contentType, DecodeCharset(body, charsetName))
	if contentType == "text/plain" || !bytes.Contains(bytes.ToLower(body), []byte(attribute)) {
		return x.Text(contentType, "utf-8", body).Body, false
	}
	r := x.Read(u, contentType, "utf-8", body)
	text, _ = r.Quotable()
	return text, len(text) == 0 && len(r.Body) > 0
}

// Quotable is the text of the page without the parts that say data-nosnippet: in the place of each
// stands an ellipsis. The spans are those of other kinds, in that text. Without such parts it is
// Body and Spans as they are; it is empty where nothing else is in the page.
func (r *Reading) Quotable() (body []byte, spans []Span) {
	const left = "…"
	at := 0
	cut := func(to int) { body = append(body, r.Body[at:to]...) }
	// A hole is what is left out, and by how much the text behind it moves.
	type hole struct{ from, to, shift int }
	var holes []hole
	for _, s := range r.Spans {
		if s.Kind != NoSnippet {
			continue
		}
		// One ellipsis does for two that follow one another.
		if n := len(holes) - 1; n >= 0 && len(bytes.Trim(r.Body[at:s.From], " \n")) == 0 {
			at, holes[n].to, holes[n].shift = s.To, s.To, len(body)-s.To
			continue
		}
		cut(s.From)
		body, at = append(body, left...), s.To
		holes = append(holes, hole{s.From, s.To, len(body) - s.To})
	}
	if holes == nil {
		return r.Body, r.Spans
	}
	cut(len(r.Body))
	if len(bytes.Trim(body, left+" \n")) == 0 {
		return nil, nil
	}
	// moved is where a place in Body is now; one that was left out is where the ellipsis ends.
	moved := func(i int) int {
		shift := 0
		for _, h := range holes {
			if h.from >= i {
				break
			}
			i, shift = max(i, h.to), h.shift
		}
		return i + shift
	}
	for _, s := range r.Spans {
		if s.Kind == NoSnippet {
			continue
		}
		if s.From, s.To = moved(s.From), moved(s.To); len(bytes.Trim(body[s.From:s.To], left+" \n")) > 0 {
			spans = append(spans, s)
		}
	}
	return body, spans
}
