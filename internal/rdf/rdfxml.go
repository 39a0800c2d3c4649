package rdf

import (
	"bytes"
	"encoding/xml"
	"io"
	"strconv"
	"strings"
)

// xmlGraph reads RDF/XML: the grammar of RDF 1.1 XML Syntax, chapter 7, on the tokens of
// xmlTokens. A node element is read while it arrives, so the document takes no memory.
type xmlGraph struct {
	xmlTokens
	fn     func(Triple) error
	blanks int
}

func readXML(r io.Reader, base string, fn func(Triple) error) (Report, error) {
	g := &xmlGraph{fn: fn}
	g.begin(r)
	root := newResolver(base)
	err := g.search(&scope{base: &root}, 0)
	if err == io.EOF {
		err = nil
	}
	g.report.End = g.d.InputOffset()
	return g.report, err
}

// scope is what an element inherits: namespaces, the base and the language.
type scope struct {
	above    *scope
	prefixes map[string]string // of this element
	base     *resolver
	lang     string
}

// within returns the scope of an element with these attributes.
func (g *xmlGraph) within(s *scope, attrs []xml.Attr) *scope {
	out := s
	own := func() *scope {
		if out == s {
			out = &scope{above: s, base: s.base, lang: s.lang}
		}
		return out
	}
	for _, a := range attrs {
		switch {
		case a.Name.Space == "xmlns" || a.Name.Space == "" && a.Name.Local == "xmlns":
			prefix := a.Name.Local
			if a.Name.Space == "" {
				prefix = ""
			}
			if s := own(); s.prefixes == nil {
				s.prefixes = map[string]string{}
			}
			if g.declared++; g.declared > maxPrefixes*maxDepth {
				continue
			}
			out.prefixes[prefix] = a.Value
		case a.Name.Space == "xml" && a.Name.Local == "lang":
			own().lang = strings.ToLower(a.Value[:min(len(a.Value), maxName)])
		case a.Name.Space == "xml" && a.Name.Local == "base" && len(a.Value) <= maxIRI:
			base := newResolver(s.base.resolve(a.Value))
			own().base = &base
		}
	}
	return out
}

// iri returns the IRI of the name of an element, or of an attribute with a prefix.
func (g *xmlGraph) iri(s *scope, n xml.Name) string {
	for at := s; at != nil; at = at.above {
		if ns, ok := at.prefixes[n.Space]; ok {
			return ns + n.Local
		}
	}
	if n.Space == "" {
		return s.base.resolve("#" + n.Local)
	}
	ns, ok := WellKnown[n.Space]
	if !ok {
		ns = n.Space + ":"
	}
	if !g.missing[n.Space] && len(g.missing) < maxPrefixes {
		if g.missing == nil {
			g.missing = map[string]bool{}
		}
		g.missing[n.Space] = true
		g.forgive("the prefix " + strconv.Quote(n.Space) + " is not declared")
	}
	return ns + n.Local
}

func (g *xmlGraph) emit(s Term, predicate string, o Term) error {
	g.report.Triples++
	return g.fn(Triple{s, predicate, o})
}

func (g *xmlGraph) blank() Term {
	g.blanks++
	return Term{Kind: Blank, Value: generated + strconv.Itoa(g.blanks)}
}

// search looks for RDF in a document: its root, or rdf:RDF within other elements. A root that is
// no rdf:RDF is a node if it belongs to a vocabulary or has the name of a node.
func (g *xmlGraph) search(s *scope, depth int) error {
	for {
		token, err := g.next()
		if err != nil {
			return err
		}
		switch token := token.(type) {
		case xml.EndElement:
			return nil
		case xml.StartElement:
			within := g.within(s, token.Attr)
			name := g.iri(within, token.Name)
			switch {
			case name == nsRDF+"RDF":
				err = g.nodes(within)
			case g.isNode(within, name, token.Attr):
				_, err = g.node(token, s, 1)
			case depth < maxDepth:
				err = g.search(within, depth+1)
			default:
				err = g.pass()
			}
			if err != nil {
				return err
			}
		}
	}
}

func (g *xmlGraph) isNode(s *scope, name string, attrs []xml.Attr) bool {
	for _, a := range attrs {
		if a.Name.Space != "" && strings.HasPrefix(g.iri(s, a.Name), nsRDF) {
			return true
		}
	}
	return strings.HasPrefix(name, WellKnown["dcat"]) || name == nsRDF+"Description"
}

// nodes reads the nodes in rdf:RDF.
func (g *xmlGraph) nodes(s *scope) error {
	for {
		token, err := g.next()
		if err != nil {
			return err
		}
		switch token := token.(type) {
		case xml.EndElement:
			return nil
		case xml.CharData:
			g.between(token)
		case xml.StartElement:
			if _, err := g.node(token, s, 1); err != nil {
				return err
			}
		}
	}
}

