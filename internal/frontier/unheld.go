package frontier

import (
	"cmp"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// holds reports whether the copy that r's last visit stored is held.
func (s *shard) holds(r *record) bool {
	return r.Class == crawl.Stored && !s.m.Lost.isLost(r.Visit)
}

// vain reports that a result cannot count for r as it stands: it says that the copy held is still good, or leaves it alone, and
// as far as is known there is none; or its page was handed to a store that is gone.
func (s *shard) vain(r *record, id crawl.VisitID, res *crawl.Result) bool {
	if res.Class == crawl.Stored && s.m.Lost.isLost(id) {
		return true
	}
	return !s.holds(r) && (res.NotModified || res.Kept || r.Class == crawl.Stored && leavesCopy(res))
}

// fetchAnew queues a URL that visit id has seen and of which no copy is held, and writes its record.
func (s *shard) fetchAnew(h *host, k []byte, r *record, id crawl.VisitID, now time.Time) error {
	r.Visit = id
	if r.Class != crawl.Queued {
		if err := s.refetch(h, r, now); err != nil {
			return err
		}
	}
	s.changes++
	return s.tx.Bucket(bucketURLs).Put(k, r.append(nil))
}

// applyMissing queues a URL again that was answered 304 while no copy of it was held.
func (s *shard) applyMissing(u crawl.Unheld, now time.Time) error {
	return s.applyUnheld(u, func(h *host, k []byte, r *record) error { return s.fetchAnew(h, k, r, u.Visit, now) })
}

// applyRemoved notes that a page was removed because its own time had come (unavailable_after).
func (s *shard) applyRemoved(u crawl.Unheld, now time.Time) error {
	return s.applyUnheld(u, func(h *host, k []byte, r *record) error {
		if err := s.uncount(h, r); err != nil {
			return err
		}
		r.Visit, r.Due = u.Visit, time.Time{}
		r.Class, r.Reason, r.Detail = crawl.Refused, crawl.ReasonNoindex, "unavailable_after"
		s.count(r, +1)
		s.logLine(r, nil)
		s.changes++
		if err := s.plan(h, r, cmp.Or(s.at, now)); err != nil {
			return err
		}
		s.reschedule(h, now)
		return s.tx.Bucket(bucketURLs).Put(k, r.append(nil))
	})
}

// applyUnheld calls f if nothing newer than u's visit is known of u, and, should its outcome have been applied, that said Stored.
func (s *shard) applyUnheld(u crawl.Unheld, f func(h *host, k []byte, r *record) error) error {
	h := s.hosts[u.URL.Host()]
	if h == nil || s.j.forgotten.Has(u.URL) {
		return nil
	}
	k, v := s.lookup(h, u.URL)
	if v == nil {
		return nil
	}
	r, err := decodeRecord(k, v)
	if err != nil {
		return err
	}
	if c := r.Visit.Compare(u.Visit); c > 0 || c == 0 && r.Class != crawl.Stored {
		return nil
	}
	return f(h, k, &r)
}

// uncount takes a URL out of the accounting of its class, its queue and its visit, and out of those that are asked for again.
func (s *shard) uncount(h *host, r *record) error {
	if r.Class == crawl.Queued {
		s.landed(h, r.Order)
		return s.dequeue(h, r)
	}
	s.count(r, -1)
	if r.Class == crawl.Stored {
		h.Stored--
		s.touch(h)
	}
	return s.unplan(h, r)
}
