package frontier

import (
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// maxAttempts is how often a URL is tried before it counts as failed.
const maxAttempts = 3

func keyHost(key []byte) hostID { return hostID(binary.BigEndian.Uint32(key)) }

// applyOutcome ends a visit. What it says of a URL counts if its visit is newer than the one recorded for that URL;
// the host is freed only if the visit is the outstanding one. Applying it again changes nothing.
func (s *shard) applyOutcome(ev *crawl.Event, now time.Time) error {
	o := ev.Outcome
	h := s.hosts[o.Host]
	if h == nil {
		s.log.Error("an outcome for a host never granted", "host", o.Host, "visit", ev.Visit)
		return nil
	}
	progress := 0
	for i := range o.Results {
		r := &o.Results[i]
		if r.Class != crawl.Returned {
			progress++
		}
		if err := s.applyResult(h, ev.Visit, r, o, now); err != nil {
			return err
		}
	}
	for _, e := range o.Done {
		if err := s.dropErrand(h, e); err != nil {
			return err
		}
	}
	v := s.visits[ev.Visit.N]
	if v != nil && (ev.Visit.Epoch != s.epoch || v.host != h) {
		v = nil
	}
	s.ghosts = slices.DeleteFunc(s.ghosts, func(g ghost) bool { return !o.Partial && g.id == ev.Visit })
	if o.Partial {
		s.tellBudget(now)
		return nil
	}
	if ev.Visit.Compare(h.Last) > 0 { // else it was applied before, or a later visit's end was
		h.Last = ev.Visit
		s.m.Counts.Bytes += o.Bytes
		h.Fetched += int64(o.Requests)
		if o.Requests > 0 {
			h.Private = o.Private
			h.Delay = min(o.Delay, longestDelay)
			s.respondedIn(h, o)
			s.backOff(h, o)
		}
	}
	if o.Requests > 0 {
		end := now.Add(-min(o.SinceEnd, time.Hour))
		if t := end.Add(max(min(o.Delay, longestDelay), s.delayOf(h).d)); h.Due.Before(t) {
			h.Due, h.DueReason = t, ""
		}
		if t := end.Add(o.RetryAfter); o.RetryAfter > 0 && h.Due.Before(t) {
			h.Due, h.DueReason = t, dueRetryAfter
		}
	}
	if v != nil {
		if o.Requests == 0 && progress == 0 && len(o.Done) == 0 {
			// Nothing came of it (its robots.txt, say, must be waited for): do not spin.
			if t := now.Add(idlePause); h.Due.Before(t) {
				h.Due = t
			}
		}
		s.endVisit(v)
	}
	s.tellBudget(now)
	if n := s.j.spec.MaxPagesPerHost; n > 0 && h.Stored >= n && h.Queued > 0 {
		if err := s.refuseQueue(h); err != nil {
			return err
		}
	}
	s.touch(h)
	s.reschedule(h, now)
	return nil
}

// idlePause keeps a visit that could do nothing from being granted again at once.
const idlePause = 250 * time.Millisecond

func (s *shard) applyResult(h *host, id crawl.VisitID, res *crawl.Result, o *crawl.Outcome, now time.Time) error {
	if res.Class == crawl.Returned {
		return nil
	}
	k, v := s.lookup(h, res.URL)
	if v == nil {
		s.log.Error("an outcome for a URL never accepted", "url", res.URL, "visit", id)
		return nil
	}
	r, err := decodeRecord(k, v)
	if err != nil {
		return err
	}
	if r.Visit.Compare(id) >= 0 {
		return nil // replayed, or a later visit has spoken
	}
	if r.Class == crawl.Queued {
		s.landed(h, r.Order)
		if err := s.dequeue(h, &r); err != nil {
			return err
		}
	} else {
		s.count(&r, -1)
		if r.Class == crawl.Stored {
			h.Stored--
		}
	}
	r.Due = time.Time{}
	r.Visit = id
	r.Status, r.Line, r.NoSnippet = res.Status, res.Line, res.NoSnippet
	r.Reason, r.Detail = res.Reason, strings.Clone(res.Rule)
	if res.Location != "" {
		r.Detail = strings.Clone(res.Location)
	}
	if res.Status != 0 || !res.FetchedAt.IsZero() {
		r.FetchedAt = now.UnixMilli() // by our clock: requeueSince compares it with our own
	}
	class := res.Class
	if res.Status != 0 || class == crawl.Retry || class == crawl.Failed {
		r.Attempts++
	}
	if class == crawl.Retry {
		if class = crawl.Failed; r.Attempts < maxAttempts {
			class = crawl.Queued
		}
	}
	r.Class = class
	switch class {
	case crawl.Queued:
		r.Due = now.Add(max(s.retryIn(h, r.Attempts), o.RetryAfter))
		if err := s.waitUntilDue(h, &r); err != nil {
			return err
		}
	case crawl.Stored:
		r.Reason, r.Detail = "", ""
		h.Stored++
		s.count(&r, +1)
	default:
		s.count(&r, +1)
	}
	if class != crawl.Queued {
		s.rate.add(now, 1)
	}
	s.logLine(&r, res)
	s.changes++
	return s.tx.Bucket(bucketURLs).Put(k, r.append(make([]byte, 0, 160)))
}

// waitUntilDue puts a Queued r with Due set among those that wait.
func (s *shard) waitUntilDue(h *host, r *record) error {
	h.Queued++
	h.Later++
	s.m.Counts.Queued++
	s.m.Counts.Later++
	s.touch(h)
	if s.later.IsZero() || r.Due.Before(s.later) {
		s.later = r.Due
	}
	return s.tx.Bucket(bucketLater).Put(laterKey(nil, r.Due, h.ID, r.Order), []byte{})
}

func (s *shard) loadLater() {
	s.later = time.Time{}
	if k, _ := s.tx.Bucket(bucketLater).Cursor().First(); k != nil {
		s.later = time.UnixMilli(int64(binary.BigEndian.Uint64(k)))
	}
}

// wakeLater moves URLs whose wait is over into their queues.
func (s *shard) wakeLater(now time.Time) error {
	for n := 0; !s.later.IsZero() && !s.later.After(now) && n < 1000; n++ {
		k, _ := s.tx.Bucket(bucketLater).Cursor().First()
		if k == nil {
			s.later = time.Time{}
			return nil
		}
		key := slices.Clone(k[8:])
		v := s.tx.Bucket(bucketURLs).Get(key)
		h := s.byID[keyHost(key)]
		if v == nil || h == nil {
			return errRecord
		}
		r, err := decodeRecord(key, v)
		if err != nil {
			return err
		}
		if err := s.dequeue(h, &r); err != nil {
			return err
		}
		r.Due = time.Time{}
		// A limit may have been reached while it waited.
		if class, reason, detail := s.j.judge(&r, h); class == crawl.Queued {
			err = s.enqueue(h, &r)
		} else {
			r.Class, r.Reason, r.Detail = class, reason, detail
			s.count(&r, +1)
			s.logLine(&r, nil)
		}
		if err != nil {
			return err
		}
		if err := s.tx.Bucket(bucketURLs).Put(key, r.append(nil)); err != nil {
			return err
		}
		s.changes++
		s.reschedule(h, now)
		s.loadLater()
	}
	return nil
}

// refuseQueue refuses what is left of a host's queue once --max-pages-per-host is reached. It leaves the URLs of an
// outstanding visit alone: their outcome is on its way.
func (s *shard) refuseQueue(h *host) error {
	if h.visit != nil {
		return nil
	}
	var orders []uint64
	c := s.tx.Bucket(bucketQueue).Cursor()
	for k, _ := c.Seek(h.ID.append(nil)); k != nil && keyHost(k) == h.ID; k, _ = c.Next() {
		orders = append(orders, keyOrder(k))
	}
	for _, order := range orders {
		key := urlKey(nil, h.ID, order)
		r, err := decodeRecord(key, s.tx.Bucket(bucketURLs).Get(key))
		if err != nil {
			return err
		}
		class, reason, detail := s.j.judge(&r, h)
		if class != crawl.Refused {
			continue
		}
		if err := s.dequeue(h, &r); err != nil {
			return err
		}
		r.Class, r.Reason, r.Detail = class, reason, detail
		s.count(&r, +1)
		s.logLine(&r, nil)
		s.changes++
		if err := s.tx.Bucket(bucketURLs).Put(key, r.append(nil)); err != nil {
			return err
		}
	}
	return nil
}

// applyStoreFailed notes that the indexer gave a page up.
func (s *shard) applyStoreFailed(u canon.URL) error {
	h := s.hosts[u.Host()]
	if h == nil {
		return nil
	}
	k, v := s.lookup(h, u)
	if v == nil {
		return nil
	}
	r, err := decodeRecord(k, v)
	if err != nil || r.Class != crawl.Stored {
		return err
	}
	s.count(&r, -1)
	h.Stored--
	r.Class, r.Reason = crawl.Failed, crawl.ReasonStoreFailed
	s.count(&r, +1)
	s.touch(h)
	s.logLine(&r, nil)
	return s.tx.Bucket(bucketURLs).Put(k, r.append(nil))
}
