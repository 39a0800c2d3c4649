package document

import "strings"

// Fields of text documents (ECMA-376 part 1): a code such as HYPERLINK "https://a.example/",
// and the text that it shows.

// field is an open field.
type field struct {
	code  string
	shown bool // its code is complete
}

const (
	maxField  = 8 << 10 // bytes of a code that are read
	maxFields = 32      // fields within one another
)

// fldChar begins a field, ends its code, or ends it. The text of a hyperlink is a link; without a
// text the link is empty.
func (r *proseReader) fldChar(kind string) {
	n := len(r.fields)
	switch {
	case kind == "begin" && n < maxFields:
		r.fields = append(r.fields, field{})
		return
	case kind == "begin" || n == 0 || r.fallback > 0:
		return
	}
	f := &r.fields[n-1]
	if !f.shown {
		if u := fieldLink(f.code); u != "" {
			r.w.startLink(u)
			r.linked = true
		}
		f.shown = true
	}
	if kind == "end" {
		if fieldLink(f.code) != "" {
			r.w.endLink()
			r.linked = false
		}
		r.fields = r.fields[:n-1]
	}
}

// fieldLink returns the address of a field HYPERLINK, with or without quotation marks and between
// switches, or "". A link to a place in the document has none.
func fieldLink(code string) string {
	word, rest := fieldWord(code)
	if !strings.EqualFold(word, "HYPERLINK") {
		return ""
	}
	address, place := "", ""
	for rest != "" {
		switch word, rest = fieldWord(rest); strings.ToLower(word) {
		case `\l`:
			place, rest = fieldWord(rest)
		case `\o`, `\t`:
			_, rest = fieldWord(rest)
		case `\m`, `\n`, `\h`, "":
		default:
			if address == "" {
				address = word
			}
		}
	}
	if address != "" && place != "" && !strings.Contains(address, "#") {
		address += "#" + place
	}
	return address
}

// fieldWord cuts the next word, or text in quotation marks, from a code.
func fieldWord(code string) (word, rest string) {
	code = strings.TrimLeftFunc(code, isGap)
	if text, ok := strings.CutPrefix(code, `"`); ok {
		word, rest, _ = strings.Cut(text, `"`)
		return strings.TrimSpace(word), rest
	}
	if i := strings.IndexFunc(code, func(r rune) bool { return isGap(r) || r == '"' }); i >= 0 {
		return code[:i], code[i:]
	}
	return code, ""
}
