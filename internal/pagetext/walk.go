package pagetext

import (
	"bytes"

	"github.com/curtsy/curtsy/internal/html"
)

// walk is the state of Read while it goes over the tags of a page. Its buffers are reused for the
// next page.
type walk struct {
	x *Extractor // its body is the text so far
	s html.Reader

	most int  // about how much text is read, in bytes; 0: all
	part bool // there was more text

	open     []frame       // open elements of the layout
	count    [elements]int // how many of them are open, by element
	deeper   int           // how many more are open beyond maxOpen
	mains    int           // how many open elements contain main text
	anchored int           // bytes of anchor text in the body

	spans []Span // of headings
	code  []Span
	pre   int // where the open <pre> begins, -1 if none is open

	hard, soft, main []part // see boilerplate.go
	explicit         []part // those of main that are <main> or have that role
	around           []Span

	anchors []anchor
	inA     bool   // a link is open
	aFrom   int    // where its text begins
	aDepth  int    // how many elements are open around it
	kept    bool   // it is the last of anchors; otherwise it is not kept
	alts    []byte // texts of links that contain images
	base    []byte // the first <base href>, nil if there is none
	ref     []byte
	links   []Link

	quiet quiet // elements with data-nosnippet
	ids   ids   // the anchors of headings

	description []byte
	named       bool // the description is from <meta name=description>
	date        pageDate
}

// frame is an open element of the layout.
type frame struct {
	element  element
	mark     mark
	main     bool
	explicit bool // it is <main> or has that role
	from     int  // where its text begins
	anchored int  // walk.anchored there
	anchors  int  // links before it
	headings int  // headings before it
}

func (r *walk) reset(x *Extractor) {
	if cap(r.alts) > keepBuffer || cap(r.open) > maxOpen*2 {
		*r = walk{}
	}
	r.quiet.reset()
	*r = walk{x: x, quiet: r.quiet, pre: -1, open: r.open[:0], spans: r.spans[:0], code: r.code[:0], hard: r.hard[:0], soft: r.soft[:0],
		main: r.main[:0], explicit: r.explicit[:0], around: r.around[:0], anchors: r.anchors[:0], alts: r.alts[:0], ref: r.ref[:0], links: r.links[:0],
		description: r.description[:0]}
}

// at returns where in the body the next text will begin.
func (r *walk) at() int {
	if n := len(r.x.body); n > 0 && r.x.gap != 0 {
		return n + 1
	}
	return len(r.x.body)
}

// page reads a whole page.
func (r *walk) page(src []byte) {
	x := r.x
	r.s = html.Reader{Page: src, Scripts: true}
	for {
		kind, val, attrs := r.s.Next()
		if r.most > 0 && len(x.body) >= r.most && kind != html.End {
			kind, r.part = html.End, true
		}
		switch kind {
		case html.End:
			r.end()
			return
		case html.Text:
			if x.skip == 0 {
				x.words(val)
			}
		case html.StartTag:
			// In a drawing <a/> is a complete element. Elsewhere the slash has no meaning.
			e, slash := elementOf(val), len(attrs) > 0 && attrs[len(attrs)-1] == '/'
			if r.quiet.on() || len(attrs) > 0 {
				// Some elements end a drawing, whatever they look like within it.
				drawn := x.svg > 0 && e == inline && string(val) != "span" && string(val) != "listing"
				if r.quiet.start(val, attrs, slash && drawn) {
					r.quiet.from = r.at()
				}
			}
			if e != inline {
				r.start(e, val, attrs, slash && x.svg > 0)
			}
			if r.most > 0 && (len(attrs) > 0 || e.heading() > 0) && x.skip == 0 {
				r.ids.tag(r, e, attrs)
			}
		case html.EndTag:
			if r.quiet.on() && r.quiet.end(val) {
				r.quiet.add(r.trim(r.quiet.from, len(x.body), len(x.body)))
			}
			if e := elementOf(val); e != inline {
				r.endTag(e)
			}
		}
	}
}

// start reads a start tag.
func (r *walk) start(e element, name, attrs []byte, closed bool) {
	x := r.x
	switch {
	case e == elementTemplate:
		if !closed {
			x.skip++
		}
		return
	case e == elementRaw || e == elementTitle:
		r.raw(name, closed)
		return
	case e == elementSpace:
		x.space()
		return
	case e == elementSVG:
		x.space()
		if !closed {
			x.svg++
		}
		return
	case e.breaks():
		x.breakLine()
	}
	if x.skip > 0 {
		return
	}
	switch level := e.heading(); {
	case level > 0:
		r.endHeading()
		if !closed {
			x.heading, x.open = len(x.body), '0'+byte(level)
		}
	case e.follows():
		if !closed {
			r.push(e, attrs)
		}
	case e == elementA:
		r.endAnchor()
		if !closed {
			r.startAnchor(attrs)
		}
	case e == elementImg:
		x.space()
		r.image(attrs)
	case e == elementPara:
		if x.heading >= 0 && x.heading < len(x.body) {
			r.endHeading() // it was not closed
		}
	case e == elementPre:
		if !closed && r.pre < 0 {
			r.pre = r.at()
		}
	case e == elementHTML:
		if x.lang == "" {
			x.lang = primaryLang(html.Value(html.Attr(attrs, "lang", "xml:lang")))
		}
	case e == elementMeta:
		r.meta(attrs)
	case e == elementTime:
		r.time(attrs)
	case e == elementBase:
		if href := html.Attr(attrs, "href"); r.base == nil && href != nil {
			r.base = href
		}
	}
}

