package visit

import (
	"hash/crc32"
	"net/http"
	"slices"
	"strings"

	"github.com/klauspost/compress/s2"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/document"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/htmlscan"
	"github.com/curtsy/curtsy/internal/warc"
	"github.com/curtsy/curtsy/pkg/canon"
)

// What goes over the wire is handed to the indexer for the crawl's archive, if it has one: with the
// page that it brought, so that one transaction stores both, or by itself. Before that it is looked
// at whether it may be kept. What the answer says with noarchive or noindex, or by a statement on
// its use, holds here as for pages; so does unavailable_after, since an archive takes nothing back.

const (
	// maxCapture is about the most that a page and its capture take in one message.
	maxCapture = crawl.MaxPayloadBytes - 16<<10
	// maxCaptureLinks is how many bytes of links an archive is told of a page.
	maxCaptureLinks = 128 << 10
)

// capture is what was recorded of the last request, nil if nothing was; the body of its answer as
// it came; and, unless that came under an encoding, what it says. All stay good until the next
// request.
func (v *Visit) capture(a *wire.Answer) (c *crawl.Capture, body, payload []byte) {
	rec, ok := v.session.Recorded()
	if !ok {
		return nil, nil, nil
	}
	m, ok := warc.Split(rec.Answer)
	for ok && m.Status()/100 == 1 && m.Status() != http.StatusSwitchingProtocols {
		m, ok = warc.Split(m.Body) // the answer comes behind what only announces it
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
		Number: v.session.Requests, Request: rec.Request, Response: m.Head, IP: ip, Took: a.Took,
		Cut:    rec.Cut || !whole || !a.Framed && !a.Complete,
		OfPage: used > 0 && !m.Chunked() && plain,
	}
	if c.Cut && !rec.Cut && a.Lost != nil {
		c.CutBy = crawl.CutByDisconnect
		switch fail := v.failureOf(a.Lost); {
		case fail.Timeout:
			c.CutBy = crawl.CutByTime
		case fail.Unsent: // we had to end it
			c.CutBy = crawl.CutUnspecified
		}
	}
	return c, m.Body[:used], payload
}

// archivable reports whether what an answer's header says lets it be archived.
func (v *Visit) archivable(u canon.URL, a *wire.Answer, tags *htmlscan.Result) bool {
	d := tags.Directives
	if d.NoArchive || d.NoIndex || !d.UnavailableAfter.IsZero() {
		return false
	}
	_, unwanted := v.unwanted(v.usageOf(u, a.Header, tags))
	return !unwanted
}

// archive hands over what was recorded of the last request, which brought no page.
func (v *Visit) archive(u canon.URL, a *wire.Answer) {
	if v.session.Recorder == nil || !v.archivable(u, a, v.headerTags(a)) {
		return
	}
	c, body, payload := v.capture(a)
	if c == nil {
		return
	}
	kind := mediaType(contentType(a.Header))
	mayForbid := len(body) > 0 && (kind == "" || kind == typeHTML || kind == typeXHTML)
	if mayForbid && payload == nil {
		// What it says is not known: the head alone.
		body, c.Cut, c.CutBy = nil, true, crawl.CutUnspecified
	}
	if !mayForbid || payload == nil || v.markupLets(u, a, payload) {
		packCapture(c, body)
		v.handOverPage(&crawl.Page{Kind: crawl.KindCapture, URL: u, Visit: v.job.ID, FetchedAt: a.At, Capture: c})
	}
}

// markupLets reports whether the markup of an answer that brought no page, such as that of an
// error, lets it be archived.
func (v *Visit) markupLets(u canon.URL, a *wire.Answer, text []byte) bool {
	scan := v.scratch.scanner.Scan(htmlscan.Page{URL: u, Body: text, ContentType: contentType(a.Header), HTML: true, Header: a.Header, Token: v.cfg.spec.Agent})
	scan.Directives = scan.Directives.At(a.At)
	return v.archivable(u, a, &scan)
}

// capturePage puts a capture into a page that is about to be handed over and may be kept, whose
// first p.Size bytes of body are packed in it. Where both do not fit into a message it hands the
// capture over before the page.
func (v *Visit) capturePage(p *crawl.Page, a *wire.Answer, body []byte, links []canon.URL) {
	if v.session.Recorder == nil || p.Directives&(crawl.NoArchive|crawl.NoIndex) != 0 || !p.UnavailableAfter.IsZero() {
		return
	}
	c, sent, _ := v.capture(a)
	if c == nil {
		return
	}
	if document.Reads(p.ContentType) {
		c.OfPage = false // the page is what was made of the body
	}
	room := maxCaptureLinks
	if c.OfPage {
		c.Cut, c.CutBy, c.Encoding = p.Truncated, crawl.CutByLength, p.Encoding
		c.CRC = crc32.ChecksumIEEE(body[:p.Size])
		room = min(room, maxCapture-len(p.Body)-c.Bytes())
	} else {
		packCapture(c, sent)
	}
	v.scratch.outlinks = v.scratch.outlinks[:0]
	for _, l := range links { // as canon spells them: no control characters
		if room -= len("outlink: \r\n") + len(l); room < 0 {
			break
		}
		v.scratch.outlinks = append(append(append(v.scratch.outlinks, "outlink: "...), l...), "\r\n"...)
	}
	if len(v.scratch.outlinks) > 0 {
		c.Links = s2.Encode(nil, v.scratch.outlinks)
	}
	if len(p.Body)+c.Bytes() <= maxCapture {
		p.Capture = c
		return
	}
	v.handOverPage(&crawl.Page{Kind: crawl.KindCapture, URL: p.URL, Visit: p.Visit, FetchedAt: p.FetchedAt, Depth: p.Depth, FoundOn: p.FoundOn, Capture: c})
}

// packCapture puts the body into a capture that is not of a page's, cut if it must be.
func packCapture(c *crawl.Capture, body []byte) {
	whole := slices.Concat(c.Response, body)
	c.OfPage, c.Response, c.Encoding = false, s2.Encode(nil, whole), crawl.EncodingS2
	if room := maxCapture - len(c.Request) - maxCaptureLinks; len(c.Response) > room {
		c.Response, c.Encoding, c.Cut, c.CutBy = whole[:min(room, len(whole))], crawl.EncodingNone, true, crawl.CutByLength
	}
}
