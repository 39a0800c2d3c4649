package pagetext

import (
	"fmt"
	"strings"

	"github.com/curtsy/curtsy/internal/rdf"
)

// rdfa reads RDFa 1.1 in HTML: the processing steps of RDFa Core 1.1, section 7.5, without lists,
// and with the prefixes of the initial context that catalogues use.
type rdfa struct {
	m       *markup
	blanks  int
	related map[[3]string]bool // what relate has added
}

// rdfaContext is what an element inherits (section 7.2). It is not changed once it is made.
type rdfaContext struct {
	subject, object string // the parent's; "" is the page
	vocab           string
	prefixes        map[string]string // of the page
	pending         []rdfaPending     // relations that wait for a node within the element
	names           int               // prefixes declared so far
}

type rdfaPending struct {
	property string
	reverse  bool
}

// rdfaElement is what one element states.
type rdfaElement struct {
	a        *markupAttrs
	rel, rev []string // properties

	about, target       string // resources that attributes name
	hasAbout, hasTarget bool

	subject, object, typed string
	hasObject              bool
	skip                   bool // it states nothing
}

// element reads the attributes of an element. root means that it is html, head or body: they
// describe the page.
func (r *rdfa) element(f *markupFrame, a *markupAttrs, root bool) {
	if !a.any {
		return
	}
	c := *f.rdfa
	r.declare(&c, a)
	e := rdfaElement{a: a, rel: r.relations(&c, a, a.rel), rev: r.relations(&c, a, a.rev)}
	if a.typeof == nil && a.property == nil && a.about == nil && a.resource == nil && len(e.rel)+len(e.rev) == 0 {
		f.rdfa = &c // it may have declared something
		return
	}
	e.about, e.hasAbout = r.resource(&c, a.about)
	e.target, e.hasTarget = r.resource(&c, a.resource)
	if !e.hasTarget && a.href != nil {
		e.target, e.hasTarget = r.m.link(a.href), true
	}
	if !e.hasTarget && a.src != nil && f.name != "script" {
		e.target, e.hasTarget = r.m.link(a.src), true
	}
	r.resources(&e, c.object, root)
	if a.typeof != nil {
		n := r.node(e.typed)
		for w := range words(a.typeof) {
			if n != nil && len(n.types) < maxMarkupWords {
				n.types = append(n.types, r.term(&c, w))
			}
		}
	}
	pending := r.relateAll(&e)
	for w := range words(a.property) {
		if p := r.property(&c, w); p != "" {
			r.value(f, &e, p)
		}
	}
	if !e.skip {
		for _, p := range c.pending { // step 12
			if p.reverse {
				r.relate(e.subject, p.property, c.subject)
			} else {
				r.relate(c.subject, p.property, e.subject)
			}
		}
		c.subject, c.object, c.pending = e.subject, e.subject, pending
		if e.hasObject || len(pending) > 0 {
			c.object = e.object
		}
	}
	f.rdfa = &c
}

// relations returns the properties in rel or rev.
func (r *rdfa) relations(c *rdfaContext, a *markupAttrs, attr []byte) (all []string) {
	for w := range words(attr) {
		if p := r.relation(c, a, w); p != "" {
			all = append(all, p)
		}
	}
	return all
}

// resources decides what the element is about (steps 5 and 6). parent is the parent's object.
func (r *rdfa) resources(e *rdfaElement, parent string, root bool) {
	a, related := e.a, len(e.rel)+len(e.rev) > 0
	if e.subject = parent; e.hasAbout {
		e.subject = e.about
	}
	switch {
	case related:
		switch {
		case e.hasTarget:
			e.object, e.hasObject = e.target, true
		case a.typeof != nil && !e.hasAbout:
			e.object, e.hasObject = r.blank(), true
		default:
			e.object = r.blank() // of what is within the element
		}
		if e.typed = e.object; e.hasAbout {
			e.typed = e.subject
		}
	case a.property != nil && a.content == nil && a.datatype == nil:
		if a.typeof == nil {
			return
		}
		switch {
		case e.hasAbout || root:
			e.typed = e.subject
		case e.hasTarget:
			e.typed = e.target
		default:
			e.typed = r.blank()
		}
		e.object, e.hasObject = e.typed, true
	default:
		switch {
		case e.hasAbout:
		case e.hasTarget:
			e.subject = e.target
		case root:
		case a.typeof != nil:
			e.subject = r.blank()
		default:
			e.skip = a.property == nil
		}
		e.typed = e.subject
	}
}

// relateAll states the relations of the element (step 9). It returns those whose other end is a
// node within the element.
func (r *rdfa) relateAll(e *rdfaElement) (pending []rdfaPending) {
	for i, p := range append(e.rel, e.rev...) {
		reverse := i >= len(e.rel)
		switch {
		case !e.hasObject:
			pending = append(pending, rdfaPending{p, reverse})
		case reverse:
			r.relate(e.object, p, e.subject)
		default:
			r.relate(e.subject, p, e.object)
		}
	}
	return pending
}

