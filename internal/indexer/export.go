package indexer

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/htmlscan"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/usage"
)

// maxSent bounds what is sent of one page over NATS, in bytes of JSON: a message holds 1 MiB. A
// page that is longer is cut and says so; from the files it comes whole.
const maxSent = 900 << 10

// Record is a page with its content, as it is shown to others.
type Record = crawl.PageRecord

// Link is a line of `curtsy export links`.
type Link struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// exporter makes records; it is for one goroutine.
type exporter struct {
	limit   int // bytes of content, as JSON; 0: all
	extract pages.Extractor
	scan    htmlscan.Scanner
	buf     []byte
}

// export calls send with a string for everything to be written as it is, and with an object for
// every line of JSON. Pages that ask not to be quoted come without their content, unless the asker
// takes that on himself: what he shows of it then is his to answer for.
func (a answers) export(ctx context.Context, r request, send func(any) error) error {
	e := exporter{limit: a.limit}
	left := crawl.LeftOut{Pages: map[string]int64{}}
	var one func(in part, p *pages.Page) error
	switch what, format := r.What, r.Format; {
	case (what == "pages" || what == "") && (format == "jsonl" || format == ""):
		one = func(in part, p *pages.Page) error {
			rec := e.record(in, p, "text", r.All)
			countLeftOut(left, rec.Withheld)
			return send(rec)
		}
	case (what == "pages" || what == "") && (format == "text" || format == "html"):
		one = func(in part, p *pages.Page) error {
			rec := e.record(in, p, format, r.All)
			if rec.Withheld != "" {
				countLeftOut(left, rec.Withheld)
				return nil
			}
			return send(document(rec, format))
		}
	case what == "links":
		one = func(in part, p *pages.Page) error { return e.links(in, p, send) }
	default:
		return fmt.Errorf("export %q as %q: use pages as jsonl, text or html, or links as jsonl", what, format)
	}
	purposes, err := usage.ParsePurposes(r.For)
	if err != nil {
		return err
	}
	now := time.Now()
	for _, p := range a.parts() {
		err := p.store.EachWithBody(func(page pages.Page) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			if page.Expired(now) || p.hidden(page.URL) {
				return nil
			}
			if why := notFor(&page, purposes, r.UnknownToo); why != "" {
				left.Add(crawl.LeftOut{Usage: map[string]int64{why: 1}})
				return nil
			}
			return one(p, &page)
		})
		if err != nil && !p.gone.Load() {
			return err
		}
	}
	if len(left.Pages)+len(left.Usage) == 0 {
		return nil
	}
	return send(left)
}

// notFor says why a page is no part of an export for some purposes: which of them its site
// disallows, or, unless that is let through, says nothing of. Search needs no permission (protocols
// §8.3).
func notFor(p *pages.Page, purposes []usage.Purpose, unknownToo bool) string {
	if len(purposes) == 0 {
		return ""
	}
	said := p.Usage.Concluded()
	for _, purpose := range purposes {
		switch v := said[purpose]; {
		case v == usage.Disallow:
		case v == usage.Unknown && purpose != usage.Search && !unknownToo:
		default:
			continue
		}
		return purpose.String() + " " + said[purpose].String()
	}
	return ""
}

// countLeftOut counts a record that came without its content because its site asked for that.
func countLeftOut(left crawl.LeftOut, why string) {
	if why == "nosnippet" || why == "noarchive" {
		left.Pages[why]++
	}
}

// record makes the record of a page with its body; content is text or html. A body that cannot
// be read is left out.
func (e *exporter) record(in part, p *pages.Page, content string, all bool) (rec Record) {
	if in.marks.read(p, func() { rec = e.read(in, p, content, all) }) != nil {
		e.extract, e.buf = pages.Extractor{}, nil
		rec = Record{PageInfo: in.info(p), Lang: p.Lang, Charset: p.Charset, Withheld: string(crawl.ReasonUnreadable)}
	}
	return rec
}

func (e *exporter) read(in part, p *pages.Page, content string, all bool) Record {
	rec := Record{PageInfo: in.info(p), Lang: p.Lang, Charset: p.Charset}
	switch {
	case p.IsMeta(): // nothing for people; what it says is in the catalogue
		rec.Withheld = "metadata"
		return rec
	case !p.SnippetAllowed() && !all:
		rec.Withheld = "nosnippet"
		return rec
	case p.Directives&crawl.NoArchive != 0 && !all: // a copy of it is what an export would be
		rec.Withheld = "noarchive"
		return rec
	}
	body, err := p.Unpack(e.buf)
	if err != nil {
		rec.Withheld = err.Error()
		return rec
	}
	if p.Encoding != crawl.EncodingNone {
		e.buf = body
	}
	switch {
	case content == "html": // the page itself, data-nosnippet and all: who has it can obey it
		rec.HTML = e.cut(pages.DecodeCharset(body, p.Charset), &rec.Cut)
	case all:
		rec.Text = e.cut(e.extract.Text(p.ContentType, p.Charset, body).Body, &rec.Cut)
	default:
		text, none := e.extract.Quotable(p.URL, p.ContentType, p.Charset, body)
		rec.Text = e.cut(text, &rec.Cut)
		if none {
			rec.Withheld = "nosnippet"
		}
	}
	return rec
}

// cut makes a string of b, of its beginning when it is over the limit.
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

// document writes a record as a part of one text: what it is, then the content.
func document(r Record, format string) string {
	if format == "html" {
		// A canonical URL holds no ">", so it cannot end the comment.
		return fmt.Sprintf("<!-- %s, fetched %s -->\n%s\n", r.URL, r.FetchedAt.Format(time.RFC3339), r.HTML)
	}
	return fmt.Sprintf("URL: %s\nTitle: %s\nFetched: %s\n\n%s\n\n\f\n", r.URL, r.Title, r.FetchedAt.Format(time.RFC3339), r.Text)
}

// links sends where a page leads, unless it asked for its links not to be followed.
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
		if err := send(Link{From: string(p.URL), To: string(u)}); err != nil {
			return err
		}
	}
	return nil
}
