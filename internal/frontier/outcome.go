package frontier

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/shard"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/pkg/canon"
)

// applyOutcome applies the progress of a visit, or its end. A result for a URL counts if its visit
// is newer than the one recorded for that URL. The host becomes free only at the end, and only if
// the visit is the outstanding one. A second call has no effect.
func (s *Shard) applyOutcome(ev *crawl.Event, now time.Time) error {
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
		if err := s.applyResult(h, ev.Visit, r, o, now); err != nil {
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
		h.DelayUntil(now.Add(min(o.NotBefore, longestNotBefore)), hosts.DueAddress)
	}
	if v != nil && !o.Partial {
		if o.Requests == 0 && progress == 0 && len(o.Done) == 0 {
			// It had no result (for example because its robots.txt must be awaited): do not try
			// again at once.
			h.DelayUntil(now.Add(idlePause), h.DueReason)
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
func (s *Shard) sumUp(h *hosts.Host, id crawl.VisitID, o *crawl.Outcome, now time.Time) {
	if !h.BeginReport(id) {
		return
	}
	if h.AddReport(o, now) {
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

// idlePause prevents a visit that could do nothing from being granted again at once.
const idlePause = 250 * time.Millisecond

// longestNotBefore limits how long a host waits because other hosts use its address, whatever a
// fetcher reports.
const longestNotBefore = 10 * time.Minute

// returned reports that nothing was done about a URL. Whether it is forgotten is decided by our
// spec, because the fetcher's spec, or ours, may be older.
func (s *Shard) returned(res *crawl.Result) bool {
	return res.Class == crawl.Returned || res.Reason == crawl.ReasonForgotten && !s.ledger.Judge.Forgotten.Has(res.URL)
}

func (s *Shard) applyResult(h *hosts.Host, id crawl.VisitID, res *crawl.Result, o *crawl.Outcome, now time.Time) error {
	if s.returned(res) {
		return nil
	}
	k, v := s.urls.Lookup(h, res.URL)
	if v == nil {
		var err error
		if k, v, err = s.acceptLate(h, res.URL); v == nil || err != nil {
			return err
		}
	}
	r, err := urls.DecodeRecord(k, v)
	if err != nil {
		return err
	}
	if r.Visit.Compare(id) >= 0 {
		return nil // replayed, or a later visit has reported
	}
	if s.ledger.Judge.Forgotten.Has(r.URL) {
		res = shard.ForgottenResult(res)
	} else if s.vain(&r, id, res) {
		return s.fetchAnew(h, k, &r, id)
	} else if r.Class == crawl.Stored && urls.LeavesCopy(res) {
		return s.recrawl.KeepCopy(h, k, &r, id, res, o, now)
	}
	if r.Class == crawl.Queued {
		s.visits.ExpiredReported(id)
	}
	r.Answered(id, res)
	was := urls.Before(&r)
	// By the broker's clock, like the times of the log: see requeueSince.
	at := cmp.Or(s.ledger.At, now)
	r.Attempted(res, at)
	to := urls.Verdict{Class: res.Class, Reason: res.Reason, Detail: strings.Clone(crawl.ShortDetail(res.Rule)), From: at, Silent: true}
	if res.Location != "" {
		to.Detail = strings.Clone(res.Location)
	}
	if to.Class == crawl.Redirected && to.Reason == crawl.ReasonRedirect {
		by, err := s.leadsBack(r.URL, canon.URL(res.Location), at)
		if err != nil {
			return err
		}
		if by > 0 {
			to.Class, to.Reason = crawl.Refused, crawl.ReasonRedirects
			to.Detail = fmt.Sprintf("%s redirects back to this URL in %d redirects: the site may require a cookie, but the crawler keeps no cookies", crawl.ShortDetail(res.Location), by+1)
		}
	}
	if to.Class == crawl.Retry {
		if to.Class = crawl.Failed; r.Attempts < hosts.MaxAttempts {
			to.Class, to.Due = crawl.Queued, now.Add(max(s.polite.RetryIn(h, r.Attempts), o.RetryAfter))
		}
	}
	switch to.Class {
	case crawl.Queued:
	case crawl.Stored:
		to.Reason, to.Detail = "", ""
		if err := s.recrawl.Refreshed(h, &r, res, was); err != nil {
			return err
		}
	default:
		if to.Blank = true; was.Hinted {
			if err := s.recrawl.Hinted(h, &r, was, true); err != nil {
				return err
			}
		}
	}
	if err := s.urls.SetState(h, &r, to); err != nil {
		return err
	}
	if r.Class != crawl.Queued {
		r.Unranked()
		s.ledger.Rate.Add(now, 1)
		h.Done()
	}
	if err := s.mirrors.Visited(h, &r, now); err != nil {
		return err
	}
	s.urls.LogLine(&r, res) // not earlier: the URL of a mirror belongs to the main host now
	if err := s.urls.PutURL(k, &r); err != nil {
		return err
	}
	if to.Class == crawl.Redirected {
		if err := s.mirrors.NoticeMove(h, &r, now); err != nil {
			return err
		}
		return s.links.OfferTarget(&r, now)
	}
	return nil
}

// leadsBack returns how many redirects lead from one URL to another, as far as this shard knows; 0
// if they do not. Redirects in a circle never lead to a page, however often they are requested.
// Redirects that were fetched more than a day ago do not count: a site may have reversed them.
func (s *Shard) leadsBack(to, from canon.URL, now time.Time) (redirects int, err error) {
	for redirects < maxRedirects {
		h := from.Host()
		if crawl.ShardOf(h, s.ledger.Judge.Spec.Shards) != s.ledger.ID {
			return 0, nil
		}
		host, err := s.ledger.HostNamed(h)
		if host == nil || err != nil {
			return 0, err
		}
		k, v := s.urls.Lookup(host, from)
		if v == nil {
			return 0, nil
		}
		r, err := urls.DecodeRecord(k, v)
		if err != nil || r.Class != crawl.Redirected || r.Reason != crawl.ReasonRedirect {
			return 0, err
		}
		if now.Sub(time.UnixMilli(r.FetchedAt)) > redirectAge {
			return 0, nil
		}
		redirects++
		if from = canon.URL(r.Detail); from == to {
			return redirects, nil
		}
	}
	return 0, nil
}

// maxRedirects is how many redirects leadsBack follows.
const maxRedirects = 10

// redirectAge is how long after it was fetched a redirect counts in leadsBack.
const redirectAge = 24 * time.Hour

// acceptLate accepts a URL, as queued, that was visited although this state does not know it: the
// link is in a part of the log that was lost, or a narrower scope excluded it when the log was read
// again. Its depth is unknown, so it gets the maximum depth.
func (s *Shard) acceptLate(h *hosts.Host, u canon.URL) (k, v []byte, err error) {
	oi, ok := s.ledger.OriginOf(h, u.Origin())
	if !ok || u.Host() != h.Name {
		s.ledger.Log.Error("an outcome for a URL that was never accepted", "url", u)
		return nil, nil, nil
	}
	r := urls.Record{URL: u, Origin: oi, Depth: max(s.ledger.Judge.Spec.MaxDepth, 0), Order: s.ledger.NextOrder()}
	if err := s.urls.Insert(h, &r, urls.Verdict{Class: crawl.Queued}); err != nil {
		return nil, nil, err
	}
	if err := s.ledger.PutKnown(h.ID, hosts.SeenHash(u), r.Order); err != nil {
		return nil, nil, err
	}
	k, v = hosts.URLKey(nil, h.ID, r.Order), r.Append(nil)
	return k, v, s.ledger.PutRecord(k, v)
}

// applyStoreFailed notes that the indexer could not store a page.
func (s *Shard) applyStoreFailed(u canon.URL) error {
	h, err := s.ledger.HostNamed(u.Host())
	if h == nil || err != nil {
		return err
	}
	k, v := s.urls.Lookup(h, u)
	if v == nil {
		return nil
	}
	r, err := urls.DecodeRecord(k, v)
	if err != nil || r.Class != crawl.Stored {
		return err
	}
	err = s.urls.SetState(h, &r, urls.Verdict{
		Class: crawl.Failed, Reason: crawl.ReasonStoreFailed, Detail: r.Detail, From: cmp.Or(s.ledger.At, time.Now()), Blank: true,
	})
	if err != nil {
		return err
	}
	return s.urls.PutURL(k, &r)
}
