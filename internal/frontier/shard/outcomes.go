package shard

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/dispatch"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/mirrors"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/schedule"
	"github.com/curtsy/curtsy/internal/frontier/urls"
)

// Outcomes applies to one shard what visits report, and what an indexer reports about the pages of
// visits.
type Outcomes struct {
	dispatches *dispatch.Dispatches
	features   *hosts.Features
	ledger     *hosts.Ledger
	links      *Links
	mirrors    *mirrors.Mirrors
	passes     *Passes
	polite     *polite.Polite
	recrawl    *urls.Recrawl
	timeline   *schedule.Timeline
	urls       *urls.URLs
	visits     *schedule.Visits
}

// NewOutcomes returns the outcomes of a shard, whose parts below this package are made, and of this
// package the links and the passes.
func NewOutcomes(p *Parts) *Outcomes {
	return &Outcomes{dispatches: p.Dispatches, features: p.Features, ledger: p.Ledger, links: p.Links, mirrors: p.Mirrors, passes: p.Passes, polite: p.Polite,
		recrawl: p.Recrawl, timeline: p.Timeline, urls: p.URLs, visits: p.Visits}
}

// Apply applies the progress of a visit, or its end. A result for a URL counts if its visit is
// newer than the one recorded for that URL. The host becomes free only at the end, and only if the
// visit is the outstanding one. A second call has no effect.
func (s *Outcomes) Apply(ev *crawl.Event, now time.Time) error {
	o := ev.Outcome
	h, err := s.ledger.HostNamed(o.Host)
	if err != nil {
		return err
	}
	if h == nil {
		if crawl.ShardOf(o.Host, s.ledger.Judge.Spec.Shards) != s.ledger.ID {
			s.ledger.Log.Error("an outcome of another shard is in this log", "host", o.Host, "visit", ev.Visit)
			return nil
		}
		var err error
		if h, err = s.ledger.HostOf(o.Host); err != nil {
			return err
		}
	}
	progress := 0
	for i := range o.Results {
		r := &o.Results[i]
		if !s.returned(r) {
			progress++
		}
		if err := s.result(h, ev.Visit, r, o, now); err != nil {
			return err
		}
	}
	for _, e := range o.Done {
		if err := s.features.DropAux(h, e, now); err != nil {
			return err
		}
	}
	v := s.visits.Outstanding[ev.Visit]
	if v != nil && v.Host != h {
		v = nil
	}
	s.visits.Reported(h, v, o, now)
	if !o.Partial {
		s.visits.Ended(ev.Visit)
		if v == nil { // late: it may have been reported as silent
			if err := s.timeline.Answered(h, ev.Visit); err != nil {
				return err
			}
		}
	}
	s.sumUp(h, ev.Visit, o, now)
	if o.Requests > 0 {
		end := now.Add(-min(o.SinceEnd, time.Hour))
		h.DelayUntil(end.Add(max(min(o.Delay, polite.LongestDelay), s.polite.DelayOf(h).D)), "")
		if o.RetryAfter > 0 {
			h.DelayUntil(end.Add(o.RetryAfter), hosts.DueRetryAfter)
		}
	}
	if o.NotBefore > 0 {
		h.DelayUntil(now.Add(min(o.NotBefore, polite.LongestNotBefore)), hosts.DueAddress)
	}
	if v != nil && !o.Partial {
		if o.Requests == 0 && progress == 0 && len(o.Done) == 0 {
			// It had no result (for example because its robots.txt must be awaited): do not try
			// again at once.
			h.DelayUntil(now.Add(polite.IdlePause), h.DueReason)
		}
		s.visits.EndVisit(v)
	}
	s.visits.ReportBudget(now)
	s.passes.NoticeFull(h)
	if err := s.mirrors.NoticeTwins(h, now); err != nil {
		return err
	}
	if err := s.urls.OpenSome(h.Domain, hosts.OpenedAtOnce); err != nil {
		return err
	}
	s.ledger.MarkDirty(h)
	return nil
}

// sumUp adds what is new in an outcome to the sums of its host and of the shard, and applies its
// information about the host. Once a newer visit has reported, it is unknown how much an older one
// had reported before, so later reports of the older one are left out of the sums.
func (s *Outcomes) sumUp(h *hosts.Host, id crawl.VisitID, o *crawl.Outcome, now time.Time) {
	if o.Partial && o.Requests == 0 && o.Bytes == 0 {
		// It adds nothing. If it is about pages that a mobile robot brought, it must not make the
		// reports of a visit be left out that began before it.
		return
	}
	if !h.BeginReport(id) {
		return
	}
	if sent := h.AddReport(o); sent > 0 {
		s.ledger.Requests.Add(now, sent)
		s.polite.RespondedIn(h, o)
	}
	// Otherwise a later report was applied already.
	if o.Requests > 0 && o.Requests == h.Reported.Requests {
		h.VisitedWith(o.Private, min(o.Delay, polite.LongestDelay))
		s.polite.BackOff(h, o)
	}
	if !o.Partial {
		h.EndReport()
	}
}

// returned reports that nothing was done about a URL. Whether it is forgotten is decided by our
// spec, because the fetcher's spec, or ours, may be older. For the same reason a page that was
// skipped by other site rules than ours is fetched again.
func (s *Outcomes) returned(res *crawl.Result) bool {
	switch res.Reason {
	case crawl.ReasonForgotten:
		return !s.ledger.Judge.Forgotten.Has(res.URL)
	case crawl.ReasonSiteRule:
		return res.Rules != s.ledger.Judge.SitesHash
	}
	return res.Class == crawl.Returned
}
