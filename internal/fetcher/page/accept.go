package page

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/document"
	"github.com/curtsy/curtsy/internal/fetcher/answer"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Pages as Markdown (--accept-markdown). Markdown is another representation of the resource, and it
// is never mixed with the HTML one. A careless origin has one validator for both. So the answer to
// a request that accepted Markdown is only validated by another such request, and any other answer
// only by a request that did not accept it. A 304 is then about what the request would have
// returned. An answer of the other kind replaces a copy as a whole.

// acceptMarkdown is the Accept field of a request for a page with --accept-markdown.
const acceptMarkdown = "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/plain;q=0.8, */*;q=0.1"

// tookMarkdown is the prefix of the validator of an answer to a request that accepted Markdown, as
// the frontier stores it. No entity tag begins like this.
const tookMarkdown = "md:"

// keptValidators returns validators as the frontier stores them.
func (p *Pages) keptValidators(etag, lastModified string) (string, string) {
	etag, lastModified = answer.Validators(etag, lastModified)
	if p.spec().AcceptMarkdown && (etag != "" || lastModified != "") {
		etag = tookMarkdown + etag
	}
	return etag, lastModified
}

// conditions returns the header fields that validate the stored copy; nil if there is none to
// validate.
func (p *Pages) conditions(u *crawl.VisitURL) http.Header {
	etag, took := strings.CutPrefix(u.ETag, tookMarkdown)
	if took != p.spec().AcceptMarkdown {
		return nil
	}
	return answer.Conditional(etag, u.LastModified)
}

// accepting adds an Accept field to the header of a request if the crawl accepts Markdown.
func accepting(spec *crawl.Spec, h http.Header) http.Header {
	if !spec.AcceptMarkdown {
		return h
	}
	h = maps.Clone(h)
	if h == nil {
		h = http.Header{}
	}
	h["Accept"] = []string{acceptMarkdown}
	return h
}

// storable reports whether the answer of a URL is stored if it has this media type.
func (p *Pages) storable(u canon.URL, kind string) bool {
	return p.Requests.Config.TypesOf(u)&crawl.TypeOf(kind) != 0 || kind == answer.Markdown && p.spec().AcceptMarkdown
}

// typesUnknown are media types by which servers say that they do not know the type. Then the name
// of a document may decide.
var typesUnknown = []string{"", "application/octet-stream", "binary/octet-stream", "application/zip", "application/x-download", "application/force-download"}

// typesXML are media types of XML of any kind, which a feed may have.
var typesXML = []string{"application/xml", "text/xml"}

// mayBeDocument reports whether the first bytes of an answer of this media type decide what it is.
func (p *Pages) mayBeDocument(u canon.URL, kind string) bool {
	types := p.Requests.Config.TypesOf(u)
	switch {
	case types&crawl.TypeFeed != 0 && slices.Contains(typesXML, kind):
		return true
	case types&crawl.TypeOffice != 0 && document.Old(kind, zipBegin) != "":
		return true
	case types&(crawl.TypePDF|crawl.TypeOffice) == 0 || !slices.Contains(typesUnknown, kind):
		return false
	}
	// A PDF file is recognised by its signature alone, other documents by name and signature.
	return document.ByName(u.Path(), []byte("%PDF-")) != "" || document.ByName(u.Path(), zipBegin) != ""
}

// zipBegin are the first bytes of a zip file.
var zipBegin = []byte("PK\x03\x04")

// documentType returns the media type of an answer by its first bytes, if its own says too little.
func documentType(u canon.URL, kind string, first []byte) string {
	switch {
	case slices.Contains(typesXML, kind):
		if t := document.LooksLikeFeed(first); t != "" {
			return t
		}
	case slices.Contains(typesUnknown, kind):
		if t := document.ByName(u.Path(), first); t != "" {
			return t
		}
	}
	if t := document.Old(kind, first); t != "" {
		return t
	}
	return kind
}

// largest returns the size of the largest body that is read while its type is unknown, if these
// types are stored.
func (p *Pages) largest(types crawl.Types) int64 {
	if types&(crawl.TypePDF|crawl.TypeOffice) != 0 {
		return max(p.MaxBody, document.MaxBody)
	}
	return p.MaxBody
}

// wanted says what is read of an answer of a media type that is stored. A document whose header
// says that it is too large is not read, because half of it is of no use.
func (p *Pages) wanted(kind string, header http.Header) wire.Wanted {
	if !document.Reads(kind) {
		return wire.Wanted{Limit: p.MaxBody}
	}
	if answer.Length(header) > document.MaxBody {
		return wire.Wanted{}
	}
	return wire.Wanted{Limit: document.MaxBody}
}

// cutPage cuts what turned out to be a page, and no document, to the size of pages.
func (p *Pages) cutPage(a *wire.Answer, kind string) {
	if int64(len(a.Body)) > p.MaxBody && !document.Reads(kind) {
		a.Body, a.Truncated = a.Body[:p.MaxBody], true
	}
}
