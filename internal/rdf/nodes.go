package rdf

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/disk"
)

// Limits of a graph that is written as JSON-LD.
const (
	runBytes    = 64 << 10  // of statements about one subject that are in memory
	nodeBytes   = 384 << 10 // of a node; a longer one becomes several of one name
	maxList     = 10_000    // members of an RDF list
	maxListsIn  = 8         // lists in lists
	maxSubjects = 1 << 16   // in a document, by default
)

// ErrSubjects means that a document describes more subjects than are read, or each in too many
// places.
var ErrSubjects = errors.New("its statements are about too many subjects")

// Options are the limits for JSONLD.
type Options struct {
	// Subjects is how many subjects a document may describe, 65,536 if it is 0. Each takes about 60
	// bytes of memory.
	Subjects int
	// Space is asked for each part of a temporary file, in bytes. An error of it ends the document.
	// If Space is nil, everything stays in memory: only for short documents.
	Space func(n int64) error
}

// Nodes is the graph of a document as JSON-LD: a list of expanded node objects, one for each
// subject, in the order of the document. Names of usual vocabularies have their usual prefixes. An
// RDF list is a list object. Of texts in several languages, English ones are first. The values of a
// property are distinct.
//
// The whole document is read before the first node is delivered, because statements about a subject
// may be anywhere. Until then the statements are in memory or in a temporary file. It must not be
// used concurrently.
type Nodes struct {
	r      io.Reader
	format Format
	base   string
	o      Options

	Report Report // of the document, complete when the first node was delivered

	memory  []byte
	file    disk.Spool
	size    int64 // of the file
	seed    maphash.Seed
	byName  map[uint64]uint32 // subjects by the hash of their names
	subject []subject
	parts   int // of all subjects

	name string // of the current subject
	n    uint32 // its number
	run  []byte // statements about it that are not in the file yet

	began, ended bool
	some         bool // a node was delivered
	next         int  // subject to deliver
	buf, out     []byte
	pending      []byte // of out, not read yet
	err          error
}

// subject is where the statements about a subject are. Its last part leads to the others.
type subject struct {
	last span
	list bool // it is a node of an RDF list
	used bool // the list was delivered as a value
}

type span struct {
	at   int64
	size uint32
}

// JSONLD returns a document as JSON-LD. Close must be called after it was read.
func JSONLD(r io.Reader, format Format, base string, o Options) *Nodes {
	if o.Subjects == 0 {
		o.Subjects = maxSubjects
	}
	return &Nodes{r: r, format: format, base: base, o: o, seed: maphash.MakeSeed(), byName: map[uint64]uint32{}}
}

// Close removes the temporary file.
func (n *Nodes) Close() { n.file.Close() }

// Read reads the JSON-LD.
func (n *Nodes) Read(p []byte) (int, error) {
	for len(n.pending) == 0 {
		if n.err == nil {
			n.err = n.more()
		}
		if n.err != nil && len(n.pending) == 0 {
			return 0, n.err
		}
	}
	done := copy(p, n.pending)
	n.pending = n.pending[done:]
	return done, nil
}

// more writes the next node.
func (n *Nodes) more() error {
	n.out = n.out[:0]
	switch {
	case !n.began:
		if err := n.gather(); err != nil {
			return err
		}
		n.began, n.out = true, append(n.out, '[')
	case n.next < len(n.subject):
		if err := n.node(n.next); err != nil {
			return err
		}
		n.next++
	case !n.ended:
		n.ended, n.out = true, append(n.out, "]\n"...)
	default:
		return io.EOF
	}
	n.pending = n.out
	return nil
}

// gather reads the document.
func (n *Nodes) gather() (err error) {
	if n.o.Space != nil {
		if err := n.file.Open(); err != nil {
			return fmt.Errorf("a temporary file: %w", err)
		}
	}
	n.Report, err = Read(n.r, n.format, n.base, n.take)
	if err == nil {
		err = n.flush()
	}
	if err == nil && n.o.Space != nil {
		err = n.file.Flush()
	}
	return err
}

