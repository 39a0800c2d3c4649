// Package query reads Curtsy's search language. The command line, the HTTP interface and the search
// page all read a query here, so that the same words mean the same everywhere.
//
// No text is an error. What makes no sense as a query is read as words, and a query that is too
// long is cut. Help says what can be typed.
//
// What is read, in order:
//
//   - Invalid UTF-8 and control characters are blanks. Invisible format characters are left out,
//     but for the joiners that some scripts need.
//   - A query longer than MaxBytes or MaxTerms loses its end.
//   - Words end at blanks and quotes. All other signs belong to them: C++, operator<<,
//     os.path.join and ->> stay whole.
//   - Straight, curly and angle quotes open a phrase, and any of them closes it. A quote that is
//     never closed reaches to the end, but directly after a word (24" monitor) it is a blank.
//   - Parentheses around terms are blanks, so (a b) OR c is a AND (b OR c). A minus before one
//     excludes all that it encloses. Within a word parentheses belong to it: array_agg(), foo(bar).
//   - A minus (also the mathematical one, and the dashes that editors make of it) excludes when it
//     stands after a blank and directly before a word or quote. So a - b, --flag and ->> exclude
//     nothing. A query that is nothing but -word asks for "-word", because whoever pastes -Wall
//     wants to know what it means. Beside other words it excludes, and quotes keep it: gcc "-Wall".
//   - OR and | join the terms before and after them, AND says what is meant anyway. At the
//     beginning and the end of a query OR and AND are words (Text is then in lower case), and
//     beside a filter or an excluded term they mean nothing. A | must stand by itself.
//   - A star at the end of a word with at least two letters or digits makes it a prefix.
//   - title:word and title:"a phrase" look in titles. The filters are those of Filters; their
//     names are read in any case, and their values may be quoted. A filter whose value makes no
//     sense, and any other name before a colon, is a word.
//
// All functions can be called concurrently.
package query

import (
	"strings"
	"time"
	"unicode/utf8"
)

// The limits of a query. What goes beyond them is left out, and Query.Cut says so.
const (
	MaxBytes = 2048 // of the query as typed, and of its canonical spelling
	MaxTerms = 32   // words, phrases and filters together
)

// Query is a parsed query. Its canonical spelling is within MaxBytes and MaxTerms.
type Query struct {
	// Groups are all wanted. There may be none: then the filters alone say what is asked for.
	Groups []Group
	// Not are left out: pages with any of these. There may be some where nothing is wanted.
	Not []Atom
	// Filters narrow what the words find.
	Filters Filters
	// Cut says that the query was longer than the limits and its end was left out.
	Cut bool
}

// Group is one or more alternatives: a OR b.
type Group struct{ Any []Atom }

// Atom is a word or a phrase. It may hold no letter at all, such as "->>".
type Atom struct {
	Text   string // as typed, without quotes; a phrase has single blanks
	Phrase bool   // stood in quotes
	Prefix bool   // word*; Text is without the star
	Title  bool   // title:word or title:"a phrase"
}

// Filters are what a page must be beside what it says. Of Sites, Langs and Types a page needs one
// in each list that is not empty; of InURL it needs all; of the lists with Not it may have none.
type Filters struct {
	// Sites are "host" or "host/path?query". The host, in the spelling of pkg/canon, stands for
	// itself and its subdomains on any port. With a path, the page's path and query must begin
	// with it, byte by byte.
	Sites, NotSites []string
	// InURL are parts of an address, in lower case, otherwise as typed.
	InURL, NotInURL []string
	// Langs are language codes in lower case, without a region: "de".
	Langs, NotLangs []string
	// Types are media types ("text/html") or short forms without a slash ("html", "pdf"), in lower
	// case.
	Types, NotTypes []string
	// Before is exclusive and After inclusive, both the beginning of a day in UTC. The zero time is
	// no limit.
	Before, After time.Time
}

// Empty reports whether nothing is asked for: no word is wanted and no filter given.
func (q Query) Empty() bool { return len(q.Groups) == 0 && q.Filters.count() == 0 }

// String is the canonical spelling: Parse reads the same query from it, but for Cut.
func (q Query) String() string {
	var b strings.Builder
	add := func(parts ...string) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		for _, p := range parts {
			b.WriteString(p)
		}
	}
	for _, g := range q.Groups {
		for i, a := range g.Any {
			if i > 0 {
				add("OR")
			}
			add(a.String())
		}
	}
	for _, a := range q.Not {
		add("-", a.String())
	}
	q.Filters.each(func(name, value string) { add(name, ":", value) })
	return b.String()
}

// String is the canonical spelling of an atom.
func (a Atom) String() string {
	s := a.Text
	if a.Phrase {
		s = `"` + s + `"`
	}
	if a.Prefix {
		s += "*"
	}
	if a.Title {
		s = "title:" + s
	}
	return s
}

// terms is how much of MaxTerms a query takes.
func (q Query) terms() int {
	n := len(q.Not) + q.Filters.count()
	for _, g := range q.Groups {
		n += len(g.Any)
	}
	return n
}

// settled turns a query of nothing but -word into one for "-word".
func (q Query) settled() Query {
	if len(q.Not) == 1 && !q.Not[0].Phrase && !q.Not[0].Title && q.Empty() {
		q.Groups = []Group{{Any: []Atom{{Text: "-" + q.Not[0].String(), Phrase: true}}}}
		q.Not = nil
	}
	return q
}

// Option reports whether an excluded atom is a single letter or digit: then it is the option of a
// command, and meant to be found.
func (a Atom) Option() bool {
	return !a.Phrase && !a.Title && !a.Prefix && utf8.RuneCountInString(a.Text) == 1
}
