package browser

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// The types of nodes of a snapshot.
const (
	isElement = 1
	isText    = 3
	isDoctype = 10
)

// document is a document of a snapshot, with its links between nodes. The browser returns the tree
// that it shows: the content of shadow roots in place of the children of their hosts, and those in
// the slots that show them.
type document struct {
	s         *snapshot
	d         *documentSnapshot
	url, base string
	first     []int          // of each node its first child, or -1
	next      []int          // of each node its next sibling, or -1
	pseudo    map[int]bool   // what styles add
	shadow    map[int]string // of the nodes in shadow roots, the kind of root
	hasBase   bool           // the document has a base element with an address
}

var errSnapshot = errors.New("the browser returned a snapshot that makes no sense")

// newDocument reads the main document of a snapshot.
func newDocument(s *snapshot) (*document, error) {
	if len(s.Documents) == 0 {
		return nil, errSnapshot
	}
	d := &document{s: s, d: &s.Documents[0], pseudo: map[int]bool{}, shadow: map[int]string{}}
	d.url, d.base = d.str(d.d.URL), d.str(d.d.Base)
	n := &d.d.Nodes
	size := len(n.Parent)
	if len(n.Type) != size || len(n.Name) != size || len(n.Value) != size || len(n.Attributes) > size {
		return nil, errSnapshot
	}
	for _, i := range n.Pseudo.Index {
		d.pseudo[i] = true
	}
	for k, i := range n.Shadow.Index {
		if k < len(n.Shadow.Value) {
			d.shadow[i] = d.str(n.Shadow.Value[k])
		}
	}
	d.first, d.next = make([]int, size), make([]int, size)
	last := make([]int, size)
	for i := range size {
		d.first[i], d.next[i], last[i] = -1, -1, -1
		p := n.Parent[i]
		if p < 0 && i == 0 {
			continue
		}
		if p < 0 || p >= i {
			return nil, errSnapshot
		}
		if last[p] < 0 {
			d.first[p] = i
		} else {
			d.next[last[p]] = i
		}
		last[p] = i
		d.hasBase = d.hasBase || d.isBase(i)
	}
	return d, nil
}

func (d *document) str(i int) string {
	if i < 0 || i >= len(d.s.Strings) {
		return ""
	}
	return d.s.Strings[i]
}

// name returns the name of an element in its spelling in HTML, and whether it is one of HTML:
// those have names in upper case.
func (d *document) name(i int) (name string, html bool) {
	name = d.str(d.d.Nodes.Name[i])
	if lower := strings.ToLower(name); name == strings.ToUpper(name) {
		return lower, true
	}
	return name, false
}

func (d *document) attrs(i int) []int {
	if a := d.d.Nodes.Attributes; i < len(a) {
		return a[i]
	}
	return nil
}

func (d *document) attr(i int, name string) string {
	a := d.attrs(i)
	for k := 0; k+1 < len(a); k += 2 {
		if strings.EqualFold(d.str(a[k]), name) {
			return d.str(a[k+1])
		}
	}
	return ""
}

// writer writes a document as HTML.
type writer struct {
	*document
	most  int
	b     []byte
	cut   bool
	based bool // the base address is written
	set   bool // the charset is written
	stack []frame
}

// frame is where the writer is in a list of siblings.
type frame struct {
	node int    // the next one; -1: the end
	end  string // what is written after the last one
	head bool   // text begins in a pre or textarea
}

// html writes the document as HTML of at most most bytes: elements, their attributes, and text.
// What a shadow root shows stands in place of its host's children. Scripts, styles, comments, and
// content that is not shown to anybody with scripts (noscript, template) are left out; blocks of
// data in script elements stay. page is the address from which its reader resolves links.
func (d *document) html(page string, most int) (html []byte, cut bool) {
	w := &writer{document: d, most: most}
	root := 0
	if len(d.d.Nodes.Parent) == 0 {
		return nil, false
	}
	w.based = !d.hasBase && withoutFragment(d.base) == withoutFragment(page)
	w.push(frame{node: d.first[root]})
	for len(w.stack) > 0 && !w.cut {
		f := &w.stack[len(w.stack)-1]
		i := f.node
		if i < 0 {
			end := f.end
			w.stack = w.stack[:len(w.stack)-1]
			w.put(end)
			continue
		}
		f.node = d.next[i]
		first := f.head
		f.head = false
		w.write(i, first)
	}
	return w.b, w.cut
}

