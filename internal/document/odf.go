package document

import (
	"encoding/xml"
	"errors"
	"strconv"
)

// OpenDocument (ISO/IEC 26300): content.xml has the text of all kinds of documents, and meta.xml
// the title.

func readODF(w *writer, f File) error {
	p, err := openParts(f.Body)
	if err != nil {
		return err
	}
	if err := p.open(); err != nil {
		return err
	}
	if err := p.properties(w, "meta.xml"); err != nil {
		return err
	}
	o := odf{w: w}
	if err := p.walk("content.xml", handlers{start: o.start, end: o.end, text: o.text}); err != nil || f.Type != ODT {
		return err
	}
	if err := o.writeAside(); err != nil {
		return err
	}
	// Headers and footers of text documents are in the styles of their pages. Those of tables and
	// slides have names and numbers that the programs put there.
	s := odf{w: w, styles: true}
	err = p.walk("styles.xml", handlers{start: s.start, end: s.end, text: s.text})
	if errors.Is(err, errMissing) {
		err = nil
	}
	return errors.Join(err, s.writeAside())
}

// maxAside is how many bytes of footnotes and comments of a paragraph are remembered.
const maxAside = 1 << 20

// open returns an error if the document is encrypted according to its manifest.
func (p *parts) open() error {
	err := p.walk("META-INF/manifest.xml", handlers{start: func(e xml.StartElement) error {
		if e.Name.Local == "encryption-data" {
			return ErrEncrypted
		}
		return nil
	}})
	if errors.Is(err, ErrEncrypted) || errors.Is(err, ErrTooMuch) {
		return err
	}
	return nil
}

// odf reads content.xml.
type odf struct {
	w      *writer
	body   int // open office:body
	off    int // open elements whose text does not belong to the document
	blocks int // open text:p and text:h
	row    bool
	pages  int
	styles bool // styles.xml is read, of which headers and footers count

	// Footnotes and comments stand in the middle of a paragraph. They are written after it.
	notes []int // open paragraphs at the beginning of each open note
	aside []string
	size  int
}

// note reports whether an element is a footnote or a comment.
func note(name string) bool { return name == "note-body" || name == "annotation" }

// writeAside writes the footnotes and comments of a paragraph that has ended.
func (o *odf) writeAside() error {
	for _, s := range o.aside {
		o.w.begin("p")
		if err := o.w.say(s); err != nil {
			return err
		}
		o.w.end()
	}
	o.aside, o.size = nil, 0
	return nil
}

// inNote is start for elements in a footnote or a comment.
func (o *odf) inNote(e xml.StartElement) {
	switch name := e.Name.Local; {
	case e.Name.Space == "dc" || e.Name.Space == "meta" || e.Name.Space == "loext":
		o.off++ // who wrote a comment, and when
	case name == "p" || name == "h":
		o.blocks++
		o.aside = append(o.aside, "")
	case name == "s" || name == "tab" || name == "line-break":
		o.addAside(" ")
	}
}

func (o *odf) addAside(s string) {
	if n := len(o.aside); n > 0 && o.size < maxAside {
		o.aside[n-1] += s
		o.size += len(s)
	}
}

// endInNote is end for elements in a footnote or a comment.
func (o *odf) endInNote(name string) {
	switch name {
	case "creator", "date", "date-string", "creator-initials", "sender-initials":
		o.off = max(0, o.off-1)
	case "p", "h":
		o.blocks = max(0, o.blocks-1)
	}
}

func (o *odf) start(e xml.StartElement) error {
	w := o.w
	if e.Name.Space == "office" && e.Name.Local == "body" || o.styles && pageStyle(e.Name.Local) {
		o.body++
	}
	if o.body == 0 {
		return nil
	}
	if note(e.Name.Local) && len(o.notes) < maxDepth {
		o.notes = append(o.notes, o.blocks)
		return nil
	}
	if len(o.notes) > 0 {
		o.inNote(e)
		return nil
	}
	switch e.Name.Space + ":" + e.Name.Local {
	case "text:tracked-changes", "office:forms", "presentation:settings", "text:sequence-decls", "text:variable-decls", "text:ruby-text":
		o.off++
	case "text:h":
		o.blocks++
		if o.row {
			break
		}
		n, err := strconv.Atoi(prefixed(e, "text", "outline-level"))
		if err != nil || n < 1 || n > 6 {
			n = 1
		}
		w.begin("h" + strconv.Itoa(n))
	case "text:p":
		if o.blocks++; !o.row {
			w.begin("p")
		}
		w.gap()
	case "text:a":
		if o.off == 0 {
			w.startLink(prefixed(e, "xlink", "href"))
		}
	case "text:s", "text:tab", "text:line-break", "text:note-citation":
		w.gap()
	case "table:table":
		if o.pages++; o.pages > w.lim.Pages {
			return errFull
		}
		if name := prefixed(e, "table", "name"); name != "" && o.blocks == 0 && !o.row {
			w.begin("h2")
			if err := w.say(name); err != nil {
				return err
			}
			w.end()
		}
	case "table:table-row":
		w.begin("p")
		o.row = true
	case "table:table-cell":
		w.gap()
	case "draw:page":
		if o.pages++; o.pages > w.lim.Pages {
			return errFull
		}
	}
	return nil
}

func (o *odf) end(name string) error {
	if o.body == 0 {
		return nil
	}
	if n := len(o.notes); n > 0 {
		if note(name) {
			o.blocks, o.notes = o.notes[n-1], o.notes[:n-1]
			if n == 1 && o.blocks == 0 {
				return o.writeAside()
			}
			if name == "note-body" {
				o.w.gap() // behind its number
			}
			return nil
		}
		o.endInNote(name)
		return nil
	}
	if o.styles && pageStyle(name) {
		o.body--
		return nil
	}
	switch name {
	case "body":
		o.body--
	case "tracked-changes", "forms", "settings", "sequence-decls", "variable-decls", "ruby-text":
		o.off = max(0, o.off-1)
	case "h", "p":
		if o.blocks = max(0, o.blocks-1); !o.row {
			o.w.end()
		}
		if o.blocks == 0 && !o.row {
			return o.writeAside()
		}
	case "a":
		o.w.endLink()
	case "table-row":
		o.row = false
		o.w.end()
		return o.writeAside()
	}
	return nil
}

func (o *odf) text(s string) error {
	if o.body == 0 || o.off > 0 || o.blocks == 0 {
		return nil
	}
	if len(o.notes) > 0 {
		if o.blocks > o.notes[len(o.notes)-1] {
			o.addAside(s)
		}
		return nil
	}
	return o.w.say(s)
}

// pageStyle reports whether an element of styles.xml has the text of a header or footer.
func pageStyle(name string) bool {
	switch name {
	case "header", "footer", "header-left", "footer-left", "header-first", "footer-first":
		return true
	}
	return false
}
