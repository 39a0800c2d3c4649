package indexer

import (
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/curtsy/curtsy/internal/catalog"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/html"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/pagetext"
)

// pageReader reads pages as they arrive: whether they may be stored, their titles, and what they
// state about datasets. It must not be used concurrently.
type pageReader struct {
	log      *slog.Logger
	marks    *marks
	extract  pagetext.Extractor
	unpacked []byte // a buffer
}

// read decides whether a page may be stored, and reads its title.
func (r *pageReader) read(p crawl.Page, now time.Time) pages.Page {
	out := pages.Page{Page: p}
	if p.Kind == crawl.KindCapture {
		return out
	}
	if !p.UnavailableAfter.IsZero() && !now.Before(p.UnavailableAfter) {
		out.Late = p.Directives&crawl.NoIndex == 0 && p.Deleted == ""
		out.Directives |= crawl.NoIndex
	}
	if out.Directives&crawl.NoIndex != 0 || p.Deleted != "" {
		out.Body = nil // it is not read
		return out
	}
	if p.Renewed {
		return out
	}
	if r.takeHead(&out) {
		return out
	}
	if err := r.marks.read(&out, func() { r.readBody(&out) }); err != nil {
		r.extract, r.unpacked = pagetext.Extractor{}, nil // their state is unknown
		return unreadable(&out)
	}
	return out
}

// unreadable is what is stored of a page that cannot be read.
func unreadable(p *pages.Page) pages.Page {
	return pages.Page{Page: crawl.Page{URL: p.URL, Visit: p.Visit, FetchedAt: p.FetchedAt, Depth: p.Depth, FoundOn: p.FoundOn,
		Deleted: crawl.ReasonUnreadable}}
}

// takeHead takes the head of a page from the fetcher. It reports whether the body need not be read:
// the header states nothing about datasets, and no page is suspected of having ended a process.
func (r *pageReader) takeHead(out *pages.Page) bool {
	h := out.Head
	if h == nil || out.IsMeta() || len(h.Title) > crawl.MaxTitle || len(out.Signposts) > 0 || r.marks.suspect() {
		return false
	}
	out.Title, out.Lang = h.Title, h.Lang
	return true
}

// readBody reads the title of a page, and what it states about datasets.
func (r *pageReader) readBody(out *pages.Page) {
	body, err := out.Unpack(r.unpacked)
	if err != nil {
		r.log.Warn("a page is stored without a title", "url", out.URL, "err", err)
		return
	}
	if out.Encoding != crawl.EncodingNone {
		if r.unpacked = body; cap(body) > maxUnpacked {
			r.unpacked = nil
		}
	}
	if !out.IsMeta() {
		out.Title, out.Lang = r.extract.Title(out.ContentType, out.Charset, body)
	}
	out.Claims = r.claims(out, body)
}

// maxUnpacked is the largest buffer for unpacked pages that is kept for the next page, in bytes.
const maxUnpacked = 1 << 20

// claims returns what a page or a metadata document states about datasets, in the form of
// Page.Claims: for a page its JSON-LD and the statements of its header, packed; for a document the
// mark that the whole document does. nil means that it states nothing.
func (r *pageReader) claims(p *pages.Page, body []byte) []byte {
	doc := documentOf(p)
	if p.IsMeta() {
		if len(body) > catalog.MaxDocument {
			r.log.Info("the metadata is too long to be read", "url", p.URL, "bytes", len(body), "limit", catalog.MaxDocument)
			return nil
		}
		text := metadataText(body, p.Charset)
		if !r.tells(catalog.ReadJSON, text, doc) && catalog.Unread(text, doc) == "" {
			return nil
		}
		return []byte{}
	}
	linked, odd := r.extract.LinkedDataReport(p.ContentType, p.Charset, body, catalog.MaxDocument)
	unread := unreadScripts(odd)
	header := p.Signposts
	if len(header) > crawl.MaxSignposts {
		header = nil
	}
	if linked == nil && header == nil && unread == "" {
		return nil
	}
	text := catalog.PageText(linked, header)
	if !r.tells(catalog.ReadPage, text, doc) && unread == "" {
		return nil
	}
	return s2.Encode(nil, catalog.WithUnread(text, unread))
}

// unreadScripts describes the scripts of a page that could not be read whole.
func unreadScripts(odd []pagetext.ScriptReport) string {
	var all []string
	for _, s := range odd {
		if !s.Whole() {
			all = append(all, s.String())
		}
	}
	return strings.Join(all, "; ")
}

// documentOf describes a page, a metadata document or a part of one, whose form is JSON whatever
// that of the document is.
func documentOf(p *pages.Page) catalog.Document {
	d := catalog.Document{URL: string(p.URL), Page: !p.IsMeta(), Fetched: p.FetchedAt}
	if p.IsMeta() && p.Part == 0 {
		d.Type = p.ContentType
	}
	return d
}

// metadataText returns the text of a metadata document. One in UTF-8 keeps its bytes: it may be in
// UTF-16 in truth, which its reader recognises.
func metadataText(body []byte, charset string) []byte {
	if strings.EqualFold(charset, "utf-8") {
		return body
	}
	return html.Decode(body, charset)
}

// unpackPart returns the text of a part, nil if it cannot be unpacked.
func (r *pageReader) unpackPart(p *pages.Page) []byte {
	body, err := p.Unpack(nil)
	if err != nil {
		r.log.Warn("a part of a document about datasets cannot be unpacked", "url", p.URL, "part", p.Part, "err", err)
	}
	return body
}

// tells reports whether a document describes datasets.
func (r *pageReader) tells(read func([]byte, catalog.Document) ([]crawl.DatasetClaim, error), text []byte, doc catalog.Document) bool {
	claims, err := read(text, doc)
	switch {
	case errors.Is(err, catalog.ErrCut), errors.Is(err, catalog.ErrTooMuch):
		r.log.Info("the metadata is not read to its end", "url", doc.URL, "datasets", len(claims), "err", err)
	case err != nil:
		r.log.Debug("the metadata contains no datasets", "url", doc.URL, "err", err)
	}
	return len(claims) > 0
}
