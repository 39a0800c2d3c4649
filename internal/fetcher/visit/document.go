package visit

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/document"
	"github.com/curtsy/curtsy/internal/document/worker"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/htmlscan"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Documents that are no pages: PDF files, office documents, feeds, tables. A child process makes
// HTML of them (internal/document/worker), and from there on they are pages: their links are
// followed, their text is kept and found, and what the headers say of their use holds. A document
// is kept as that HTML, under its own media type.

// typesUntold are media types by which servers say that they do not know; then a name may tell.
var typesUntold = []string{"", "application/octet-stream", "binary/octet-stream", "application/zip", "application/x-download", "application/force-download"}

// typesXML are those of XML of any kind, which a feed may be.
var typesXML = []string{"application/xml", "text/xml"}

// mayBeDocument reports whether the first bytes of an answer of this type are to tell what it is.
func (v *Visit) mayBeDocument(u canon.URL, kind string) bool {
	switch {
	case v.cfg.types&crawl.TypeFeed != 0 && slices.Contains(typesXML, kind):
		return true
	case v.cfg.types&(crawl.TypePDF|crawl.TypeOffice) == 0 || !slices.Contains(typesUntold, kind):
		return false
	}
	// PDF is told by its signature as well, and what has a name by both.
	return document.ByName(u.Path(), []byte("%PDF-")) != "" || document.ByName(u.Path(), []byte("PK\x03\x04")) != ""
}

// documentType is the type of an answer by its first bytes, where its own says too little.
func (v *Visit) documentType(u canon.URL, kind string, first []byte) string {
	switch {
	case slices.Contains(typesXML, kind):
		if t := document.LooksLikeFeed(first); t != "" {
			return t
		}
	case slices.Contains(typesUntold, kind):
		if t := document.ByName(u.Path(), first); t != "" {
			return t
		}
	}
	return kind
}

// largest is the size of the largest body that may be wanted of an answer whose type is not known.
func (v *Visit) largest() int64 {
	if v.cfg.types&(crawl.TypePDF|crawl.TypeOffice) != 0 {
		return max(v.deps.opt.MaxBody, document.MaxBody)
	}
	return v.deps.opt.MaxBody
}

// wanted is what is wanted of an answer of a type that is kept. A document that says it is too
// large is not fetched: of half of one nothing can be read.
func (v *Visit) wanted(kind string, header http.Header) wire.Wanted {
	if !document.Reads(kind) {
		return wire.Wanted{Limit: v.deps.opt.MaxBody}
	}
	if announced(header) > document.MaxBody {
		return wire.Wanted{}
	}
	return wire.Wanted{Limit: document.MaxBody}
}

// announced is the size of a body by its header; 0 when that does not tell.
func announced(header http.Header) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(header.Get("Content-Length")), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// cutPage cuts what turned out to be a page, and no document, to the size of pages.
func (v *Visit) cutPage(a *wire.Answer, kind string) {
	if int64(len(a.Body)) > v.deps.opt.MaxBody && !document.Reads(kind) {
		a.Body, a.Truncated = a.Body[:v.deps.opt.MaxBody], true
	}
}

// keepDocument reads a document, and hands it over as keep does a page.
func (v *Visit) keepDocument(u *crawl.VisitURL, a *wire.Answer, kind string, r *crawl.Result) {
	page := *a
	page.Body, page.Truncated = nil, false
	head := v.headerTags(a)
	if d := head.Directives.At(a.At); d.NoIndex && d.NoFollow {
		v.queuePage(u, &page, kind, head, r) // there is nothing to be read
		return
	}
	if a.Truncated || len(a.Body) == 0 && announced(a.Header) > document.MaxBody {
		v.unreadable(u, a, worker.ErrTooLarge, r)
		return
	}
	start := time.Now()
	read, err := v.deps.documents.Read(v.pubCtx, document.File{Type: kind, Charset: charsetOf(a.Header), Body: a.Body})
	v.deps.metrics.stage(stageDocument, start)
	if err != nil {
		v.unreadable(u, a, err, r)
		return
	}
	page.Body, page.Truncated = read.HTML, read.Cut
	start = time.Now()
	scan := v.scratch.scanner.Scan(htmlscan.Page{
		URL: u.URL, Body: page.Body, ContentType: "text/html; charset=utf-8", HTML: true, Header: a.Header, Token: v.cfg.spec.Agent,
	})
	v.deps.metrics.stage(stageScan, start)
	v.queuePage(u, &page, kind, &scan, r)
	v.follow(u, scan.Links)
}

// unreadable says that nothing was read of a document. If that was its own fault, the copy that may
// be held of it is not what is there any more.
func (v *Visit) unreadable(u *crawl.VisitURL, a *wire.Answer, err error, r *crawl.Result) {
	r.Class, r.Reason, r.Rule = crawl.Retry, crawl.ReasonDocument, err.Error()
	var its *worker.Unreadable
	if errors.As(err, &its) {
		r.Class = crawl.Failed
		v.archive(u.URL, a) // of which somebody else may make something
		v.forget(u, crawl.ReasonDocument)
	}
}

// charsetOf is the charset that a Content-Type names.
func charsetOf(h http.Header) string {
	_, params, _ := strings.Cut(contentType(h), ";")
	for p := range strings.SplitSeq(params, ";") {
		if k, value, ok := strings.Cut(p, "="); ok && strings.EqualFold(strings.TrimSpace(k), "charset") {
			return strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return ""
}
