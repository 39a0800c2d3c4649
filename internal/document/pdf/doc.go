// Package pdf reads the text of PDF files (ISO 32000-2): the text on their pages in the order in
// which it was written, the title, and the addresses of links.
//
//	text, err := pdf.Read(file, pdf.Limits{Pages: 2000})
//
// It draws and executes nothing: scripts, forms, attached files and pictures are skipped, and a
// page that is a picture has no text. A damaged file is read as far as possible: if its table of
// objects is useless, the package searches the file for objects. An encrypted file is read if
// everybody may open it, which means that its user password is empty.
//
// Read limits what a hostile file can use (Limits), but not to the byte. Call it in a process that
// may be killed, as internal/document/worker does.
package pdf

import (
	"errors"
	"time"
)

// The errors of Read, in addition to errors that describe why a file is invalid.
var (
	ErrNotPDF    = errors.New("it is not a PDF")
	ErrEncrypted = errors.New("the PDF is encrypted with a password")
	ErrTooMuch   = errors.New("the PDF has more or larger objects than the limits allow")
)

// Limits limit the cost of Read. The zero value of a field means its default.
type Limits struct {
	Pages int       // pages read; 0: 2,000
	Text  int       // bytes of text; 0: 4 MiB
	Links int       // 0: 10,000
	Until time.Time // pages after this time are left out; zero: no limit
}

// The limits of a file.
const (
	maxObjects  = 1 << 20
	maxDepth    = 64        // of nested arrays and dictionaries, and of the tree of pages
	maxStream   = 64 << 20  // bytes of a decoded stream
	maxInflated = 256 << 20 // bytes of all decoded streams
	maxForms    = 12        // forms drawn by forms
	maxTokens   = 20 << 20  // operands and operators of all pages
)

// Text is the text of a PDF.
type Text struct {
	Title      string // of the information dictionary; may be empty or useless
	Lang       string // a language tag, if it names one
	Paragraphs []Paragraph
	Links      []string // addresses as written, each once, in the order of the pages
	Pages      int      // how many were read
	Cut        bool     // a limit was exceeded
}

// Paragraph is a group of adjacent lines, in UTF-8, joined with one space.
type Paragraph struct {
	Text string
	Size float64 // of its letters, in points
	Page int     // from 1
}
