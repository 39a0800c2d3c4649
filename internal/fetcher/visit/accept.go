package visit

import (
	"maps"
	"net/http"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Pages as Markdown (signals.md §6 row 34). It is another representation of the same resource, and
// never mixed with the HTML one: a copy in Markdown is only validated by a request that takes
// Markdown, since a careless origin has one validator for both, and an answer in HTML replaces it
// as a whole.

// acceptMarkdown is what a request for a page says that it takes, with --accept-markdown.
const acceptMarkdown = "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/plain;q=0.8, */*;q=0.1"

// markdownMark stands before the validator of a copy in Markdown where the frontier keeps it. No
// entity tag begins so.
const markdownMark = "md:"

// ofMarkdown marks the validators of a copy in Markdown.
func ofMarkdown(etag, lastModified string) (string, string) {
	if etag == "" && lastModified == "" {
		return "", ""
	}
	return markdownMark + etag, lastModified
}

// markdownETag tells whether a validator is of a copy in Markdown, and which the site gave.
func markdownETag(kept string) (etag string, isMarkdown bool) {
	return strings.CutPrefix(kept, markdownMark)
}

// conditions is the header by which the copy held is validated; nil for none.
func (v *Visit) conditions(u *crawl.VisitURL) http.Header {
	etag, isMarkdown := markdownETag(u.ETag)
	if isMarkdown && !v.cfg.spec.AcceptMarkdown {
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

// storable reports whether pages of this type are kept.
func (v *Visit) storable(kind string) bool {
	return storable(kind) || kind == typeMarkdown && v.cfg.spec.AcceptMarkdown
}
