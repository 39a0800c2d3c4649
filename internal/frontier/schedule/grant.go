package schedule

import (
	"container/heap"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/budget"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/times"
	"github.com/curtsy/curtsy/internal/frontier/urls"
)

// robotsInline is the size up to which a robots.txt travels with every visit. A larger one is
// fetched by its digest.
const robotsInline = 2 << 10

// vain reports that a visit was for queued URLs alone, and none of them is queued any more.
func vain(v *hosts.Visit) bool { return v.Queued > 0 && v.Queued == v.URLs && len(v.List) == 0 }

// ExpiredVisit stands for the URLs of a visit that expired. Its fetcher may still tell of pages it
// has fetched. They count against --max-pages until it does, or until that is most unlikely.
type ExpiredVisit struct {
	ID    crawl.VisitID
	urls  int
	until time.Time
}

// ExpiredReported notes that a visit, should it have expired, has told of one of its URLs after
// all.
func (s *Visits) ExpiredReported(id crawl.VisitID) {
	for i := range s.Expired {
		if g := &s.Expired[i]; g.ID == id {
			if g.urls--; g.urls == 0 {
				s.Expired = slices.Delete(s.Expired, i, i+1)
			}
			return
		}
	}
}

// MaxGrantBytes bounds an answer to a take: it must fit into a message of NATS.
const MaxGrantBytes = 512 << 10

const maxVisitAux = 16

// pendingPause is so while more of it is being reserved.
const pendingPause = 5 * time.Millisecond

// Grant hands out up to n visits to hosts that are due, and says about how many bytes they take. It
// stops once that is over room.
func (s *Visits) Grant(n, room int, now time.Time) (out []crawl.Visit, size int, err error) {
	if !s.MayGrant(now) {
		return nil, 0, s.ledger.Phase.Err
	}
	if err := s.urls.EnqueueLater(now); err != nil {
		return nil, 0, s.ledger.Fail(err)
	}
	if err := s.ledger.Load(now); err != nil {
		return nil, 0, s.ledger.Fail(err)
	}
	s.unpark(now)
	s.Schedule(now)
	s.lookSoon(now)
	var later []*hosts.Host // due, and all they want is pages the budget has no room for
	for loads := n + loadsAtOnce; len(out) < n && size < room; {
		if len(s.ledger.Due) == 0 || s.ledger.Due[0].When.After(now) {
			if loads--; loads < 0 || !s.mayLoad(now) {
				break
			}
			loaded, err := s.ledger.LoadDue(now)
			if err != nil {
				return out, size, s.ledger.Fail(err)
			}
			if !loaded {
				break
			}
			s.Schedule(now)
			continue
		}
		h := s.ledger.Due[0]
		if from, ok := s.Ready(h, now); !ok || from.After(now) {
			s.Reschedule(h, now) // its robots.txt has grown too old since it was scheduled
			continue
		}
		if !s.AllSlots.mayHave(h.Domain, n-len(out)) {
			s.passOver(h, now)
			continue
		}
		v, bytes, err := s.visitTo(h, now)
		if err != nil {
			return out, size, s.ledger.Fail(err)
		}
		if h.At >= 0 {
			heap.Remove(&s.ledger.Due, h.At)
		}
		if v == nil {
			later = append(later, h)
			continue
		}
		out = append(out, *v)
		size += bytes
	}
	// A signal would have the caller try again at once, and again, until there is a page to spare.
	// NextDue tells when to try.
	for _, h := range later {
		s.reschedule(h, now)
	}
	return out, size, nil
}

// loadsAtOnce is how many more hosts than it wants a grant wakes, of which none may turn out to be
// due: all were slowed down, say. The next one goes on.
const loadsAtOnce = 256

// mayLoad reports whether waking hosts is of use: not while the budget has no room for their pages,
// nor while hosts enough wait for hands that others have.
func (s *Visits) mayLoad(now time.Time) bool {
	return !now.Before(s.ledger.Spent) && len(s.passedOver) < hosts.MaxResident
}

// MayGrant reports whether the shard may hand out visits now.
func (s *Visits) MayGrant(now time.Time) bool {
	return s.ledger.Phase.MayGrant(now) && s.ledger.Valid() && s.ledger.HasCapacity() && !s.ledger.Judge.Spec.Paused
}