func (w *writer) push(f frame) { w.stack = append(w.stack, f) }

// put writes markup, as a whole or not at all.
func (w *writer) put(s string) {
	if w.cut || len(w.b)+len(s) > w.most {
		w.cut = true
		return
	}
	w.b = append(w.b, s...)
}

// write writes a node, and has its children written next.
func (w *writer) write(i int, first bool) {
	n := &w.d.Nodes
	if w.pseudo[i] || w.shadow[i] == "user-agent" && n.Type[i] == isText {
		return
	}
	switch n.Type[i] {
	case isText:
		w.text(w.str(n.Value[i]), first)
	case isDoctype:
		w.doctype(i)
	case isElement:
		w.element(i)
	}
}

// text writes text. Of one that is too long it writes the beginning.
func (w *writer) text(s string, first bool) {
	s = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "\ufffd")
	if first && strings.HasPrefix(s, "\n") {
		w.put("\n") // which readers leave out there
	}
	s = textEscaper.Replace(s)
	if room := w.most - len(w.b); len(s) > room && !w.cut {
		s = s[:max(room, 0)]
		for len(s) > 0 { // not within a character
			if r, size := utf8.DecodeLastRuneInString(s); r != utf8.RuneError || size > 1 {
				break
			}
			s = s[:len(s)-1]
		}
		// Nor within a character reference.
		if amp := strings.LastIndexByte(s, '&'); amp >= 0 && !strings.Contains(s[amp:], ";") {
			s = s[:amp]
		}
		w.b, w.cut = append(w.b, s...), true
		return
	}
	w.put(s)
}

var (
	textEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\r", "&#13;", "\u00a0", "&nbsp;")
	attrEscaper = strings.NewReplacer("&", "&amp;", `"`, "&quot;", "<", "&lt;", ">", "&gt;", "\r", "&#13;", "\u00a0", "&nbsp;", "\x00", "")
)

func (w *writer) doctype(i int) {
	name := w.str(w.d.Nodes.Name[i])
	if !isName(name) {
		return
	}
	s := "<!DOCTYPE " + name
	public, system := w.str(w.d.PublicID), w.str(w.d.SystemID)
	if strings.ContainsAny(public+system, "\"><\x00") {
		public, system = "", ""
	}
	if public != "" {
		s += ` PUBLIC "` + public + `"`
	}
	if system != "" {
		if public == "" {
			s += " SYSTEM"
		}
		s += ` "` + system + `"`
	}
	w.put(s + ">\n")
}

// isName reports whether a reader of HTML reads this as the name of an element.
func isName(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		case i == 0, c <= ' ', c == '/', c == '>', c == '<', c == '"', c == '\'', c == '=', c >= utf8.RuneSelf:
			return false
		}
	}
	return s != ""
}

// void are the elements without an end tag.
var void = set("area base br col embed hr img input link meta param source track wbr basefont bgsound frame keygen")

// dropped are the elements whose content no reader of text wants, or that would be read otherwise.
var dropped = set("style noscript template iframe noembed noframes")

func set(names string) map[string]bool {
	m := map[string]bool{}
	for n := range strings.FieldsSeq(names) {
		m[n] = true
	}
	return m
}

