package visit

import (
	"maps"
	"net/http"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Pages as Markdown (formats §8.34). It is another representation of the same resource, and
// never mixed with the HTML one. A careless origin has one validator for both, so what was answered
// to a request that took Markdown is only validated by another such request, and all else only by
// one that did not: what a 304 speaks of is then what the request would have had. An answer of the
// other kind replaces a copy as a whole.

// acceptMarkdown is what a request for a page says that it takes, with --accept-markdown.
const acceptMarkdown = "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/plain;q=0.8, */*;q=0.1"

// takesMarkdown stands before the validator, where the frontier keeps it, of an answer to a request
// that took Markdown. No entity tag begins so.
const takesMarkdown = "md:"

// keptValidators are validators as the frontier keeps them.
func (v *Visit) keptValidators(etag, lastModified string) (string, string) {
	etag, lastModified = validators(etag, lastModified)
	if v.cfg.spec.AcceptMarkdown && (etag != "" || lastModified != "") {
		etag = takesMarkdown + etag
	}
	return etag, lastModified
}

// conditions is the header by which the copy held is validated; nil for none.
func (v *Visit) conditions(u *crawl.VisitURL) http.Header {
	etag, took := strings.CutPrefix(u.ETag, takesMarkdown)
	if took != v.cfg.spec.AcceptMarkdown {
		return nil
	}
	return conditional(etag, u.LastModified)
}

// accepting adds to the header of a request for a page what it takes, if that is not as always.
func (v *Visit) accepting(h http.Header) http.Header {
	if !v.cfg.spec.AcceptMarkdown {
		return h
	}
	h = maps.Clone(h)
	if h == nil {
		h = http.Header{}
	}
	h["Accept"] = []string{acceptMarkdown}
	return h
}

// storable reports whether the crawl keeps pages of this type.
func (v *Visit) storable(kind string) bool {
	return v.cfg.types&crawl.TypeOf(kind) != 0 || kind == typeMarkdown && v.cfg.spec.AcceptMarkdown
}
