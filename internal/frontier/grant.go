package frontier

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// LeaseTime is how long a visit lasts without being renewed (L of design §3). The owner counts it from its answer and
// two percent longer than the fetcher, who counts from asking: whatever happens, the fetcher stops first.
const LeaseTime = 10 * time.Second

const leaseOwner = LeaseTime + LeaseTime/50

// robotsInline is the size up to which a robots.txt travels with every visit; a larger one is asked for by digest.
const robotsInline = 2 << 10

// visit is an outstanding visit. Granting is not logged: after an unclean take-over the new owner waits until
// every older visit has ended or died.
type visit struct {
	id    crawl.VisitID
	host  *host
	urls  int
	list  []canon.URL
	until time.Time
	pages int64 // page slots reserved for it and not used yet
}

// grant hands out up to n visits to hosts that are due.
func (s *shard) grant(n int, now time.Time) ([]crawl.Visit, error) {
	if s.broken != nil || s.tx == nil || !s.caughtUp || !s.valid() || now.Before(s.quiet) || s.j.spec.Paused {
		return nil, s.broken
	}
	if err := s.wakeLater(now); err != nil {
		return nil, s.fail(err)
	}
	var out []crawl.Visit
	for len(out) < n && len(s.due) > 0 && !s.due[0].when.After(now) {
		h := s.due[0]
		if from, ok := ready(h, now); !ok || from.After(now) {
			s.reschedule(h, now) // its robots.txt has grown too old since it was scheduled
			continue
		}
		v, err := s.visitTo(h, now)
		if err != nil {
			return out, s.fail(err)
		}
		if v == nil {
			break // the budget is spent
		}
		out = append(out, *v)
		heap.Pop(&s.due)
	}
	return out, nil
}

// visitTo makes a visit to h, or returns nil when no more pages may be fetched.
func (s *shard) visitTo(h *host, now time.Time) (*crawl.Visit, error) {
	delay := s.delayOf(h).d
	k := maxVisitURLs
	if delay > 0 {
		k = int(min(max(int64(visitSpan/delay), 1), maxVisitURLs))
	}
	if n := s.j.spec.MaxPagesPerHost; n > 0 {
		k = int(min(int64(k), max(n-h.Stored, 1)))
	}
	if len(h.errands) == 0 {
		if k = s.budget.take(s.id, k); k == 0 {
			return nil, nil
		}
	} else {
		k = 0 // errands alone this time; pages follow in the next visit
	}
	s.visitN++
	v := &visit{
		id: crawl.VisitID{Epoch: s.epoch, N: s.visitN}, host: h, until: now.Add(leaseOwner), pages: int64(k),
	}
	g := &crawl.Visit{
		ID: v.id, Shard: s.id, Host: h.Name, Delay: delay, Lease: LeaseTime, Hurried: s.j.hurry[h.Name],
		Errands: slices.Clone(h.errands),
	}
	if k > 0 {
		used, err := s.pick(h, k, now, g)
		if err != nil {
			return nil, err
		}
		for i := range h.Origins {
			if used[i] {
				g.Robots = append(g.Robots, s.robotsFor(h, &h.Origins[i], now))
			}
		}
	}
	v.urls = len(g.URLs)
	for i := range g.URLs {
		v.list = append(v.list, g.URLs[i].URL)
	}
	s.met.visits.Inc()
	s.inFlight += int64(v.urls)
	s.visits[v.id.N] = v
	h.visit = v
	return g, nil
}

// pick chooses the first k URLs of h's queue: lowest depth first, then first come, over the origins that may be asked.
func (s *shard) pick(h *host, k int, now time.Time, g *crawl.Visit) (used [maxOrigins]bool, err error) {
	type head struct {
		key    []byte
		origin int
	}
	var heads []head
	queue := s.tx.Bucket(bucketQueue)
	for i := range h.Origins {
		o := &h.Origins[i]
		if from, ok := o.from(now); o.Ready == 0 || !ok || from.After(now) {
			continue
		}
		prefix := append(h.ID.append(nil), byte(i))
		c := queue.Cursor()
		n := 0
		for kk, _ := c.Seek(prefix); n < k && kk != nil && keyHost(kk) == h.ID && int(kk[4]) == i; kk, _ = c.Next() {
			heads = append(heads, head{kk, i})
			n++
		}
	}
	// After host and origin a queue key is depth and order: comparing that part merges the origins.
	slices.SortStableFunc(heads, func(a, b head) int { return slices.Compare(a.key[5:], b.key[5:]) })
	urls := s.tx.Bucket(bucketURLs)
	for _, e := range heads[:min(k, len(heads))] {
		key := urlKey(make([]byte, 0, 12), h.ID, keyOrder(e.key))
		r, err := decodeRecord(key, urls.Get(key))
		if err != nil {
			return used, err
		}
		used[e.origin] = true
		g.URLs = append(g.URLs, crawl.VisitURL{
			URL: r.URL, FoundOn: r.FoundOn, Depth: r.Depth, Hops: r.Hops, Attempts: r.Attempts,
		})
	}
	return used, nil
}

// robotsFor is what a visit is told of an origin's robots.txt.
func (s *shard) robotsFor(h *host, o *origin, now time.Time) crawl.Robots {
	state, ask := o.state(now)
	r := crawl.Robots{
		Origin: o.Origin, State: state, Status: o.Status, Digest: o.Digest, CrawlDelay: o.CrawlDelay,
		HasCrawlDelay: o.HasDelay, ETag: o.ETag, LastModified: o.LastMod, Reason: o.Reason,
	}
	if state == crawl.RobotsParsed || state == crawl.RobotsUnavailable {
		r.Fresh = max(ask.Sub(now), 0)
	}
	if !o.History.Fetched.IsZero() {
		r.Age = max(now.Sub(o.History.Fetched), 0)
	}
	if len(o.Digest) > 0 {
		body := robotsCopy(s.tx, h.ID, o.Origin)
		if len(body) <= robotsInline {
			r.Body = slices.Clone(body)
		} else {
			s.digests[string(o.Digest)] = robotsRef{h.ID, o.Origin}
		}
	}
	return r
}

// renew prolongs the visits that are still ours and outstanding, and names the others.
func (s *shard) renew(ids []crawl.VisitID, now time.Time) crawl.Renewed {
	r := crawl.Renewed{Lease: LeaseTime}
	for _, id := range ids {
		v := s.visits[id.N]
		if v == nil || id.Epoch != s.epoch || !s.valid() || v.until.Before(now) {
			r.Lost = append(r.Lost, id)
			continue
		}
		v.until = now.Add(leaseOwner)
	}
	return r
}

// expire ends visits whose lease is over: their fetcher sends nothing any more, and one full delay is waited.
func (s *shard) expire(now time.Time) {
	var over []*visit
	for _, v := range s.visits {
		if v.until.Before(now) {
			over = append(over, v)
		}
	}
	slices.SortFunc(over, func(a, b *visit) int { return cmp.Compare(a.id.N, b.id.N) })
	for _, v := range over {
		h := v.host
		s.log.Warn("a visit was not answered in time", "host", h.Name, "visit", v.id, "urls", v.urls)
		s.endVisit(v)
		s.met.expired.Inc()
		if t := now.Add(max(s.delayOf(h).d, h.Delay)); h.Due.Before(t) {
			h.Due, h.DueReason = t, ""
		}
		s.touch(h)
		s.reschedule(h, now)
	}
}

// endVisit forgets an outstanding visit. The caller reschedules its host.
func (s *shard) endVisit(v *visit) {
	delete(s.visits, v.id.N)
	s.inFlight -= int64(v.urls)
	v.host.visit = nil
}