// visitTo makes a visit to h and says about how many bytes it takes. It returns nil when all it
// could do is fetch pages, and no more may be fetched.
func (s *Visits) visitTo(h *hosts.Host, now time.Time) (g *crawl.Visit, bytes int, err error) {
	spacing := s.polite.DelayOf(h)
	delay := spacing.D
	k := polite.MaxVisitURLs
	if delay > 0 {
		k = int(min(max(int64(polite.VisitSpan/delay), 1), polite.MaxVisitURLs))
	}
	room := k
	if s.ledger.Judge.Spec.PlanOnly {
		k = polite.MaxVisitURLs // none is asked for, so nothing is waited for
	}
	if n := s.ledger.Judge.Spec.MaxPagesPerHost; n > 0 {
		k = int(min(int64(k), max(n-h.Stored, 1)))
	}
	k = s.pagesFor(h, k, now)
	again := s.recrawl.Due(h, now)
	pages := k > 0 || again
	aux := s.polite.AuxReady(h, min(maxVisitAux, room), now)
	if !pages && len(aux) == 0 {
		return nil, 0, nil
	}
	h.Quota.TookVisit(!pages)
	v := &hosts.Visit{
		ID: s.ledger.NextVisit(), Host: h, Since: now, Until: now.Add(times.OwnerLease),
	}
	g = &crawl.Visit{
		ID: v.ID, Shard: s.ledger.ID, Host: h.Name, Delay: s.polite.GrantDelay(h), Lease: times.Lease, Hurried: s.ledger.Judge.Hurries(h.Name),
		DelaySource: spacing.Source,
	}
	if !pages {
		h.Quota.Urgent = false
		if g.Aux, err = s.dressAux(h, aux, now); err != nil || len(g.Aux) == 0 {
			return nil, 0, err
		}
		for i := range g.Aux {
			e := &g.Aux[i]
			bytes += len(e.URL) + len(e.Form) + 300
			// All are ordinary URLs of this host: its rules decide.
			to := e.URL.Origin()
			if slices.ContainsFunc(g.Robots, func(r crawl.Robots) bool { return r.Origin == to }) {
				continue
			}
			if i, ok := s.ledger.OriginOf(h, to); ok {
				r := s.robotsFor(h, &h.Origins[i], now, 0)
				r.ProbeData = false
				g.Robots = append(g.Robots, r)
				bytes += 300
			}
		}
	} else {
		var due []urls.Candidate
		if again {
			due = s.recrawl.DueAgain(h, room, now)
		}
		share := h.Quota.ShareAgain(room, len(due))
		used, n, err := s.pick(h, min(k, room-share), now, g, v)
		if err != nil {
			return nil, 0, err
		}
		bytes += n
		fresh := len(g.URLs)
		if err := s.recrawl.PickAgain(h, due, room, now, g, &used, &bytes); err != nil {
			return nil, 0, err
		}
		h.Quota.TookPages(again, fresh, len(g.URLs)-fresh)
		if len(g.URLs) == 0 {
			return nil, 0, nil
		}
		inline := 4 * robotsInline
		for i := range h.Origins {
			if used[i] {
				r := s.robotsFor(h, &h.Origins[i], now, inline)
				n := len(r.Body)
				for j := range r.Rights {
					n += len(r.Rights[j].Body)
				}
				inline -= n
				bytes += n + 300 + 200*len(r.Rights)
				g.Robots = append(g.Robots, r)
			}
		}
	}
	v.URLs, v.Queued = len(g.URLs), len(v.List)
	s.urls.AddInFlight(len(v.List))
	s.Outstanding[v.ID] = v
	s.AllSlots.Count(h.Domain, +1)
	h.Visit = v
	s.ledger.Metrics.Visits.Inc()
	s.ledger.Meet(h)
	s.ReportBudget(now)
	return g, bytes, nil
}

// pagesFor is how many of k URLs a visit to h may hold now: none when it is the errands' turn, or
// when the page budget is spent.
func (s *Visits) pagesFor(h *hosts.Host, k int, now time.Time) int {
	if s.polite.AuxQuota(h, now) {
		return 0
	}
	ready := !s.urls.Full(h) && slices.ContainsFunc(h.Origins, func(o hosts.Origin) bool { return o.Ready > 0 && !polite.From(&o, now).After(now) })
	if o := polite.SlowOrigin(h); !ready || now.Before(s.ledger.Spent) || o != nil && polite.From(o, now).After(now) {
		return 0
	}
	s.ReportBudget(now)
	if k = s.ledger.Budget.Take(s.ledger.ID, k); k == 0 {
		if s.ledger.Budget.Pending() {
			s.ledger.NoPagesUntil(now.Add(pendingPause))
		} else {
			s.ledger.NoPagesUntil(now.Add(polite.SpentPause))
		}
	}
	return k
}

