package frontier

import (
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
	list  []inVisit
	until time.Time

	queued int // of urls, those that list had when it was granted
}

// vain reports that a visit was for queued URLs alone, and none of them is queued any more.
func (v *visit) vain() bool { return v.queued > 0 && v.queued == v.urls && len(v.list) == 0 }

// ghost stands for the URLs of a visit that expired: what its fetcher has fetched may still be told, and counts against
// --max-pages until then, or until it is most unlikely.
type ghost struct {
	id    crawl.VisitID
	urls  int
	until time.Time
}

const (
	ghostTime = 2 * leaseOwner
	// An answer to a take must fit into a NATS message, whatever the URLs and errands are like.
	maxVisitBytes  = 48 << 10
	maxGrantBytes  = 512 << 10
	maxVisitErrand = 16
	// spentPause is how long a spent page budget is not asked for more.
	spentPause = 250 * time.Millisecond
)

// grant hands out up to n visits to hosts that are due, and says about how many bytes they take; it stops once that is
// over room.
func (s *shard) grant(n, room int, now time.Time) (out []crawl.Visit, size int, err error) {
	if !s.mayGrant(now) {
		return nil, 0, s.broken
	}
	if err := s.wakeLater(now); err != nil {
		return nil, 0, s.fail(err)
	}
	var later []*host // due, and all they want is pages the budget has no room for
	for len(out) < n && size < room && len(s.due) > 0 && !s.due[0].when.After(now) {
		h := s.due[0]
		if from, ok := s.ready(h, now); !ok || from.After(now) {
			s.reschedule(h, now) // its robots.txt has grown too old since it was scheduled
			continue
		}
		v, bytes, err := s.visitTo(h, now)
		if err != nil {
			return out, size, s.fail(err)
		}
		if h.at >= 0 {
			heap.Remove(&s.due, h.at)
		}
		if v == nil {
			later = append(later, h)
			continue
		}
		out = append(out, *v)
		size += bytes
	}
	for _, h := range later {
		s.reschedule(h, now)
	}
	return out, size, nil
}

// mayGrant reports whether the shard may hand out visits now.
func (s *shard) mayGrant(now time.Time) bool {
	return s.broken == nil && s.tx != nil && s.caughtUp && !s.frozen && s.valid() && !now.Before(s.quiet) && !s.j.spec.Paused
}

