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
	no // NOT: it excludes the term after it, and is itself a word at the end of the query
)

func (s Schema) parse(q string, limit int) Query {
	q, cut := tidy(q, limit)
	p := parser{rest: q, apart: true, schema: s}
	for p.skip() {
		p.term()
	}
	parsed := s.assemble(p.items, cut, p.negated)
	parsed.Sort, parsed.Notes = p.sort, p.notes
	return parsed
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

	negate   bool   // a NOT precedes rest
	negated  bool   // a NOT excluded a term
	allTitle bool   // allintitle: precedes rest
	last     string // the last word
	sort     string // of sort:
	notes    []string

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
			if p.negate {
				p.exclude()
			}
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
	p.negate = p.negate && n == 0
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
		p.exclude()
		return
	}
	required := false
	if minus == 0 {
		n := plus(p.rest)
		p.rest, required = p.rest[n:], n > 0
	}
	not := minus > 0 || p.not > 0 || p.negate
	if r, n := utf8.DecodeRuneInString(p.rest); isQuote(r) {
		if !apart && strings.IndexFunc(p.rest[n:], isQuote) < 0 { // 24" monitor
			p.rest, p.apart = p.rest[n:], true
			return
		}
		if text := p.quoted(); text != "" {
			p.unmarkedPhrase(text)
			p.add(Atom{Text: text, Phrase: true, Title: p.allTitle && !not}, not)
		}
		return
	}
	if p.ranged(not) {
		return
	}
	word, closing := p.word()
	if word == "TO" {
		word = "to" // so that no range can come about when terms between are moved
	}
	if !p.named(word, not) && (minus > 0 || required || !p.operator(word)) {
		a := starred(p.unmarked(word))
		a.Phrase = required && !a.Prefix
		a.Title = p.allTitle && !not
		p.wildcard(word)
		p.add(a, not)
	}
	p.last = word
	p.leave(closing)
}

// exclude excludes everything until the parenthesis that was just opened is closed.
func (p *parser) exclude() {
	p.negate = false
	if p.not == 0 {
		p.not = p.depth
	}
}

// operator reads a word with a meaning. It returns false if the word has none.
func (p *parser) operator(word string) bool {
	i, ok := operators[word]
	switch {
	case ok && i.kind == no && !p.negates():
		p.add(Atom{Text: i.word}, p.not > 0)
	case ok:
		p.negate = p.negate || i.kind == no
		p.items = append(p.items, i)
	case near.MatchString(word):
		p.note("%s has no meaning and is left out; pages with all words close together are first without it", shown(word))
	default:
		return false
	}
	return true
}

// filter adds a filter.
func (p *parser) filter(f filter) {
	p.negated, p.negate = p.negated || p.negate, false
	p.items = append(p.items, item{kind: narrows, filter: f})
}

// operators are the words with a meaning. At the ends of a query they are normal words.
var operators = map[string]item{
	"OR":  {kind: or, word: "or"},
	"|":   {kind: or},
	"AND": {kind: and, word: "and"},
	"NOT": {kind: no, word: "not"},
}

// add adds a wanted or excluded atom.
func (p *parser) add(a Atom, not bool) {
	p.negated, p.negate = p.negated || p.negate, false
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
	typed, value, ok := strings.Cut(word, ":")
	typed = strings.ToLower(typed)
	name := p.schema.ours(typed)
	sorts := name == "sort" && !p.schema.has(name)
	if !ok || name != "title" && !sorts && !p.schema.has(name) {
		return false
	}
	before := p.rest
	var inQuotes bool
	if r, _ := utf8.DecodeRuneInString(p.rest); value == "" && isQuote(r) {
		value, inQuotes = p.quoted(), true
	}
	all := name == "title" && typed == "allintitle" && !not
	switch {
	case value == "" && all && strings.TrimSpace(p.rest) != "":
		p.allTitle = true
		return true
	case value == "":
	case name == "title":
		p.allTitle = p.allTitle || all
		a := Atom{Text: value, Phrase: inQuotes}
		if inQuotes {
			p.unmarkedPhrase(value)
		} else {
			a = starred(p.unmarked(value))
		}
		a.Title = true
		p.add(a, not)
		return true
	case sorts:
		if !not && p.sorting(value) {
			return true
		}
		p.invalid(name, value, not)
	default:
		if f, ok := p.schema.newFilter(name, value, not); ok {
			p.filter(f)
			return true
		}
		p.invalid(name, value, not)
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
