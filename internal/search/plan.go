package search

import (
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/query"
	"github.com/curtsy/curtsy/internal/search/analysis"
	"github.com/curtsy/curtsy/internal/searchrules"
)

// Plan is a query on its way through the shards. planOf makes it; the shards' answers to Terms
// complete it (see Settle); Rank and Show need it complete. It is sent as JSON.
type Plan struct {
	Clauses []Clause      `json:"clauses,omitempty"` // what pages should have
	Not     []Clause      `json:"not,omitempty"`     // what pages must not have
	Filters query.Filters `json:"filters"`
	Stats   Stats         `json:"stats"` // of the whole crawl
	// Need is how many of the clauses with weight a page must have to be found. Mostly it is one,
	// and the rank decides: a question has words that its answer does not have. If the query has a
	// word in quotes, or one that must be in the title, all are required. If the answer is sorted
	// by a field, all are, or of three and more all but one.
	Need int `json:"need"`
	// Near contains for Show, by address, how many of the clauses with weight occur near one
	// another somewhere in the main text of a page, as found by Rank. A snippet with as many is
	// good enough, and the rest of a long page need not be read. A page that is not in Near is read
	// until all are found.
	Near map[string]int `json:"near,omitempty"`
	// Facets are the fields of site rules by which the pages that match are counted.
	Facets []string `json:"facets,omitempty"`
	// Sort is the field by which the hits are sorted. Nil: they are sorted by their score.
	Sort *query.Sort `json:"sort,omitempty"`
	// Section contains for Show, by address, the Nth of the section that answers the query best,
	// plus one.
	Section map[string]uint32 `json:"section,omitempty"`
	// Rules are what search rules require of the query; nil: nothing.
	Rules *searchrules.Curation `json:"rules,omitempty"`
	// NearAt contains which word of the main text that is, if it is not the first.
	NearAt map[string]int `json:"nearAt,omitempty"`
}

// Clause is one condition, which a page can meet by one of several matches.
type Clause struct {
	Any []Match `json:"any"`
	// Light words (of, the, how) have little weight, and are not required.
	Light bool `json:"light,omitempty"`
	// IDF is the weight of the clause by its rarity in the whole crawl.
	IDF float64 `json:"idf"`
}

// Match is a word, or several at consecutive positions.
type Match struct {
	Slots  []Slot  `json:"slots"`
	Weight float64 `json:"weight"`          // at most 1
	Title  bool    `json:"title,omitempty"` // only in titles
	// Name says that its words are the parts of one name, such as read-only, that was not in
	// quotes, or that its word is such a part.
	Name bool `json:"name,omitempty"`
	// Synonym means that search rules have added it; see synonyms.go.
	Synonym bool `json:"synonym,omitempty"`
	// Fallback is used if the matches before it find nothing in the whole crawl.
	Fallback bool    `json:"fallback,omitempty"`
	IDF      float64 `json:"idf"`
}

// Slot is a word of a Match.
type Slot struct {
	Word   string `json:"word"`             // lower-cased
	Prefix bool   `json:"prefix,omitempty"` // words that begin with it
	Exact  bool   `json:"exact,omitempty"`  // not in other forms: it was in quotes, or is a name
	// Forms are the words of the crawl that it represents; Settle sets them.
	Forms []Form `json:"forms,omitempty"`
}

// Form is a word that pages have.
type Form struct {
	Word   string  `json:"word"`
	Weight float64 `json:"weight"` // 1: the word as in the query; less for other forms of it
	Pages  uint64  `json:"pages"`  // number of pages of the whole crawl that have it, at most
}

// The weights of forms other than the word as typed.
const (
	weightAccents = 0.95
	weightStem    = 0.85
	weightBegins  = 0.8
	weightSpelled = 0.95
)

// planOf makes the plan of a query. sort is nil if the best hit is to be first.
func planOf(q query.Query, sort *query.Sort) *Plan {
	p := &Plan{Filters: q.Filters, Facets: facetFields(q.Schema()), Sort: sort}
	var z analysis.Tokenizer
	for _, g := range q.Groups {
		if c := clause(&z, g.Any); len(c.Any) > 0 {
			p.Clauses = append(p.Clauses, c)
		}
	}
	for _, a := range q.Not {
		if a.Option() {
			// Nobody excludes all pages with a letter; this is an option, as in dpkg -i.
			a.Text = "-" + a.Text
			p.Clauses = append(p.Clauses, clause(&z, []query.Atom{a}))
		}
	}
	p.lighten()
	for _, a := range q.Not {
		if a.Option() {
			continue
		}
		if c := clause(&z, []query.Atom{a}); len(c.Any) > 0 {
			p.Not = append(p.Not, c)
		}
	}
	switch p.Need = p.heavy(); {
	case slices.ContainsFunc(q.Groups, strict):
	case sort == nil:
		p.Need = min(p.Need, 1)
	case p.Need >= 3:
		p.Need--
	}
	return p
}

// strict reports whether the query says explicitly what must be there.
func strict(g query.Group) bool {
	return slices.ContainsFunc(g.Any, func(a query.Atom) bool { return a.Phrase || a.Title })
}

// lighten marks the words with little meaning, unless there are no others.
func (p *Plan) lighten() {
	light := 0
	for i := range p.Clauses {
		c := &p.Clauses[i]
		m := c.Any[0]
		if len(c.Any) == 1 && len(m.Slots) == 1 && !m.Slots[0].Exact && !m.Slots[0].Prefix && !m.Title && analysis.IsStopWord(m.Slots[0].Word) {
			c.Light = true
			light++
		}
	}
	if light == len(p.Clauses) {
		for i := range p.Clauses {
			p.Clauses[i].Light = false
		}
	}
}

