package search

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/curtsy/curtsy/internal/search/analysis"
	"github.com/curtsy/curtsy/internal/search/segment"
)

// Stats are figures of all pages that can be found, added up over the shards.
type Stats struct {
	Pages uint64                 `json:"pages"`
	Words [segment.Fields]uint64 `json:"words"` // of each part of them
}

func (s *Stats) add(o Stats) {
	s.Pages += o.Pages
	for i := range s.Words {
		s.Words[i] += o.Words[i]
	}
}

// mean is how many words a part of a page has on average, at least one.
func (s *Stats) mean(f segment.Field) float64 {
	return max(1, float64(s.Words[f])/float64(max(1, s.Pages)))
}

// Terms is what a shard knows of a Plan's words.
type Terms struct {
	Stats  Stats    `json:"stats"`
	Forms  [][]Form `json:"forms"` // of each slot, in the order of eachSlot
	Behind int64    `json:"behind"`
}

// eachSlot calls do for all slots of a plan.
func (p *Plan) eachSlot(do func(*Slot)) {
	for _, all := range [][]Clause{p.Clauses, p.Not} {
		for i := range all {
			for j := range all[i].Any {
				for k := range all[i].Any[j].Slots {
					do(&all[i].Any[j].Slots[k])
				}
			}
		}
	}
}

const (
	// maxForms is the maximum number of words that a slot represents; if there are more, those that
	// most pages have.
	maxForms = 64
	// maxShardForms is how many of them a shard returns: more, because it does not know which are
	// the most frequent in the whole crawl.
	maxShardForms = 512
	// maxBegins is how many words with one beginning are examined.
	maxBegins = 20_000
)

// Terms returns what the index knows of a plan's words, and how large the index is. It fails only
// when the file does.
func (x *Index) Terms(_ context.Context, p *Plan) (t Terms, err error) {
	defer x.edge(&err)()
	t.Behind = x.Behind()
	if x.empty() {
		p.eachSlot(func(*Slot) { t.Forms = append(t.Forms, nil) })
		return t, x.broken
	}
	err = x.view(func(v *view) error {
		t.Stats = v.stats()
		k := analysis.NewQueryKeyer(v.languages())
		p.eachSlot(func(s *Slot) { t.Forms = append(t.Forms, v.forms(k, s)) })
		return nil
	})
	if err != nil {
		return t, fmt.Errorf("search: %w", err)
	}
	return t, nil
}

// stats adds up the pages of a view.
func (v *view) stats() (s Stats) {
	for _, p := range v.parts {
		sums := p.Sums()
		s.Pages += uint64(p.Len())
		for f := range s.Words {
			s.Words[f] += sums[f]
		}
		if p.dead == nil {
			continue
		}
		for i := range p.Len() {
			if p.deleted(i) {
				s.Pages--
				for f := range s.Words {
					s.Words[f] -= uint64(p.Words(i, segment.Field(f)))
				}
			}
		}
	}
	return s
}

// forms returns the words of the view that a slot represents.
func (v *view) forms(k *analysis.QueryKeyer, s *Slot) []Form {
	var keys [][]byte
	if !s.Prefix && !s.Exact {
		keys = k.Stems(s.Word)
	}
	accents := k.Accents(nil, s.Word)
	found := map[string]*Form{}
	note := func(p *part, word []byte, e *segment.Entry, weight float64) {
		f := found[string(word)]
		if f == nil {
			f = &Form{Word: string(word)}
			found[f.Word] = f
		}
		f.Weight, f.Pages = max(f.Weight, weight), f.Pages+p.having(e)
	}
	for _, p := range v.parts {
		seen := map[string]bool{}
		once := func(word []byte, e segment.Entry, weight float64) {
			if f := found[string(word)]; f != nil {
				f.Weight = max(f.Weight, weight)
			}
			if !seen[string(word)] {
				seen[string(word)] = true
				note(p, word, &e, weight)
			}
		}
		if e, ok := p.Word([]byte(s.Word)); ok {
			once([]byte(s.Word), e, 1)
		}
		if s.Prefix {
			n := 0
			for word, unread := range p.Beginning([]byte(s.Word)) {
				if len(word) > len(s.Word) { // each occurs once
					e := unread.Entry()
					note(p, word, &e, weightBegins)
				}
				if n++; n == maxBegins {
					break
				}
			}
			continue
		}
		if plain := analysis.Plain(s.Word); plain != s.Word {
			if e, ok := p.Word([]byte(plain)); ok {
				once([]byte(plain), e, weightAccents)
			}
		}
		for word, e := range p.WithKey(accents) {
			once(word, e, weightAccents)
		}
		if s.Exact {
			continue
		}
		for _, key := range keys {
			for word, e := range p.WithKey(key) {
				once(word, e, weightStem)
			}
		}
	}
	all := make([]Form, 0, len(found))
	for _, f := range found {
		all = append(all, *f)
	}
	return mostFrequent(all, maxShardForms)
}

