//go:build !wasip1

package html

// TypeMarkdown is the media type of Markdown (RFC 7763), which is rewritten as HTML.
const TypeMarkdown = "text/markdown"

// Convert rewrites a page of one of these types, in UTF-8, as HTML. contentType is a media type
// without parameters. Pages of other types come back as they are.
func Convert(contentType string, page []byte) (asType string, asHTML []byte) {
	switch contentType {
	case TypeMarkdown:
		return "text/html", FromMarkdown(page)
	case TypeXHTML:
		return "text/html", FromXHTML(page)
	}
	return contentType, page
}
