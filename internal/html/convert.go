package html

// The media types that are rewritten as HTML.
const (
	TypeXHTML    = "application/xhtml+xml"
	TypeMarkdown = "text/markdown" // RFC 7763
)

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
