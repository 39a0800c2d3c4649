package shard

import (
	"context"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/judge"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Effect judges up to most URLs by another spec, and changes nothing. It takes the lock itself, for
// a stretch at a time. Between stretches the shard continues its own work.
func (s *Specs) Effect(ctx context.Context, next *judge.Judge, most int64) (all crawl.SpecEffect, err error) {
	for from := []byte(nil); ; {
		more := false
		err := read(s.ledger.File, func() (err error) {
			c := &s.ledger.Meta.Counts
			all.Known = c.Queued + c.Stored + c.Redirected + c.Refused + c.Failed
			from, err = s.urls.Stretch(from, store.PassStretch, func(h *hosts.Host, _ []byte, r *urls.Record) (bool, error) {
				all.Looked++
				s.previewURL(h, r, next, &all)
				return false, nil
			})
			if more = from != nil; err == nil && s.ledger.Phase.MayWrite() == nil {
				err = s.ledger.PutAway() // the hosts just looked at need not stay in memory
			}
			return err
		})
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || !more || all.Looked >= most {
			return all, err
		}
	}
}

// previewURL counts a URL if only one of two specs queues it: the current spec or the next. The
// record alone does not show this, because a pass for the current spec may not have reached it yet.
// The caller holds mu.
func (s *Specs) previewURL(h *hosts.Host, r *urls.Record, next *judge.Judge, all *crawl.SpecEffect) {
	open := r.Class == crawl.Queued
	switch {
	case r.Class == crawl.Redirected:
		// As in passes.judgeSome.
		u, err := canon.Parse(r.Detail)
		if err != nil || s.ledger.Judge.Scope.Decide(u).In || !next.Scope.Decide(u).In {
			return
		}
		if class, _, _ := next.Judge(judge.Subject{URL: u, Depth: r.Depth, Redirects: r.Redirects + 1}); class == crawl.Queued {
			all.Adds.Add(string(u))
		}
		return
	case !open && (r.Class != crawl.Refused || !r.Reason.Has(crawl.UndoneBySpec)):
		return
	}
	was := urls.DecideBy(&s.ledger.Judge, r, h).Class == crawl.Queued
	switch will := urls.DecideBy(next, r, h).Class == crawl.Queued; {
	case was && !will:
		all.Refuses++
	case will && !was:
		all.Adds.Add(string(r.URL))
	}
}
