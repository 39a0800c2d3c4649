package rup

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// plainText returns an answer as lines of text (formats §6.2). Tags are removed and character
// references decoded. Lines end at <br>, at the beginning and end of block elements and at the line
// ends of the source. An answer whose media type is not HTML is returned unchanged.
func plainText(contentType string, body []byte) string {
	media, _, _ := strings.Cut(contentType, ";")
	if media = lower(trim(media)); media != "" && media != "text/html" && media != "application/xhtml+xml" {
		return decode(body)
	}
	z := html.NewTokenizer(strings.NewReader(decode(body)))
	p := page{start: true}
	for {
		switch token := z.Next(); token {
		case html.ErrorToken:
			return p.String()
		case html.TextToken:
			if p.hidden == 0 {
				p.text(z.Text())
			}
		case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken:
			name, _ := z.TagName()
			p.tag(atom.Lookup(name), token == html.EndTagToken)
		}
	}
}

// page is the visible text of a page, line by line.
type page struct {
	strings.Builder
	start  bool      // of a line
	pre    int       // open pre elements
	hidden atom.Atom // the element whose text is invisible, or 0
}

func (p *page) tag(tag atom.Atom, end bool) {
	switch {
	case tag == atom.Script || tag == atom.Style || tag == atom.Title:
		p.hidden = tag
		if end {
			p.hidden = 0
		}
	case tag == atom.Br:
		p.WriteByte('\n')
		p.start = true
	case tag == atom.Pre && end:
		p.pre = max(p.pre-1, 0)
	case tag == atom.Pre:
		p.pre++
	}
	if !inline[tag] {
		p.endLine()
	}
}

// endLine ends a line unless it is empty, so "</p>", a line end and "<p>" make no blank line.
func (p *page) endLine() {
	if !p.start {
		p.WriteByte('\n')
		p.start = true
	}
}

func (p *page) text(text []byte) {
	for _, c := range bytes.ReplaceAll(text, []byte("\u00A0"), []byte(" ")) {
		switch {
		case c != '\n' && c != '\r' && (p.pre > 0 || !p.start || strings.IndexByte(blanks, c) < 0):
			p.WriteByte(c)
			p.start = false
		case c == '\n' && p.pre > 0: // the tokenizer converts CR and CR LF to LF
			p.WriteByte('\n')
			p.start = true
		case c == '\n':
			p.endLine()
		}
	}
}

// inline are the elements that end no line. All others do, including unknown ones: an additional
// line end is harmless, because the line that we search for begins with its name.
var inline = map[atom.Atom]bool{
	atom.A: true, atom.Abbr: true, atom.Acronym: true, atom.B: true, atom.Bdi: true, atom.Bdo: true, atom.Big: true,
	atom.Cite: true, atom.Code: true, atom.Data: true, atom.Dfn: true, atom.Em: true, atom.Font: true, atom.I: true,
	atom.Kbd: true, atom.Mark: true, atom.Nobr: true, atom.Q: true, atom.S: true, atom.Samp: true, atom.Small: true,
	atom.Span: true, atom.Strike: true, atom.Strong: true, atom.Sub: true, atom.Sup: true, atom.Time: true,
	atom.Tt: true, atom.U: true, atom.Var: true, atom.Wbr: true, atom.Ins: true, atom.Del: true, atom.Label: true,
}

// word finds the line that begins with a name, then ":" or "=", then a single word (formats §6.2).
func word(text, name string) (string, bool) {
	for _, line := range lines(text) {
		got, value, ok := field(line, ":=")
		if ok && lower(got) == lower(name) && value != "" && len(strings.Fields(value)) == 1 {
			return value, true
		}
	}
	return "", false
}

// reportText removes the text before a report in an answer, such as titles and greetings.
func reportText(text string) string {
	for rest, more := text, true; more; {
		line, next, found := cutLine(rest)
		if name, _, ok := field(line, ":="); ok && (lower(name) == "sequencenumber" || lower(name) == "urlbase") {
			return rest
		}
		rest, more = next, found
	}
	return text
}