// element writes the begin of an element, and has its content written next.
func (w *writer) element(i int) {
	name, html := w.name(i)
	lower := strings.ToLower(name)
	switch {
	case html && name == "slot", w.shadow[i] == "user-agent":
		w.push(frame{node: w.first[i]}) // only the content
		return
	case lower == "script":
		w.script(i)
		return
	case dropped[lower]:
		return
	case html && name == "meta" && isCharset(w, i):
		return
	case name == "plaintext" || name == "xmp" || name == "listing":
		name = "pre" // whose content is read as any other
	}
	children := frame{node: w.first[i]}
	if !isName(name) {
		w.push(children) // only the content
		return
	}
	w.begin(i, name, html)
	if html && void[name] {
		return
	}
	children.head = name == "pre" || name == "textarea"
	children.end = "</" + name + ">"
	w.push(children)
	if html && name == "head" {
		w.declare()
	}
}

// declare writes what a reader of the HTML has to know, at the begin of the head.
func (w *writer) declare() {
	if !w.set {
		w.set = true
		w.put(`<meta charset="utf-8">`)
	}
	if !w.based && !w.hasBase {
		w.based = true
		w.put(`<base href="` + attrEscaper.Replace(w.base) + `">`)
	}
}

// isCharset reports whether a meta element names the charset of the original.
func isCharset(w *writer, i int) bool {
	return w.attr(i, "charset") != "" && w.attr(i, "name") == "" || strings.EqualFold(strings.TrimSpace(w.attr(i, "http-equiv")), "content-type")
}

// begin writes a start tag.
func (w *writer) begin(i int, name string, html bool) {
	var b strings.Builder
	b.WriteByte('<')
	b.WriteString(name)
	a := w.attrs(i)
	seen := map[string]bool{}
	for k := 0; k+1 < len(a); k += 2 {
		key, value := w.str(a[k]), w.str(a[k+1])
		if lower := strings.ToLower(key); seen[lower] || !isAttr(key) || strings.HasPrefix(lower, "on") {
			continue
		} else {
			seen[lower] = true
		}
		if w.isBase(i) && strings.EqualFold(key, "href") && !w.based {
			w.based = true
			value = w.base // resolved, as the address of the page may have changed
		}
		b.WriteString(" " + key + `="` + attrEscaper.Replace(strings.ToValidUTF8(value, "\ufffd")) + `"`)
	}
	b.WriteByte('>')
	w.put(b.String())
}

func isAttr(s string) bool {
	return s != "" && utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r == '"' || r == '\'' || r == '>' || r == '/' || r == '=' || r == '<' || r >= 0x7f && r <= 0xa0
	})
}

// script writes a block of data. Scripts are left out: they have run.
func (w *writer) script(i int) {
	kind, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(w.attr(i, "type"))), ";")
	if !isData(kind) {
		return
	}
	var text strings.Builder
	for c := w.first[i]; c >= 0; c = w.next[c] {
		if w.d.Nodes.Type[c] == isText {
			text.WriteString(w.str(w.d.Nodes.Value[c]))
		}
	}
	s := strings.ToValidUTF8(strings.ReplaceAll(text.String(), "\x00", ""), "\ufffd")
	lower := strings.ToLower(s)
	if strings.Contains(lower, "<!--") || strings.Contains(lower, "</script") || strings.Contains(lower, "<script") {
		if !strings.HasSuffix(kind, "json") {
			return
		}
		s = strings.ReplaceAll(s, "<", `\u003c`) // it can only be in strings
	}
	if len(w.b)+len(s)+200 > w.most {
		w.cut = true
		return
	}
	w.begin(i, "script", true)
	w.put(strings.ReplaceAll(s, "\r", " ") + "</script>")
}

// isData reports whether a script element of this type has data that readers of pages use.
func isData(kind string) bool {
	return strings.HasSuffix(kind, "+json") || kind == "application/json" || kind == "application/rsl+xml" || kind == "text/turtle" || kind == "text/n3"
}

// isBase reports whether a node is a base element that sets the base address.
func (d *document) isBase(i int) bool {
	return d.d.Nodes.Type[i] == isElement && d.shadow[i] == "" && strings.EqualFold(d.str(d.d.Nodes.Name[i]), "base") && d.attr(i, "href") != ""
}

func withoutFragment(u string) string {
	u, _, _ = strings.Cut(u, "#")
	return u
}
