package shard

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Offer hands links, all to one host, to the shard of that host.
func (s *Links) Offer(l *crawl.Links, now time.Time) error {
	to := crawl.ShardOf(l.URLs[0].Host(), s.ledger.Judge.Spec.Shards)
	if to == s.ledger.ID {
		return s.Apply(l, now)
	}
	return s.ledger.Send(to, &crawl.Event{Links: []crawl.Links{*l}})
}

// OfferTarget offers where r, which was just found to be a redirect, leads, when its fetcher may
// have judged that by an older spec than ours: as long after a change as visits granted before may
// last, and while the log is read after one, since what is in it may be where the pass
// (passes.judgeSome) has been already.
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