// between checks text between elements, where only white space may be.
func (g *xmlGraph) between(text xml.CharData) {
	if strings.TrimSpace(string(text)) != "" {
		g.forgive("text between elements")
	}
}

// syntax are the names of RDF that are no properties of a node (productions 7.2.2 to 7.2.4).
var syntax = map[string]bool{
	"RDF": true, "ID": true, "about": true, "parseType": true, "resource": true, "nodeID": true, "datatype": true,
	"aboutEach": true, "aboutEachPrefix": true, "bagID": true,
}

// attributes sorts the attributes of an element: those of the syntax by their names, and the others
// as properties.
func (g *xmlGraph) attributes(s *scope, attrs []xml.Attr) (own map[string]string, properties []xml.Attr) {
	for _, a := range attrs {
		switch {
		case a.Name.Space == "xmlns" || a.Name.Space == "xml" || a.Name.Space == "" && strings.HasPrefix(strings.ToLower(a.Name.Local), "xml"):
			continue
		case a.Name.Space == "" && !syntax[a.Name.Local]:
			if a.Name.Local != "type" {
				g.forgive("an attribute without a namespace")
			}
			continue
		}
		name := nsRDF + a.Name.Local // about="…", as in RDF of 1999
		if a.Name.Space != "" {
			name = g.iri(s, a.Name)
		}
		if local, ok := strings.CutPrefix(name, nsRDF); ok && syntax[local] {
			if own == nil {
				own = map[string]string{}
			}
			own[local] = a.Value
			continue
		}
		properties = append(properties, xml.Attr{Name: xml.Name{Local: name}, Value: a.Value})
	}
	return own, properties
}

// named returns the node that attributes name, a new one if they name none.
func (g *xmlGraph) named(s *scope, own map[string]string) Term {
	about, hasAbout := own["about"]
	switch id := own["ID"]; {
	case id != "":
		return Term{Kind: IRI, Value: g.resolve(s, "#"+id)}
	case own["nodeID"] != "":
		return Term{Kind: Blank, Value: g.label(own["nodeID"])}
	case hasAbout:
		return Term{Kind: IRI, Value: g.resolve(s, about)}
	}
	return g.blank()
}

// label returns the label of a blank node with this name.
func (g *xmlGraph) label(name string) string {
	name = strings.Map(func(c rune) rune {
		if nameRune(c) || c == '.' {
			return c
		}
		g.forgive("a name of a node that is no name")
		return '_'
	}, name[:min(len(name), maxName)])
	return ownLabel(strings.Trim(strings.ToValidUTF8(name, "_"), "."))
}

// resolve returns an IRI. One that is too long is cut, and thus another one.
func (g *xmlGraph) resolve(s *scope, ref string) string {
	ref = strings.TrimSpace(ref)
	if len(ref) > maxIRI {
		g.report.add(g.d.InputOffset(), true, "an IRI is longer than "+strconv.Itoa(maxIRI)+" bytes")
		ref = ref[:maxIRI]
	}
	var b []byte
	for _, c := range ref {
		b = appendIRI(b, c)
	}
	return s.base.resolve(string(b))
}

// node reads a node element (production 7.2.11).
func (g *xmlGraph) node(start xml.StartElement, s *scope, depth int) (Term, error) {
	s = g.within(s, start.Attr)
	own, properties := g.attributes(s, start.Attr)
	subject := g.named(s, own)
	if depth > maxDepth {
		g.report.add(g.d.InputOffset(), true, "more than "+strconv.Itoa(maxDepth)+" nested nodes")
		return subject, g.pass()
	}
	name := g.iri(s, start.Name)
	if local, ok := strings.CutPrefix(name, nsRDF); ok && (syntax[local] || local == "li") {
		g.forgive("an element that cannot be a node")
	} else if local != "Description" || !ok {
		if err := g.emit(subject, rdfType, Term{Kind: IRI, Value: name}); err != nil {
			return subject, err
		}
	}
	if err := g.literals(s, subject, properties); err != nil {
		return subject, err
	}
	return subject, g.properties(s, subject, depth)
}

// literals delivers properties that are written as attributes.
func (g *xmlGraph) literals(s *scope, subject Term, properties []xml.Attr) error {
	for _, a := range properties {
		object := Term{Kind: Literal, Value: g.text(a.Value), Language: s.lang}
		if a.Name.Local == rdfType {
			object = Term{Kind: IRI, Value: g.resolve(s, a.Value)}
		}
		if err := g.emit(subject, a.Name.Local, object); err != nil {
			return err
		}
	}
	return nil
}

