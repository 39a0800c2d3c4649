package asker

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/search"
)

// Search answers a query from all shards. Where shards do not answer, the error is an
// ask.ErrIncomplete, and the answer has what the others found.
func (c *Crawl) Search(ctx context.Context, r crawl.SearchRequest) (crawl.SearchAnswer, error) {
	s := &shards{c: c}
	for k := range c.Spec.Shards {
		s.there = append(s.there, k)
	}
	answer, err := search.Run(ctx, r, s)
	if len(s.missing) > 0 {
		answer.Incomplete, answer.Missing, answer.MissingPages = true, s.missing, c.StoredIn(ctx, s.missing)
	}
	return answer, err
}

// shards are those of a crawl, asked several times for one answer. Those that do not answer the
// first time are not waited for again.
type shards struct {
	c              *Crawl
	there, missing []int
}

func gatherFrom[T any](ctx context.Context, s *shards, step search.Step, req map[string]any) (all []T, err error) {
	const question = "search"
	req["step"] = step
	each := func(v any) error {
		part, ok := v.(T)
		if !ok {
			var err error
			if part, err = decode[T](question, v); err != nil {
				return err
			}
		}
		all = append(all, part)
		return nil
	}
	if s.c.Stopped() {
		err := s.c.files.Ask(ctx, question, req, each)
		var partly *ask.PartlyError
		if errors.As(err, &partly) && len(partly.Shards) < s.c.Spec.Shards {
			s.miss(partly.Shards)
			err = errors.Join(err, &ask.IncompleteError{Question: question, Missing: partly.Shards, Shards: s.c.Spec.Shards})
		}
		return all, err
	}
	err = ask.GatherFrom(ctx, s.c.Queue.NC, crawl.Names(s.c.Spec.Name), question, req, s.there, s.c.Spec.Shards,
		func(raw json.RawMessage) error { return each(raw) })
	var incomplete *ask.IncompleteError
	if errors.As(err, &incomplete) {
		s.there = slices.DeleteFunc(s.there, func(k int) bool { return slices.Contains(incomplete.Missing, k) })
		s.miss(incomplete.Missing)
	}
	return all, err
}

// miss notes that shards did not answer.
func (s *shards) miss(list []int) {
	for _, k := range list {
		if !slices.Contains(s.missing, k) {
			s.missing = append(s.missing, k)
		}
	}
	slices.Sort(s.missing)
}

func (s *shards) Terms(ctx context.Context, p *search.Plan) ([]search.Terms, error) {
	return gatherFrom[search.Terms](ctx, s, search.StepTerms, map[string]any{"plan": p})
}

func (s *shards) Similar(ctx context.Context, words []string) ([]search.Similar, error) {
	return gatherFrom[search.Similar](ctx, s, search.StepSimilar, map[string]any{"words": words})
}

func (s *shards) Rank(ctx context.Context, p *search.Plan, n int, explain bool) ([]search.Ranked, error) {
	return gatherFrom[search.Ranked](ctx, s, search.StepRank, map[string]any{"plan": p, "n": n, "explain": explain})
}

func (s *shards) Show(ctx context.Context, p *search.Plan, urls []string) ([]crawl.Hit, error) {
	return gatherFrom[crawl.Hit](ctx, s, search.StepShow, map[string]any{"plan": p, "urls": urls})
}
