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
	return p.walk("content.xml", handlers{start: o.start, end: o.end, text: o.text})
}

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
}

func (o *odf) start(e xml.StartElement) error {
	w := o.w
	if e.Name.Space == "office" && e.Name.Local == "body" {
		o.body++
	}
	if o.body == 0 {
		return nil
	}
	switch e.Name.Space + ":" + e.Name.Local {
	case "text:tracked-changes", "office:annotation", "office:forms", "presentation:settings", "text:sequence-decls", "text:variable-decls", "text:ruby-text":
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
	switch name {
	case "body":
		o.body--
	case "tracked-changes", "annotation", "forms", "settings", "sequence-decls", "variable-decls", "ruby-text":
		o.off = max(0, o.off-1)
	case "h", "p":
		if o.blocks = max(0, o.blocks-1); !o.row {
			o.w.end()
		}
	case "a":
		o.w.endLink()
	case "table-row":
		o.row = false
		o.w.end()
	}
	return nil
}

func (o *odf) text(s string) error {
	if o.body == 0 || o.off > 0 || o.blocks == 0 {
		return nil
	}
	return o.w.say(s)
}