// Slots is how many page slots this shard uses: pages stored, URLs in visits, and URLs of visits
// that expired lately.
func (s *Visits) Slots(now time.Time) int64 {
	used := s.ledger.Meta.Counts.Stored + s.urls.InFlight
	s.Expired = slices.DeleteFunc(s.Expired, func(g ExpiredVisit) bool { return g.until.Before(now) })
	for _, g := range s.Expired {
		used += int64(g.urls)
	}
	return used
}

// ReportBudget says what this shard uses, unless it is still learning that from its log.
func (s *Visits) ReportBudget(now time.Time) {
	if s.ledger.Phase.Read {
		s.ledger.Budget.Use(s.ledger.ID, s.Slots(now), s.ledger.Meta.Counts.Bytes)
	}
}

// pick chooses the first k URLs of h's queue, over all origins that may be asked now: lowest depth
// first, then first come.
func (s *Visits) pick(h *hosts.Host, k int, now time.Time, g *crawl.Visit, v *hosts.Visit) (used [hosts.MaxOrigins]bool, bytes int, err error) {
	type head struct {
		key    []byte
		origin int
	}
	var heads []head
	queue := s.ledger.Ready()
	for i := range h.Origins {
		o := &h.Origins[i]
		if o.Ready == 0 || polite.From(o, now).After(now) {
			continue
		}
		prefix := append(h.ID.Append(nil), byte(i))
		c := queue.Cursor()
		n := 0
		for kk, _ := c.Seek(prefix); n < k && kk != nil && hosts.KeyHost(kk) == h.ID && int(kk[4]) == i; kk, _ = c.Next() {
			heads = append(heads, head{kk, i})
			n++
		}
	}
	// After host and origin a queue key is depth and order: comparing that part merges the origins.
	slices.SortStableFunc(heads, func(a, b head) int { return slices.Compare(a.key[5:], b.key[5:]) })
	records := s.ledger.Records()
	var refuse []urls.Record // what the pass of another spec has not come to yet
	for _, e := range heads[:min(k, len(heads))] {
		key := hosts.URLKey(make([]byte, 0, 12), h.ID, hosts.KeyOrder(e.key))
		r, err := urls.DecodeRecord(key, records.Get(key))
		if err != nil {
			return used, bytes, err
		}
		if s.ledger.Meta.Judging.Running {
			if s.urls.Decide(&r, h).Class != crawl.Queued {
				refuse = append(refuse, r)
				continue
			}
		}
		if s.ledger.Judge.Forgotten.Has(r.URL) {
			continue // forgetting gets to it soon
		}
		if bytes += len(r.URL) + len(r.FoundOn) + 32; bytes > polite.MaxVisitBytes && len(g.URLs) > 0 {
			break
		}
		used[e.origin] = true
		v.List = append(v.List, hosts.InVisit{URL: r.URL, Order: r.Order})
		u := crawl.VisitURL{URL: r.URL, FoundOn: r.FoundOn, Depth: r.Depth, Redirects: r.Redirects, Attempts: r.Attempts}
		if r.Attempts > 0 {
			u.Failed = r.Detail
		}
		g.URLs = append(g.URLs, u)
	}
	for i := range refuse { // not before: the heads lie in the queue that this changes
		if err := s.RefuseQueued(h, hosts.URLKey(nil, h.ID, refuse[i].Order), &refuse[i]); err != nil {
			return used, bytes, err
		}
	}
	return used, bytes, nil
}

