package asker

import (
	"context"
	"errors"
	"slices"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
)

// SitesApplied is how far site rules were applied to a crawl.
type SitesApplied struct {
	// Made is the sum over all shards that answered and apply these rules.
	Made            crawl.RulesMade
	Queued, Refused int64 // URLs that the rules brought into the crawl, or out of it
	Discovered      int64 // URLs that are known
	Stored          int64 // stored pages
	// Behind are the shards of which URLs or pages are not done yet, or that do not answer.
	Behind []int
}

// SitesApplied asks a running crawl how far the site rules of spec were applied. If shards do not
// answer, the error is an ask.ErrIncomplete or ask.ErrNobody, and the answer of the others is
// valid.
func (c *Crawl) SitesApplied(ctx context.Context, spec crawl.Spec) (a SitesApplied, err error) {
	rules, links := spec.SitesHash(), spec.LinkHash()
	st, err := c.accounting(ctx)
	a.Discovered, a.Stored = st.Discovered, st.Stored
	decided := map[int]bool{}
	for _, s := range st.Shards {
		if s.Sites == rules {
			a.Queued, a.Refused = a.Queued+s.SitesQueued, a.Refused+s.SitesRefused
			decided[s.Shard] = !s.Judging
		}
	}
	shown := map[int]bool{}
	err = errors.Join(err, questions.SiteRules.Each(ctx, c, nil, func(m crawl.RulesMade) error {
		if m.Rules != rules || shown[m.Shard] {
			return nil
		}
		a.Made.Pages, a.Made.Read = a.Made.Pages+m.Pages, a.Made.Read+m.Read
		a.Made.Changed, a.Made.Skipped = a.Made.Changed+m.Changed, a.Made.Skipped+m.Skipped
		a.Made.Fields = crawl.CountFields(a.Made.Fields, m.Fields)
		shown[m.Shard] = m.Finished && m.Links == links
		return nil
	}))
	for _, k := range all(spec) {
		if !decided[k] || !shown[k] {
			a.Behind = append(a.Behind, k)
		}
	}
	return a, err
}

// SitesSettled reports whether nothing follows any more from the site rules of spec while nothing
// is fetched: all messages between the services have been read, and the search indexes are
// complete.
func (c *Crawl) SitesSettled(ctx context.Context, spec crawl.Spec) (bool, error) {
	before, err := lastSequences(ctx, c.Queue, spec)
	if err != nil {
		return false, err
	}
	ok, err := handedOver(ctx, c.Queue, spec)
	if err != nil || !ok {
		return false, ignoreAway(err)
	}
	if err := Applied(ctx, c.Queue, spec); err != nil {
		return false, err
	}
	st, err := c.accounting(ctx)
	if err != nil || slices.ContainsFunc(st.Shards, func(s crawl.ShardStatus) bool { return s.Outbox > 0 }) {
		return false, ignoreAway(err)
	}
	a, err := c.SitesApplied(ctx, spec)
	if err != nil || len(a.Behind) > 0 {
		return false, ignoreAway(err)
	}
	after, err := lastSequences(ctx, c.Queue, spec)
	return slices.Equal(before, after), err
}

// ignoreAway returns nil for an error that means that services do not answer yet.
func ignoreAway(err error) error {
	if errors.Is(err, ask.ErrIncomplete) || errors.Is(err, ask.ErrNobody) {
		return nil
	}
	return err
}
