package shard

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/pkg/canon"
)

// result applies the result for one URL, if no newer visit has reported it.
func (s *Outcomes) result(h *hosts.Host, id crawl.VisitID, res *crawl.Result, o *crawl.Outcome, now time.Time) error {
	if s.returned(res) {
		return nil
	}
	k, v := s.urls.Lookup(h, res.URL)
	if v == nil {
		var err error
		if k, v, err = s.acceptLate(h, id, res.URL); v == nil || err != nil {
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
	stored := r.Class == crawl.Stored
	if s.ledger.Judge.Forgotten.Has(r.URL) {
		res = ForgottenResult(res)
	} else if res.Class == crawl.Stored && !stored && s.dispatches.Full(id) {
		// Its page is not needed: by mistake there are more than were reserved.
		s.ledger.AddAlias(crawl.Page{Kind: crawl.KindPage, URL: r.URL, Deleted: crawl.ReasonStoreFailed})
		return s.fetchAnew(h, k, &r, id)
	} else if s.stale(&r, id, res) {
		return s.fetchAnew(h, k, &r, id)
	} else if r.Class == crawl.Stored && urls.LeavesCopy(res) {
		return s.recrawl.KeepCopy(h, k, &r, id, res, o, now)
	}
	if r.Class == crawl.Queued {
		s.visits.ExpiredReported(id)
	}
	r.Answered(id, res)
	was := urls.Before(&r)
	// By the broker's clock, like the times of the log: see Passes.RequeueSince.
	at := cmp.Or(s.ledger.At, now)
	r.Attempted(res, at)
	to, err := s.verdict(h, &r, res, o.RetryAfter, at, now)
	if err != nil {
		return err
	}
	switch {
	case to.Class == crawl.Stored:
		err = s.recrawl.Refreshed(h, &r, res, was)
	case to.Class != crawl.Queued && was.Hinted:
		err = s.recrawl.Hinted(h, &r, was, true)
	}
	if err != nil {
		return err
	}
	if err := s.urls.SetState(h, &r, to); err != nil {
		return err
	}
	if r.Class == crawl.Stored && !stored {
		s.dispatches.Stored(id)
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
	if to.Class != crawl.Redirected {
		return nil
	}
	if err := s.mirrors.NoticeMove(h, &r, now); err != nil {
		return err
	}
	return s.links.OfferTarget(&r, now)
}

// verdict is what a result makes of its URL. at is when the result was reported.
func (s *Outcomes) verdict(h *hosts.Host, r *urls.Record, res *crawl.Result, retryAfter time.Duration, at, now time.Time) (to urls.Verdict, err error) {
	to = urls.Verdict{Class: res.Class, Reason: res.Reason, Detail: strings.Clone(crawl.ShortDetail(res.Rule)), From: at, Silent: true}
	if res.Location != "" {
		to.Detail = strings.Clone(res.Location)
	}
	if to.Class == crawl.Redirected && to.Reason == crawl.ReasonRedirect {
		by, err := s.leadsBack(r.URL, canon.URL(res.Location), at)
		if err != nil {
			return to, err
		}
		if by > 0 {
			to.Class, to.Reason = crawl.Refused, crawl.ReasonRedirects
			to.Detail = fmt.Sprintf("%s redirects back to this URL in %d redirects: the site may require a cookie, but the crawler keeps no cookies", crawl.ShortDetail(res.Location), by+1)
		}
	}
	if to.Class == crawl.Retry {
		if to.Class = crawl.Failed; r.Attempts < hosts.MaxAttempts {
			to.Class, to.Due = crawl.Queued, now.Add(max(s.polite.RetryIn(h, r.Attempts), retryAfter))
		}
	}
	switch to.Class {
	case crawl.Queued:
	case crawl.Stored:
		to.Reason, to.Detail = "", ""
	default:
		to.Blank = true
	}
	return to, nil
}

// leadsBack returns how many redirects lead from one URL to another, as far as this shard knows; 0
// if they do not. Redirects in a circle never lead to a page, however often they are requested.
// Redirects that were fetched more than a day ago do not count: a site may have reversed them.
func (s *Outcomes) leadsBack(to, from canon.URL, now time.Time) (redirects int, err error) {
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
// again. Its depth is unknown, so it gets the maximum depth. A page that a mobile robot brought is
// not accepted out of scope, whatever it says.
func (s *Outcomes) acceptLate(h *hosts.Host, id crawl.VisitID, u canon.URL) (k, v []byte, err error) {
	if s.dispatches.Owns(id) && !s.ledger.Judge.Scope.Decide(u).In {
		return nil, nil, nil
	}
	oi, ok := s.ledger.OriginOf(h, u.Origin())
	if !ok || u.Host() != h.Name {
		s.ledger.Log.Error("an outcome for a URL that was never accepted", "url", u)
		return nil, nil, nil
	}
	r := urls.Record{URL: u, Origin: oi, Depth: max(s.ledger.Judge.Spec.MaxDepth, 0), Order: s.ledger.Meta.NextOrder()}
	if err := s.urls.Insert(h, &r, urls.Verdict{Class: crawl.Queued}); err != nil {
		return nil, nil, err
	}
	if err := s.ledger.PutKnown(h.ID, store.SeenHash(u), r.Order); err != nil {
		return nil, nil, err
	}
	k, v = store.URLKey(nil, h.ID, r.Order), r.Append(nil)
	return k, v, s.ledger.PutRecord(k, v)
}
