package search

import (
	"context"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/query"
)

const (
	// minMistyped is how long a word that pages have must be, in bytes, to be taken for a slip. Of
	// short words many differ by a letter and are both meant: lpad, load.
	minMistyped = 6
	// maxMistyped is how many pages have a word at most for it to be taken for a slip.
	maxMistyped = 5
	// muchMore is how many times as many pages must have the other word, and the other query find.
	muchMore = 10
)

// suggest offers another spelling where few pages have all words, though some have each: pages
// have slips, too. It changes nothing of the answer but Suggestion. had is how many pages have all
// words. Most questions find enough or have no such word, and cost nothing; others cost three
// questions more. A word that stands in the title or the address of a hit is meant as it is.
func (p *Plan) suggest(ctx context.Context, q query.Query, typed string, had int64, shards Shards, answer *crawl.SearchAnswer) error {
	words := p.mistyped()
	if had >= fewHits || answer.Suggestion != "" {
		return nil
	}
	words = slices.DeleteFunc(words, func(w string) bool {
		return slices.ContainsFunc(answer.Hits, func(h crawl.Hit) bool {
			return strings.Contains(lower(h.Title), w) || strings.Contains(lower(h.URL), w)
		})
	})
	if len(words) == 0 {
		return nil
	}
	similar, partly := shards.Similar(ctx, words)
	sums := addSimilar(similar)
	var swaps []string
	for _, w := range words {
		if better := better(sums[w], w); better != "" {
			swaps = append(swaps, w, better)
		}
	}
	if len(swaps) == 0 {
		return partly
	}
	text := respelled(q, typed, swaps)
	other := planOf(query.Parse(text))
	terms, err := shards.Terms(ctx, other)
	if err != nil {
		return err
	}
	other.Settle(terms)
	ranked, err := shards.Rank(ctx, other, 1, false)
	if err != nil {
		return err
	}
	if whole(ranked) >= max(fewHits, muchMore*had) {
		answer.Suggestion = text
	}
	return partly
}

// mistyped are the words asked for that so few pages have that they may be slips.
func (p *Plan) mistyped() (words []string) {
	p.eachTyped(func(c *Clause, s *Slot) {
		pages := uint64(0)
		for _, f := range s.Forms {
			pages += f.Pages
		}
		if !c.Light && len(s.Word) >= minMistyped && letters(s.Word) && pages > 0 && pages <= maxMistyped {
			words = append(words, s.Word)
		}
	})
	slices.Sort(words)
	return slices.Compact(words)
}

// better is the word that another with few pages is a slip of, "" when there is none, or none that
// is much more frequent.
func better(found []Spelled, word string) string {
	own, best := uint64(1), Spelled{}
	for _, f := range found {
		switch {
		case f.Word == word:
			own = max(own, f.Pages)
		case f.Off == 1 && (best.Word == "" || f.compare(best) < 0):
			best = f
		}
	}
	if best.Pages < muchMore*own {
		return ""
	}
	return best.Word
}
