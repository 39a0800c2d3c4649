package asker

import (
	"context"
	"errors"
	"slices"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/internal/search"
	"github.com/curtsy/curtsy/internal/searchrules"
)

// Search answers a query from all shards. Where shards do not answer, the error is an
// ask.ErrIncomplete, and the answer contains what the others found.
func (c *Crawl) Search(ctx context.Context, r crawl.SearchRequest) (crawl.SearchAnswer, error) {
	return c.SearchBy(ctx, r, nil)
}

// SearchBy is Search by other search rules than those of the crawl: change returns them, and gets
// those of the crawl, which may be nil. A nil change is Search.
func (c *Crawl) SearchBy(ctx context.Context, r crawl.SearchRequest, change func(*searchrules.Rules) *searchrules.Rules) (crawl.SearchAnswer, error) {
	s := &shards{c: c, there: all(c.Spec)}
	spec, err := c.spec(ctx)
	if err != nil {
		return crawl.SearchAnswer{Hits: []crawl.Hit{}}, err
	}
	// Rules that this version cannot read count as none.
	rules, _ := searchrules.Of(spec)
	if change != nil {
		rules = change(rules)
	}
	answer, err := search.Run(ctx, r, fieldsOf(spec), rules, s)
	if len(s.missing) > 0 {
		answer.Incomplete, answer.Missing, answer.MissingPages = true, s.missing, c.StoredIn(ctx, s.missing)
	}
	return answer, err
}

// Suggest answers what somebody may be about to type. Where shards do not answer, the error is an
// ask.ErrIncomplete, and the answer contains what the others found.
func (c *Crawl) Suggest(ctx context.Context, r crawl.SuggestRequest) (crawl.SuggestAnswer, error) {
	s := &shards{c: c, there: all(c.Spec)}
	fields, err := c.Fields(ctx)
	if err != nil {
		return crawl.SuggestAnswer{Queries: []string{}, Pages: []crawl.SuggestedPage{}}, err
	}
	answer, err := search.Complete(ctx, r, fields, s)
	answer.Incomplete, answer.Missing = len(s.missing) > 0, s.missing
	return answer, err
}

// shards are the shards of a crawl during one search, which asks them several times. A shard that
// did not answer once is not waited for again.
type shards struct {
	c              *Crawl
	there, missing []int
}

// step asks one step of a search and returns all rows.
func step[T any](ctx context.Context, s *shards, req search.Request) (all []T, err error) {
	err = s.c.Ask(ctx, questions.Search.Name, req, func(int) []int { return s.there }, func(v any) error {
		row, err := questions.Decode[T](questions.Search.Name, v)
		if err == nil {
			all = append(all, row)
		}
		return err
	})
	var incomplete *ask.IncompleteError
	var partly *ask.PartlyError
	switch {
	case errors.As(err, &incomplete):
		s.there = slices.DeleteFunc(s.there, func(k int) bool { return slices.Contains(incomplete.Missing, k) })
		s.miss(incomplete.Missing)
	case errors.As(err, &partly) && len(partly.Shards) < s.c.Spec.Shards: // of a stopped crawl
		s.miss(partly.Shards)
		err = errors.Join(err, &ask.IncompleteError{Question: questions.Search.Name, Missing: partly.Shards, Shards: s.c.Spec.Shards})
	}
	return all, err
}

// miss records that shards did not answer.
func (s *shards) miss(list []int) {
	for _, k := range list {
		if !slices.Contains(s.missing, k) {
			s.missing = append(s.missing, k)
		}
	}
	slices.Sort(s.missing)
}

func (s *shards) Terms(ctx context.Context, p *search.Plan) ([]search.Terms, error) {
	return step[search.Terms](ctx, s, search.Request{Step: search.StepTerms, Plan: p})
}

func (s *shards) Similar(ctx context.Context, words []string) ([]search.Similar, error) {
	return step[search.Similar](ctx, s, search.Request{Step: search.StepSimilar, Words: words})
}

func (s *shards) Words(ctx context.Context, url string) ([]search.PageWords, error) {
	return step[search.PageWords](ctx, s, search.Request{Step: search.StepWords, URLs: []string{url}})
}

func (s *shards) Rank(ctx context.Context, p *search.Plan, o search.RankOptions) ([]search.Ranked, error) {
	return step[search.Ranked](ctx, s, search.Request{Step: search.StepRank, Plan: p, RankOptions: &o})
}

func (s *shards) Show(ctx context.Context, p *search.Plan, urls []string) ([]crawl.Hit, error) {
	return step[crawl.Hit](ctx, s, search.Request{Step: search.StepShow, Plan: p, URLs: urls})
}

func (s *shards) Suggest(ctx context.Context, p *search.Plan, begins []string) ([]search.Suggested, error) {
	return step[search.Suggested](ctx, s, search.Request{Step: search.StepSuggest, Plan: p, Words: begins})
}