// heavy is how many clauses have weight.
func (p *Plan) heavy() (n int) {
	for i := range p.Clauses {
		if !p.Clauses[i].Light {
			n++
		}
	}
	return n
}

// clause makes a clause of alternatives.
func clause(z *analysis.Tokenizer, atoms []query.Atom) (c Clause) {
	for _, a := range atoms {
		c.Any = append(c.Any, matches(z, a)...)
	}
	return c
}

// split makes clauses of the parts of names, after no page was found to have them in a row, so that
// the rarest part counts most. It reports whether there were any names.
func (p *Plan) split() (any bool) {
	var all []Clause
	for n, c := range p.Clauses {
		i := slices.IndexFunc(c.Any, func(m Match) bool { return m.Name && len(m.Slots) > 1 })
		if i < 0 || len(all)+len(c.Any[i].Slots)+len(p.Clauses)-n-1 > maxClauses {
			all = append(all, c)
			continue
		}
		any = true
		name := c.Any[i]
		for k, s := range name.Slots {
			part := Clause{Any: []Match{{Slots: []Slot{s}, Weight: name.Weight, Title: name.Title, Name: true}}}
			if k == 0 {
				part.Any = append(slices.Clone(c.Any), part.Any...)
			}
			all = append(all, part)
		}
	}
	if !any {
		return false
	}
	p.Clauses = all
	for i := range p.Clauses {
		p.weigh(&p.Clauses[i])
	}
	if p.Need > 1 {
		p.Need = p.heavy()
	}
	return true
}

// maxClauses is the maximum number of clauses of a plan: each is a bit.
const maxClauses = 32

// maxSlots is the maximum number of words of a phrase that are used.
const maxSlots = 24

// matches returns the ways in which pages can have a word or phrase.
func matches(z *analysis.Tokenizer, a query.Atom) (all []Match) {
	var parts, wholes []Slot
	covered := 0 // length of the longest whole in bytes
	z.Tokens([]byte(a.Text), func(t analysis.Token) bool {
		s := Slot{Word: string(t.Word), Exact: a.Phrase}
		if t.Whole {
			s.Exact = true
			if n := t.End - t.Start; n > covered {
				wholes, covered = []Slot{s}, n
			}
			return true
		}
		parts = append(parts, s)
		return len(parts) < maxSlots
	})
	if a.Prefix {
		switch {
		case len(wholes) > 0:
			wholes[0].Prefix = true
			parts = nil
		case len(parts) > 0:
			parts[len(parts)-1].Prefix = true
		}
	}
	add := func(slots []Slot, weight float64, fallback bool) {
		all = append(all, Match{Slots: slots, Weight: weight, Title: a.Title, Fallback: fallback})
	}
	if len(wholes) > 0 && !(a.Phrase && covered < len(strings.TrimSpace(a.Text))-2) {
		add(wholes, 1, false)
	}
	switch {
	case len(parts) > 1:
		for i := range parts {
			parts[i].Exact = true
		}
		weight := 1.0
		if len(all) > 0 {
			weight = 0.8
		}
		add(parts, weight, false)
		all[len(all)-1].Name = !a.Phrase
	case len(parts) == 1 && len(all) > 0:
		// C++ is not C, but if no page has C++, pages about C are better than none. The words of
		// .htaccess and -Wall are as good as the whole.
		if len(parts[0].Word) <= 2 {
			add(parts, 0.3, true)
		} else {
			add(parts, 0.6, false)
		}
	case len(parts) == 1:
		add(parts, 1, false)
	}
	if len(parts) == 1 && aloneUnspaced(parts[0].Word) {
		all[len(all)-1].Slots[0].Prefix = true
	}
	return all
}

// aloneUnspaced reports whether a word is a single letter of a script that is indexed in pairs. It
// is then used as the beginning of pairs.
func aloneUnspaced(word string) bool {
	r := []rune(word)
	return len(r) == 1 && analysis.Unspaced(r[0])
}

// Step is a step of a search, which every shard is asked for.
type Step string

// The steps in their order. Methods of Index with these names answer them.
const (
	StepTerms Step = "terms"
	// StepWords is the first step of a search for pages that are similar to a page. StepTerms
	// follows.
	StepWords   Step = "words"
	StepSimilar Step = "similar"
	StepRank    Step = "rank"
	StepShow    Step = "show"
	// StepSuggest is the only step of a suggestion.
	StepSuggest Step = "suggest"
)

// Request is the request of one step. Its rows are Terms, Similar, PageWords, Ranked,
// crawl.Hit or Suggested.
type Request struct {
	*RankOptions          // of StepRank, else nil
	Plan         *Plan    `json:"plan,omitempty"` // of all steps except StepSimilar and StepWords
	Step         Step     `json:"step,omitempty"`
	URLs         []string `json:"urls,omitempty"` // of StepShow: the pages; of StepWords: one
	// Words are of StepSimilar: the words to look for; and of StepSuggest: see Index.Suggest.
	Words []string `json:"words,omitempty"`
}

// RankOptions belong to a Request of StepRank.
type RankOptions struct {
	Explain bool `json:"explain"` // list the signals of each hit
	N       int  `json:"n"`       // how many hits are wanted
	// After asks for the pages behind a position, in the order of the first stage or of the plan's
	// field. Nil: the best pages, in the order of the second stage or of the field.
	After *Position `json:"after,omitempty"`
}
