package robotstag

import "golang.org/x/net/html/atom"

// Head determines, during one pass of an html.Tokenizer over a page, which meta elements an HTML
// parser without scripting would put into the head element (formats §4.3). Only those count: text
// in the body may be a visitor's comment.
//
// Call it for every start tag (self-closing ones too), end tag and text from the beginning of the
// page, in order, until Closed. Comments and doctypes may be omitted. The zero value is ready for
// the beginning of a page.
//
// The page must be UTF-8, and after each noscript start tag the tokenizer must be set to expect no
// raw text, as a parser without scripting does:
//
//	if tag == atom.Noscript {
//		z.NextIsNotRawText()
//	}
//
// Otherwise the markup inside arrives as text, which a head cannot contain. Set.ScanHTML is a
// complete loop of this kind.
//
// After body content has begun, nothing opens the head again: callers need one test of Closed per
// token and may stop. A Head never allocates. Only one goroutine may use it at a time.
type Head struct {
	mode      headMode
	started   bool // a tag or text was seen
	rawText   bool // inside script, style, title or noframes: text is not content
	templates int  // open template elements; their content is not in the head

	// inexact is set when SVG or MathML occurs inside a template inside the head. The end tag that
	// closes that template then depends on the whole tree, which Head does not have, so its results
	// may differ from a parser's. Only tests read it.
	inexact bool
}

// headMode follows the insertion modes of the HTML standard, 13.2.6.4.1 to .6. The three before the
// head do not differ for our purpose.
type headMode uint8

const (
	modeBeforeHead headMode = iota
	modeInHead
	modeNoscript
	modeAfterHead
	modeClosed
)

// Closed reports whether body content (or a frameset) has begun, after which
// no meta element counts.
func (h *Head) Closed() bool { return h.mode == modeClosed }

// Start processes a start tag and reports whether a meta element here is in the head; for other
// tags the result has no meaning.
func (h *Head) Start(tag atom.Atom) (inHead bool) {
	if h.mode == modeClosed {
		return false
	}
	h.started = true
	if h.templates > 0 {
		h.startInTemplate(tag)
		return false
	}
	if h.mode == modeNoscript {
		switch tag {
		case atom.Html, atom.Head, atom.Noscript, atom.Basefont, atom.Bgsound, atom.Link, atom.Meta, atom.Noframes, atom.Style:
		default: // not allowed there: the noscript element ends
			h.mode = modeInHead
		}
	}
	return h.startInHead(tag)
}

func (h *Head) startInHead(tag atom.Atom) bool {
	switch tag {
	case atom.Html:
		return false // its attributes are added to those of the html element
	case atom.Head:
		if h.mode == modeBeforeHead {
			h.mode = modeInHead
		}
		return false
	case atom.Base, atom.Basefont, atom.Bgsound, atom.Link, atom.Meta:
	case atom.Script, atom.Style, atom.Title, atom.Noframes:
		h.rawText = true
	case atom.Template:
		h.templates = 1
	case atom.Noscript:
		switch h.mode {
		case modeBeforeHead, modeInHead:
			h.mode = modeNoscript
		case modeAfterHead:
			h.mode = modeClosed
		}
		return false
	default: // body, frameset, and everything else that implies a body
		h.mode = modeClosed
		return false
	}
	if h.mode == modeBeforeHead {
		h.mode = modeInHead
	}
	return tag == atom.Meta
}

func (h *Head) startInTemplate(tag atom.Atom) {
	switch tag {
	case atom.Template:
		h.templates++
	case atom.Svg, atom.Math:
		h.inexact = true
	}
}

// End processes an end tag.
func (h *Head) End(tag atom.Atom) {
	if h.mode == modeClosed {
		return
	}
	h.started = true
	h.rawText = false
	if h.templates > 0 {
		if tag == atom.Template {
			h.templates--
		}
		return
	}
	switch tag {
	case atom.Noscript:
		if h.mode == modeNoscript {
			h.mode = modeInHead
		}
	case atom.Head:
		if h.mode != modeNoscript { // there it is ignored
			h.mode = modeAfterHead
		}
	case atom.Body, atom.Html:
		if h.mode != modeNoscript {
			h.mode = modeClosed
		}
	case atom.Br: // the only end tag that makes an element
		h.mode = modeClosed
	}
}

// Text processes text with decoded character references, as Tokenizer.Text returns it. Everything
// except white space opens the body, unless it is the content of an element such as title.
func (h *Head) Text(b []byte) {
	if h.mode == modeClosed || h.rawText || h.templates > 0 {
		return
	}
	if !h.started && len(b) >= 3 && string(b[:3]) == "\uFEFF" {
		b = b[3:] // a byte order mark is not content, see TestLenient_HeadByteOrderMark
	}
	h.started = true
	for _, c := range b {
		switch c {
		case ' ', '\t', '\n', '\r', '\f':
		default:
			h.mode = modeClosed
			return
		}
	}
}
