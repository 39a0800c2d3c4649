package search

import (
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/query"
	"github.com/curtsy/curtsy/internal/search/analysis"
	"github.com/curtsy/curtsy/internal/searchrules"
)

// Synonyms are further matches of clauses. If a synonym stands for several words of the query, each
// of their clauses has it: a page with the synonym meets all of them, and a page with the words
// meets them wherever it has them. The weight and the rarity of a clause stay those of its own
// words, so that a rare synonym does not count more than what was typed.

const (
	// weightSynonym is the weight of a synonym, compared with the word as typed.
	weightSynonym = 0.7
	// maxSynonyms is how many matches a clause gets from synonyms.
	maxSynonyms = 16
)

// tune applies search rules to a plan that was made of q. languages are those that the reader
// prefers. rules may be nil.
func (p *Plan) tune(q query.Query, languages []string, rules *searchrules.Rules) {
	p.Rules = curation(rules.For(q))
	if s := rules.Synonyms(); s != nil {
		if len(q.Filters.Langs) > 0 {
			languages = q.Filters.Langs
		}
		p.widen(q, s, languages)
	}
}

// widen adds synonyms to the clauses of a plan. Words in quotes, in title: and with a star are not
// expanded, and neither is what a query excludes.
func (p *Plan) widen(q query.Query, s *searchrules.Synonyms, languages []string) {
	var z analysis.Tokenizer
	var words []string
	var clauses []int // by word
	n := 0
	for _, g := range q.Groups {
		if len(clause(&z, g.Any).Any) == 0 {
			continue // the plan has no clause for it
		}
		for _, a := range g.Any {
			if a.Phrase || a.Title || a.Prefix {
				a.Text = ""
			}
			words, clauses = append(words, a.Text), append(clauses, n)
			if len(g.Any) > 1 { // no phrase continues in an alternative
				words, clauses = append(words, ""), append(clauses, n)
			}
		}
		n++
	}
	added := make([]int, len(p.Clauses))
	for _, e := range s.Expand(words, languages) {
		of := slices.Compact(slices.Clone(clauses[e.From:e.To]))
		if heavy := slices.DeleteFunc(slices.Clone(of), func(k int) bool { return p.Clauses[k].Light }); len(heavy) > 0 {
			of = heavy
		} else {
			of = of[len(of)-1:]
			p.Clauses[of[0]].Light = false // it says more than its word
		}
		for _, term := range e.Terms {
			more := synonym(&z, term)
			for _, k := range of {
				if added[k] += len(more); added[k] <= maxSynonyms {
					p.Clauses[k].Any = append(p.Clauses[k].Any, copied(more)...)
				}
			}
		}
	}
}

// synonym returns the ways in which pages can have a synonym.
func synonym(z *analysis.Tokenizer, term string) []Match {
	phrase := strings.Contains(term, " ")
	all := slices.DeleteFunc(matches(z, query.Atom{Text: term, Phrase: phrase}), func(m Match) bool { return m.Fallback })
	for i := range all {
		m := &all[i]
		m.Synonym, m.Name, m.Weight = true, false, m.Weight*weightSynonym
		for j := range m.Slots {
			if phrase && len(m.Slots) > 1 {
				m.Slots[j].Exact = false // "web server" is also "web servers"
			}
		}
	}
	return all
}

// copied copies matches, so that each clause has forms of its own.
func copied(all []Match) []Match {
	all = slices.Clone(all)
	for i := range all {
		all[i].Slots = slices.Clone(all[i].Slots)
	}
	return all
}

// limitSynonyms gives a clause the weight of the words that were typed, or, if no page has these,
// that of their synonyms. No synonym counts more than that.
func (c *Clause) limitSynonyms() {
	var typed, others float64
	found, any := false, false
	for i := range c.Any {
		m := &c.Any[i]
		switch known := m.known(); {
		case m.Synonym:
			any = true
			if known {
				others = max(others, m.IDF)
			}
		case known:
			found, typed = true, max(typed, m.IDF)
		}
	}
	switch {
	case !any:
		return
	case found:
		c.IDF = typed
	case others > 0:
		c.IDF = others
	}
	for i := range c.Any {
		c.Any[i].IDF = min(c.Any[i].IDF, c.IDF)
	}
}

// known reports whether pages have all words of a match.
func (m *Match) known() bool {
	return !slices.ContainsFunc(m.Slots, func(s Slot) bool { return len(s.Forms) == 0 })
}
