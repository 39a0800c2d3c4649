package pagetext

import (
	"cmp"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/html"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Reading is what search reads in a page: its text, and what each part of the text is. All text is
// UTF-8. Its slices belong to the Extractor that returned it and are valid until its next use.
type Reading struct {
	Title       []byte // <title>, otherwise the first h1
	Lang        string // <html lang> in lower case, without its region
	Description []byte // <meta name=description>, otherwise og:description; mostly empty
	Body        []byte // all visible text, as in Text.Body: one line for each block, blanks folded
	// Spans are in order of From. Of spans with the same From, the longest is first. Spans of one
	// Kind do not overlap; spans of different kinds may.
	Spans []Span
	// Links are in the order of the page, without links within the page itself and without schemes
	// other than http and https. If there are more than MaxLinks, links in boilerplate are dropped
	// first.
	Links []Link
	// LinkShare is the share of Body's bytes that are anchor text, from 0 to 1. It is high for
	// pages that list other pages.
	LinkShare float64
	// Date is the date of the page by its own statement: of its last change, otherwise of its
	// publication. It is zero if the page states none, or none in a format of ISO 8601.
	Date time.Time
}

// Span is a part of a page's text: Body[From:To]. It is never empty.
type Span struct {
	From, To int
	Kind     SpanKind
	Level    int // of a Heading, 1 to 6
	// Anchor is the id of a Heading, as it is written in the page: its own, or one that leads to
	// it. ReadBeginning sets it, and Read leaves it out. It is part of the page's body.
	Anchor []byte
}

// SpanKind is what a Span contains.
type SpanKind uint8

const (
	// Heading is the text of an h1 to h6, cut at 1,024 bytes.
	Heading SpanKind = iota + 1
	// Boilerplate is text around the main text that other pages of the site have as well:
	// navigation, headers, footers, sidebars, tables of contents. See boilerplate.go.
	Boilerplate
	// Code is the text of a <pre>.
	Code
	// NoSnippet is text in an element with data-nosnippet. It can be found, and is never shown. If
	// a page has more than 1,024 such elements, or too many elements nested in one, all of Body is
	// NoSnippet. See Reading.Quotable.
	NoSnippet
)

// Link is an <a href> of a page.
type Link struct {
	Href     canon.URL // absolute; <base href> counts
	From, To int       // Body[From:To] is the anchor text; equal if the link contains only images
	Text     []byte    // anchor text and alt texts of images in it; at most 512 bytes, may be empty
	NoFollow bool      // rel contains nofollow, ugc or sponsored: the link is no recommendation
	Around   bool      // the link is in Boilerplate
}

// The limits of what Read keeps of a page. Its text has no limit, because it is never longer than
// the page.
const (
	MaxLinks   = 512  // links in a Reading
	maxAnchors = 4096 // links from which these are chosen; later ones are ignored
	maxAnchor  = 512  // bytes of anchor text of a link
	maxSpans   = 1024 // spans of each kind; later ones are not marked, except those of NoSnippet
	maxOpen    = 256  // nested elements; deeper ones do not count as layout
)

// Read reads a page that was fetched at pageURL. The body is decoded from its content coding, but
// in its own charset. Read does not keep it. It may be any bytes. Read goes over the tags once and
// builds no tree. TestReadAndTextAgree shows how its text relates to that of Text.
func (x *Extractor) Read(pageURL canon.URL, contentType, charsetName string, body []byte) Reading {
	out, _ := x.readSome(pageURL, contentType, charsetName, body, 0)
	return out
}

// ReadBeginning reads about the first most bytes of a page's text, or all of it if there is no
// more. all reports which. It finds no links, but the anchors of headings. It recognises
// boilerplate by the beginning alone, so Read may decide otherwise. Its NoSnippet spans are those
// of Read.
func (x *Extractor) ReadBeginning(contentType, charsetName string, body []byte, most int) (r Reading, all bool) {
	return x.readSome("", contentType, charsetName, body, most)
}

// readSome reads a page. most limits the text, in bytes; 0 means all of the text, and links.
func (x *Extractor) readSome(pageURL canon.URL, contentType, charsetName string, body []byte, most int) (out Reading, all bool) {
	x.reset()
	r := &x.read
	r.reset(x)
	r.most = most
	src := html.Decode(body, charsetName)
	// The query of a link is in the charset of the page. Links of Markdown are in UTF-8.
	decoded := len(src) > 0 && len(body) > 0 && &src[0] != &body[0] && contentType != html.TypeMarkdown
	contentType, src = html.Convert(contentType, src)
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
