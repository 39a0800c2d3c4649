package frontier

import (
	"cmp"
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
		if crawl.ShardOf(o.Host, s.j.spec.Shards) != s.id {
			s.log.Error("an outcome of another shard in this log", "host", o.Host, "visit", ev.Visit)
			return nil
		}
		var err error
		if h, err = s.hostOf(o.Host); err != nil {
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
		if err := s.dropErrand(h, e, now); err != nil {
			return err
		}
	}
	v := s.visits[ev.Visit]
	if v != nil && v.host != h {
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
	if err := s.refuseQueue(h); err != nil {
		return err
	}
	if err := s.noticeTwins(h, now); err != nil {
		return err
	}
	s.touch(h)
	s.reschedule(h, now)
	return nil
}

// idlePause keeps a visit that could do nothing from being granted again at once.
const idlePause = 250 * time.Millisecond

// returned reports that nothing was done about a URL. That it was forgotten is for our spec to say: the fetcher's may be an older
// one, or ours.
func (s *shard) returned(res *crawl.Result) bool {
	return res.Class == crawl.Returned || res.Reason == crawl.ReasonForgotten && !s.j.forgotten.Has(res.URL)
}

func (s *shard) applyResult(h *host, id crawl.VisitID, res *crawl.Result, o *crawl.Outcome, now time.Time) error {
	if s.returned(res) {
		return nil
	}
	k, v := s.lookup(h, res.URL)
	if v == nil {
		var err error
		if k, v, err = s.acceptLate(h, k, res.URL); v == nil || err != nil {
			return err
		}
	}
	r, err := decodeRecord(k, v)
	if err != nil {
		return err
	}
	if r.Visit.Compare(id) >= 0 {
		return nil // replayed, or a later visit has spoken
	}
	if s.j.forgotten.Has(r.URL) {
		res = forgottenResult(res)
	} else if s.vain(&r, id, res) {
		return s.fetchAnew(h, k, &r, id, now)
	} else if r.Class == crawl.Stored && leavesCopy(res) {
		return s.keepCopy(h, k, &r, id, res, o, now)
	}
	was := r.before()
	if err := s.uncount(h, &r); err != nil {
		return err
	}
	r.Due = time.Time{}
	r.Visit = id
	r.Status, r.Line = res.Status, res.Line
	r.NoSnippet = res.NoSnippet || r.NoSnippet && res.NotModified // whose answer may have said nothing of it
	r.Reason, r.Detail = res.Reason, strings.Clone(res.Rule)
	if res.Location != "" {
		r.Detail = strings.Clone(res.Location)
	}
	if res.Status != 0 || !res.FetchedAt.IsZero() {
		r.FetchedAt = cmp.Or(s.at, now).UnixMilli() // by the broker's clock, whose the log's times are: see requeueSince
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
		s.refreshed(h, &r, res, was)
	default:
		if was.hinted {
			h.Origins[r.Origin].hinted(true)
		}
		r.held, r.again = held{}, again{}
		s.count(&r, +1)
	}
	if class != crawl.Queued {
		r.Rank = 0
		s.rate.add(now, 1)
		if err := s.plan(h, &r, cmp.Or(s.at, now)); err != nil {
			return err
		}
	}
	if err := s.visitedMirror(h, &r, now); err != nil {
		return err
	}
	s.logLine(&r, res)
	s.changes++
	if err := s.tx.Bucket(bucketURLs).Put(k, r.append(make([]byte, 0, 160))); err != nil {
		return err
	}
	if class == crawl.Redirected {
		if err := s.noticeMove(h, &r, now); err != nil {
			return err
		}
		return s.offerTarget(&r, now)
	}
	return nil
}

// acceptLate takes a URL in, as queued, that was visited although this state never knew it: the link to it is in a part of
// the log that was lost, or was kept out, when the log was read again, by a scope narrower than that of its time. How deep
// it lies is not known, so it counts as deep as any may.
func (s *shard) acceptLate(h *host, seen []byte, u canon.URL) (k, v []byte, err error) {
	oi, ok := s.originOf(h, u.Origin())
	if !ok || u.Host() != h.Name {
		s.log.Error("an outcome for a URL never accepted", "url", u)
		return nil, nil, nil
	}
	s.m.Order++
	r := record{URL: u, Class: crawl.Queued, Origin: oi, Depth: max(s.j.spec.MaxDepth, 0), Order: s.m.Order}
	if err := s.enqueue(h, &r); err != nil {
		return nil, nil, err
	}
	if err := s.tx.Bucket(bucketSeen).Put(seen, binary.AppendUvarint(nil, r.Order)); err != nil {
		return nil, nil, err
	}
	k, v = urlKey(nil, h.ID, r.Order), r.append(nil)
	return k, v, s.tx.Bucket(bucketURLs).Put(k, v)
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
// outstanding visit alone: their outcome is on its way, or its lease runs out.
func (s *shard) refuseQueue(h *host) error {
	if n := s.j.spec.MaxPagesPerHost; n <= 0 || h.Stored < n || h.Queued == 0 || h.visit != nil || s.tx == nil {
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
	if err := s.uncount(h, &r); err != nil {
		return err
	}
	r.Class, r.Reason = crawl.Failed, crawl.ReasonStoreFailed
	r.held, r.again = held{}, again{}
	s.count(&r, +1)
	now := time.Now()
	if err := s.plan(h, &r, cmp.Or(s.at, now)); err != nil {
		return err
	}
	s.reschedule(h, now)
	s.logLine(&r, nil)
	return s.tx.Bucket(bucketURLs).Put(k, r.append(nil))
}
