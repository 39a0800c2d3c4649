package rdf

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Kind is the kind of a term.
type Kind uint8

// The kinds of terms of RDF 1.1.
const (
	IRI Kind = iota + 1
	Blank
	Literal
)

// Term is an IRI, a blank node or a literal. Terms are equal if their fields are.
type Term struct {
	Kind Kind
	// Value is the IRI, the label of the blank node without "_:", or the text of the literal. All
	// are valid UTF-8.
	Value string
	// Datatype is the IRI of a literal's datatype. It is empty for xsd:string and for a text in a
	// language.
	Datatype string
	Language string // tag of a literal's language, in lower case
}

// Triple is a statement. The subject is no literal, and the predicate is always an IRI.
type Triple struct {
	Subject   Term
	Predicate string
	Object    Term
}

// Format is a form in which RDF is written.
type Format uint8

// The forms that are read.
const (
	Unknown  Format = iota
	Turtle          // RDF 1.1 Turtle
	TriG            // RDF 1.1 TriG: Turtle with graphs
	NTriples        // RDF 1.1 N-Triples: a line for each statement
	NQuads          // RDF 1.1 N-Quads: N-Triples with graphs
	XML             // RDF 1.1 XML Syntax
)

// Mistake is a place at which a document departs from its format.
type Mistake struct {
	Offset int64  // in bytes, from the beginning of the document in UTF-8
	What   string // what is wrong, in a few words
	Lost   bool   // a statement or a part of it was lost
}

// Report says how well a document could be read.
type Report struct {
	Triples  int       // delivered
	Forgiven int       // mistakes that lost nothing
	Lost     int       // mistakes that lost a statement or a part of it
	Mistakes []Mistake // the first of each kind
	End      int64     // bytes read
	Cut      bool      // it ends in the middle of a statement or an element
}

// String describes in one line what was lost and what was forgiven, or is "" if nothing was.
func (r *Report) String() string {
	var all []string
	if r.Lost > 0 {
		all = append(all, fmt.Sprintf("parts of it could not be read (%d)%s", r.Lost, r.described(true)))
	}
	if r.Forgiven > 0 {
		all = append(all, fmt.Sprintf("read with errors forgiven (%d)%s", r.Forgiven, r.described(false)))
	}
	if len(all) == 0 {
		return ""
	}
	return "RDF: " + strings.Join(all, "; ")
}

// described lists the first mistakes of a kind.
func (r *Report) described(lost bool) string {
	var some []string
	for _, m := range r.Mistakes {
		if m.Lost == lost && len(some) < 3 {
			some = append(some, fmt.Sprintf("%s at byte %d", m.What, m.Offset))
		}
	}
	return ": " + strings.Join(some, ", ")
}

func (r *Report) add(offset int64, lost bool, what string) {
	n := &r.Forgiven
	if lost {
		n = &r.Lost
	}
	if *n++; *n <= maxMistakes {
		r.Mistakes = append(r.Mistakes, Mistake{offset, what, lost})
	}
}

// Read reads a document and calls fn for each triple, in the order of the document. base is the
// address of the document. It returns an error of r or of fn, never one of the document: see
// Report. A triple of a statement that breaks off later is delivered.
func Read(r io.Reader, format Format, base string, fn func(Triple) error) (Report, error) {
	in := &sticky{r: r}
	read := readXML
	if format != XML {
		read = func(r io.Reader, base string, fn func(Triple) error) (Report, error) {
			return readTurtle(r, format, base, fn)
		}
	}
	rep, err := read(in, base, fn)
	if in.err != nil && in.err != io.EOF {
		err = in.err
	}
	return rep, err
}

// sticky keeps the error of a reader: a [bufio.Reader] that looks ahead forgets it.
type sticky struct {
	r   io.Reader
	err error
}

func (s *sticky) Read(p []byte) (n int, err error) {
	if s.err != nil {
		return 0, s.err
	}
	n, s.err = s.r.Read(p)
	return n, s.err
}

// names is used for the namespaces below.
const (
	nsRDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
	nsXSD = "http://www.w3.org/2001/XMLSchema#"

	rdfType  = nsRDF + "type"
	rdfFirst = nsRDF + "first"
	rdfRest  = nsRDF + "rest"
	rdfNil   = nsRDF + "nil"
)

// WellKnown are prefixes that catalogues use, sometimes without declaring them, and their
// namespaces. A prefix that a document declares has the meaning that it declares.
var WellKnown = map[string]string{
	"adms": "http://www.w3.org/ns/adms#", "cc": "http://creativecommons.org/ns#", "dc": "http://purl.org/dc/elements/1.1/",
	"dc11": "http://purl.org/dc/elements/1.1/", "dcat": "http://www.w3.org/ns/dcat#", "dcatap": "http://data.europa.eu/r5r/",
	"dcterms": "http://purl.org/dc/terms/", "dct": "http://purl.org/dc/terms/", "foaf": "http://xmlns.com/foaf/0.1/",
	"geo": "http://www.w3.org/2003/01/geo/wgs84_pos#", "gsp": "http://www.opengis.net/ont/geosparql#", "hydra": "http://www.w3.org/ns/hydra/core#",
	"ldp": "http://www.w3.org/ns/ldp#", "locn": "http://www.w3.org/ns/locn#", "odrl": "http://www.w3.org/ns/odrl/2/",
	"og": "http://ogp.me/ns#", "org": "http://www.w3.org/ns/org#", "owl": "http://www.w3.org/2002/07/owl#", "prov": "http://www.w3.org/ns/prov#",
	"qb": "http://purl.org/linked-data/cube#", "rdf": nsRDF, "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
	"schema": "http://schema.org/", "sioc": "http://rdfs.org/sioc/ns#", "skos": "http://www.w3.org/2004/02/skos/core#",
	"spdx": "http://spdx.org/rdf/terms#", "time": "http://www.w3.org/2006/time#", "vcard": "http://www.w3.org/2006/vcard/ns#",
	"void": "http://rdfs.org/ns/void#", "xsd": nsXSD,
}

// AppendNTriples appends a triple as a line of N-Triples in its canonical form.
func AppendNTriples(dst []byte, t Triple) []byte {
	dst = appendTerm(dst, t.Subject)
	dst = appendTerm(append(dst, ' '), Term{Kind: IRI, Value: t.Predicate})
	return append(appendTerm(append(dst, ' '), t.Object), " .\n"...)
}

func appendTerm(dst []byte, t Term) []byte {
	switch t.Kind {
	case Blank:
		return append(append(dst, "_:"...), t.Value...)
	case IRI:
		dst = append(dst, '<')
		for _, c := range t.Value {
			if c <= ' ' || strings.ContainsRune("<>\"{}|^`\\", c) {
				dst = fmt.Appendf(dst, "\\u%04X", c)
			} else {
				dst = utf8.AppendRune(dst, c)
			}
		}
		return append(dst, '>')
	}
	dst = append(dst, '"')
	for _, c := range t.Value {
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', byte(c))
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		default:
			dst = utf8.AppendRune(dst, c)
		}
	}
	dst = append(dst, '"')
	switch {
	case t.Language != "":
		dst = append(append(dst, '@'), t.Language...)
	case t.Datatype != "":
		dst = appendTerm(append(dst, "^^"...), Term{Kind: IRI, Value: t.Datatype})
	}
	return dst
}