// having is how many live pages have a word, or have links to them with it.
func (p *part) having(e *segment.Entry) (n uint64) {
	if p.dead == nil {
		return uint64(e.Pages)
	}
	for post := e.Postings(); post.Next(); {
		if !p.deleted(post.Page) {
			n++
		}
	}
	return n
}

func mostFrequent(all []Form, most int) []Form {
	slices.SortFunc(all, func(a, b Form) int {
		return cmp.Or(cmp.Compare(int(b.Weight), int(a.Weight)), cmp.Compare(b.Pages, a.Pages), cmp.Compare(a.Word, b.Word))
	})
	return all[:min(len(all), most)]
}

// Settle completes a plan with what all shards know of its words.
func (p *Plan) Settle(all []Terms) {
	p.Stats = Stats{}
	for i := range all {
		p.Stats.add(all[i].Stats)
	}
	n := 0
	p.eachSlot(func(s *Slot) {
		found := map[string]Form{}
		for i := range all {
			if n >= len(all[i].Forms) {
				continue
			}
			for _, f := range all[i].Forms[n] {
				was := found[f.Word]
				found[f.Word] = Form{f.Word, max(f.Weight, was.Weight), f.Pages + was.Pages}
			}
		}
		s.Forms = mostFrequent(slices.Collect(maps.Values(found)), maxForms)
		n++
	})
	for _, all := range [][]Clause{p.Clauses, p.Not} {
		for i := range all {
			p.weigh(&all[i])
		}
	}
}

// weigh sets the weight of a clause by its rarity, and removes alternatives that are not needed.
func (p *Plan) weigh(c *Clause) {
	known := func(m Match) bool {
		return !slices.ContainsFunc(m.Slots, func(s Slot) bool { return len(s.Forms) == 0 })
	}
	any := slices.ContainsFunc(c.Any, func(m Match) bool { return !m.Fallback && known(m) })
	c.Any = slices.DeleteFunc(c.Any, func(m Match) bool { return m.Fallback && any })
	c.IDF = 0
	for j := range c.Any {
		m := &c.Any[j]
		m.IDF = p.rarity(m)
		c.IDF = max(c.IDF, m.IDF)
	}
	c.limitSynonyms()
	if c.Light {
		c.IDF *= lightShare
		for j := range c.Any {
			c.Any[j].IDF *= lightShare
		}
	}
}

// lightShare is the remaining part of the weight of a light word.
const lightShare = 0.15

// rarity is the weight of a match: the root of BM25's weight, in [0.3, …). With the weight itself,
// one rare word that a page does not have, such as the verb of a question, would count more than
// two that form its title.
func (p *Plan) rarity(m *Match) float64 {
	least, sum := math.MaxFloat64, 0.0
	for _, s := range m.Slots {
		pages := 0.0
		for _, f := range s.Forms {
			pages += float64(f.Pages)
		}
		least = min(least, pages)
		sum += pages
	}
	if len(m.Slots) > 1 {
		least /= 2 // words in a row are rarer than each of them
	}
	n := float64(p.Stats.Pages)
	least = min(least, n)
	return math.Sqrt(max(0.1, math.Log(1+(n-least+0.5)/(least+0.5))))
}