// visitTo makes a visit to h and says about how many bytes it takes, or returns nil when all it could do is fetch pages,
// and no more may be fetched.
func (s *shard) visitTo(h *host, now time.Time) (g *crawl.Visit, bytes int, err error) {
	delay := s.delayOf(h).d
	k := maxVisitURLs
	if delay > 0 {
		k = int(min(max(int64(visitSpan/delay), 1), maxVisitURLs))
	}
	room := k
	if n := s.j.spec.MaxPagesPerHost; n > 0 {
		k = int(min(int64(k), max(n-h.Stored, 1)))
	}
	k = s.pagesFor(h, k, now)
	again := s.againDue(h, now)
	pages := k > 0 || again
	errands := h.errandsReady(min(maxVisitErrand, room), now)
	if !pages && len(errands) == 0 {
		return nil, 0, nil
	}
	h.ran, h.downloaded = !pages, false
	s.visitN++
	v := &visit{
		id: crawl.VisitID{Epoch: s.epoch, N: s.visitN}, host: h, until: now.Add(leaseOwner),
	}
	g = &crawl.Visit{
		ID: v.id, Shard: s.id, Host: h.Name, Delay: s.grantDelay(h), Lease: LeaseTime, Hurried: s.j.hurry[h.Name],
	}
	if !pages {
		if g.Errands, err = s.grantRUP(h, errands, now); err != nil || len(g.Errands) == 0 {
			return nil, 0, err
		}
		for i := range g.Errands {
			e := &g.Errands[i]
			bytes += len(e.URL) + len(e.Form) + 300
			if e.Kind == crawl.ErrandSitemap {
				s.grantSitemap(h, e)
			}
			// All but a robots.txt hop are ordinary URLs of this host: its rules decide.
			to := e.URL.Origin()
			if e.Kind == crawl.ErrandRobots || slices.ContainsFunc(g.Robots, func(r crawl.Robots) bool { return r.Origin == to }) {
				continue
			}
			if i, ok := s.originOf(h, to); ok {
				r := s.robotsFor(h, &h.Origins[i], now, 0)
				r.ProbeData = false
				g.Robots = append(g.Robots, r)
				bytes += 300
			}
		}
	} else {
		var due []dueAgain
		if again {
			due = s.dueAgain(h, room, now)
		}
		share := h.shareAgain(room, len(due))
		used, n, err := s.pick(h, min(k, room-share), now, g, v)
		if err != nil {
			return nil, 0, err
		}
		bytes += n
		fresh := len(g.URLs)
		if err := s.pickAgain(h, due, room, now, g, &used, &bytes); err != nil {
			return nil, 0, err
		}
		h.tookTurn(again, fresh, len(g.URLs)-fresh)
		if len(g.URLs) == 0 {
			return nil, 0, nil
		}
		inline := 4 * robotsInline
		for i := range h.Origins {
			if used[i] {
				r := s.robotsFor(h, &h.Origins[i], now, inline)
				inline -= len(r.Body)
				bytes += len(r.Body) + 300
				g.Robots = append(g.Robots, r)
			}
		}
	}
	v.urls, v.queued = len(g.URLs), len(v.list)
	s.met.visits.Inc()
	s.inFlight += int64(len(v.list))
	s.visits[v.id] = v
	h.visit = v
	s.tellBudget(now)
	return g, bytes, nil
}

// pagesFor is how many of k URLs a visit to h may hold now: none when it is errands' turn, or when the page budget is
// spent. Errands and pages take turns, so that neither keeps the other waiting for ever.
func (s *shard) pagesFor(h *host, k int, now time.Time) int {
	if h.errandsTurn(now) {
		return 0
	}
	ready := slices.ContainsFunc(h.Origins, func(o origin) bool { return o.Ready > 0 && !o.from(now).After(now) })
	if o := h.slow(); !ready || now.Before(s.spent) || o != nil && o.from(now).After(now) {
		return 0
	}
	s.tellBudget(now)
	if k = s.budget.take(s.id, k); k == 0 {
		s.spent = now.Add(spentPause)
	}
	return k
}

// errandsTurn reports that the next visit to h is for errands.
func (h *host) errandsTurn(now time.Time) bool {
	return (!h.ran || h.first) && len(h.errandsReady(1, now)) > 0
}

// slots is how many page slots this shard uses: pages stored, URLs in visits, URLs of visits that expired lately.
func (s *shard) slots(now time.Time) int64 {
	used := s.m.Counts.Stored + s.inFlight
	s.ghosts = slices.DeleteFunc(s.ghosts, func(g ghost) bool { return g.until.Before(now) })
	for _, g := range s.ghosts {
		used += int64(g.urls)
	}
	return used
}

// tellBudget says what this shard uses, unless it is still learning that from its log.
func (s *shard) tellBudget(now time.Time) {
	if s.caughtUp {
		s.budget.use(s.id, s.slots(now), s.m.Counts.Bytes)
	}
}

// pick chooses the first k URLs of h's queue: lowest depth first, then first come, over the origins that may be asked.
func (s *shard) pick(h *host, k int, now time.Time, g *crawl.Visit, v *visit) (used [maxOrigins]bool, bytes int, err error) {
	type head struct {
		key    []byte
		origin int
	}
	var heads []head
	queue := s.tx.Bucket(bucketQueue)
	for i := range h.Origins {
		o := &h.Origins[i]
		if o.Ready == 0 || o.from(now).After(now) {
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
			return used, bytes, err
		}
		if s.j.forgotten.Has(r.URL) {
			continue // forgetting gets to it soon
		}
		if bytes += len(r.URL) + len(r.FoundOn) + 32; bytes > maxVisitBytes && len(g.URLs) > 0 {
			break
		}
		used[e.origin] = true
		v.list = append(v.list, inVisit{r.URL, r.Order})
		g.URLs = append(g.URLs, crawl.VisitURL{
			URL: r.URL, FoundOn: r.FoundOn, Depth: r.Depth, Hops: r.Hops, Attempts: r.Attempts,
		})
	}
	return used, bytes, nil
}

