package query

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Parse reads a query of a crawl whose pages have no fields.
func Parse(q string) Query { return Schema(nil).Parse(q) }

// item is one term of a query, or one operator.
type item struct {
	kind   int
	atom   Atom   // wanted, excluded
	filter filter // narrows
	word   string // of an operator: the word that it is at an end of the query
}

const (
	wanted = iota + 1
	excluded
	narrows
	or
	and
)

func (s Schema) parse(q string, limit int) Query {
	q, cut := tidy(q, limit)
	p := parser{rest: q, apart: true, schema: s}
	for p.skip() {
		p.term()
	}
	return s.assemble(p.items, cut)
}

// tidy cuts a query and removes characters that cannot be shown. A word that was cut is removed.
func tidy(q string, limit int) (tidied string, cut bool) {
	q = strings.TrimSpace(q)
	if len(q) > limit {
		cut = true
		end := limit
		for end > limit-utf8.UTFMax && !utf8.RuneStart(q[end]) {
			end--
		}
		if r, _ := utf8.DecodeRuneInString(q[end:]); !unicode.IsSpace(r) {
			if blank := strings.LastIndexFunc(q[:end], unicode.IsSpace); blank > 0 {
				end = blank
			}
		}
		q = q[:end]
	}
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r):
			return ' '
		case r == '\u200c' || r == '\u200d': // the joiners
			return r
		case unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(q, " ")), cut
}

// parser splits a query into items.
type parser struct {
	rest  string
	apart bool // a blank, a parenthesis or nothing precedes rest
	depth int  // of open parentheses
	not   int  // everything is excluded while depth is not smaller; 0: nothing is
	items []item

	schema Schema
}

// skip moves to the next term, and reports whether there is one.
func (p *parser) skip() bool {
	for p.rest != "" {
		r, n := utf8.DecodeRuneInString(p.rest)
		switch {
		case unicode.IsSpace(r):
			p.apart = true
		case r == '(':
			p.depth++
			p.apart = true
		case r == ')':
			p.leave(1)
			p.apart = true
		case isMinus(r) && !p.apart: // "a"-b
		default:
			return true
		}
		p.rest = p.rest[n:]
	}
	return false
}

func (p *parser) leave(n int) {
	p.depth = max(p.depth-n, 0)
	if p.depth < p.not {
		p.not = 0
	}
}

// term reads one term, or the beginning of an excluded parenthesis.
func (p *parser) term() {
	minus, apart := 0, p.apart
	if apart {
		minus = exclusion(p.rest)
	}
	p.rest, p.apart = p.rest[minus:], false
	if minus > 0 && p.rest[0] == '(' {
		p.rest, p.apart = p.rest[1:], true
		p.depth++
		if p.not == 0 {
			p.not = p.depth
		}
		return
	}
	not := minus > 0 || p.not > 0
	if r, n := utf8.DecodeRuneInString(p.rest); isQuote(r) {
		if !apart && strings.IndexFunc(p.rest[n:], isQuote) < 0 { // 24" monitor
			p.rest, p.apart = p.rest[n:], true
			return
		}
		if text := p.quoted(); text != "" {
			p.add(Atom{Text: text, Phrase: true}, not)
		}
		return
	}
	word, closing := p.word()
	if !p.named(word, not) {
		if i, ok := operators[word]; ok && minus == 0 {
			p.items = append(p.items, i)
		} else {
			p.add(starred(word), not)
		}
	}
	p.leave(closing)
}

// operators are the words with a meaning. At the ends of a query they are normal words.
var operators = map[string]item{
	"OR":  {kind: or, word: "or"},
	"|":   {kind: or},
	"AND": {kind: and, word: "and"},
}

// add adds a wanted or excluded atom.
func (p *parser) add(a Atom, not bool) {
	if !not {
		p.items = append(p.items, item{kind: wanted, atom: a})
		return
	}
	if !a.Phrase && !startsWord(a.String()) {
		// A parenthesis excluded it. A minus can be before it only if it is in quotes.
		a = Atom{Text: a.String(), Phrase: true}
	}
	p.items = append(p.items, item{kind: excluded, atom: a})
}

// quoted reads a phrase with its quotes.
func (p *parser) quoted() string {
	_, n := utf8.DecodeRuneInString(p.rest)
	text, rest := p.rest[n:], ""
	if end := strings.IndexFunc(text, isQuote); end >= 0 {
		_, n = utf8.DecodeRuneInString(text[end:])
		text, rest = text[:end], text[end+n:]
	}
	p.rest = rest
	return strings.Join(strings.Fields(text), " ")
}

// word reads up to the next blank or quote. Closing parentheses at the end are not a part of the
// word, unless they were opened in it.
func (p *parser) word() (word string, closing int) {
	end := strings.IndexFunc(p.rest, func(r rune) bool { return unicode.IsSpace(r) || isQuote(r) })
	if end < 0 {
		end = len(p.rest)
	}
	word, p.rest = p.rest[:end], p.rest[end:]
	extra := strings.Count(word, ")") - strings.Count(word, "(")
	for extra > closing && strings.HasSuffix(word, ")") {
		word = word[:len(word)-1]
		closing++
	}
	return word, closing
}

// named reads title:text and filters. It returns false, and reads nothing, if word is neither.
func (p *parser) named(word string, not bool) bool {
	name, value, ok := strings.Cut(word, ":")
	if name = strings.ToLower(name); !ok || name != "title" && !p.schema.has(name) {
		return false
	}
	before := p.rest
	var inQuotes bool
	if r, _ := utf8.DecodeRuneInString(p.rest); value == "" && isQuote(r) {
		value, inQuotes = p.quoted(), true
	}
	switch {
	case value == "":
	case name == "title":
		a := Atom{Text: value, Phrase: inQuotes}
		if !inQuotes {
			a = starred(value)
		}
		a.Title = true
		p.add(a, not)
		return true
	default:
		if f, ok := p.schema.newFilter(name, value, not); ok {
			p.items = append(p.items, item{kind: narrows, filter: f})
			return true
		}
	}
	p.rest = before
	return false
}

// starred makes an atom of a word, or of a prefix with a star.
func starred(word string) Atom {
	stem := strings.TrimRight(word, "*")
	if stem == word {
		return Atom{Text: word}
	}
	n := 0
	for _, r := range stem {
		if isWordRune(r) {
			n++
		}
	}
	if n < 2 {
		return Atom{Text: word}
	}
	return Atom{Text: stem, Prefix: true}
}

// exclusion is the length of the minus at the beginning of s. It is 0 if there is none that
// excludes.
func exclusion(s string) int {
	r, n := utf8.DecodeRuneInString(s)
	if !isMinus(r) {
		return 0
	}
	if next, _ := utf8.DecodeRuneInString(s[n:]); next == '(' || isQuote(next) || startsWord(s[n:]) {
		return n
	}
	return 0
}

// startsWord reports whether s begins with a letter or digit. One of the characters at the
// beginning of file names, variables and addresses may precede it.
func startsWord(s string) bool {
	r, n := utf8.DecodeRuneInString(s)
	if strings.ContainsRune("._@#$/", r) {
		r, _ = utf8.DecodeRuneInString(s[n:])
	}
	return isWordRune(r)
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) }

// isMinus reports whether r is a hyphen, one of its typographic forms, or the minus sign.
func isMinus(r rune) bool { return strings.ContainsRune("-\u2010\u2011\u2013\u2212\ufe63\uff0d", r) }

func isQuote(r rune) bool {
	return strings.ContainsRune("\"\u201c\u201d\u201e\u201f\u00ab\u00bb\uff02", r)
}