// robotsFor is what a visit is told of an origin's robots.txt. The text is left out when it is
// larger than room.
func (s *Visits) robotsFor(h *hosts.Host, o *hosts.Origin, now time.Time, room int) crawl.Robots {
	state, ask := polite.State(o, now)
	r := crawl.Robots{
		Origin: o.Origin, State: state, Status: o.Status, Digest: o.Digest, CrawlDelay: o.CrawlDelay,
		HasCrawlDelay: o.HasDelay, ETag: o.ETag, LastModified: o.LastMod, Reason: o.Reason,
	}
	r.ProbeData = !now.Before(o.DataDue) && !o.Mirror.Mirrored()
	if state == crawl.RobotsParsed || state == crawl.RobotsUnavailable {
		r.Fresh = max(ask.Sub(now), 0)
	}
	if !o.History.Fetched.IsZero() {
		r.Age = max(now.Sub(o.History.Fetched), 0)
	}
	if len(o.Digest) > 0 {
		r.Body = s.textFor(o.Digest, hosts.RobotsRef{ID: h.ID, Origin: o.Origin}, room)
	}
	if !s.ledger.Judge.Spec.PurposeSet().Beyond() {
		return r
	}
	room -= len(r.Body)
	for i := range o.Rights {
		k := &o.Rights[i]
		a := crawl.RightsFile{URL: k.URL, State: k.State, Digest: k.Digest, Reason: k.Reason, Fresh: max(k.Due.Sub(now), 0)}
		if len(k.Digest) > 0 {
			a.Body = s.textFor(k.Digest, hosts.RobotsRef{ID: h.ID, Origin: o.Origin, Rights: k.URL}, room)
			room -= len(a.Body)
		}
		r.Rights = append(r.Rights, a)
	}
	return r
}

// textFor is the text of a robots.txt, or of such a file, for a visit: nothing when it is larger
// than room; then the fetcher may ask for it by its digest.
func (s *Visits) textFor(digest []byte, ref hosts.RobotsRef, room int) []byte {
	body := s.ledger.Tx.Bucket(hosts.BucketRobots).Get(ref.Key())
	if len(body) <= min(robotsInline, room) {
		return slices.Clone(body)
	}
	if len(s.Digests) > maxDigests {
		clear(s.Digests) // a fetcher that asks in vain asks the origin
	}
	s.Digests[string(digest)] = ref
	return nil
}

// Renew prolongs the visits that are still ours and outstanding, and names the others. Among those
// is a visit of whose URLs none is wanted any more, for example since their origin turned out to be
// a mirror.
func (s *Visits) Renew(ids []crawl.VisitID, now time.Time) crawl.Renewed {
	r := crawl.Renewed{Lease: times.Lease}
	for _, id := range ids {
		v := s.Outstanding[id]
		if v == nil || !s.ledger.Valid() || v.Until.Before(now) || vain(v) {
			r.Lost = append(r.Lost, id)
			continue
		}
		v.Until = now.Add(times.OwnerLease)
	}
	return r
}

// Expire ends visits whose lease is over. Their fetchers send nothing any more, and one full delay
// is waited.
func (s *Visits) Expire(now time.Time) error {
	var over []*hosts.Visit
	for _, v := range s.Outstanding {
		if v.Until.Before(now) {
			over = append(over, v)
		}
	}
	slices.SortFunc(over, func(a, b *hosts.Visit) int { return a.ID.Compare(b.ID) })
	for _, v := range over {
		h := v.Host
		s.ledger.Log.Warn("a visit had no result in time", "host", h.Name, "visit", v.ID, "urls", v.URLs)
		if len(v.List) > 0 {
			s.Expired = append(s.Expired, ExpiredVisit{v.ID, len(v.List), now.Add(budget.ExpiredTime)})
		}
		s.EndVisit(v)
		s.ledger.Metrics.Expired.Inc()
		if t := now.Add(max(s.polite.DelayOf(h).D, h.Delay)); h.Due.Before(t) {
			h.Due, h.DueReason = t, ""
		}
		s.ledger.MarkDirty(h)
		if err := s.timeline.Silent(h, v.ID, v.Since, now); err != nil {
			return s.ledger.Fail(err)
		}
	}
	return nil
}

// EndVisit forgets an outstanding visit.
func (s *Visits) EndVisit(v *hosts.Visit) {
	delete(s.Outstanding, v.ID)
	s.AllSlots.Count(v.Host.Domain, -1)
	s.urls.AddInFlight(-len(v.List))
	v.Host.Visit = nil
	s.ledger.Unschedule(v.Host)
}

// maxDigests bounds the robots.txt files that fetchers may ask for by digest.
const maxDigests = 100_000