// raw reads an element that contains no markup, such as the title.
func (r *walk) raw(name []byte, closed bool) {
	x := r.x
	x.separate(name)
	if closed {
		r.s.NotRaw()
		return
	}
	val := r.s.Raw()
	switch {
	case x.skip > 0:
	case string(name) == "title" && x.svg == 0 && len(x.title) == 0:
		x.title = fold(x.title, html.Unescape(val))
	case shownRaw(name):
		x.words(val)
	}
}

// endTag reads an end tag.
func (r *walk) endTag(e element) {
	x := r.x
	switch {
	case e == elementTemplate:
		x.skip = max(0, x.skip-1)
		return
	case e == elementSVG:
		x.svg = max(0, x.svg-1)
		x.space()
		return
	case e == elementSpace || e == elementImg:
		x.space()
		return
	case e.breaks():
		x.breakLine()
	}
	if x.skip > 0 {
		return
	}
	switch {
	case e.heading() > 0:
		r.endHeading()
	case e.follows():
		r.pop(e)
	case e == elementA:
		r.endAnchor()
	case e == elementPre:
		r.endPre()
	}
}

// end closes everything that is open at the end of the page.
func (r *walk) end() {
	r.endHeading()
	r.endPre()
	r.endAnchor()
	for len(r.open) > 0 {
		r.close()
	}
	switch n := len(r.x.body); {
	case r.quiet.lost:
		r.quiet.spans = append(r.quiet.spans[:0], Span{To: n, Kind: NoSnippet})
	case r.quiet.on():
		r.quiet.add(r.trim(r.quiet.from, n, n))
	}
}

// push opens an element of the layout.
func (r *walk) push(e element, attrs []byte) {
	if len(r.open) == maxOpen {
		r.deeper++
		return
	}
	o := frame{element: e, from: r.at(), anchored: r.anchored, anchors: len(r.anchors), headings: len(r.spans)}
	o.mark, o.main = markOf(e, attrs, r.mains > 0)
	o.explicit = o.main && e != elementArticle
	if o.main {
		r.mains++
		// An element that contains the main text is no navigation, whatever its name is.
		for i := range r.open {
			r.open[i].mark = plain
		}
	}
	r.open = append(r.open, o)
	r.count[e]++
}

// pop closes the innermost open element with a name, and everything that is open in it. As in
// browsers, an end tag in a table closes nothing outside the table.
func (r *walk) pop(e element) {
	if r.deeper > 0 {
		r.deeper--
		return
	}
	if r.count[e] == 0 {
		return
	}
	i := len(r.open) - 1
	for ; r.open[i].element != e; i-- {
		if r.open[i].element == elementTable {
			return
		}
	}
	for len(r.open) > i {
		r.close()
	}
}

// close closes the innermost open element.
func (r *walk) close() {
	if r.inA && r.aDepth >= len(r.open) {
		r.endAnchor()
	}
	o := r.open[len(r.open)-1]
	r.open = r.open[:len(r.open)-1]
	r.count[o.element]--
	if o.main {
		r.mains--
	}
	r.classify(o)
}

// endHeading stores the text since the heading began.
func (r *walk) endHeading() {
	x := r.x
	if x.heading < 0 {
		return
	}
	from, to := r.trim(x.heading, len(x.body), maxTitle)
	x.heading = -1
	if from >= to {
		return
	}
	if x.open == '1' {
		if len(x.h1) == 0 {
			x.h1 = fold(x.h1, x.body[from:to])
		}
		for i := range r.open {
			if r.open[i].mark == hardHeader {
				r.open[i].mark = plain // this is the header of the main text
			}
		}
	}
	if len(r.spans) < maxSpans {
		r.spans = append(r.spans, Span{From: from, To: to, Kind: Heading, Level: int(x.open - '0'), Anchor: r.ids.heading})
	}
}

func (r *walk) endPre() {
	if r.pre < 0 {
		return
	}
	if from, to := r.trim(r.pre, len(r.x.body), len(r.x.body)); from < to && len(r.code) < maxSpans {
		r.code = append(r.code, Span{From: from, To: to, Kind: Code})
	}
	r.pre = -1
}

// trim narrows a part of the body: it drops a blank at the beginning, and cuts the part at a limit
// in bytes.
func (r *walk) trim(from, to, limit int) (int, int) {
	b := r.x.body
	if from < to && (b[from] == ' ' || b[from] == '\n') {
		from++
	}
	if to-from > limit {
		for to = from + limit; to > from && b[to]&0xC0 == 0x80; to-- {
		}
		to = from + len(bytes.TrimRight(b[from:to], " \n"))
	}
	return from, to
}
