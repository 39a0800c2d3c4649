// Package pdf reads the text of PDF files (ISO 32000-2): what is written on their pages in the
// order in which it was written, the title they name, and the addresses that their links lead to.
//
//	text, err := pdf.Read(file, pdf.Limits{Pages: 2000})
//
// It draws nothing and runs nothing: scripts, forms, attached files and pictures are passed over,
// and a page that is a picture has no text. A file that is damaged is read as far as it can be:
// when its table of objects is of no use, the objects are looked for. A file that is encrypted is
// read if everybody may open it, which is so where its user password is empty.
//
// Read bounds what it takes of a hostile file (Limits), but not to the byte: call it in a process
// that may be killed, as internal/document/worker does.
package pdf

import (
	"errors"
	"time"
)

// The errors of Read, beside those of files that make no sense.
var (
	ErrNotPDF    = errors.New("it is not a PDF")
	ErrEncrypted = errors.New("the PDF is encrypted with a password")
	ErrTooMuch   = errors.New("the PDF has more or larger objects than the limits allow")
)

// Limits bound what Read does. A field's zero means its default.
type Limits struct {
	Pages int       // pages read; 0: 2,000
	Text  int       // bytes of text; 0: 4 MiB
	Links int       // 0: 10,000
	Until time.Time // pages after this are left out; zero: none are
}

// What a file may have and hold.
const (
	maxObjects  = 1 << 20
	maxDepth    = 64        // of arrays and dictionaries in one another, and of the tree of pages
	maxStream   = 64 << 20  // bytes of a stream when it is decoded
	maxInflated = 256 << 20 // bytes of all streams that are decoded
	maxForms    = 12        // forms drawn by forms
	maxTokens   = 20 << 20  // operands and operators of all pages
)

// Text is what a PDF says.
type Text struct {
	Title      string // of its information dictionary; may be empty or of little use
	Lang       string // a language tag, if it names one
	Paragraphs []Paragraph
	Links      []string // addresses as they are written, each once, in order of the pages
	Pages      int      // how many were read
	Cut        bool     // there was more than the limits allow
}

// Paragraph is some lines that stand together, in UTF-8, with one blank between lines.
type Paragraph struct {
	Text string
	Size float64 // of its letters, in points
	Page int     // from 1
}
