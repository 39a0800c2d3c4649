package searchrules

import (
	"slices"
	"sync"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/query"
)

// Rules are the rules of a file, checked. They never change, and may be used concurrently. Nil has
// no rules.
type Rules struct {
	synonyms *Synonyms
	results  []result
	demote   []Factor
	weights  map[string]float64
}

// result is what one query finds, or what all queries find that contain its words.
type result struct {
	query string // as it is written
	words []string
	exact bool
	pin   []string
	hide  []string
	boost []Factor
}

// Factor changes the score of the pages whose address begins with Of.
type Factor struct {
	// Of is the beginning of a URL in a boost, and a host or the beginning of a path (host/path) in
	// a demotion. A host is also that of the names below it.
	Of string  `json:"of"`
	By float64 `json:"by"` // the score is multiplied by it; 1 changes nothing
}

// Curation is what the rules say of a query.
type Curation struct {
	// Pins are URLs that come first, in this order. A page that is not stored, that may not be
	// shown or that a filter of the query excludes is left out.
	Pins []string `json:"pins,omitempty"`
	// Hide are URLs that are not found.
	Hide []string `json:"hide,omitempty"`
	// Boost and Demote change scores. If several apply to a page, all do.
	Boost  []Factor `json:"boost,omitempty"`
	Demote []Factor `json:"demote,omitempty"`
	// Weights are factors of the weights of signals, by their names; see WeightNames. A name that
	// is not in it has the factor of the defaults.
	Weights map[string]float64 `json:"weights,omitempty"`
}

// Empty reports whether the rules say nothing of a query.
func (c *Curation) Empty() bool {
	return len(c.Pins)+len(c.Hide)+len(c.Boost)+len(c.Demote)+len(c.Weights) == 0
}

// WeightNames are the groups of signals that can be weighted: words in titles, in addresses, in
// headings, in texts of links and links themselves, and in the main text; how much a page is a list
// of links; and how new it is. Only freshness has no weight unless it is given one.
func WeightNames() []string {
	return []string{"title", "address", "headings", "links", "text", "lists", "freshness"}
}

// Synonyms are those of the rules, nil if there are none.
func (r *Rules) Synonyms() *Synonyms {
	if r == nil {
		return nil
	}
	return r.synonyms
}

// WithSynonyms returns rules with these synonyms instead of their own. r may be nil.
func (r *Rules) WithSynonyms(s *Synonyms) *Rules {
	var next Rules
	if r != nil {
		next = *r
	}
	next.synonyms = s
	return &next
}

// For returns what the rules say of a query. Rules for exactly this query come before those for
// some of its words, and otherwise those that stand first in the file.
func (r *Rules) For(q query.Query) (c Curation) {
	if r == nil {
		return c
	}
	c.Demote, c.Weights = r.demote, r.weights
	if len(r.results) == 0 {
		return c
	}
	words := wordsOfQuery(q)
	if len(words) == 0 {
		return c
	}
	for _, exact := range []bool{true, false} {
		for i := range r.results {
			if one := &r.results[i]; one.exact == exact && one.applies(words) {
				c.Pins = addNew(c.Pins, one.pin)
				c.Hide = addNew(c.Hide, one.hide)
				c.Boost = append(slices.Clip(c.Boost), one.boost...)
			}
		}
	}
	c.Pins = slices.DeleteFunc(c.Pins, func(u string) bool { return slices.Contains(c.Hide, u) })
	c.Pins = c.Pins[:min(len(c.Pins), MaxPins)]
	c.Hide = c.Hide[:min(len(c.Hide), MaxHidden)]
	c.Boost = c.Boost[:min(len(c.Boost), MaxBoosts)]
	return c
}

func (r *result) applies(words []string) bool {
	if r.exact {
		return slices.Equal(words, r.words)
	}
	return !slices.ContainsFunc(r.words, func(w string) bool { return !slices.Contains(words, w) })
}

// addNew adds the texts that are not in a list to a copy of it.
func addNew(list, more []string) []string {
	list = slices.Clone(list)
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// specName is the name of the file in messages about the rules of a spec, because the spec has only
// its text.
const specName = "search rules"

// compiled are the rules that Of made last. Each search of a process asks for the same ones.
var compiled struct {
	mu    sync.Mutex // guards the others
	text  string
	rules *Rules
}

// Of returns the rules of a crawl, nil if it has none.
func Of(spec *crawl.Spec) (*Rules, error) {
	if spec.SearchRules == "" {
		return nil, nil
	}
	compiled.mu.Lock()
	defer compiled.mu.Unlock()
	if compiled.rules == nil || compiled.text != spec.SearchRules {
		rules, err := ParseFile(specName, spec.SearchRules)
		if err != nil {
			return nil, err
		}
		compiled.text, compiled.rules = spec.SearchRules, rules
	}
	return compiled.rules, nil
}
