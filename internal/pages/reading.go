package pages

import (
	"cmp"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/mdhtml"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Reading is what search reads in a page: its text, and which part of the text is what. All text is
// UTF-8. Its slices live in the Extractor that returned it, until its next use.
type Reading struct {
	Title       []byte // <title>, else the first h1
	Lang        string // <html lang>, lower case, without region
	Description []byte // <meta name=description>, else og:description; mostly empty
	Body        []byte // all visible text, as Text.Body is: one line to a block, blanks folded
	// Spans are in order of From; where several begin, the longest comes first. Those of one Kind
	// do not overlap, those of different kinds may.
	Spans []Span
	// Links are in order of the page. Links within the page itself, and of other schemes than http
	// and https, are not among them. Of more than MaxLinks those in the main text are kept first.
	Links []Link
	// LinkShare is the share of Body's bytes that are anchor text, 0 to 1. It is high for pages
	// that list other pages.
	LinkShare float64
	// Date is what the page says of its own age: when it was changed, else published. Zero means
	// that it does not say, or not in a date of ISO 8601.
	Date time.Time
}

// Span is a part of a page's text: Body[From:To]. It is never empty.
type Span struct {
	From, To int
	Kind     SpanKind
	Level    int // of a Heading, 1 to 6
}

// SpanKind says what a Span is.
type SpanKind uint8

const (
	// Heading is the text of an h1 to h6, cut at 1,024 bytes.
	Heading SpanKind = iota + 1
	// Boilerplate is what stands around the main text and on other pages of the site as well:
	// navigation, headers, footers, sidebars, tables of contents. See boilerplate.go.
	Boilerplate
	// Code is the text of a <pre>.
	Code
	// NoSnippet is text in an element that says data-nosnippet: it may be found, and is shown
	// nowhere. Of a page with more than 1,024 of them, or with too much nested in one, it is all
	// of Body. See Reading.Quotable.
	NoSnippet
)

// Link is an <a href> of a page.
type Link struct {
	Href     canon.URL // absolute; where <base href> says so, relative to that
	From, To int       // where Body has the anchor text; equal when only images are in the link
	Text     []byte    // anchor text and alt texts of images in it; at most 512 bytes, may be empty
	NoFollow bool      // rel says nofollow, ugc or sponsored: the link is no recommendation
	Around   bool      // the link is in Boilerplate
}

// What Read keeps of a page at most. Text is not bounded: it is never longer than the page.
const (
	MaxLinks   = 512  // links in a Reading
	maxAnchors = 4096 // links that these are chosen of; those behind are not looked at
	maxAnchor  = 512  // bytes of anchor text of a link
	maxSpans   = 1024 // spans of each kind; later ones are text like any other, but see NoSnippet
	maxOpen    = 256  // elements open in one another; the layout of those deeper is not followed
)

// Read reads a page that was fetched at pageURL. The body is content-decoded but in its own
// charset, and is not kept. Anything may be passed. Read goes over the tags once and builds no
// tree; where that tells, TestReadAndTextAgree says how.
func (x *Extractor) Read(pageURL canon.URL, contentType, charsetName string, body []byte) Reading {
	out, _ := x.readSome(pageURL, contentType, charsetName, body, 0)
	return out
}

// ReadBeginning reads about the first most bytes of a page's text, or all of it if it has no more,
// and reports which. It finds no links. What it takes for boilerplate is so by the page's
// beginning alone, and may be told otherwise by all of it; what says data-nosnippet is the same.
func (x *Extractor) ReadBeginning(contentType, charsetName string, body []byte, most int) (r Reading, all bool) {
	return x.readSome("", contentType, charsetName, body, most)
}

// readSome reads a page; most is how much of its text, 0: all, and the links.
func (x *Extractor) readSome(pageURL canon.URL, contentType, charsetName string, body []byte, most int) (out Reading, all bool) {
	x.reset()
	r := &x.read
	r.reset(x)
	r.most = most
	src := DecodeCharset(body, charsetName)
	// The query of a link is in the page's charset, but the links of Markdown are in UTF-8.
	decoded := len(src) > 0 && len(body) > 0 && &src[0] != &body[0] && contentType != mdhtml.MediaType
	contentType, src = readable(contentType, src)
	if contentType == "text/plain" {
		x.plain(src)
		return Reading{Body: x.body}, true
	}
	r.page(src)
	out = Reading{Title: x.title, Lang: x.lang, Description: r.description, Body: x.body, Date: r.date.at}
	if len(out.Title) == 0 {
		out.Title = x.h1
	}
	if len(x.body) > 0 {
		out.LinkShare = min(1, float64(r.anchored)/float64(len(x.body)))
	}
	around := r.boilerplate(len(x.body))
	if most == 0 {
		out.Links = r.resolve(pageURL, around, decoded)
	}
	r.spans = append(append(append(r.spans, around...), r.code...), r.quiet.spans...)
	slices.SortStableFunc(r.spans, func(a, b Span) int { return cmp.Or(a.From-b.From, b.To-a.To, int(b.Kind)-int(a.Kind)) })
	out.Spans = r.spans
	return out, !r.part
}