// robotsFor is what a visit is told of an origin's robots.txt; its text is left out when it is larger than room.
func (s *shard) robotsFor(h *host, o *origin, now time.Time, room int) crawl.Robots {
	state, ask := o.state(now)
	r := crawl.Robots{
		Origin: o.Origin, State: state, Status: o.Status, Digest: o.Digest, CrawlDelay: o.CrawlDelay,
		HasCrawlDelay: o.HasDelay, ETag: o.ETag, LastModified: o.LastMod, Reason: o.Reason,
	}
	r.ProbeData = !now.Before(o.DataDue) && !o.Mirror.mirrored()
	if state == crawl.RobotsParsed || state == crawl.RobotsUnavailable {
		r.Fresh = max(ask.Sub(now), 0)
	}
	if !o.History.Fetched.IsZero() {
		r.Age = max(now.Sub(o.History.Fetched), 0)
	}
	if len(o.Digest) > 0 {
		body := robotsCopy(s.tx, h.ID, o.Origin)
		if len(body) <= min(robotsInline, room) {
			r.Body = slices.Clone(body)
		} else {
			if len(s.digests) > maxDigests {
				clear(s.digests) // a fetcher that asks in vain asks the origin
			}
			s.digests[string(o.Digest)] = robotsRef{h.ID, o.Origin}
		}
	}
	return r
}

// renew prolongs the visits that are still ours and outstanding, and names the others: also one of whose URLs none is wanted any more,
// since their origin has turned out to be a mirror, say.
func (s *shard) renew(ids []crawl.VisitID, now time.Time) crawl.Renewed {
	r := crawl.Renewed{Lease: LeaseTime}
	for _, id := range ids {
		v := s.visits[id]
		if v == nil || !s.valid() || v.until.Before(now) || v.vain() {
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
	slices.SortFunc(over, func(a, b *visit) int { return a.id.Compare(b.id) })
	for _, v := range over {
		h := v.host
		s.log.Warn("a visit was not answered in time", "host", h.Name, "visit", v.id, "urls", v.urls)
		s.ghosts = append(s.ghosts, ghost{v.id, len(v.list), now.Add(ghostTime)})
		s.endVisit(v)
		s.met.expired.Inc()
		if t := now.Add(max(s.delayOf(h).d, h.Delay)); h.Due.Before(t) {
			h.Due, h.DueReason = t, ""
		}
		s.touch(h)
		if err := s.refuseQueue(h); err != nil {
			s.fail(err) // the next commit says so
			return
		}
		s.reschedule(h, now)
	}
}

// endVisit forgets an outstanding visit. The caller reschedules its host.
func (s *shard) endVisit(v *visit) {
	delete(s.visits, v.id)
	s.inFlight -= int64(len(v.list))
	v.host.visit = nil
}

// inVisit is a URL of an outstanding visit that is still Queued.
type inVisit struct {
	url   canon.URL
	order uint64
}

// landed takes a URL that is Queued no longer out of the visit it may be in.
func (s *shard) landed(h *host, order uint64) {
	if h.visit == nil {
		return
	}
	for i, u := range h.visit.list {
		if u.order == order {
			h.visit.list = slices.Delete(h.visit.list, i, i+1)
			s.inFlight--
			return
		}
	}
}

// maxDigests bounds the robots.txt files that fetchers may ask for by digest.
const maxDigests = 100_000
