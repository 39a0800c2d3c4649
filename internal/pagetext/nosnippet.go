package pagetext

import (
	"bytes"
	"slices"

	"github.com/curtsy/curtsy/internal/html"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Text in a span, div or section with data-nosnippet can be found and is never shown (formats
// §8.26). Where such an element ends depends on the tree that a browser would build, and no tree is
// built here. The rules below are simpler than those of a browser. Where they differ, the element
// lasts longer, never shorter: bad nesting costs a page excerpts and never reveals anything.
//
// Within such an element, a stack has every open element that can affect where it ends: all except
// inline elements, which end no other element, and elements without content. An end tag closes the
// innermost element on the stack if it has the same name. Elements that may have no end tag are
// closed with the element around them. All other end tags are ignored.

const attribute = "data-nosnippet"

// quiet tracks the outermost element with data-nosnippet. The zero value is outside any such
// element.
type quiet struct {
	open  []nested // the elements open in it, itself first; their names are in buf
	buf   []byte
	from  int    // where its text begins
	spans []Span // of such elements that have ended
	lost  bool   // a limit was exceeded: the whole page counts as one
}

func (q *quiet) reset() {
	*q = quiet{open: q.open[:0], buf: q.buf[:0], spans: q.spans[:0]}
}

// nested is an element that is open.
type nested struct {
	name []byte
	says bool // it has data-nosnippet: only its own end tag ends it
}

// on reports whether the next text must not be shown.
func (q *quiet) on() bool { return len(q.open) > 0 }

// start reads a start tag. It reports whether the element has data-nosnippet and is in no other
// such element.
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
		return false // it ends the element before it and takes its place
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

// end reads an end tag. It reports whether it ends the outermost element with data-nosnippet.
func (q *quiet) end(name []byte) (ends bool) {
	if !q.on() || q.lost {
		return false
	}
	i := len(q.open) - 1
	// The end tag of an element that may have no end tag closes nothing else. Neither does the end
	// tag of a span, because it cannot close a paragraph around it.
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

// add stores a part of the body. If there are too many parts, the whole body becomes one part, so
// that the page has no excerpt at all.
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

// cutName is the length from which names are not compared. HTML has no such long name, and unknown
// elements count as inline elements.
const cutName = html.MaxName

// saysNoSnippet reports whether an element has the attribute, with any value, and is one on which
// it has a meaning.
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
		if attr, _, attrs = html.NextAttr(attrs); attr == nil {
			return false
		}
		if html.Is(attr, attribute) {
			return true
		}
	}
}

// nestsNothing reports whether the end of no other element depends on this one: it has no content,
// or is an inline element, or may occur only once in a page.
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

// endsAlone reports whether an element may have no end tag.
func endsAlone(name []byte) bool {
	switch string(name) {
	case "p", "li", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot", "caption", "colgroup", "option", "optgroup":
		return true
	}
	return false
}

// Quotable returns the visible text that may be shown: that of Text without the parts with
// data-nosnippet. none means that the page has text, but none of it may be shown.
func (x *Extractor) Quotable(u canon.URL, contentType, charsetName string, body []byte) (text []byte, none bool) {
	contentType, body = html.Convert(contentType, html.Decode(body, charsetName))
	if contentType == "text/plain" || !bytes.Contains(bytes.ToLower(body), []byte(attribute)) {
		return x.Text(contentType, "utf-8", body).Body, false
	}
	r := x.Read(u, contentType, "utf-8", body)
	text, _ = r.Quotable()
	return text, len(text) == 0 && len(r.Body) > 0
}

// Quiet reports whether any part of a span must not be shown.
func (r *Reading) Quiet(s Span) bool {
	return slices.ContainsFunc(r.Spans, func(q Span) bool { return q.Kind == NoSnippet && q.From < s.To && s.From < q.To })
}

// Quotable returns the text of the page with an ellipsis in the place of each part with
// data-nosnippet. The spans are those of the other kinds, within that text. Without such parts it
// returns Body and Spans as they are. It returns nothing if the page consists only of such parts.
func (r *Reading) Quotable() (body []byte, spans []Span) {
	const left = "…"
	at := 0
	cut := func(to int) { body = append(body, r.Body[at:to]...) }
	// A hole is a part that is left out. shift is how far the text after it moves.
	type hole struct{ from, to, shift int }
	var holes []hole
	for _, s := range r.Spans {
		if s.Kind != NoSnippet {
			continue
		}
		// One ellipsis is enough for consecutive parts.
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
	// moved returns the new position of a position in Body. A position that was left out moves to
	// the end of the ellipsis.
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
