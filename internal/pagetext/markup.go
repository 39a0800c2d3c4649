package pagetext

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/curtsy/curtsy/internal/html"
)

// Datasets that a page describes in the attributes of its elements: as microdata (HTML standard,
// chapter 5) or as RDFa 1.1. Both become nodes of JSON-LD, so that the catalogue knows only that.
// One pass over the tags reads both; of the page's tree it keeps only the open elements.

// Limits of a page's markup. What is beyond them is left out.
const (
	maxMarkupNodes  = 10_000
	maxMarkupValues = 50_000
	maxMarkupText   = 64 << 10 // bytes of a value
	maxMarkupOpen   = 512      // open elements
	maxMarkupWords  = 32       // words of an attribute
	maxMarkupRefs   = 1000     // elements that itemref names
)

// mayMark reports whether a page may describe datasets in attributes. It searches for the word
// first: few pages have it, and its first letter is rare, so a page of 78 KB costs 10 µs. The names
// of the attributes begin with letters that are frequent in every page, and cost 405 (m).
func mayMark(body []byte) bool {
	if !bytes.Contains(body, []byte("Dataset")) {
		return false
	}
	for _, name := range []string{"itemtype", "itemType", "typeof="} {
		if i := bytes.Index(body, []byte(name)); i >= 0 && bytes.Contains(body[i:], []byte("Dataset")) {
			return true
		}
	}
	return false
}

// appendMarkup appends the nodes that a page describes in attributes to a JSON array without its
// closing bracket, up to limit bytes, if one of them is a dataset.
func appendMarkup(out []byte, body []byte, limit int) []byte {
	m := &markup{s: html.Reader{Page: body, Scripts: true}, left: min(limit-len(out), 4*len(body)), about: map[string]*markupNode{}}
	m.rdfa.m, m.micro.m = m, m
	m.micro.wanted(body)
	m.page()
	m.micro.refer()
	all := m.json()
	if all == nil || len(out)+len(all)+2 > limit {
		return out
	}
	if len(out) > 1 {
		out = append(out, ',')
	}
	return append(out, all...)
}

// markupNode is an item of microdata, or a resource of RDFa.
type markupNode struct {
	id     string
	types  []string
	values []markupValue
	refs   []string // itemref
	aside  bool     // another node refers to it, and not as to a dataset of its own
	led    bool     // another node refers to it as to a dataset of its own
	nested bool     // its JSON is within that of another node
}

// markupValue is a value of a property: a text, the name of a resource, or a node.
type markupValue struct {
	property string
	text     string
	id       string // of a resource
	node     *markupNode
}

// markupLeads are the properties that lead from a page or a catalogue to datasets of its own. They
// are those in which the catalogue searches for datasets.
var markupLeads = map[string]bool{"dataset": true, "mainEntity": true, "hasPart": true, "itemListElement": true, "item": true, "subjectOf": true, "about": true}

// markup reads a page.
type markup struct {
	s     html.Reader
	open  []markupFrame
	more  int // elements that are open beyond maxMarkupOpen
	svg   int
	skip  int // templates
	left  int // bytes of values
	nodes []*markupNode
	about map[string]*markupNode // RDFa's, by subject
	total int                    // values
	made  int                    // objects of JSON

	text  []byte // since the outermost value began
	texts int    // values that are being read

	base  *url.URL // of <base href>
	rdfa  rdfa
	micro microdata
}

// markupFrame is an open element.
type markupFrame struct {
	name  string
	from  int                 // where its text begins
	done  []func(text string) // what takes its text
	micro microScope
	rdfa  *rdfaContext
}

func (m *markup) page() {
	m.open = append(m.open[:0], markupFrame{rdfa: &rdfaContext{}})
	for m.left > 0 {
		kind, val, attrs := m.s.Next()
		switch kind {
		case html.End:
			m.closeTo(1)
			return
		case html.Text:
			if m.texts > 0 && m.skip == 0 {
				m.addText(html.Unescape(val))
			}
		case html.StartTag:
			m.start(string(val), attrs)
		case html.EndTag:
			m.end(string(val))
		}
	}
}

func (m *markup) addText(b []byte) {
	if len(m.text) < 2*maxMarkupText*8 {
		m.text = append(m.text, b...)
	}
}

// voidElement reports whether an element has no content.
func voidElement(name string) bool {
	switch name {
	case "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr":
		return true
	}
	return false
}