// take adds a triple to the statements about its subject.
func (n *Nodes) take(t Triple) error {
	name := t.Subject.Value
	if t.Subject.Kind == Blank {
		name = "_:" + name
	}
	if len(n.run) == 0 || name != n.name || len(n.run) > runBytes {
		if err := n.flush(); err != nil {
			return err
		}
		if err := n.begin(name); err != nil {
			return err
		}
	}
	if t.Predicate == rdfFirst && t.Subject.Kind == Blank {
		n.subject[n.n].list = true
	}
	n.run = appendText(n.run, compact(t.Predicate))
	n.buf = appendValue(n.buf[:0], t)
	n.run = appendBytes(n.run, n.buf)
	return nil
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func appendBytes(dst, s []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// begin begins a part of the statements about a subject: where the previous part is, and the name
// of the subject.
func (n *Nodes) begin(name string) error {
	hash := maphash.String(n.seed, name)
	at, known := n.byName[hash]
	if !known {
		at = uint32(len(n.subject))
		n.byName[hash] = at
		n.subject = append(n.subject, subject{})
	}
	if n.parts++; len(n.subject) > n.o.Subjects || n.parts > 4*n.o.Subjects {
		return ErrSubjects
	}
	n.name, n.n = name, at
	last := n.subject[at].last
	n.run = binary.AppendUvarint(n.run[:0], uint64(last.at))
	n.run = binary.AppendUvarint(n.run, uint64(last.size))
	n.run = appendText(n.run, name)
	return nil
}

// flush ends a part.
func (n *Nodes) flush() error {
	if len(n.run) == 0 {
		return nil
	}
	where := span{n.size, uint32(len(n.run))}
	n.size += int64(len(n.run))
	if n.o.Space == nil {
		n.memory = append(n.memory, n.run...)
	} else {
		if err := n.o.Space(int64(len(n.run))); err != nil {
			return err
		}
		if _, err := n.file.Add(n.run); err != nil {
			return fmt.Errorf("a temporary file: %w", err)
		}
	}
	n.subject[n.n].last = where
	n.run = n.run[:0]
	return nil
}

// part reads a part into buf.
func (n *Nodes) part(where span, buf []byte) ([]byte, error) {
	if n.o.Space == nil {
		return append(buf[:0], n.memory[where.at:where.at+int64(where.size)]...), nil
	}
	buf, err := n.file.Read(buf, where.at, where.size)
	if err != nil {
		err = fmt.Errorf("a temporary file: %w", err)
	}
	return buf, err
}

// statement is a property and one value, in JSON.
type statement struct{ property, value []byte }

// cutPart returns what is in a part.
func cutPart(b []byte) (previous span, name []byte, all []statement) {
	text := func() []byte {
		size, w := binary.Uvarint(b)
		b = b[w:]
		s := b[:size]
		b = b[size:]
		return s
	}
	at, w := binary.Uvarint(b)
	b = b[w:]
	size, w := binary.Uvarint(b)
	b = b[w:]
	previous = span{int64(at), uint32(size)}
	for name = text(); len(b) > 0; {
		property := text()
		all = append(all, statement{property, text()})
	}
	return previous, name, all
}

// spans returns where the parts of a subject are, in the order of the document.
func (n *Nodes) spans(s *subject) (all []span, err error) {
	for where := s.last; where.size > 0; {
		all = append(all, where)
		if n.buf, err = n.part(span{where.at, min(where.size, 2*binary.MaxVarintLen64)}, n.buf); err != nil {
			return nil, err
		}
		at, w := binary.Uvarint(n.buf)
		size, _ := binary.Uvarint(n.buf[w:])
		where = span{int64(at), uint32(size)}
	}
	slices.Reverse(all)
	return all, nil
}

// node writes a subject as one node, or as several if it is long.
func (n *Nodes) node(i int) error {
	s := &n.subject[i]
	if s.list {
		return nil // it is delivered as a value
	}
	spans, err := n.spans(s)
	if err != nil {
		return err
	}
	for len(spans) > 0 {
		var name []byte
		var all []statement
		size := 0
		for len(spans) > 0 && (size == 0 || size+int(spans[0].size) <= nodeBytes) {
			part, err := n.part(spans[0], nil)
			if err != nil {
				return err
			}
			size += len(part)
			_, called, statements := cutPart(part)
			name, all, spans = called, append(all, statements...), spans[1:]
		}
		if err := n.write(name, all); err != nil {
			return err
		}
	}
	return nil
}

// write writes a node.
func (n *Nodes) write(name []byte, all []statement) error {
	if n.some {
		n.out = append(n.out, ",\n"...)
	}
	n.some = true
	n.out = appendQuoted(append(n.out, `{"@id":`...), name)
	// Of one property, the values keep their order.
	slices.SortStableFunc(all, func(a, b statement) int { return bytes.Compare(a.property, b.property) })
	for len(all) > 0 {
		same := 1
		for same < len(all) && bytes.Equal(all[same].property, all[0].property) {
			same++
		}
		if err := n.property(all[:same]); err != nil {
			return err
		}
		all = all[same:]
	}
	n.out = append(n.out, '}')
	return nil
}

// property writes the values of a property.
func (n *Nodes) property(all []statement) error {
	isType := string(all[0].property) == "rdf:type"
	if len(all) > 1 {
		englishFirst(all)
	}
	n.out = append(n.out, ',')
	if isType {
		n.out = append(n.out, `"@type":[`...)
	} else {
		n.out = append(appendQuoted(n.out, all[0].property), ":["...)
	}
	from := len(n.out)
	var seen map[string]bool
	for _, s := range all {
		if seen[string(s.value)] {
			continue
		}
		if len(all) > 1 {
			if seen == nil {
				seen = make(map[string]bool, len(all))
			}
			seen[string(s.value)] = true
		}
		if len(n.out) > from {
			n.out = append(n.out, ',')
		}
		var err error
		switch value := s.value; {
		case isType:
			err = n.types(value)
		default:
			err = n.value(value, 0)
		}
		if err != nil {
			return err
		}
	}
	n.out = append(n.out, ']')
	return nil
}

// englishFirst sorts texts in English before all other values, whose order stays.
func englishFirst(all []statement) {
	english := func(v []byte) bool {
		return bytes.HasPrefix(v, []byte(`{"@language":"en"`)) || bytes.HasPrefix(v, []byte(`{"@language":"en-`))
	}
	slices.SortStableFunc(all, func(a, b statement) int {
		switch x, y := english(a.value), english(b.value); {
		case x == y:
			return 0
		case x:
			return -1
		}
		return 1
	})
}

// types writes the IRI of a type as a word. DCAT-AP counts assets of ADMS as datasets.
func (n *Nodes) types(value []byte) error {
	var ref struct {
		ID string `json:"@id"`
	}
	if json.Unmarshal(value, &ref) != nil {
		ref.ID = "" // a literal
	}
	word := compact(ref.ID)
	n.out = appendQuoted(n.out, word)
	if word == "adms:Asset" || word == "adms:SemanticAsset" {
		n.out = append(n.out, `,"dcat:Dataset"`...)
	}
	return nil
}

// value writes a value. The first node of an RDF list becomes the list.
func (n *Nodes) value(value []byte, depth int) error {
	label, ok := bytes.CutPrefix(value, []byte(`{"@id":"_:`))
	if ok && depth < maxListsIn {
		label = label[:len(label)-len(`"}`)]
		if at, known := n.byName[maphash.String(n.seed, "_:"+string(label))]; known && n.subject[at].list && !n.subject[at].used {
			return n.list(at, depth)
		}
	}
	if string(value) == `{"@id":"`+rdfNil+`"}` {
		value = []byte(`{"@list":[]}`)
	}
	n.out = append(n.out, value...)
	return nil
}

// list writes the members of a list. Each node of a list is delivered once, so that a list that
// leads to itself ends.
func (n *Nodes) list(at uint32, depth int) error {
	n.out = append(n.out, `{"@list":[`...)
	for members := 0; members < maxList && n.subject[at].list && !n.subject[at].used; {
		s := &n.subject[at]
		s.used = true
		spans, err := n.spans(s)
		if err != nil {
			return err
		}
		rest := ""
		for _, where := range spans {
			part, err := n.part(where, nil)
			if err != nil {
				return err
			}
			_, _, all := cutPart(part)
			for _, st := range all {
				switch string(st.property) {
				case "rdf:first":
					if members++; members > 1 {
						n.out = append(n.out, ',')
					}
					if err := n.value(st.value, depth+1); err != nil {
						return err
					}
				case "rdf:rest":
					rest = string(st.value)
				}
			}
		}
		next, known := n.byName[maphash.String(n.seed, strings.TrimSuffix(strings.TrimPrefix(rest, `{"@id":"`), `"}`))]
		if !known {
			break
		}
		at = next
	}
	n.out = append(n.out, "]}"...)
	return nil
}

// prefixes are the usual prefixes of namespaces.
var prefixes = func() map[string]string {
	all := map[string]string{"https://schema.org/": "schema"}
	for prefix, ns := range WellKnown {
		if have, twice := all[ns]; !twice || len(prefix) < len(have) {
			all[ns] = prefix
		}
	}
	return all
}()

// compact returns an IRI with the usual prefix of its vocabulary, or as it is.
func compact(iri string) string {
	i := strings.LastIndexAny(iri, "#/") + 1
	if prefix, ok := prefixes[iri[:i]]; ok && i < len(iri) {
		return prefix + ":" + iri[i:]
	}
	return iri
}

// appendValue appends the object of a triple in JSON.
func appendValue(dst []byte, t Triple) []byte {
	o := t.Object
	switch o.Kind {
	case IRI:
		return append(appendQuoted(append(dst, `{"@id":`...), o.Value), '}')
	case Blank:
		return append(append(append(dst, `{"@id":"_:`...), o.Value...), `"}`...)
	}
	switch {
	case o.Language != "":
		dst = append(appendQuoted(append(dst, `{"@language":`...), o.Language), `,"@value":`...)
	case o.Datatype != "":
		dst = append(appendQuoted(append(dst, `{"@type":`...), compact(o.Datatype)), `,"@value":`...)
	default:
		dst = append(dst, `{"@value":`...)
	}
	return append(appendQuoted(dst, o.Value), '}')
}

// appendQuoted appends a text in JSON.
func appendQuoted[T string | []byte](dst []byte, s T) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(append(dst, s[from:]...), '"')
}
