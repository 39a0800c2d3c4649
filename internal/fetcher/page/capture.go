package page

import (
	"hash/crc32"
	"net/http"
	"slices"
	"strings"

	"github.com/klauspost/compress/s2"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/document"
	"github.com/curtsy/curtsy/internal/fetcher/answer"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/htmlscan"
	"github.com/curtsy/curtsy/internal/warc"
	"github.com/curtsy/curtsy/pkg/canon"
)

// What goes over the wire is published to the indexer for the crawl's archive, if it has one: with
// the page that it brought, so that one transaction stores both, or alone. Before that, it is
// decided whether it may be stored. A noarchive or noindex of the answer, and a statement on its
// use, apply as they do to pages. So does unavailable_after, because nothing is removed from an
// archive later.

const (
	// maxCapture is about how many bytes a page and its capture take in one message at most.
	maxCapture = crawl.MaxPayloadBytes - 16<<10
	// maxCaptureLinks is how many bytes of a page's links are archived with it.
	maxCaptureLinks = 128 << 10
)

// capture returns what was recorded of the last request, or nil, the body of its answer as
// it came, and that body again as payload if it is neither encoded nor unpacked. All of them are
// valid until the next request.
func (p *Pages) capture(a *wire.Answer) (c *crawl.Capture, body, payload []byte) {
	rec, ok := p.Requests.Session.Recorded()
	if !ok {
		return nil, nil, nil
	}
	m, ok := warc.Split(rec.Answer)
	for ok && m.Status()/100 == 1 && m.Status() != http.StatusSwitchingProtocols {
		m, ok = warc.Split(m.Body) // the answer follows an interim response
	}
	if !ok {
		return nil, nil, nil
	}
	payload, used, whole := m.Payload()
	encoding := strings.ToLower(strings.TrimSpace(m.Get("Content-Encoding")))
	plain := (encoding == "" || encoding == "identity") && !a.Unpacked
	if !plain {
		payload = nil
	}
	ip := ""
	if rec.Addr.IsValid() {
		ip = rec.Addr.String()
	}
	c = &crawl.Capture{
		Number: p.Requests.Session.Requests, Request: rec.Request, Response: m.Head, IP: ip, Took: a.Took,
		Cut:    rec.Cut || !whole || !a.Framed && !a.Complete,
		OfPage: used > 0 && !m.Chunked() && plain,
	}
	if c.Cut && !rec.Cut && a.Lost != nil {
		c.CutBy = crawl.CutByDisconnect
		switch fail := p.Requests.FailureOf(a.Lost); {
		case fail.Timeout:
			c.CutBy = crawl.CutByTime
		case fail.Unsent: // we ended it
			c.CutBy = crawl.CutUnspecified
		}
	}
	return c, m.Body[:used], payload
}

// archivable reports whether an answer may be archived according to its robots tags and its header.
func (p *Pages) archivable(u canon.URL, a *wire.Answer, tags *htmlscan.Result) bool {
	d := tags.Directives
	if d.NoArchive || d.NoIndex || !d.UnavailableAfter.IsZero() {
		return false
	}
	_, unwanted := p.Sites.Unwanted(u, p.Sites.Usage(u, a.Header, tags))
	return !unwanted
}

// Archive publishes what was recorded of the last request, which brought no page.
func (p *Pages) Archive(u canon.URL, a *wire.Answer) {
	if p.brings || p.Requests.Session.Recorder == nil || !p.archivable(u, a, p.Sites.HeaderTags(a.Header, a.At)) {
		return
	}
	c, body, payload := p.capture(a)
	if c == nil {
		return
	}
	kind := answer.MediaType(answer.ContentType(a.Header))
	mayForbid := len(body) > 0 && (kind == "" || kind == answer.HTML || kind == answer.XHTML)
	if mayForbid && payload == nil {
		// Its directives are unknown, so only the head is archived.
		body, c.Cut, c.CutBy = nil, true, crawl.CutUnspecified
	}
	if !mayForbid || payload == nil || p.markupLets(u, a, payload) {
		packCapture(c, body)
		p.Publisher.Page(&crawl.Page{Kind: crawl.KindCapture, URL: u, Visit: p.Publisher.Visit, FetchedAt: a.At, Capture: c})
	}
}

// markupLets reports whether the markup of an answer that brought no page, such as that of an
// error, allows archiving it.
func (p *Pages) markupLets(u canon.URL, a *wire.Answer, text []byte) bool {
	defer p.gather.done()
	scan := p.gather.tags(htmlscan.Page{URL: u, Body: text, ContentType: answer.ContentType(a.Header), HTML: true, Header: a.Header, Token: p.spec().Agent})
	scan.Directives = scan.Directives.At(a.At)
	return p.archivable(u, a, &scan)
}

// capturePage adds a capture to a page that is about to be published and may be stored. The first
// page.Size bytes of body are packed in it. If both do not fit into one message, the capture is
// published before the page.
func (p *Pages) capturePage(page *crawl.Page, a *wire.Answer, body []byte, links []canon.URL, how rendering) {
	if page.Directives&(crawl.NoArchive|crawl.NoIndex) != 0 || !page.UnavailableAfter.IsZero() {
		return
	}
	var c *crawl.Capture
	var sent []byte
	switch {
	case p.brings:
		c, sent = p.captureBrought(page, a)
	case how.state == crawl.RenderingDone || how.state == crawl.RenderingFailed:
		c = how.capture
	case p.Requests.Session.Recorder != nil:
		c, sent, _ = p.capture(a)
	}
	if c == nil {
		return
	}
	if document.Reads(page.ContentType) {
		c.OfPage = false // the page was made of the body, and is not the body
	}
	left := maxCaptureLinks
	switch {
	case c == how.capture: // it is packed
	case c.OfPage:
		c.Cut, c.CutBy, c.Encoding = page.Truncated, crawl.CutByLength, page.Encoding
		c.CRC = crc32.ChecksumIEEE(body[:page.Size])
		left = min(left, maxCapture-len(page.Body)-page.Ruled.Bytes()-c.Bytes())
	default:
		packCapture(c, sent)
	}
	p.buf.outlinks = p.buf.outlinks[:0]
	for _, l := range links { // they are canonical, so they contain no control characters
		if left -= len("outlink: \r\n") + len(l); left < 0 {
			break
		}
		p.buf.outlinks = append(append(append(p.buf.outlinks, "outlink: "...), l...), "\r\n"...)
	}
	if len(p.buf.outlinks) > 0 {
		c.Links = s2.Encode(nil, p.buf.outlinks)
	}
	if len(page.Body)+page.Ruled.Bytes()+c.Bytes() <= maxCapture {
		page.Capture = c
		return
	}
	p.Publisher.Page(&crawl.Page{Kind: crawl.KindCapture, URL: page.URL, Visit: page.Visit, FetchedAt: page.FetchedAt, Depth: page.Depth, FoundOn: page.FoundOn, Capture: c})
}

// packCapture puts the body into a capture whose response is not that of its page. It is cut if it
// is too large.
func packCapture(c *crawl.Capture, body []byte) {
	whole := slices.Concat(c.Response, body)
	c.OfPage, c.Response, c.Encoding = false, s2.Encode(nil, whole), crawl.EncodingS2
	if left := maxCapture - len(c.Request) - maxCaptureLinks; len(c.Response) > left {
		c.Response, c.Encoding, c.Cut, c.CutBy = whole[:min(left, len(whole))], crawl.EncodingNone, true, crawl.CutByLength
	}
}
