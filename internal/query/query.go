// Package query reads Curtsy's search language. The command line, the HTTP interface and the search
// page use it, so that a query means the same everywhere.
//
// Every text is a valid query. Invalid syntax is read as words, and a query that is too long is
// cut. Help describes the language for users.
//
// The rules, in the order in which they are applied:
//
//   - Invalid UTF-8 and control characters are blanks. Invisible format characters are removed,
//     except for the joiners that some scripts need.
//   - The end of a query beyond MaxBytes or MaxTerms is cut.
//   - Words end at blanks and quotes. All other characters belong to words: C++, operator<<,
//     os.path.join and ->> are single words.
//   - Straight, curly and angle quotes open a phrase, and any of them closes it. A quote that is
//     never closed extends to the end. Directly after a word (24" monitor) such a quote is a blank.
//   - Parentheses around terms are blanks, so (a b) OR c is a AND (b OR c). A minus before a
//     parenthesis excludes everything in it. Parentheses within a word belong to it: array_agg(),
//     foo(bar).
//   - A minus excludes a term if it comes after a blank and directly before a word or quote. The
//     mathematical minus, and the dashes that editors make of it, are the same. So a - b, --flag
//     and ->> exclude nothing. A query that consists of -word alone asks for "-word", because a
//     user who pastes -Wall wants to find it. With other words it excludes, unless it is in quotes:
//     gcc "-Wall".
//   - NOT in capitals is a minus before the next term or parenthesis. At the end of a query, before
//     the only term of a query, and where it belongs to a text of SQL or of a standard (NOT NULL,
//     MUST NOT), it is a word.
//   - A plus before a word requires exactly this word, as quotes do.
//   - OR and | join the terms before and after them. AND has no effect. At the beginning and the
//     end of a query OR and AND are words (Text is then in lower case). Beside a filter or an
//     excluded term they have no effect. A | must have blanks around it.
//   - A star at the end of a word with at least two letters or digits makes it a prefix.
//   - title:word and title:"a phrase" search in titles. Filters has the filters. Their names may be
//     in upper or lower case, and their values may be quoted. With a Schema, the names of its
//     fields are filters, too. A filter with an invalid value, and any other name before a colon,
//     is a word. intitle:, filetype: and ext: are other names of title: and type:, and
//     allintitle: is title: for all words after it.
//   - sort: is the order of the answer.
//   - Other syntax of search engines (word~1, word^2, field:[a TO b]) is read without its signs, or
//     left out. Notes says so.
//
// All functions may be called concurrently.
package query

import (
	"strings"
	"time"
	"unicode/utf8"
)

// The limits of a query. The rest of a longer query is cut, and Query.Cut is set.
const (
	MaxBytes = 2048 // of the query as typed, and of its canonical spelling
	MaxTerms = 32   // words, phrases and filters together
)

// Query is a parsed query. Its canonical spelling is within MaxBytes and MaxTerms.
type Query struct {
	// Groups are all wanted. If there are none, the filters alone select the pages.
	Groups []Group
	// Not excludes pages with any of these terms. It may be set without Groups.
	Not []Atom
	// Filters select among the pages with the wanted words.
	Filters Filters
	// Cut: the query was over the limits, and its end was cut.
	Cut bool
	// Sort is the order that sort: asks for, as Schema.Sort and SearchRequest.Sort name it. A Sort
	// of the request precedes it. Empty: the best hit is first.
	Sort string
	// Notes are sentences, for people, about syntax that has no meaning here: how it was read, and
	// what to type. They are no part of the canonical spelling.
	Notes []string

	schema Schema
}

// Group is one or more alternatives: a OR b.
type Group struct{ Any []Atom }

// Atom is a word or a phrase. It may have no letters at all, such as "->>".
type Atom struct {
	Text   string // as typed, without quotes; a phrase has single blanks
	Phrase bool   // it was in quotes
	Prefix bool   // word*; Text is without the star
	Title  bool   // title:word or title:"a phrase"
}

// Filters are conditions for a page other than its words. A page must match one entry of each of
// Sites, Langs and Types that is not empty. It must match all of InURL, and none of the lists with
// Not.
type Filters struct {
	// Sites are "host" or "host/path?query". The host, in the spelling of pkg/canon, means itself
	// and its subdomains on any port. With a path, the page's path and query must begin with it,
	// byte by byte.
	Sites, NotSites []string
	// InURL are parts of an address, in lower case, otherwise as typed.
	InURL, NotInURL []string
	// Langs are language codes in lower case, without a region: "de".
	Langs, NotLangs []string
	// Types are media types ("text/html") or short forms without a slash ("html", "pdf"), in lower
	// case.
	Types, NotTypes []string
	// Before is exclusive and After inclusive. Both are the beginning of a day in UTC. The zero
	// time is no limit.
	Before, After time.Time
	// Fields are conditions for fields of the site rules. A page must pass one of the conditions
	// for each field, and all negated ones.
	Fields []FieldFilter `json:",omitempty"`
}

// Schema returns the fields with which the query was read.
func (q Query) Schema() Schema { return q.schema }

// Empty reports whether the query has no wanted word and no filter.
func (q Query) Empty() bool { return len(q.Groups) == 0 && q.Filters.count() == 0 }

// String is the canonical spelling. Parse makes the same query from it, except for Cut
// and Notes.
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
	if q.Sort != "" {
		add("sort:", q.Sort)
	}
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

// terms is how many terms of MaxTerms a query has.
func (q Query) terms() int {
	n := len(q.Not) + q.Filters.count()
	for _, g := range q.Groups {
		n += len(g.Any)
	}
	return n
}

// settled changes a query that consists of -word alone into a query for "-word".
func (q Query) settled() Query {
	if len(q.Not) == 1 && !q.Not[0].Phrase && !q.Not[0].Title && q.Empty() {
		q.Groups = []Group{{Any: []Atom{{Text: "-" + q.Not[0].String(), Phrase: true}}}}
		q.Not = nil
	}
	return q
}

// Option reports whether an excluded atom is a single letter or digit. Then it is the option of a
// command, and the user wants to find it.
func (a Atom) Option() bool {
	return !a.Phrase && !a.Title && !a.Prefix && utf8.RuneCountInString(a.Text) == 1
}
