package indexer

import (
	"context"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/scope"
	"github.com/curtsy/curtsy/pkg/canon"
)

// previewTime is how long the pages of a shard are read to estimate the effect of another scope.
const previewTime = 2 * time.Second

// previewLinks sends how many links of the pages of each shard another spec would follow that are
// not followed now. These are the links that relink would offer to the frontier. It changes
// nothing.
func (x *Indexer) previewLinks(ctx context.Context, next crawl.Spec, send func(crawl.SpecEffect) error) error {
	x.mu.Lock()
	was := x.spec
	x.mu.Unlock()
	now, err := newOfferer(x, was)
	if err != nil {
		return err
	}
	then, err := newOfferer(x, next)
	if err != nil {
		return err
	}
	forgotten := crawl.NewForgotten(next.Forgotten)
	news := func(u canon.URL) bool {
		_, trapped := scope.Trap(u)
		return (was.NoLinks || !now.in.Decide(u).In) && !trapped && !forgotten.Has(u)
	}
	for _, s := range x.ownShards() {
		all, err := s.previewLinks(ctx, then, news, time.Now().Add(previewTime))
		if s.gone.Load() {
			continue // the asker learns that there is no answer for this shard
		}
		if err != nil {
			return err
		}
		if err := send(all); err != nil {
			return err
		}
	}
	return nil
}

// reaches reports whether a URL so many links from a seed is within the limit of depth.
func (o *offerer) reaches(u canon.URL, depth int) bool {
	most := o.spec.MaxDepth
	if s := o.sites.For(u); s != nil && s.MaxDepth != nil {
		most = *s.MaxDepth
	}
	return most < 0 || depth <= most
}

// previewLinks reads pages until the given time, and at least one round of them.
func (s *shard) previewLinks(ctx context.Context, o *offerer, news func(canon.URL) bool, until time.Time) (all crawl.SpecEffect, err error) {
	held := s.store.Stats().Pages
	for after := uint64(0); ; {
		changes, err := s.store.Feed().Changes(after, relinkRound)
		if err != nil || len(changes) == 0 {
			all.Known = all.Looked // the number of pages may have changed since it was read
			return all, err
		}
		for i := range changes {
			p := &changes[i]
			if after = p.Seq; p.Deleted != "" {
				continue
			}
			all.Looked++
			l := o.linksOf(p)
			for _, u := range l.URLs {
				if o.reaches(u, l.Depth) && news(u) {
					all.Adds.Add(string(u))
				}
			}
		}
		if all.Known = max(held, all.Looked); time.Now().After(until) || ctx.Err() != nil {
			return all, ctx.Err()
		}
	}
}
