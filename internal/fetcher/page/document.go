package page

import (
	"errors"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/document"
	"github.com/curtsy/curtsy/internal/document/worker"
	"github.com/curtsy/curtsy/internal/fetcher/answer"
	"github.com/curtsy/curtsy/internal/fetcher/metrics"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/htmlscan"
)

// Documents that are no pages: PDF files, office documents, feeds, tables. A child process makes
// HTML of them (internal/document/worker), and from then on they are treated as pages: their links
// are followed, their text is stored and found, and the statements of their headers apply. A
// document is stored as this HTML, under its own media type.

// keepDocument reads a document and publishes it like a page.
func (p *Pages) keepDocument(u *crawl.VisitURL, a *wire.Answer, kind string, r *crawl.Result) {
	page := *a
	page.Body, page.Truncated = nil, false
	head := p.Sites.HeaderTags(a.Header, a.At)
	if d := head.Directives.At(a.At); d.NoIndex && d.NoFollow {
		p.queue(u, &page, kind, head, rendering{}, r) // neither its text nor its links may be used
		return
	}
	if a.Truncated || len(a.Body) == 0 && answer.Length(a.Header) > document.MaxBody {
		p.unreadable(u, a, worker.ErrTooLarge, r)
		return
	}
	met := p.Requests.Metrics
	start := time.Now()
	read, err := p.gather.document(p.Context, p.Shared.documents, document.File{Type: kind, Charset: answer.Charset(a.Header), Body: a.Body}, p.gather.parties(u))
	defer p.gather.done()
	met.Spent(metrics.Document, start)
	if err != nil {
		p.unreadable(u, a, err, r)
		return
	}
	page.Body, page.Truncated = read.HTML, read.Cut
	start = time.Now()
	kept := 0
	if len(read.HTML) > wire.KeepBuffer {
		kept = htmlFactor * len(read.HTML)
	}
	scan, err := p.gather.scan(htmlscan.Page{
		URL: u.URL, Body: page.Body, ContentType: "text/html; charset=utf-8", HTML: true, Header: a.Header, Token: p.spec().Agent,
	}, kept)
	if err != nil {
		fail(p.Requests, u, err, r)
		return
	}
	met.Spent(metrics.Scan, start)
	p.queue(u, &page, kind, &scan, rendering{}, r)
	p.follow(u, scan.Links)
}

// unreadable fills in the result of a document that could not be read. If the document itself is
// the cause, a stored copy of it is out of date.
func (p *Pages) unreadable(u *crawl.VisitURL, a *wire.Answer, err error, r *crawl.Result) {
	r.Class, r.Reason, r.Rule = crawl.Retry, crawl.ReasonDocument, err.Error()
	var its *worker.Unreadable
	if errors.As(err, &its) {
		r.Class = crawl.Failed
		p.Archive(u.URL, a) // other programs may be able to read it
		p.Forget(u, crawl.ReasonDocument)
	}
}