// properties reads the property elements of a node, up to its end.
func (g *xmlGraph) properties(s *scope, subject Term, depth int) error {
	for members := 1; ; {
		token, err := g.next()
		if err != nil {
			return err
		}
		switch token := token.(type) {
		case xml.EndElement:
			return nil
		case xml.CharData:
			g.between(token)
		case xml.StartElement:
			within := g.within(s, token.Attr)
			predicate := g.iri(within, token.Name)
			if predicate == nsRDF+"li" {
				predicate = nsRDF + "_" + strconv.Itoa(members)
				members++
			}
			if local, ok := strings.CutPrefix(predicate, nsRDF); ok && (syntax[local] || local == "Description") {
				g.forgive("an element that cannot be a property")
			}
			if err := g.property(token, within, subject, predicate, depth+1); err != nil {
				return err
			}
		}
	}
}

// property reads a property element (productions 7.2.14 to 7.2.21).
func (g *xmlGraph) property(start xml.StartElement, s *scope, subject Term, predicate string, depth int) error {
	own, properties := g.attributes(s, start.Attr)
	resource, hasResource := own["resource"]
	state := func(o Term) error {
		if err := g.emit(subject, predicate, o); err != nil || own["ID"] == "" {
			return err
		}
		return g.reify(Term{Kind: IRI, Value: g.resolve(s, "#"+own["ID"])}, Triple{subject, predicate, o})
	}
	switch kind := own["parseType"]; {
	case kind == "Resource":
		object := g.blank()
		if err := state(object); err != nil {
			return err
		}
		if depth > maxDepth {
			return g.pass()
		}
		return g.properties(s, object, depth)
	case kind == "Collection":
		return g.collection(s, state, depth)
	case kind != "":
		text, err := g.markup()
		if err != nil {
			return err
		}
		return state(Term{Kind: Literal, Value: g.text(text), Datatype: nsRDF + "XMLLiteral"})
	case hasResource || own["nodeID"] != "" || len(properties) > 0:
		object := Term{Kind: IRI, Value: g.resolve(s, resource)}
		if !hasResource {
			object = g.named(s, map[string]string{"nodeID": own["nodeID"]})
		}
		if err := state(object); err != nil {
			return err
		}
		if err := g.literals(s, object, properties); err != nil {
			return err
		}
		return g.content(s, "", true, state, depth)
	}
	return g.content(s, own["datatype"], false, state, depth)
}

// content reads what is in a property element: a node, or a text. valued means that the property
// has a value already, so that only further nodes count.
func (g *xmlGraph) content(s *scope, datatype string, valued bool, state func(Term) error, depth int) error {
	var text []byte
	for {
		token, err := g.next()
		if err != nil {
			return err
		}
		switch token := token.(type) {
		case xml.CharData:
			if len(text) <= maxLiteral {
				text = append(text, token...)
			}
		case xml.StartElement:
			if valued || len(bytes.TrimSpace(text)) > 0 {
				g.forgive("a property with more than one value")
			}
			valued = true
			node, err := g.node(token, s, depth)
			if err != nil {
				return err
			}
			if err := state(node); err != nil {
				return err
			}
		case xml.EndElement:
			if valued {
				g.between(text)
				return nil
			}
			object := Term{Kind: Literal, Value: g.text(string(text)), Language: s.lang}
			if datatype != "" {
				object.Language = ""
				if object.Datatype = g.resolve(s, datatype); object.Datatype == nsXSD+"string" {
					object.Datatype = ""
				}
			}
			return state(object)
		}
	}
}

// collection reads the nodes of a list.
func (g *xmlGraph) collection(s *scope, state func(Term) error, depth int) error {
	var last Term
	link := func(node Term) error {
		if last.Kind == 0 {
			return state(node)
		}
		return g.emit(last, rdfRest, node)
	}
	for {
		token, err := g.next()
		if err != nil {
			return err
		}
		switch token := token.(type) {
		case xml.EndElement:
			return link(Term{Kind: IRI, Value: rdfNil})
		case xml.CharData:
			g.between(token)
		case xml.StartElement:
			node, err := g.node(token, s, depth)
			if err != nil {
				return err
			}
			place := g.blank()
			if err := link(place); err != nil {
				return err
			}
			if err := g.emit(place, rdfFirst, node); err != nil {
				return err
			}
			last = place
		}
	}
}

// reify delivers the description of a statement that has a name (section 7.3).
func (g *xmlGraph) reify(name Term, t Triple) error {
	for _, part := range []struct {
		local string
		o     Term
	}{
		{"type", Term{Kind: IRI, Value: nsRDF + "Statement"}}, {"subject", t.Subject},
		{"predicate", Term{Kind: IRI, Value: t.Predicate}}, {"object", t.Object},
	} {
		if err := g.emit(name, nsRDF+part.local, part.o); err != nil {
			return err
		}
	}
	return nil
}

// text returns a literal, truncated if it is too long.
func (g *xmlGraph) text(s string) string {
	if len(s) > maxLiteral {
		g.report.add(g.d.InputOffset(), true, "a literal is longer than "+strconv.Itoa(maxLiteral)+" bytes")
		s = strings.ToValidUTF8(s[:maxLiteral], "")
	}
	return s
}