func (m *markup) start(name string, attrs []byte) {
	if name == "template" {
		m.skip++
	}
	if m.skip > 0 {
		return
	}
	if e := elementOf([]byte(name)); m.texts > 0 && (e.breaks() || e == elementSpace) {
		m.addText([]byte{' '})
	}
	m.imply(name)
	closed := voidElement(name) || m.svg > 0 && len(attrs) > 0 && attrs[len(attrs)-1] == '/'
	if name == "svg" && !closed {
		m.svg++
	}
	if len(m.open) == maxMarkupOpen {
		if !closed {
			m.more++
		}
		return
	}
	top := &m.open[len(m.open)-1]
	f := markupFrame{name: name, micro: top.micro, rdfa: top.rdfa, from: len(m.text)}
	if len(attrs) > 0 {
		a := readMarkupAttrs(attrs)
		if name == "base" && m.base == nil && a.href != nil {
			if u, err := url.Parse(strings.TrimSpace(string(a.href))); err == nil && u.IsAbs() {
				m.base = u
			}
		}
		m.micro.element(&f, &a)
		m.rdfa.element(&f, &a, name == "html" || name == "head" || name == "body")
	}
	m.open = append(m.open, f)
	if len(f.done) > 0 {
		m.texts++
	}
	switch name {
	case "title", "textarea":
		if m.texts > 0 {
			m.addText(html.Unescape(m.s.Raw()))
		}
	}
	if closed {
		m.closeTo(len(m.open) - 1)
	}
}

// closeTo closes all elements but the outermost n.
func (m *markup) closeTo(n int) {
	for len(m.open) > n {
		f := &m.open[len(m.open)-1]
		if len(f.done) > 0 {
			text := m.text[min(f.from, len(m.text)):]
			text = bytes.TrimSpace(text[:min(len(text), maxMarkupText)])
			for _, done := range f.done {
				done(strings.ToValidUTF8(string(text), ""))
			}
			if m.texts--; m.texts == 0 {
				m.text = m.text[:0]
			}
		}
		m.open = m.open[:len(m.open)-1]
	}
}

func (m *markup) end(name string) {
	if name == "template" {
		m.skip = max(0, m.skip-1)
		return
	}
	if m.skip > 0 {
		return
	}
	if e := elementOf([]byte(name)); m.texts > 0 && (e.breaks() || e == elementSpace) {
		m.addText([]byte{' '})
	}
	if name == "svg" {
		m.svg = max(0, m.svg-1)
	}
	if m.more > 0 {
		if !voidElement(name) {
			m.more--
		}
		return
	}
	for i := len(m.open) - 1; i > 0; i-- {
		switch open := m.open[i].name; {
		case open == name:
			m.closeTo(i)
			return
		case open == "table" || (open == "td" || open == "th") && !tablePart(name):
			return // an end tag in a table closes nothing outside
		}
	}
}

func tablePart(name string) bool {
	switch name {
	case "table", "thead", "tbody", "tfoot", "tr", "td", "th":
		return true
	}
	return false
}

// imply closes elements that the start of another ends: <li> ends the one before it.
func (m *markup) imply(name string) {
	switch name {
	case "li":
		m.closeOpen("ul ol menu", "li")
	case "dt", "dd":
		m.closeOpen("dl", "dt", "dd")
	case "option":
		m.closeOpen("select datalist", "option")
	case "td", "th":
		m.closeOpen("table tr", "td", "th")
	case "tr":
		m.closeOpen("table thead tbody tfoot", "tr")
	case "thead", "tbody", "tfoot":
		m.closeOpen("table", "thead", "tbody", "tfoot")
	case "body":
		m.closeOpen("html", "head")
	}
	if e := elementOf([]byte(name)); e.breaks() && name != "br" && name != "body" && !tablePart(name) || name == "table" {
		m.closeOpen("button td th li div object section article", "p")
	}
}

// closeOpen closes the innermost open element with one of the names, unless it is outside one of
// the elements within.
func (m *markup) closeOpen(within string, names ...string) {
	for i := len(m.open) - 1; i > 0; i-- {
		open := m.open[i].name
		for _, name := range names {
			if open == name {
				m.closeTo(i)
				return
			}
		}
		for stop := range strings.FieldsSeq(within) {
			if open == stop {
				return
			}
		}
	}
}

// markupAttrs are the attributes of an element that matter. A value is decoded; nil means that
// there is no such attribute.
type markupAttrs struct {
	scope                              bool
	itemtype, itemprop, itemid, refs   []byte
	content, href, src, data, datetime []byte
	value, elementID                   []byte
	vocab, prefix, typeof, property    []byte
	resource, about, rel, rev          []byte
	datatype, lang                     []byte
	namespaces                         [][2]string // xmlns:prefix
	any                                bool        // one of microdata's or RDFa's
}

