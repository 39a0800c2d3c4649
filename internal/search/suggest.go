package search

import (
	"context"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/query"
	"github.com/curtsy/curtsy/internal/search/analysis"
)

const (
	// minMistyped is the minimum length in bytes of a word with pages that may count as a typing
	// error. Many short words differ in one letter and are both correct: lpad, load.
	minMistyped = 6
	// maxMistyped is the maximum number of pages with a word that may count as a typing error.
	maxMistyped = 5
	// muchMore is the factor by which more pages must have the other word, and the other query must
	// find more.
	muchMore = 10
)

// suggest suggests another spelling if few pages have all words although some pages have each,
// because pages contain typing errors, too. It changes only answer.Suggestion. had is how many
// pages have all words. Most queries find enough pages or have no such word, and cost nothing;
// others cost three more requests. A word in the title or the address of a hit is not replaced.
func (p *Plan) suggest(ctx context.Context, q query.Query, typed string, had int64, shards Shards, answer *crawl.SearchAnswer) error {
	words := p.mistyped()
	if had >= fewHits || answer.Suggestion != "" {
		return nil
	}
	words = slices.DeleteFunc(words, func(w string) bool {
		return slices.ContainsFunc(answer.Hits, func(h crawl.Hit) bool {
			return strings.Contains(analysis.Lower(h.Title), w) || strings.Contains(analysis.Lower(h.URL), w)
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
	other := planOf(q.Schema().Parse(text))
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

// mistyped are the words of the query that so few pages have that they may be typing errors.
func (p *Plan) mistyped() (words []string) {
	p.eachTyped(func(c *Clause, s *Slot) {
		pages := uint64(0)
		for _, f := range s.Forms {
			pages += f.Pages
		}
		if !c.Light && len(s.Word) >= minMistyped && analysis.IsAlphabetic(s.Word) && pages > 0 && pages <= maxMistyped {
			words = append(words, s.Word)
		}
	})
	slices.Sort(words)
	return slices.Compact(words)
}

// better returns the word that was probably meant by word, which few pages have. It is "" if no
// similar word is much more frequent.
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
