package document

import (
	"bytes"
	"html"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// writer writes the HTML of a document within its limits.
type writer struct {
	lim   Limits
	b     bytes.Buffer
	title string
	lang  string
	open  string // the open block: p, h1 …; "": none
	text  bool   // the block has text
	blank bool   // the next text is a separate word
	link  bool   // an <a> is open
	links int
	calls int
	cut   bool
}

func newWriter(lim Limits) *writer { return &writer{lim: lim} }

// full reports whether nothing more may be written.
func (w *writer) full() bool {
	if w.calls++; w.calls%256 == 0 && !w.lim.Until.IsZero() && time.Now().After(w.lim.Until) {
		w.cut = true
	}
	return w.cut || w.b.Len() > w.lim.HTML
}

// begin opens a block, and closes the previous one.
func (w *writer) begin(block string) {
	w.end()
	w.open = block
}

// end closes the open block.
func (w *writer) end() {
	w.endLink()
	if w.open != "" && w.text {
		w.b.WriteString("</" + w.open + ">\n")
	}
	w.open, w.text, w.blank = "", false, false
}

// say adds text to the open block, or opens a paragraph. White space at its ends counts as one
// space. The error is errFull if nothing more may be written.
func (w *writer) say(s string) error {
	if w.full() {
		return errFull
	}
	for len(s) > 0 {
		i := strings.IndexFunc(s, isGap)
		if i == 0 {
			w.blank = true
			s = strings.TrimLeftFunc(s, isGap)
			continue
		}
		word := s
		if i > 0 {
			word = s[:i]
		}
		w.start()
		if w.blank {
			w.b.WriteByte(' ')
			w.blank = false
		}
		if !w.put(strings.ToValidUTF8(word, "\ufffd")) {
			return errFull
		}
		s = s[len(word):]
	}
	return nil
}

// put writes a word within the limit, and reports whether all of it is written. Its escaped form
// may be five times as long.
func (w *writer) put(word string) bool {
	for len(word) > 0 {
		if w.b.Len() > w.lim.HTML {
			w.cut = true
			return false
		}
		n := min(len(word), 1<<10)
		for n < len(word) && !utf8.RuneStart(word[n]) {
			n--
		}
		w.b.WriteString(html.EscapeString(word[:n]))
		word = word[n:]
	}
	return true
}

// start writes the tag of the open block before its first text.
func (w *writer) start() {
	if w.text {
		return
	}
	if w.open == "" {
		w.open = "p"
	}
	w.b.WriteString("<" + w.open + ">")
	w.text, w.blank = true, false
}

func isGap(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

// gap separates the next text from the previous one as another word.
func (w *writer) gap() { w.blank = true }

// startLink opens a link, if a page may lead to this address.
func (w *writer) startLink(href string) {
	w.endLink()
	href = strings.TrimSpace(href)
	if href == "" || strings.HasPrefix(href, "#") || len(href) > 4096 || w.links >= w.lim.Links {
		w.cut = w.cut || w.links >= w.lim.Links
		return
	}
	href = html.EscapeString(strings.ToValidUTF8(href, "\ufffd"))
	if w.b.Len()+len(href) > w.lim.HTML+w.lim.HTML/4 {
		w.cut = true
		return
	}
	w.links++
	w.start()
	if w.blank && w.text {
		w.b.WriteByte(' ')
		w.blank = false
	}
	w.b.WriteString(`<a href="` + href + `">`)
	w.link = true
}

func (w *writer) endLink() {
	if w.link {
		w.b.WriteString("</a>")
		w.link = false
	}
}

// setTitle sets the title, unless there is one. Default titles of programs are ignored.
func (w *writer) setTitle(s string) {
	s = strings.Join(strings.FieldsFunc(s, isGap), " ")
	if w.title == "" && titles(s) {
		w.title = s[:min(len(s), 1024)]
	}
}

// titles reports whether a text is a title that an author has chosen.
func titles(s string) bool {
	low := strings.ToLower(s)
	for _, begin := range [...]string{"untitled", "microsoft word - ", "microsoft powerpoint - ", "document1", "powerpoint presentation", "(anonymous)", "slide 1"} {
		if strings.HasPrefix(low, begin) {
			return false
		}
	}
	for _, end := range [...]string{".dvi", ".doc", ".docx", ".tex", ".ps", ".indd", ".odt", ".pdf", ".qxd", ".eps"} {
		if strings.HasSuffix(low, end) && !strings.Contains(s, " ") {
			return false
		}
	}
	return strings.ContainsFunc(s, unicode.IsLetter)
}

// page returns everything that was written.
func (w *writer) page() Page {
	w.end()
	var head bytes.Buffer
	head.WriteString("<!DOCTYPE html>\n<html")
	if w.lang != "" && len(w.lang) <= 35 {
		head.WriteString(` lang="` + html.EscapeString(w.lang) + `"`)
	}
	head.WriteString("><head><meta charset=\"utf-8\">")
	if w.title != "" {
		head.WriteString("<title>" + html.EscapeString(strings.ToValidUTF8(w.title, "")) + "</title>")
	}
	head.WriteString("</head><body>\n")
	head.Write(w.b.Bytes())
	head.WriteString("</body></html>\n")
	return Page{HTML: head.Bytes(), Cut: w.cut}
}
