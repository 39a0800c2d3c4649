package documenttest

import "slices"

// Hostile is a document that is made to harm its reader.
type Hostile struct {
	Name, Type string
	Make       func() []byte
	// Text must occur in the result. "" means that reading must fail, and "*" that the document may
	// be read or not, if that is cheap.
	Text string
}

const (
	pdfType  = "application/pdf"
	docxType = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	xlsxType = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	odtType  = "application/vnd.oasis.opendocument.text"
	epubType = "application/epub+zip"
	rssType  = "application/rss+xml"
	jsonType = "application/json"
	csvType  = "text/csv"
)

var words = Content{Title: "Harmless", Text: "Once there was a harbour", Link: "https://a.example/"}

// All returns the hostile documents.
func All() []Hostile {
	return slices.Concat(largePDFs(), brokenPDFs(), office(), books(), feedsAndData())
}