func readMarkupAttrs(attrs []byte) (a markupAttrs) {
	for name, val, rest := html.NextAttr(attrs); name != nil; name, val, rest = html.NextAttr(rest) {
		if len(name) > 64 {
			continue
		}
		var to *[]byte
		own := true
		lower := strings.ToLower(string(name))
		switch lower {
		case "itemscope":
			a.scope, a.any = true, true
			continue
		case "itemtype":
			to = &a.itemtype
		case "itemprop":
			to = &a.itemprop
		case "itemid":
			to = &a.itemid
		case "itemref":
			to = &a.refs
		case "vocab":
			to = &a.vocab
		case "prefix":
			to = &a.prefix
		case "typeof":
			to = &a.typeof
		case "property":
			to = &a.property
		case "resource":
			to = &a.resource
		case "about":
			to = &a.about
		case "rel":
			to = &a.rel
		case "rev":
			to = &a.rev
		default:
			own = false
			switch lower {
			case "content":
				to = &a.content
			case "href":
				to = &a.href
			case "src":
				to = &a.src
			case "data":
				to = &a.data
			case "datetime":
				to = &a.datetime
			case "value":
				to = &a.value
			case "datatype":
				to = &a.datatype
			case "lang", "xml:lang":
				to = &a.lang
			case "id":
				to = &a.elementID
			}
			if prefix, ok := strings.CutPrefix(lower, "xmlns:"); ok && len(a.namespaces) < maxMarkupWords {
				a.namespaces = append(a.namespaces, [2]string{prefix, string(html.Value(val))})
				a.any = true
			}
		}
		if to == nil || *to != nil {
			continue
		}
		a.any = a.any || own
		if *to = html.Value(val); *to == nil {
			*to = []byte{}
		}
	}
	return a
}

// add adds a value to a node.
func (m *markup) add(n *markupNode, v markupValue) {
	v.property = strings.ToValidUTF8(v.property, "")
	if name, ok := strings.CutSuffix(v.property, "contentURL"); ok {
		v.property = name + "contentUrl" // a mistake of some plugins
	}
	v.text = strings.ToValidUTF8(v.text[:min(len(v.text), maxMarkupText)], "")
	v.id = strings.ToValidUTF8(v.id, "")
	if v.property == "" || v.text == "" && v.id == "" && v.node == nil {
		return
	}
	if m.total++; m.total > maxMarkupValues {
		return
	}
	if m.left -= len(v.property) + len(v.text) + len(v.id) + 16; m.left < 0 {
		return
	}
	n.values = append(n.values, v)
}

// newNode returns a new node, nil if there are too many.
func (m *markup) newNode() *markupNode {
	if len(m.nodes) == maxMarkupNodes {
		return nil
	}
	n := &markupNode{}
	m.nodes = append(m.nodes, n)
	return n
}

// link resolves an address against <base href>. Without one it stays as it is, and is resolved
// against the address of the page later.
func (m *markup) link(raw []byte) string {
	s := strings.TrimSpace(string(raw))
	if m.base != nil && len(s) <= 2048 {
		if u, err := m.base.Parse(s); err == nil {
			return u.String()
		}
	}
	return s
}

// local returns the last part of a name.
func local(name string) string { return name[strings.LastIndexAny(name, "#/:")+1:] }

// json returns the nodes as members of a JSON array, nil if none of them is a dataset. A
// dataset to which another node refers is described by others, and is where the catalogue searches
// for none, unless it is the page's own.
func (m *markup) json() []byte {
	some := false
	for _, n := range m.nodes {
		for _, t := range n.types {
			some = some || local(t) == "Dataset"
		}
		for _, v := range n.values {
			to := v.node
			if to == nil && v.id != "" {
				to = m.about[v.id]
			}
			if to == nil || to == n {
				continue
			}
			to.nested = to.nested || v.node != nil
			if markupLeads[local(v.property)] {
				to.led = true
			} else {
				to.aside = true
			}
		}
	}
	if !some {
		return nil
	}
	var out []byte
	for _, n := range m.nodes {
		if n.nested || len(n.types)+len(n.values) == 0 {
			continue
		}
		var one any = m.object(n, 0)
		if n.aside && !n.led && isDataset(n) {
			one = map[string]any{"@included": []any{one}}
		}
		b, err := json.Marshal(one)
		if err != nil {
			continue // it has only texts
		}
		if out != nil {
			out = append(out, ',')
		}
		out = append(out, b...)
	}
	return out
}

// maxMarkupNested is how many nodes are within one another in JSON.
const maxMarkupNested = 24

func (m *markup) object(n *markupNode, depth int) map[string]any {
	o := map[string]any{}
	if n.id != "" {
		o["@id"] = n.id
	}
	if len(n.types) > 0 {
		o["@type"] = n.types
	}
	if m.made++; depth > maxMarkupNested || m.made > 2*maxMarkupNodes {
		return o // items that refer to one another
	}
	for _, v := range n.values {
		var value any
		switch {
		case v.node != nil:
			value = m.object(v.node, depth+1)
		case v.id != "":
			value = map[string]any{"@id": v.id}
		default:
			value = v.text
		}
		have, _ := o[v.property].([]any)
		o[v.property] = append(have, value)
	}
	return o
}
