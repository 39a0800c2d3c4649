package indexer

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/html"
	"github.com/curtsy/curtsy/internal/htmlscan"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/pagetext"
	"github.com/curtsy/curtsy/pkg/canon"
)

// maxSent limits what is sent of one page over NATS, in bytes of JSON, because a message can
// contain 1 MiB. A longer page is cut, and the record says so. From the files it comes whole.
const maxSent = 900 << 10

// Record is a page with its content, as others see it.
type Record = crawl.PageRecord

// exporter makes records. It is for one goroutine.
type exporter struct {
	limit   int // bytes of content, as JSON; 0: all
	extract pagetext.Extractor
	scan    htmlscan.Scanner
	buf     []byte
}

// countLeftOut counts a record without content, if its site requested that.
func countLeftOut(left crawl.LeftOut, why string) {
	if why == "nosnippet" || why == "noarchive" {
		left.Pages[why]++
	}
}

// record makes the record of a page with its body. content is text, html or markdown. A body that
// cannot be read is left out.
func (e *exporter) record(in part, p *pages.Page, content string, all bool) (rec Record) {
	if in.marks.read(p, func() { rec = e.read(in, p, content, all) }) != nil {
		e.extract, e.buf = pagetext.Extractor{}, nil
		rec = Record{PageInfo: in.info(p), Lang: p.Lang, Charset: p.Charset, Withheld: string(crawl.ReasonUnreadable)}
	}
	return rec
}

func (e *exporter) read(in part, p *pages.Page, content string, all bool) Record {
	rec := Record{PageInfo: in.info(p), Lang: p.Lang, Charset: p.Charset}
	switch {
	case p.IsMeta(): // it is not for people; its contents are in the catalogue
		rec.Withheld = "metadata"
		return rec
	case !p.SnippetAllowed() && !all:
		rec.Withheld = "nosnippet"
		return rec
	case p.Directives&crawl.NoArchive != 0 && !all: // an export would be a copy of it
		rec.Withheld = "noarchive"
		return rec
	}
	shown := in.content
	if content == "html" {
		shown = nil // the page itself
	}
	page, err := p.Readable(e.buf, shown)
	if err != nil {
		rec.Withheld = err.Error()
		return rec
	}
	kind, charset, body := page.ContentType, page.Charset, page.Body
	if p.Encoding != crawl.EncodingNone {
		e.buf = body
	}
	switch {
	case content == "html": // the page itself, with data-nosnippet for its reader
		rec.HTML = e.cut(html.Decode(body, charset), &rec.Cut)
	case content == "markdown":
		md, none := e.extract.Markdown(&pagetext.Page{URL: p.URL, ContentType: kind, Charset: charset, Title: p.Title}, body)
		if rec.Markdown = e.cut(md, &rec.Cut); none && !all {
			rec.Markdown, rec.Withheld = "", "nosnippet"
		}
	case all:
		rec.Text = e.cut(e.extract.Text(kind, charset, body).Body, &rec.Cut)
	default:
		text, none := e.extract.Quotable(p.URL, kind, charset, body)
		rec.Text = e.cut(text, &rec.Cut)
		if none {
			rec.Withheld = "nosnippet"
		}
	}
	return rec
}

// cut makes a string of b, or of its beginning if it exceeds the limit.
func (e *exporter) cut(b []byte, cut *bool) string {
	s := strings.ToValidUTF8(string(b), "\uFFFD")
	if e.limit == 0 {
		return s
	}
	size := 0
	for i, r := range s {
		switch {
		case r == '\n' || r == '\t' || r == '\r' || r == '"' || r == '\\':
			size += 2
		case r < ' ' || r == 0x7f || r == 0x2028 || r == 0x2029 || r == utf8.RuneError:
			size += 6
		default:
			size += utf8.RuneLen(r)
		}
		if size > e.limit {
			*cut = true
			return s[:i]
		}
	}
	return s
}

// document writes a record as a part of one text: first what it is, then the content.
func document(r Record, format string) string {
	if format == "html" {
		// A canonical URL contains no ">", so it cannot end the comment.
		return fmt.Sprintf("<!-- %s, fetched %s -->\n%s\n", r.URL, r.FetchedAt.Format(time.RFC3339), r.HTML)
	}
	return fmt.Sprintf("URL: %s\nTitle: %s\nFetched: %s\n\n%s\n\n\f\n", r.URL, r.Title, r.FetchedAt.Format(time.RFC3339), r.Text)
}

// links sends the links of a page, unless the page requests not to follow them.
func (e *exporter) links(in part, p *pages.Page, send func(any) error) error {
	if p.ContentType == "text/plain" || p.IsMeta() || p.Directives&crawl.NoFollow != 0 {
		return nil
	}
	var found []canon.URL
	if err := in.marks.read(p, func() {
		body, err := p.Unpack(e.buf)
		if err != nil {
			return
		}
		if p.Encoding != crawl.EncodingNone {
			e.buf = body
		}
		found = e.scan.Scan(htmlscan.Page{URL: p.URL, Body: body, ContentType: p.ContentType + "; charset=" + p.Charset, HTML: true}).Links
	}); err != nil {
		e.scan, e.buf = htmlscan.Scanner{}, nil
		return nil
	}
	for _, u := range found {
		if in.hidden(u) {
			continue
		}
		if err := send(crawl.LinkRow{From: string(p.URL), To: string(u)}); err != nil {
			return err
		}
	}
	return nil
}
