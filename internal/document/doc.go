// Package document reads documents that are not pages: PDF files, Office Open XML, OpenDocument,
// EPUB, feeds, tables and JSON. It makes HTML of their contents, so that all code for pages can
// read them like pages: title, headings, text and links. The HTML is small and plain. It contains
// no scripts, no meta elements and no addresses except those of links, and all text of the document
// is escaped.
//
//	f := document.File{Type: document.PDF, Body: body}
//	html, err := document.HTML(f, document.Limits{})
//
// The packages below limit what they use, but a hostile file may still find something that takes
// much memory or time. Therefore HTML is called in a child process with its own limits
// (internal/document/worker). It opens no files and sends no requests, so nothing else that a
// document refers to is read.
package document

import (
	"encoding/xml"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/document/pdf"
)

// Limits limit the cost of a document. The zero value of a field means its default.
type Limits struct {
	Pages int // of a PDF; sheets of a table; slides; 0: 2,000
	HTML  int // bytes of the result, plus a quarter of it for links; 0: 4 MiB
	// Links is the largest number of links; 0 means 10,000.
	Links int
	Until time.Time // reading stops at this time; zero: no limit
}

func (l Limits) withDefaults() Limits {
	def := func(n *int, v int) {
		if *n <= 0 {
			*n = v
		}
	}
	def(&l.Pages, 2000)
	def(&l.HTML, 4<<20)
	def(&l.Links, 10_000)
	return l
}

// MaxBody is the largest document that is read, in bytes. A part of a document is usually useless.
const MaxBody = 32 << 20

// File is the input of HTML.
type File struct {
	Type string // media type, without parameters, in lower case; see Reads
	// Charset is the charset in the Content-Type of the file. It may be empty. It applies only to
	// tables and JSON without a byte order mark.
	Charset string
	Body    []byte
}

// Page is the HTML made of a document, in UTF-8.
type Page struct {
	HTML []byte
	Cut  bool // Limits were exceeded
}

// The supported media types, without parameters.
const (
	PDF  = "application/pdf"
	DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
	ODT  = "application/vnd.oasis.opendocument.text"
	ODS  = "application/vnd.oasis.opendocument.spreadsheet"
	ODP  = "application/vnd.oasis.opendocument.presentation"
	EPUB = "application/epub+zip"
	RSS  = "application/rss+xml"
	Atom = "application/atom+xml"
	CSV  = "text/csv"
	TSV  = "text/tab-separated-values"
	JSON = "application/json"
)

// readers are the functions that read documents, by media type.
var readers = map[string]func(w *writer, f File) error{
	PDF: readPDF, DOCX: readOffice, XLSX: readOffice, PPTX: readOffice, EPUB: readEPUB, ODT: readODF, ODS: readODF, ODP: readODF,
	RSS: readFeed, Atom: readFeed, CSV: readTable, TSV: readTable, JSON: readJSON,
}

// Reads reports whether a media type is supported.
func Reads(mediaType string) bool { return readers[mediaType] != nil }

// names are the endings of file names that determine a type if the server does not state one.
var names = map[string]string{".pdf": PDF, ".docx": DOCX, ".xlsx": XLSX, ".pptx": PPTX, ".odt": ODT, ".ods": ODS, ".odp": ODP, ".epub": EPUB}

// alias are media types that servers use for the supported ones.
var alias = map[string]string{
	"application/x-pdf": PDF, "application/acrobat": PDF, "application/x-acrobat": PDF, "applications/vnd.pdf": PDF, "application/vnd.pdf": PDF, "text/pdf": PDF, "text/x-pdf": PDF,
	"application/epub": EPUB, "application/x-epub+zip": EPUB,
}

// Canonical returns the supported media type for which a server uses another one, or the type
// itself.
func Canonical(mediaType string) string {
	if t := alias[mediaType]; t != "" {
		return t
	}
	return mediaType
}

// old are the media types of programs whose later files are of Office Open XML.
var old = map[string]string{
	"application/msword": DOCX, "application/vnd.ms-word": DOCX, "application/x-msword": DOCX, "application/doc": DOCX,
	"application/vnd.ms-excel": XLSX, "application/msexcel": XLSX, "application/x-msexcel": XLSX, "application/x-excel": XLSX,
	"application/vnd.ms-powerpoint": PPTX, "application/mspowerpoint": PPTX,
}

// Old returns the type of Office Open XML of a file that is served with the type of older programs,
// if it begins as a zip file. Otherwise it returns "".
func Old(mediaType string, first []byte) string {
	if strings.HasPrefix(string(first), "PK\x03\x04") {
		return old[mediaType]
	}
	return ""
}

// ByName returns the type of a document with this path, unless its first bytes contradict it. It
// returns "" if the type is unknown.
func ByName(path string, first []byte) string {
	i := strings.LastIndexByte(path, '.')
	if i < 0 {
		return ""
	}
	kind := names[strings.ToLower(path[i:])]
	switch {
	case kind == PDF && strings.Contains(string(first[:min(len(first), 1024)]), "%PDF-"):
	case kind != "" && kind != PDF && strings.HasPrefix(string(first), "PK\x03\x04"):
	default:
		return ""
	}
	return kind
}

// Errors of HTML. Any other error describes why a document is invalid.
var (
	ErrTooMuch   = errors.New("it is larger than the limit for documents")
	ErrEncrypted = errors.New("it is encrypted")
)

// errFull stops reading when a limit is reached. The result up to there counts.
var errFull = errors.New("full")

// HTML reads a document. It accepts any input. It may be called concurrently.
func HTML(f File, lim Limits) (Page, error) {
	read := readers[f.Type]
	if read == nil {
		return Page{}, fmt.Errorf("documents of type %q are not supported", f.Type)
	}
	w := newWriter(lim.withDefaults())
	err := read(w, f)
	switch {
	case errors.Is(err, errFull):
		w.cut = true
	case errors.Is(err, pdf.ErrEncrypted):
		return Page{}, ErrEncrypted
	case errors.Is(err, pdf.ErrTooMuch):
		return Page{}, ErrTooMuch
	case err != nil && w.b.Len() > 0 && errors.As(err, new(*xml.SyntaxError)):
		w.cut = true // the text before the invalid XML counts
	case err != nil:
		return Page{}, err
	}
	return w.page(), nil
}
