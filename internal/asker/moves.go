package asker

import (
	"context"
	"fmt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/searchrules"
)

// Move is a page among the first hits of a query, before or after a change of search rules.
type Move struct {
	URL    string `json:"url"`
	Title  string `json:"title"`
	Was    int    `json:"was"` // its rank before, from 1 on; 0: it was not among the first
	Is     int    `json:"is"`  // its rank after; 0: it is not among the first
	Pinned bool   `json:"pinned,omitempty"`
}

// Text is what happens to the page, in words.
func (m Move) Text() string {
	switch {
	case m.Was == 0:
		return "new"
	case m.Is == 0:
		return "gone"
	case m.Is < m.Was:
		return fmt.Sprintf("up %d", m.Was-m.Is)
	case m.Is > m.Was:
		return fmt.Sprintf("down %d", m.Is-m.Was)
	}
	return "same"
}

// previewed is how many hits of a query a preview compares.
const previewed = 10

// Moves are the first ten hits of a query by other search rules than those of the crawl, and behind
// them those that would no longer be among the first ten. nothing changes in the crawl. moved
// reports whether there is any difference. If shards do not answer, the error is an
// ask.ErrIncomplete, and the answer of the others is valid.
func (c *Crawl) Moves(ctx context.Context, query string, rules *searchrules.Rules) (moves []Move, moved bool, err error) {
	r := crawl.SearchRequest{Query: query, Limit: previewed}
	was, err := c.Search(ctx, r)
	if err != nil && len(was.Hits) == 0 {
		return nil, false, err
	}
	is, err := c.SearchBy(ctx, r, func(*searchrules.Rules) *searchrules.Rules { return rules })
	if err != nil && len(is.Hits) == 0 {
		return nil, false, err
	}
	ranks := map[string]int{}
	for i, h := range was.Hits {
		ranks[h.URL] = i + 1
	}
	for i, h := range is.Hits {
		moves = append(moves, Move{URL: h.URL, Title: h.Title, Was: ranks[h.URL], Is: i + 1, Pinned: h.Pinned})
		moved = moved || ranks[h.URL] != i+1
		delete(ranks, h.URL)
	}
	for _, h := range was.Hits {
		if n := ranks[h.URL]; n > 0 {
			moves, moved = append(moves, Move{URL: h.URL, Title: h.Title, Was: n}), true
		}
	}
	return moves, moved, err
}

// SearchRules returns the text of the search rules of the crawl as they are now, "" if it has none.
func (c *Crawl) SearchRules(ctx context.Context) (string, error) {
	spec, err := c.spec(ctx)
	if err != nil {
		return "", err
	}
	return spec.SearchRules, nil
}
