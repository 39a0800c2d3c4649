package shard

import (
	"cmp"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/pkg/canon"
)

// stale reports that the result refers to a stored copy that we no longer have: it says that the
// copy is still valid, or leaves it alone, but no copy is known; or its page was sent to a store
// that is lost.
func (s *Outcomes) stale(r *urls.Record, id crawl.VisitID, res *crawl.Result) bool {
	if res.Class == crawl.Stored && s.ledger.Meta.Lost.IsLost(id) {
		return true
	}
	return !s.urls.IsStored(r) && (res.NotModified || res.Kept || r.Class == crawl.Stored && urls.LeavesCopy(res))
}

// fetchAnew queues a URL again and writes its record. Visit id has fetched the URL, but no copy of
// its page is stored.
func (s *Outcomes) fetchAnew(h *hosts.Host, k []byte, r *urls.Record, id crawl.VisitID) error {
	r.SeenBy(id)
	if r.Class != crawl.Queued {
		if err := s.mirrors.Refetch(h, r); err != nil {
			return err
		}
	}
	return s.urls.PutURL(k, r)
}

// Missing queues a URL again that was answered with 304 although no copy of it was stored.
func (s *Outcomes) Missing(u crawl.Unheld) error {
	return s.ifCurrent(u, func(h *hosts.Host, k []byte, r *urls.Record) error { return s.fetchAnew(h, k, r, u.Visit) })
}

// whyUnreadable is the detail in explain of a page that is not stored for that reason.
const whyUnreadable = "this page crashed the indexer's process when it was read; it was quarantined, and the indexer's log has details"

// Removed notes that a stored page was deleted at its unavailable_after date.
func (s *Outcomes) Removed(u crawl.Unheld, now time.Time) error {
	return s.unstored(u, crawl.Refused, crawl.ReasonNoindex, "unavailable_after", now)
}

// Skipped notes that site rules of the indexer skip a page that was fetched as stored. If we have
// other rules, one of us has older ones, and the page is fetched again.
func (s *Outcomes) Skipped(u crawl.Unheld, now time.Time) error {
	if u.Rules != s.ledger.Judge.SitesHash {
		return s.Missing(u)
	}
	return s.unstored(u, crawl.Refused, crawl.ReasonSiteRule, strings.Clone(crawl.ShortDetail(u.Why)), now)
}

// Unreadable notes that a page was not stored because it could not be read.
func (s *Outcomes) Unreadable(u crawl.Unheld, now time.Time) error {
	return s.unstored(u, crawl.Failed, crawl.ReasonUnreadable, whyUnreadable, now)
}

// unstored notes that a page is not stored any more, or never was.
func (s *Outcomes) unstored(u crawl.Unheld, class crawl.Class, reason crawl.Reason, detail string, now time.Time) error {
	return s.ifCurrent(u, func(h *hosts.Host, k []byte, r *urls.Record) error {
		r.SeenBy(u.Visit)
		if err := s.urls.SetState(h, r, urls.Verdict{Class: class, Reason: reason, Detail: detail, From: cmp.Or(s.ledger.At, now)}); err != nil {
			return err
		}
		return s.urls.PutURL(k, r)
	})
}

// ifCurrent calls f if no newer visit than u's is known for its URL, and, if the outcome of u's
// visit was applied, it was Stored.
func (s *Outcomes) ifCurrent(u crawl.Unheld, f func(h *hosts.Host, k []byte, r *urls.Record) error) error {
	h, err := s.ledger.HostNamed(u.URL.Host())
	if err != nil {
		return err
	}
	if h == nil || s.ledger.Judge.Forgotten.Has(u.URL) {
		return nil
	}
	k, v := s.urls.Lookup(h, u.URL)
	if v == nil {
		return nil
	}
	r, err := urls.DecodeRecord(k, v)
	if err != nil {
		return err
	}
	if c := r.Visit.Compare(u.Visit); c > 0 || c == 0 && r.Class != crawl.Stored {
		return nil
	}
	return f(h, k, &r)
}

// StoreFailed notes that the indexer could not store a page.
func (s *Outcomes) StoreFailed(u canon.URL) error {
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
