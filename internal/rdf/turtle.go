package rdf

import (
	"bufio"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// turtle reads Turtle, TriG, N-Triples and N-Quads, each of which is read as the largest of them.
// It needs no memory beyond one statement's terms: a statement with many objects is delivered while
// it is read.
type turtle struct {
	source
	format   Format
	fn       func(Triple) error
	prefixes map[string]string
	base     resolver
	missing  map[string]bool // undeclared prefixes that were reported
	blanks   int             // blank nodes without a label
	inGraph  bool            // between the braces of a graph
	report   Report
	text     []byte // a buffer for the term that is being read
}

// errStatement ends a statement that cannot be read. The mistake is reported already.
var errStatement = errors.New("a statement cannot be read")

func readTurtle(r io.Reader, format Format, base string, fn func(Triple) error) (Report, error) {
	t := &turtle{source: source{in: bufio.NewReaderSize(r, 64<<10)}, format: format, fn: fn, prefixes: map[string]string{}, base: newResolver(base)}
	if t.has("\xef\xbb\xbf") {
		t.skip(3)
	}
	for {
		t.space()
		if _, ok := t.peek(); !ok {
			break
		}
		err := t.statement()
		if err == errStatement {
			t.recover()
		} else if err != nil {
			return t.end(), err
		}
	}
	return t.end(), nil
}

func (t *turtle) end() Report {
	t.report.End = t.at
	return t.report
}

// broken reports a mistake by which the rest of the statement is lost.
func (t *turtle) broken(what string) error {
	if _, ok := t.peek(); !ok {
		t.report.Cut = true
		what += ": the document ends here"
	}
	t.report.add(t.at, true, what)
	return errStatement
}

func (t *turtle) forgive(what string) { t.report.add(t.at, false, what) }

func (t *turtle) emit(s Term, predicate string, o Term) error {
	t.report.Triples++
	return t.fn(Triple{s, predicate, o})
}

// statement reads a directive, a statement, or the beginning or the end of a graph.
func (t *turtle) statement() error {
	b, _ := t.peek()
	switch b {
	case '@':
		t.skip(1)
		return t.directive(t.word(), true)
	case '{':
		return t.graph()
	case '}':
		if t.skip(1); !t.inGraph {
			t.forgive("a brace that closes nothing")
		}
		t.inGraph = false
		return nil
	case '.':
		t.skip(1)
		t.forgive("a full stop without a statement")
		return nil
	}
	var subject Term
	var err error
	switch {
	case b == '[':
		var alone bool
		if subject, alone, err = t.propertyList(1); err == nil && alone {
			t.space()
			if b, _ := t.peek(); b == '.' || b == '}' {
				return t.stop()
			}
		}
	case b == '(':
		subject, err = t.collection(1)
	case b == '<' || b == '_':
		subject, err = t.reference()
	case isNameStart(b) || b == ':':
		word := t.prefix()
		if c, _ := t.peek(); c == ':' {
			subject, err = t.prefixed(word)
			break
		}
		return t.directive(word, false)
	default:
		return t.broken("a statement cannot begin like this")
	}
	if err != nil {
		return err
	}
	if t.space(); t.has("{") {
		return t.graph()
	}
	if err := t.predicates(subject, 1); err != nil {
		return err
	}
	return t.stop()
}

// stop reads the full stop after a statement.
func (t *turtle) stop() error {
	t.space()
	switch b, ok := t.peek(); {
	case !ok:
		t.forgive("no full stop after the last statement")
	case b == '.':
		t.skip(1)
	case b == '}' && t.inGraph:
	case t.fresh && (b == '<' || b == '_' || b == '@' || b == '[' || b == ':' || isNameStart(b)):
		t.forgive("no full stop after a statement")
	default:
		return t.broken("no full stop after a statement")
	}
	return nil
}

// graph begins a graph of TriG, whose name was read or is missing.
func (t *turtle) graph() error {
	t.skip(1)
	if t.inGraph || t.format == NTriples || t.format == NQuads {
		return t.broken("a graph in a graph")
	}
	if t.format != TriG {
		t.forgive("a graph in Turtle")
	}
	t.inGraph = true
	return nil
}

// directive reads what follows the word of a directive, with or without an "@" before it.
func (t *turtle) directive(word string, at bool) error {
	switch strings.ToLower(word) {
	case "prefix":
		t.space()
		name := t.prefix()
		if !t.has(":") {
			return t.broken("a prefix without a colon")
		}
		t.skip(1)
		t.space()
		iri, err := t.iri()
		if err != nil {
			return err
		}
		if _, have := t.prefixes[name]; !have && len(t.prefixes) == maxPrefixes {
			return t.broken("more than " + strconv.Itoa(maxPrefixes) + " prefixes")
		}
		t.prefixes[name] = iri
	case "base":
		t.space()
		iri, err := t.iri()
		if err != nil {
			return err
		}
		t.base = newResolver(iri)
	case "graph":
		t.space()
		if _, err := t.resource(); err != nil {
			return err
		}
		if t.space(); !t.has("{") {
			return t.broken("a graph without a brace")
		}
		return t.graph()
	default:
		return t.broken("an unknown word")
	}
	t.space()
	if dot := t.has("."); dot != at {
		t.forgive("a directive with a full stop too many or too few")
		if !dot {
			return nil
		}
	} else if !dot {
		return nil
	}
	t.skip(1)
	return nil
}

// predicates reads a list of predicates and their objects (rule predicateObjectList).
func (t *turtle) predicates(subject Term, depth int) error {
	for {
		predicate, err := t.predicate()
		if err != nil {
			return err
		}
		for first := true; ; first = false {
			t.space()
			if ahead, _ := t.in.Peek(2); !first && len(ahead) == 2 && (ahead[0] == ';' || ahead[0] == '.' && !isDigit(ahead[1]) || ahead[0] == ']') {
				t.forgive("a comma without an object")
				break
			}
			object, err := t.object(depth)
			if err != nil {
				return err
			}
			if err := t.emit(subject, predicate, object); err != nil {
				return err
			}
			t.space()
			if t.format == NQuads && !t.fresh && (t.has("<") || t.has("_")) {
				if _, err := t.reference(); err != nil {
					return err
				}
				t.space()
			}
			if !t.has(",") {
				break
			}
			t.skip(1)
		}
		if !t.has(";") {
			return nil
		}
		for t.has(";") {
			t.skip(1)
			t.space()
		}
		if b, ok := t.peek(); !ok || b == '.' || b == ']' || b == '}' {
			return nil
		}
	}
}

func (t *turtle) predicate() (string, error) {
	t.space()
	b, _ := t.peek()
	switch {
	case b == '<':
		return t.iri()
	case isNameStart(b) || b == ':':
		word := t.prefix()
		if t.has(":") {
			p, err := t.prefixed(word)
			return p.Value, err
		}
		if word == "a" {
			return rdfType, nil
		}
	}
	return "", t.broken("no predicate")
}

func (t *turtle) object(depth int) (Term, error) {
	switch b, _ := t.peek(); {
	case b == '[':
		o, _, err := t.propertyList(depth + 1)
		return o, err
	case b == '(':
		return t.collection(depth + 1)
	case b == '"' || b == '\'':
		return t.literal()
	case b == '+' || b == '-' || b == '.' || '0' <= b && b <= '9':
		return t.number()
	}
	return t.resource()
}

// resource reads an IRI, a blank node with a label, or one of the words true and false.
func (t *turtle) resource() (Term, error) {
	switch b, _ := t.peek(); {
	case b == '<' || b == '_':
		return t.reference()
	case isNameStart(b) || b == ':':
		word := t.prefix()
		if t.has(":") {
			return t.prefixed(word)
		}
		if word == "true" || word == "false" {
			return Term{Kind: Literal, Value: word, Datatype: nsXSD + "boolean"}, nil
		}
	}
	return Term{}, t.broken("no term")
}

// reference reads an IRI in brackets or a blank node with a label.
func (t *turtle) reference() (Term, error) {
	if !t.has("_") {
		iri, err := t.iri()
		return Term{Kind: IRI, Value: iri}, err
	}
	if t.skip(1); !t.has(":") {
		return Term{}, t.broken("a blank node without a colon")
	}
	t.skip(1)
	label, err := t.name(false)
	if err != nil || label == "" {
		if err == nil {
			err = t.broken("a blank node without a label")
		}
		return Term{}, err
	}
	return Term{Kind: Blank, Value: ownLabel(label)}, nil
}

// generated is the beginning of labels that are given to blank nodes without one.
const generated = "genid"

// ownLabel returns a label that no blank node without a label can get.
func ownLabel(label string) string {
	if strings.HasPrefix(label, generated) {
		return generated + "x" + label
	}
	return label
}

func (t *turtle) blank() Term {
	t.blanks++
	return Term{Kind: Blank, Value: generated + strconv.Itoa(t.blanks)}
}

// propertyList reads a blank node in brackets. alone means that it has properties.
func (t *turtle) propertyList(depth int) (node Term, alone bool, err error) {
	if depth > maxDepth {
		return node, false, t.broken("more than " + strconv.Itoa(maxDepth) + " nested nodes")
	}
	t.skip(1)
	node = t.blank()
	if t.space(); t.has("]") {
		t.skip(1)
		return node, false, nil
	}
	if err := t.predicates(node, depth); err != nil {
		return node, true, err
	}
	if t.space(); !t.has("]") {
		return node, true, t.broken("a bracket is not closed")
	}
	t.skip(1)
	return node, true, nil
}

// collection reads a list in parentheses.
func (t *turtle) collection(depth int) (Term, error) {
	none := Term{Kind: IRI, Value: rdfNil}
	if depth > maxDepth {
		return none, t.broken("more than " + strconv.Itoa(maxDepth) + " nested nodes")
	}
	t.skip(1)
	var head, last Term
	for {
		if t.space(); t.has(")") {
			t.skip(1)
			if last.Kind == 0 {
				return none, nil
			}
			return head, t.emit(last, rdfRest, none)
		}
		object, err := t.object(depth)
		if err != nil {
			return none, err
		}
		node := t.blank()
		if last.Kind == 0 {
			head = node
		} else if err := t.emit(last, rdfRest, node); err != nil {
			return none, err
		}
		if err := t.emit(node, rdfFirst, object); err != nil {
			return none, err
		}
		last = node
	}
}

// number reads an integer, a decimal or a double.
func (t *turtle) number() (Term, error) {
	text, kind := t.text[:0], "integer"
	if b, _ := t.peek(); b == '+' || b == '-' {
		text = append(text, b)
		t.skip(1)
	}
	digits := func() (n int) {
		for {
			b, _ := t.peek()
			if b < '0' || b > '9' {
				return n
			}
			t.skip(1)
			if n++; len(text) < maxName {
				text = append(text, b)
			}
		}
	}
	whole, fraction := digits(), 0
	if t.has(".") {
		ahead, _ := t.in.Peek(4)
		if len(ahead) > 1 && (isDigit(ahead[1]) || whole > 0 && isExponent(ahead[1:])) {
			t.skip(1)
			text, kind = append(text, '.'), "decimal"
			fraction = digits()
		}
	}
	if whole+fraction == 0 {
		return Term{}, t.broken("no number")
	}
	if ahead, _ := t.in.Peek(3); isExponent(ahead) {
		kind = "double"
		for _, b := range ahead[:2] {
			if !isDigit(b) {
				text = append(text, b)
				t.skip(1)
			}
		}
		digits()
	}
	t.text = text
	return Term{Kind: Literal, Value: string(text), Datatype: nsXSD + kind}, nil
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

// isExponent reports whether b begins as the exponent of a double.
func isExponent(b []byte) bool {
	if len(b) < 2 || b[0]|0x20 != 'e' {
		return false
	}
	return isDigit(b[1]) || len(b) > 2 && (b[1] == '+' || b[1] == '-') && isDigit(b[2])
}

func isNameStart(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' || b >= utf8.RuneSelf }

// word reads letters.
func (t *turtle) word() string {
	text := t.text[:0]
	for {
		b, _ := t.peek()
		if 'a' > b|0x20 || b|0x20 > 'z' || len(text) == maxName {
			t.text = text
			return string(text)
		}
		text = append(text, b)
		t.skip(1)
	}
}

// prefix reads a prefix up to its colon, or a word.
func (t *turtle) prefix() string {
	name, _ := t.name(true)
	return name
}

// prefixed reads a prefixed name from its colon on.
func (t *turtle) prefixed(prefix string) (Term, error) {
	t.skip(1)
	local, err := t.local()
	if err != nil {
		return Term{}, err
	}
	ns, ok := t.prefixes[prefix]
	if !ok {
		ns, ok = WellKnown[prefix]
		if !ok {
			ns = prefix + ":"
		}
		if prefix == "" {
			ns = t.base.resolve("#")
		}
		if !t.missing[prefix] && len(t.missing) < maxPrefixes {
			if t.missing == nil {
				t.missing = map[string]bool{}
			}
			t.missing[prefix] = true
			t.forgive("the prefix " + strconv.Quote(prefix) + " is not declared")
		}
	}
	return Term{Kind: IRI, Value: ns + local}, nil
}

// nameRune reports whether c may be in a name (PN_CHARS of the grammar). Beyond ASCII, each letter
// may.
func nameRune(c rune) bool {
	switch {
	case c < utf8.RuneSelf:
		return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '_' || c == '-'
	case c == utf8.RuneError:
		return false
	}
	return c >= 0xC0 && c != 0xD7 && c != 0xF7 && !unicode.IsSpace(c) || c == 0xB7
}

// name reads a prefix or the label of a blank node. Full stops at its end do not belong to it.
func (t *turtle) name(prefix bool) (string, error) {
	text := t.text[:0]
	for {
		c, n := t.rune()
		if c == '.' && len(text) > 0 {
			if dots := t.dotsInName(prefix); dots > 0 {
				for range dots {
					text = append(text, '.')
				}
				t.skip(dots)
				continue
			}
		}
		if !nameRune(c) {
			t.text = text
			return string(text), nil
		}
		if len(text)+n > maxName {
			return "", t.broken("a name is longer than " + strconv.Itoa(maxName) + " bytes")
		}
		text = utf8.AppendRune(text, c)
		t.skip(n)
	}
}

// dotsInName returns how many full stops follow that belong to a name, because it goes on behind
// them.
func (t *turtle) dotsInName(prefix bool) int {
	const most = 16
	ahead, _ := t.in.Peek(most + utf8.UTFMax)
	dots := 0
	for dots < min(len(ahead), most) && ahead[dots] == '.' {
		dots++
	}
	c, _ := utf8.DecodeRune(ahead[dots:])
	if nameRune(c) || prefix && c == ':' {
		return dots
	}
	return 0
}

// local reads the local part of a prefixed name (PN_LOCAL of the grammar). A slash, which the
// grammar requires to be escaped, is forgiven.
func (t *turtle) local() (string, error) {
	text := t.text[:0]
	for {
		c, n := t.rune()
		ahead, _ := t.in.Peek(3)
		switch {
		case c == '%' && len(ahead) == 3 && isHex(ahead[1]) && isHex(ahead[2]):
			text = append(text, ahead...)
			t.skip(3)
		case c == '\\' && len(ahead) > 1 && strings.IndexByte("_~.-!$&'()*+,;=/?#@%", ahead[1]) >= 0:
			text = append(text, ahead[1])
			t.skip(2)
		case c == '.' && len(text) > 0 && t.dotsInLocal() > 0:
			dots := t.dotsInLocal()
			for range dots {
				text = append(text, '.')
			}
			t.skip(dots)
		case c == '/':
			t.forgive("a slash in a name is not escaped")
			text = append(text, '/')
			t.skip(1)
		case c == ':' || nameRune(c):
			text = utf8.AppendRune(text, c)
			t.skip(n)
		default:
			t.text = text
			return string(text), nil
		}
		if len(text) > maxIRI {
			return "", t.broken("a name is longer than " + strconv.Itoa(maxIRI) + " bytes")
		}
	}
}

// dotsInLocal is dotsInName for the local part of a prefixed name.
func (t *turtle) dotsInLocal() int {
	if n := t.dotsInName(true); n > 0 {
		return n
	}
	ahead, _ := t.in.Peek(18)
	dots := 0
	for dots < len(ahead) && ahead[dots] == '.' {
		dots++
	}
	if rest := ahead[dots:]; len(rest) > 1 && (rest[0] == '%' && isHex(rest[1]) || rest[0] == '\\') {
		return dots
	}
	return 0
}

func isHex(b byte) bool { return isDigit(b) || 'a' <= b|0x20 && b|0x20 <= 'f' }
