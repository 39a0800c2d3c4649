package pagetext

import (
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/html"
)

// Head returns title and language of a page, for a caller that has the page in memory before it is
// compressed. It returns nil if this would take more than a few microseconds: for a page that is
// not in UTF-8, for Markdown, and if the page may contain JSON-LD about datasets. The page store
// then reads the head itself.
func (x *Extractor) Head(contentType, charsetName string, body []byte) *crawl.Head {
	if !strings.EqualFold(charsetName, "utf-8") || contentType == html.TypeMarkdown || contentType != "text/plain" && mayLink(body) {
		return nil
	}
	h := new(crawl.Head)
	h.Title, h.Lang = x.Title(contentType, charsetName, body)
	return h
}
