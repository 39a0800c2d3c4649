package document

import (
	"encoding/xml"
	"errors"
	"strconv"
	"strings"
)

// maxStrings is how many bytes of shared strings a table may have.
const maxStrings = 64 << 20

func readSheets(w *writer, f File) error {
	p, main, rels, err := begun(w, f, "xl/workbook.xml")
	if err != nil {
		return err
	}
	shared, err := p.sharedStrings(rels)
	if err != nil {
		return err
	}
	formats, err := p.formats(rels)
	if err != nil {
		return err
	}
	type sheet struct{ name, part string }
	var sheets []sheet
	if err := p.walk(main, handlers{start: func(e xml.StartElement) error {
		if e.Name.Local == "workbookPr" {
			formats.from1904 = isTrue(attribute(e, "date1904"))
		}
		if e.Name.Local == "sheet" {
			if r, ok := rels[relation(e)]; ok && !r.external {
				sheets = append(sheets, sheet{attribute(e, "name"), r.target})
			}
		}
		return nil
	}}); err != nil {
		return err
	}
	for i, s := range sheets {
		if i >= w.lim.Pages {
			return errFull
		}
		w.begin("h2")
		if err := w.say(s.name); err != nil {
			return err
		}
		w.end()
		if err := p.sheet(w, s.part, shared, formats); err != nil {
			return err
		}
	}
	return nil
}

// sharedStrings returns the texts of cells, to which sheets refer by number.
func (p *parts) sharedStrings(rels map[string]related) ([]string, error) {
	part := ""
	for _, id := range sorted(rels) {
		if r := rels[id]; r.kind == "sharedStrings" && !r.external {
			part = r.target
		}
	}
	if part == "" {
		return nil, nil
	}
	var all []string
	var one strings.Builder
	total, in, phonetic := 0, false, false
	err := p.walk(part, handlers{
		start: func(e xml.StartElement) error {
			switch e.Name.Local {
			case "t":
				in = true
			case "rPh":
				phonetic = true
			}
			return nil
		},
		end: func(name string) error {
			switch name {
			case "t":
				in = false
			case "rPh":
				phonetic = false
			case "si":
				all = append(all, one.String())
				one.Reset()
			}
			return nil
		},
		text: func(s string) error {
			if in && !phonetic {
				if total += len(s); total > maxStrings {
					return ErrTooMuch
				}
				one.WriteString(s)
			}
			return nil
		},
	})
	if errors.Is(err, errMissing) {
		return nil, nil
	}
	return all, err
}

// sheet writes a line for each row, with its cells separated.
func (p *parts) sheet(w *writer, part string, shared []string, formats formats) error {
	rels, err := p.relations(part)
	if err != nil {
		return err
	}
	var kind, style, in string
	var value strings.Builder
	err = p.walk(part, handlers{
		start: func(e xml.StartElement) error {
			switch e.Name.Local {
			case "row":
				w.begin("p")
			case "c":
				kind, style = attribute(e, "t"), attribute(e, "s")
				value.Reset()
			case "v", "t":
				in = e.Name.Local
			case "hyperlink":
				if r, ok := rels[relation(e)]; ok && r.external {
					w.startLink(r.target)
					w.endLink()
				}
			}
			return nil
		},
		end: func(name string) error {
			switch name {
			case "v", "t":
				in = ""
			case "row":
				w.end()
			case "c":
				text := value.String()
				switch kind {
				case "s":
					n, err := strconv.Atoi(strings.TrimSpace(text))
					if text = ""; err == nil && n >= 0 && n < len(shared) {
						text = shared[n]
					}
				case "b":
					text = map[bool]string{true: "TRUE", false: "FALSE"}[isTrue(strings.TrimSpace(text))]
				case "", "n":
					text = formats.show(style, text)
				}
				w.gap()
				return w.say(text)
			}
			return nil
		},
		text: func(s string) error {
			if in != "" && value.Len() < 1<<20 {
				value.WriteString(s)
			}
			return nil
		},
	})
	if errors.Is(err, errMissing) {
		return nil
	}
	return err
}
