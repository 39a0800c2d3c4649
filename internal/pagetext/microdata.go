package pagetext

import (
	"bytes"
	"slices"
	"strings"
)

// microdata reads items: itemscope, itemtype, itemprop, itemid, itemref.
type microdata struct {
	m      *markup
	ids    map[string]bool        // of elements that itemref names
	groups map[string]*markupNode // the properties in these elements
}

// microScope is what an element inherits: the item that its properties belong to, and the groups of
// the elements around it that itemref names.
type microScope struct {
	item   *markupNode
	groups []*markupNode // outside of items that began within them
}

// wanted finds the elements that itemref names. They may be anywhere in the page.
func (d *microdata) wanted(body []byte) {
	for {
		i := bytes.Index(body, []byte("itemref"))
		if i < 0 {
			return
		}
		body = bytes.TrimLeft(body[i+len("itemref"):], " \t\r\n=")
		value, _, _ := bytes.Cut(body, []byte(">"))
		if len(value) > 0 && (value[0] == '"' || value[0] == '\'') {
			value, _, _ = bytes.Cut(value[1:], value[:1])
		}
		for id := range bytes.FieldsSeq(value[:min(len(value), 4<<10)]) {
			if d.ids == nil {
				d.ids, d.groups = map[string]bool{}, map[string]*markupNode{}
			}
			if len(d.ids) < maxMarkupRefs {
				d.ids[string(id)] = true
			}
		}
	}
}

// element reads the attributes of an element.
func (d *microdata) element(f *markupFrame, a *markupAttrs) {
	if id := string(a.elementID); d.ids[id] && d.groups[id] == nil {
		g := &markupNode{}
		d.groups[id] = g
		f.micro.groups = append(f.micro.groups[:len(f.micro.groups):len(f.micro.groups)], g)
	}
	if !a.scope && a.itemprop == nil {
		return
	}
	around := f.micro
	var item *markupNode
	if a.scope {
		if item = d.m.newNode(); item == nil {
			f.micro = microScope{}
			return
		}
		for t := range words(a.itemtype) {
			item.types = append(item.types, t)
		}
		if id := strings.TrimSpace(string(a.itemid)); id != "" {
			item.id = strings.ToValidUTF8(d.m.link([]byte(id)), "")
		}
		for id := range words(a.refs) {
			item.refs = append(item.refs, id)
		}
		f.micro = microScope{item: item}
	}
	if around.item == nil && len(around.groups) == 0 {
		return
	}
	for property := range words(a.itemprop) {
		d.value(f, a, around, property, item)
	}
	if a.itemprop == nil && around.item != nil && isDownload(item) && isDataset(around.item) {
		// Some portals forget this.
		d.add(around, markupValue{property: "distribution", node: item})
	}
}

func isDataset(n *markupNode) bool {
	return slices.ContainsFunc(n.types, func(t string) bool { return local(t) == "Dataset" })
}

func isDownload(n *markupNode) bool {
	return n != nil && len(n.types) > 0 && (local(n.types[0]) == "DataDownload" || local(n.types[0]) == "Distribution")
}

// words returns the words of an attribute, each once is enough for callers.
func words(attr []byte) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		n := 0
		for w := range bytes.FieldsSeq(attr) {
			if n++; n > maxMarkupWords || len(w) <= 2048 && !yield(strings.ToValidUTF8(string(w), "")) {
				return
			}
		}
	}
}

// value adds the value of an element as a property (HTML standard, section 5.2.4). Beyond that, any
// element may have a content attribute, as search engines read it.
func (d *microdata) value(f *markupFrame, a *markupAttrs, to microScope, property string, item *markupNode) {
	text := func(b []byte) { d.add(to, markupValue{property: property, text: string(b)}) }
	var address []byte
	switch f.name {
	case "audio", "embed", "iframe", "img", "source", "track", "video":
		address = a.src
	case "a", "area", "link":
		address = a.href
	case "object":
		address = a.data
	}
	switch {
	case item != nil:
		d.add(to, markupValue{property: property, node: item})
	case a.content != nil:
		text(a.content)
	case address != nil:
		text([]byte(d.m.link(address)))
	case f.name == "meta":
	case (f.name == "data" || f.name == "meter") && a.value != nil:
		text(a.value)
	case f.name == "time" && a.datetime != nil:
		text(a.datetime)
	default:
		f.done = append(f.done, func(s string) { text([]byte(s)) })
	}
}

func (d *microdata) add(to microScope, v markupValue) {
	if to.item != nil {
		d.m.add(to.item, v)
	}
	for _, g := range to.groups {
		d.m.add(g, v)
	}
}

// refer gives items the properties of the elements that their itemref names.
func (d *microdata) refer() {
	for _, n := range d.m.nodes {
		for _, id := range n.refs {
			if g := d.groups[id]; g != nil {
				for _, v := range g.values {
					if v.node != n { // an item within itself
						d.m.add(n, v)
					}
				}
			}
		}
	}
}
