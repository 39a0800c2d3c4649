package frontier

import (
	"cmp"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/urls"
)

// vain reports that the result refers to a stored copy that we no longer have: it says that the
// copy is still valid, or leaves it alone, but no copy is known; or its page was sent to a store
// that is lost.
func (s *Shard) vain(r *urls.Record, id crawl.VisitID, res *crawl.Result) bool {
	if res.Class == crawl.Stored && s.ledger.Meta.Lost.IsLost(id) {
		return true
	}
	return !s.urls.IsStored(r) && (res.NotModified || res.Kept || r.Class == crawl.Stored && urls.LeavesCopy(res))
}

// fetchAnew queues a URL that visit id has fetched and of which no copy is stored, and writes its
// record.
func (s *Shard) fetchAnew(h *hosts.Host, k []byte, r *urls.Record, id crawl.VisitID) error {
	r.SeenBy(id)
	if r.Class != crawl.Queued {
		if err := s.mirrors.Refetch(h, r); err != nil {
			return err
		}
	}
	return s.urls.PutURL(k, r)
}

// applyMissing queues a URL again that was answered with 304 although no copy of it was stored.
func (s *Shard) applyMissing(u crawl.Unheld) error {
	return s.applyUnheld(u, func(h *hosts.Host, k []byte, r *urls.Record) error { return s.fetchAnew(h, k, r, u.Visit) })
}

// whyUnreadable is the detail in explain of a page that is not stored for that reason.
const whyUnreadable = "this page crashed the indexer's process when it was read; it was quarantined, and the indexer's log has details"

// applyUnstored notes that a page is not stored any more, or never was: because its
// unavailable_after date has passed, or because it could not be read.
func (s *Shard) applyUnstored(u crawl.Unheld, class crawl.Class, reason crawl.Reason, detail string, now time.Time) error {
	return s.applyUnheld(u, func(h *hosts.Host, k []byte, r *urls.Record) error {
		r.SeenBy(u.Visit)
		if err := s.urls.SetState(h, r, urls.Verdict{Class: class, Reason: reason, Detail: detail, From: cmp.Or(s.ledger.At, now)}); err != nil {
			return err
		}
		return s.urls.PutURL(k, r)
	})
}

// applyUnheld calls f if no newer visit than u's is known for its URL, and, if the outcome of u's
// visit was applied, it was Stored.
func (s *Shard) applyUnheld(u crawl.Unheld, f func(h *hosts.Host, k []byte, r *urls.Record) error) error {
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
