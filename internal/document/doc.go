// Package document reads documents that are no pages, PDF files, Office Open XML, OpenDocument,
// feeds, tables and JSON, and makes HTML of what they say, so that all that reads pages reads them
// as it reads pages: title, headings, text and links. The HTML is small and plain: it holds no
// scripts, no metas and no addresses but those of links, and every letter of the document's text is
// escaped.
//
//	f := document.File{Type: document.PDF, Body: body}
//	html, err := document.HTML(f, document.Limits{})
//
// The packages beneath bound what they take, but a hostile file may still find what costs memory or
// time: HTML is called in a child process with limits of its own (internal/document/worker). It
// opens no files and sends no requests; what a document names elsewhere stays unread.
package document

import (
	"encoding/xml"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/document/pdf"
)

// Limits bound a document. A field's zero means its default.
type Limits struct {
	Pages int // of a PDF, sheets of a table, slides; 0: 2,000
	HTML  int // bytes of what is returned, but for a quarter of it of links; 0: 4 MiB
	// Links that are taken; 0: 10,000.
	Links int
	Until time.Time // what is not read by then is left out; zero: all is read
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

// MaxBody is the largest document that is read, in bytes: half of one is mostly of no use.
const MaxBody = 32 << 20

// File is what HTML reads.
type File struct {
	Type string // media type, without parameters, in lower case; see Reads
	// Charset is as its Content-Type names it; may be empty. Only tables and JSON go by it, unless
	// they begin with a byte order mark.
	Charset string
	Body    []byte
}

// Page is the HTML that a document stands for, in UTF-8.
type Page struct {
	HTML []byte
	Cut  bool // there was more than Limits let in
}

// The media types that are read, without parameters.
const (
	PDF  = "application/pdf"
	DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
	ODT  = "application/vnd.oasis.opendocument.text"
	ODS  = "application/vnd.oasis.opendocument.spreadsheet"
	ODP  = "application/vnd.oasis.opendocument.presentation"
	RSS  = "application/rss+xml"
	Atom = "application/atom+xml"
	CSV  = "text/csv"
	TSV  = "text/tab-separated-values"
	JSON = "application/json"
)

// readers are the ways of reading, by media type.
var readers = map[string]func(w *writer, f File) error{
	PDF: readPDF, DOCX: readWord, XLSX: readSheets, PPTX: readSlides, ODT: readODF, ODS: readODF, ODP: readODF,
	RSS: readFeed, Atom: readFeed, CSV: readTable, TSV: readTable, JSON: readJSON,
}

// Reads reports whether documents of a media type are read.
func Reads(mediaType string) bool { return readers[mediaType] != nil }

// Names are the endings of file names that tell a type where a server does not.
var names = map[string]string{".pdf": PDF, ".docx": DOCX, ".xlsx": XLSX, ".pptx": PPTX, ".odt": ODT, ".ods": ODS, ".odp": ODP}

// ByName is the type of a document that is called path, if its first bytes do not speak against it;
// "" when neither tells.
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

// Errors of HTML; any other says why a document makes no sense.
var (
	ErrTooMuch   = errors.New("it is larger than the limit for documents")
	ErrEncrypted = errors.New("it is encrypted")
)

// errFull ends reading where the limits are reached: what there is counts.
var errFull = errors.New("full")

// HTML reads a document. Anything may be passed. It may be called concurrently.
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
		w.cut = true // what came before the broken XML counts
	case err != nil:
		return Page{}, err
	}
	return w.page(), nil
}
