package pages

import (
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/mdhtml"
)

// Head is what Title and LinkedData say of a page, for whoever has it at hand before it is packed.
// It is nil where that takes more than a few microseconds, which the store has more of: for a page
// that is not in UTF-8, for Markdown, and where JSON-LD about datasets may be in the page.
func (x *Extractor) Head(contentType, charsetName string, body []byte) *crawl.Head {
	if !strings.EqualFold(charsetName, "utf-8") || contentType == mdhtml.MediaType || contentType != "text/plain" && mayLink(body) {
		return nil
	}
	h := new(crawl.Head)
	h.Title, h.Lang = x.Title(contentType, charsetName, body)
	return h
}
