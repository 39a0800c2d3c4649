package shard

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Offer sends links, all to one host, to the shard of that host.
func (s *Links) Offer(l *crawl.Links, now time.Time) error {
	to := crawl.ShardOf(l.URLs[0].Host(), s.ledger.Judge.Spec.Shards)
	if to == s.ledger.ID {
		return s.Apply(l, now)
	}
	return s.ledger.Send(to, &crawl.Event{Links: []crawl.Links{*l}})
}

// OfferTarget offers the target of r, which was just found to be a redirect, if its fetcher may
// have decided about the target by an older spec than ours. That is possible after a change of the
// spec, for as long as visits that were granted before may last, and while the log is read after a
// change, because the pass (Passes.judgeSome) may already have been at r.
func (s *Links) OfferTarget(r *urls.Record, now time.Time) error {
	if s.DecidedAt.IsZero() || s.ledger.Phase.Read && now.Sub(s.DecidedAt) > time.Hour {
		return nil
	}
	u, err := canon.Parse(r.Detail)
	if err != nil || !s.ledger.Judge.Scope.Decide(u).In {
		return nil
	}
	return s.Offer(&crawl.Links{FoundOn: r.URL, Depth: r.Depth, Redirects: r.Redirects + 1, URLs: []canon.URL{u}}, now)
}