// value adds the value of a property (step 11).
func (r *rdfa) value(f *markupFrame, e *rdfaElement, property string) {
	text := func(s string) {
		if n := r.node(e.subject); n != nil {
			r.m.add(n, markupValue{property: property, text: s})
		}
	}
	a, related := e.a, len(e.rel)+len(e.rev) > 0
	switch {
	case a.content != nil:
		text(string(a.content))
	case f.name == "time" && a.datetime != nil:
		text(string(a.datetime))
	case (f.name == "data" || f.name == "meter") && a.value != nil:
		text(string(a.value))
	case a.datatype != nil:
		f.done = append(f.done, text)
	case !related && e.hasTarget && !(a.typeof != nil && !e.hasAbout):
		r.relate(e.subject, property, e.target)
	case a.typeof != nil && !e.hasAbout && !related:
		r.relate(e.subject, property, e.typed)
	default:
		f.done = append(f.done, text)
	}
}

// node returns the node of a resource, nil if there are too many.
func (r *rdfa) node(id string) *markupNode {
	if n := r.m.about[id]; n != nil {
		return n
	}
	n := r.m.newNode()
	if n != nil {
		n.id = strings.ToValidUTF8(id, "")
		r.m.about[id] = n
	}
	return n
}

// relate adds a property whose value is a resource.
func (r *rdfa) relate(subject, property, object string) {
	key := [3]string{subject, property, object}
	if object == "" || r.related[key] {
		return
	}
	if n := r.node(subject); n != nil {
		if r.related == nil {
			r.related = map[[3]string]bool{}
		}
		r.related[key] = true
		r.m.add(n, markupValue{property: property, id: object})
	}
}

// blank returns the name of a new node. It is none of those that scripts with JSON-LD use.
func (r *rdfa) blank() string {
	r.blanks++
	return fmt.Sprintf("_:markup%d", r.blanks)
}

// declare reads vocab, prefix and xmlns (steps 2 and 3).
func (r *rdfa) declare(c *rdfaContext, a *markupAttrs) {
	if a.vocab != nil && len(a.vocab) <= 2048 {
		if c.vocab = strings.TrimSpace(string(a.vocab)); c.vocab != "" && !strings.ContainsAny(c.vocab[len(c.vocab)-1:], "/#") {
			c.vocab += "/" // vocab="http://schema.org"
		}
	}
	var names [][2]string
	names = append(names, a.namespaces...)
	last := ""
	for w := range words(a.prefix) {
		if strings.HasSuffix(w, ":") {
			last = strings.ToLower(strings.TrimSuffix(w, ":"))
		} else if last != "" {
			names = append(names, [2]string{last, w})
			last = ""
		}
	}
	if len(names) == 0 || c.names > 200 {
		return
	}
	all := make(map[string]string, len(c.prefixes)+len(names))
	for k, v := range c.prefixes {
		all[k] = v
	}
	for _, n := range names {
		if len(n[1]) <= 2048 {
			all[n[0]] = n[1]
		}
	}
	c.prefixes, c.names = all, c.names+len(names)
}

// term expands a word of typeof or property.
func (r *rdfa) term(c *rdfaContext, w string) string {
	if prefix, rest, ok := strings.Cut(w, ":"); ok {
		if ns := c.prefix(prefix); ns != "" && !strings.HasPrefix(rest, "//") {
			return ns + rest
		}
		return w
	}
	return c.vocab + w
}

func (c *rdfaContext) prefix(name string) string {
	name = strings.ToLower(name)
	if ns, ok := c.prefixes[name]; ok {
		return ns
	}
	if name == "dc" {
		return rdf.WellKnown["dct"] // so in the initial context
	}
	return rdf.WellKnown[name]
}

// property expands a word of property, rel or rev. A plain word means nothing without a vocabulary.
func (r *rdfa) property(c *rdfaContext, w string) string {
	if c.vocab == "" && !strings.Contains(w, ":") {
		return ""
	}
	return r.term(c, w)
}

// relation is property for rel and rev. Plain words beside a property, and those of HTML
// (rel="nofollow"), are none.
func (r *rdfa) relation(c *rdfaContext, a *markupAttrs, w string) string {
	if !strings.Contains(w, ":") && (a.property != nil || htmlRel[strings.ToLower(w)]) {
		return ""
	}
	return r.property(c, w)
}

// htmlRel are words that rel has in HTML. In RDFa they would be properties of the vocabulary.
var htmlRel = map[string]bool{
	"alternate": true, "author": true, "bookmark": true, "canonical": true, "external": true, "help": true, "icon": true, "manifest": true,
	"next": true, "nofollow": true, "noopener": true, "noreferrer": true, "preload": true, "prev": true, "search": true, "shortcut": true,
	"stylesheet": true, "tag": true, "ugc": true, "sponsored": true,
}

// resource returns the resource that an attribute names: a CURIE, a safe CURIE in brackets, or an
// address.
func (r *rdfa) resource(c *rdfaContext, attr []byte) (id string, ok bool) {
	if attr == nil || len(attr) > 2048 {
		return "", false
	}
	s := strings.TrimSpace(string(attr))
	if inner, ok := strings.CutPrefix(s, "["); ok {
		s = strings.TrimSuffix(inner, "]")
	}
	if label, ok := strings.CutPrefix(s, "_:"); ok {
		return "_:page-" + label, true
	}
	if prefix, rest, ok := strings.Cut(s, ":"); ok && !strings.HasPrefix(rest, "//") {
		if ns := c.prefix(prefix); ns != "" {
			return ns + rest, true
		}
	}
	return r.m.link([]byte(s)), true
}
