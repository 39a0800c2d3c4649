package document

import (
	"encoding/xml"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Office Open XML (ECMA-376): text documents, sheets and slides.

// main returns the name of the document's main part, and checks that its type is want.
func (p *parts) main(want string) (string, error) {
	rels, err := p.relations("")
	if err != nil {
		return "", err
	}
	for _, id := range sorted(rels) {
		if r := rels[id]; r.kind == "officeDocument" && !r.external {
			return r.target, nil
		}
	}
	if p.files[want] != nil {
		return want, nil
	}
	return "", fmt.Errorf("%w: %s", errMissing, want)
}

// begun opens a document of Office Open XML and reads its title.
func begun(w *writer, f File, want string) (p *parts, main string, rels map[string]related, err error) {
	if p, err = openParts(f.Body); err != nil {
		return nil, "", nil, err
	}
	if err = p.properties(w, "docProps/core.xml"); err != nil {
		return nil, "", nil, err
	}
	if main, err = p.main(want); err == nil {
		rels, err = p.relations(main)
	}
	return p, main, rels, err
}

// readOffice reads a file of Office Open XML. Its parts decide which one it is, because servers
// often have the wrong type.
func readOffice(w *writer, f File) error {
	p, err := openParts(f.Body)
	if err != nil {
		return err
	}
	kinds := []struct {
		kind, main string
		read       func(*writer, File) error
	}{{DOCX, "word/document.xml", readWord}, {XLSX, "xl/workbook.xml", readSheets}, {PPTX, "ppt/presentation.xml", readSlides}}
	read := kinds[0].read
	for _, k := range kinds {
		if k.kind == f.Type {
			read = k.read
		}
	}
	for _, k := range kinds {
		if p.files[k.main] != nil {
			if k.kind == f.Type {
				return k.read(w, f)
			}
			read = k.read
		}
	}
	return read(w, f)
}

func readWord(w *writer, f File) error {
	p, main, rels, err := begun(w, f, "word/document.xml")
	if err != nil {
		return err
	}
	if err := p.prose(w, main, rels); err != nil {
		return err
	}
	read := map[string]bool{main: true}
	for _, kind := range []string{"header", "footer", "footnotes", "endnotes", "comments"} {
		for _, id := range sorted(rels) {
			r := rels[id]
			if r.external || r.kind != kind || read[r.target] {
				continue
			}
			read[r.target] = true
			more, err := p.relations(r.target)
			if err != nil {
				return err
			}
			if err := p.prose(w, r.target, more); err != nil && !errors.Is(err, errMissing) {
				return err
			}
		}
	}
	return nil
}

// prose reads a part with paragraphs of text: w:p, w:t, w:hyperlink in documents; a:p, a:t,
// a:hlinkClick in slides.
func (p *parts) prose(w *writer, part string, rels map[string]related) error {
	r := proseReader{w: w, rels: rels}
	return p.walk(part, handlers{start: r.start, end: r.end, text: r.text})
}

// proseReader writes what the elements of such a part mean.
type proseReader struct {
	w        *writer
	rels     map[string]related
	in       string // the element whose text is needed
	fields   []field
	linked   bool // a hyperlink is open
	fallback int  // open elements with repeated text: for older programs, phonetic, moved
}

func (r *proseReader) start(e xml.StartElement) error {
	switch e.Name.Local {
	case "p":
		r.w.begin("p")
	case "pStyle":
		if n := headingOf(attribute(e, "val")); n > 0 && !r.w.text {
			r.w.begin("h" + strconv.Itoa(n))
		}
	case "outlineLvl":
		if n, err := strconv.Atoi(attribute(e, "val")); err == nil && n >= 0 && n < 6 && !r.w.text {
			r.w.begin("h" + strconv.Itoa(n+1))
		}
	case "Fallback", "rt", "moveFrom":
		r.fallback++
	case "noBreakHyphen":
		if r.fallback == 0 {
			return r.w.say("-")
		}
	case "t", "instrText":
		r.in = e.Name.Local
	case "tab", "ptab", "br", "cr", "tc":
		r.w.gap()
	case "fldChar":
		r.fldChar(attribute(e, "fldCharType"))
	case "fldSimple":
		if u := fieldLink(attribute(e, "instr")); u != "" && r.fallback == 0 {
			r.w.startLink(u)
			r.linked = true
		}
	case "hyperlink":
		r.link(attribute(e, "id"))
		r.linked = true
	case "hlinkClick":
		r.link(attribute(e, "id"))
	case "ph":
		if k := attribute(e, "type"); k == "title" || k == "ctrTitle" {
			r.w.begin("h2")
		}
	}
	return nil
}

// link begins a link to the target of a relationship, if that is outside of the document.
func (r *proseReader) link(id string) {
	if to, ok := r.rels[id]; ok && to.external {
		r.w.startLink(to.target)
	}
}

func (r *proseReader) end(name string) error {
	switch name {
	case "Fallback", "rt", "moveFrom":
		r.fallback = max(0, r.fallback-1)
	case "t", "instrText":
		r.in = ""
	case "hyperlink", "fldSimple":
		r.w.endLink()
		r.linked = false
	case "r":
		if !r.linked {
			r.w.endLink()
		}
	case "p":
		r.w.end()
	}
	return nil
}

func (r *proseReader) text(s string) error {
	switch {
	case r.fallback > 0:
	case r.in == "t":
		return r.w.say(s)
	case r.in == "instrText":
		if n := len(r.fields); n > 0 && len(r.fields[n-1].code) < maxField {
			r.fields[n-1].code += s
		}
	}
	return nil
}

// headingOf returns the level of a heading style, or 0 for other styles.
func headingOf(style string) int {
	low := strings.ToLower(strings.ReplaceAll(style, " ", ""))
	if low == "title" {
		return 1
	}
	if n, ok := strings.CutPrefix(low, "heading"); ok && len(n) == 1 && n[0] >= '1' && n[0] <= '6' {
		return int(n[0] - '0')
	}
	return 0
}

func readSlides(w *writer, f File) error {
	p, main, rels, err := begun(w, f, "ppt/presentation.xml")
	if err != nil {
		return err
	}
	var order []string
	if err := p.walk(main, handlers{start: func(e xml.StartElement) error {
		if e.Name.Local == "sldId" {
			if r, ok := rels[relation(e)]; ok && !r.external {
				order = append(order, r.target)
			}
		}
		return nil
	}}); err != nil {
		return err
	}
	for i, slide := range order {
		if i >= w.lim.Pages {
			return errFull
		}
		more, err := p.relations(slide)
		if err != nil {
			return err
		}
		if err := p.prose(w, slide, more); err != nil {
			return err
		}
		for _, id := range sorted(more) {
			if r := more[id]; r.kind == "notesSlide" && !r.external {
				if err := p.prose(w, r.target, nil); err != nil && !errors.Is(err, errMissing) {
					return err
				}
			}
		}
	}
	return nil
}

// sorted returns the keys of a map in order, because relations come in any order.
func sorted(rels map[string]related) []string {
	keys := make([]string, 0, len(rels))
	for k := range rels {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
