package schedule

import (
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/budget"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/times"
	"github.com/curtsy/curtsy/internal/frontier/urls"
)

// robotsInline is the size up to which a robots.txt is sent with every visit. A fetcher requests a
// larger one by its digest.
const robotsInline = 2 << 10

// vain reports that a visit was for queued URLs only, and that none of them is queued any more.
func vain(v *hosts.Visit) bool { return v.Queued > 0 && v.Queued == v.URLs && len(v.List) == 0 }

// ExpiredVisit represents the URLs of a visit that expired. Its fetcher may still report pages that
// it has fetched. They count against --max-pages until it does, or until that is very unlikely.
type ExpiredVisit struct {
	ID    crawl.VisitID
	urls  int
	until time.Time
}

// ExpiredReported notes that a visit has reported one of its URLs, in case it had expired.
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

// AddExpired notes that a visit, which is over, may still report so many URLs.
func (s *Visits) AddExpired(id crawl.VisitID, n int, now time.Time) {
	if n > 0 {
		s.Expired = append(s.Expired, ExpiredVisit{id, n, now.Add(budget.ExpiredTime)})
	}
}

// MaxGrantBytes limits the response to a request for visits, which must fit into a NATS message.
const MaxGrantBytes = 512 << 10

const maxVisitAux = 16

// pendingPause is the pause when the budget is spent but more of it is being reserved.
const pendingPause = 5 * time.Millisecond

// Grant grants up to n visits to hosts that are due, and returns their approximate size in bytes.
// It stops once that exceeds limit.
func (s *Visits) Grant(n, limit int, now time.Time) (out []crawl.Visit, size int, err error) {
	if !s.MayGrant(now) {
		return nil, 0, s.ledger.Phase.Err
	}
	if err := s.urls.EnqueueLater(now); err != nil {
		return nil, 0, s.ledger.Fail(err)
	}
	if err := s.ledger.Load(now); err != nil {
		return nil, 0, s.ledger.Fail(err)
	}
	s.Schedule(now)
	s.lookSoon(now)
	s.takeWaiting(n, now)
	var later []*hosts.Host // due, but the budget permits no more of the pages that they need
	for loads := n + loadsAtOnce; len(out) < n && size < limit; {
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
			s.Reschedule(h, now) // its robots.txt has become too old since it was scheduled
			continue
		}
		if p := s.AllSlots.beyond(h, n-len(out), now); p != (party{}) {
			s.passOver(h, p, now)
			continue
		}
		v, bytes, err := s.visitTo(h, now)
		if err != nil {
			return out, size, s.ledger.Fail(err)
		}
		s.ledger.Due.Remove(h)
		if v == nil {
			later = append(later, h)
			continue
		}
		out = append(out, *v)
		size += bytes
	}
	// A signal would make the caller try again at once, and again, until the budget permits a page.
	// NextDue says when to try.
	for _, h := range later {
		s.reschedule(h, now)
	}
	return out, size, nil
}

// A grant loads up to loadsAtOnce extra hosts, because some may prove not to be due, for example if
// the operator slowed them down. The next grant continues.
const loadsAtOnce = 256

// mayLoad reports whether loading hosts is useful. It is not while the budget permits no pages.
func (s *Visits) mayLoad(now time.Time) bool { return !now.Before(s.ledger.Spent) }

// MayGrant reports whether the shard may grant visits now.
func (s *Visits) MayGrant(now time.Time) bool {
	return s.ledger.Phase.MayGrant(now) && s.ledger.Valid() && s.ledger.HasCapacity() && !s.ledger.Judge.Spec.Paused && s.polite.Open(now)
}

// visitTo makes a visit to h and returns its approximate size in bytes. It returns nil when the
// visit could only fetch pages, and no more pages may be fetched.
func (s *Visits) visitTo(h *hosts.Host, now time.Time) (g *crawl.Visit, bytes int, err error) {
	spacing := s.polite.DelayOf(h)
	k, capacity := s.capacityFor(h, spacing.D)
	k = s.pagesFor(h, k, now)
	again := s.recrawl.Due(h, now)
	pages := k > 0 || again
	aux := s.polite.AuxReady(h, min(maxVisitAux, capacity), now)
	if !pages && len(aux) == 0 {
		return nil, 0, nil
	}
	h.Quota.TookVisit(!pages)
	v := &hosts.Visit{
		ID: s.ledger.NextVisit(), Host: h, Since: now, Until: now.Add(times.OwnerLease),
	}
	g = &crawl.Visit{
		ID: v.ID, Shard: s.ledger.ID, Host: h.Name, Delay: s.polite.GrantDelay(h), Lease: times.Lease, Hurried: s.ledger.Judge.Hurries(h.Name),
		DelaySource: spacing.Source, NewAddress: s.AllSlots.unsure(h),
	}
	if pages {
		bytes, err = s.addPages(g, v, k, capacity, again, now)
	} else {
		bytes, err = s.addAux(g, h, aux, now)
	}
	if err != nil || len(g.URLs) == 0 && len(g.Aux) == 0 {
		return nil, 0, err
	}
	s.begin(v, len(g.URLs), now)
	return g, bytes, nil
}

// capacityFor returns how many URLs of h a visit may contain if the delay between its requests is
// delay, and how many requests fit into the time of a visit.
func (s *Visits) capacityFor(h *hosts.Host, delay time.Duration) (k, capacity int) {
	k = polite.MaxVisitURLs
	if delay > 0 {
		k = int(min(max(int64(polite.VisitSpan/delay), 1), polite.MaxVisitURLs))
	}
	capacity = k
	if s.ledger.Judge.Spec.PlanOnly {
		k = polite.MaxVisitURLs // no request is sent, so there is no delay
	}
	if n := s.ledger.Judge.MaxPages(h.Name); n > 0 {
		k = int(min(int64(k), max(n-h.Stored, 1)))
	}
	return k, capacity
}

// addAux adds auxiliary requests to a visit, with the robots.txt files that apply to them. It
// returns their approximate size in bytes.
func (s *Visits) addAux(g *crawl.Visit, h *hosts.Host, aux []crawl.AuxRequest, now time.Time) (bytes int, err error) {
	if g.Aux, err = s.dressAux(h, aux, now); err != nil {
		return 0, err
	}
	for i := range g.Aux {
		e := &g.Aux[i]
		bytes += len(e.URL) + len(e.Form) + 300
		if e.Kind == crawl.AuxDispatch {
			continue // its server has no robots.txt; that of the site names it
		}
		// All others are ordinary URLs of this host, so its rules apply.
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
	return bytes, nil
}

// addPages adds pages to a visit: up to k queued ones, and if again is set also some that are due
// to be fetched again; and the robots.txt files that apply to them. It returns their approximate
// size in bytes.
func (s *Visits) addPages(g *crawl.Visit, v *hosts.Visit, k, capacity int, again bool, now time.Time) (bytes int, err error) {
	h := v.Host
	var due []urls.Candidate
	if again {
		due = s.recrawl.DueAgain(h, capacity, now)
	}
	share := h.Quota.ShareAgain(capacity, len(due))
	used, bytes, err := s.pick(h, min(k, capacity-share), now, g, v)
	if err != nil {
		return 0, err
	}
	fresh := len(g.URLs)
	if err := s.recrawl.PickAgain(h, due, capacity, now, g, &used, &bytes); err != nil {
		return 0, err
	}
	h.Quota.TookPages(again, fresh, len(g.URLs)-fresh)
	if len(g.URLs) == 0 {
		return 0, nil
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
	return bytes, nil
}

// begin makes a visit with this many URLs outstanding.
func (s *Visits) begin(v *hosts.Visit, n int, now time.Time) {
	v.Filled(n)
	s.urls.AddInFlight(len(v.List))
	s.Outstanding[v.ID] = v
	s.AllSlots.Take(v, now)
	v.Host.BeginVisit(v)
	s.ledger.Metrics.Visits.Inc()
	s.ReportBudget(now)
}

// pagesFor is how many of k URLs a visit to h may contain now: none when the visit is for auxiliary
// requests, or when the page budget is spent.
func (s *Visits) pagesFor(h *hosts.Host, k int, now time.Time) int {
	if s.polite.AuxQuota(h, now) {
		return 0
	}
	ready := !s.urls.Full(h) && slices.ContainsFunc(h.Origins, func(o hosts.Origin) bool { return o.Ready > 0 && !polite.PagesFrom(&o, now).After(now) })
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

// Slots is how much of the page budget this shard uses: stored pages, URLs in visits, URLs of
// visits that expired lately, and pages that mobile robots may yet bring.
func (s *Visits) Slots(now time.Time) int64 {
	used := s.ledger.Meta.Counts.Stored + s.urls.InFlight + s.ledger.Reserved
	s.Expired = slices.DeleteFunc(s.Expired, func(g ExpiredVisit) bool { return g.until.Before(now) })
	for _, g := range s.Expired {
		used += int64(g.urls)
	}
	return used
}

// ReportBudget reports how much this shard uses, unless it is still reading that from its log.
func (s *Visits) ReportBudget(now time.Time) {
	if s.ledger.Phase.Read {
		s.ledger.Budget.Use(s.ledger.ID, s.Slots(now), s.ledger.Meta.Counts.Bytes)
	}
}

// pick chooses the first k URLs of h's queue, from all origins that may be visited now: lowest
// depth first, then first found.
func (s *Visits) pick(h *hosts.Host, k int, now time.Time, g *crawl.Visit, v *hosts.Visit) (used [hosts.MaxOrigins]bool, bytes int, err error) {
	type head struct {
		key    []byte
		origin int
	}
	var heads []head
	queue := s.ledger.Ready()
	for i := range h.Origins {
		o := &h.Origins[i]
		if o.Ready == 0 || polite.PagesFrom(o, now).After(now) {
			continue
		}
		prefix := append(h.ID.Append(nil), byte(i))
		c := queue.Cursor()
		n := 0
		for kk, _ := c.Seek(prefix); n < k && kk != nil && store.KeyHost(kk) == h.ID && int(kk[4]) == i; kk, _ = c.Next() {
			heads = append(heads, head{kk, i})
			n++
		}
	}
	// After host and origin, a queue key is depth and order: sorting by that part merges the
	// origins.
	slices.SortStableFunc(heads, func(a, b head) int { return slices.Compare(a.key[5:], b.key[5:]) })
	records := s.ledger.Records()
	// URLs that the current spec refuses, and that the pass has not reached yet
	var refuse []urls.Record
	for _, e := range heads[:min(k, len(heads))] {
		key := store.URLKey(make([]byte, 0, 12), h.ID, store.KeyOrder(e.key))
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
			continue // the pass that forgets URLs removes it soon
		}
		if bytes += len(r.URL) + len(r.FoundOn) + 32; bytes > polite.MaxVisitBytes && len(g.URLs) > 0 {
			break
		}
		used[e.origin] = true
		v.Add(r.URL, r.Order)
		u := crawl.VisitURL{URL: r.URL, FoundOn: r.FoundOn, Depth: r.Depth, Redirects: r.Redirects, Attempts: r.Attempts}
		if r.Attempts > 0 {
			u.Failed = r.Detail
		}
		g.URLs = append(g.URLs, u)
	}
	for i := range refuse { // not earlier: this changes the queue in which heads points
		if err := s.RefuseQueued(h, store.URLKey(nil, h.ID, refuse[i].Order), &refuse[i]); err != nil {
			return used, bytes, err
		}
	}
	return used, bytes, nil
}

// robotsFor is what a visit contains of an origin's robots.txt. The text is left out when it is
// larger than limit.
func (s *Visits) robotsFor(h *hosts.Host, o *hosts.Origin, now time.Time, limit int) crawl.Robots {
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
		r.Body = s.textFor(o.Digest, hosts.RobotsRef{ID: h.ID, Origin: o.Origin}, limit)
	}
	if !s.ledger.Judge.Spec.PurposeSet().Beyond() {
		return r
	}
	limit -= len(r.Body)
	for i := range o.Rights {
		k := &o.Rights[i]
		a := crawl.RightsFile{URL: k.URL, State: k.State, Digest: k.Digest, Reason: k.Reason, Fresh: max(k.Due.Sub(now), 0)}
		if len(k.Digest) > 0 {
			a.Body = s.textFor(k.Digest, hosts.RobotsRef{ID: h.ID, Origin: o.Origin, Rights: k.URL}, limit)
			limit -= len(a.Body)
		}
		r.Rights = append(r.Rights, a)
	}
	return r
}

// RobotsFor is what a fetcher needs to know of an origin's robots.txt outside of a visit to it.
func (s *Visits) RobotsFor(h *hosts.Host, o *hosts.Origin, now time.Time) crawl.Robots {
	r := s.robotsFor(h, o, now, 4*robotsInline)
	r.ProbeData = false
	return r
}

// textFor is the text of a robots.txt or rights file for a visit. It is left out when it is larger
// than limit; the fetcher may then request it by its digest.
func (s *Visits) textFor(digest []byte, ref hosts.RobotsRef, limit int) []byte {
	body := s.ledger.Tx.Bucket(store.BucketRobots).Get(ref.Key())
	if len(body) <= min(robotsInline, limit) {
		return slices.Clone(body)
	}
	if len(s.Digests) > maxDigests {
		clear(s.Digests) // a fetcher that finds no text here requests it from the origin
	}
	s.Digests[string(digest)] = ref
	return nil
}

// Renew prolongs those of the visits that are outstanding here, and returns the others as lost. A
// visit whose URLs are all unwanted by now also counts as lost. This happens, for example, when
// their origin proves to be a mirror.
func (s *Visits) Renew(ids []crawl.VisitID, now time.Time) crawl.Renewed {
	r := crawl.Renewed{Lease: times.Lease}
	for _, id := range ids {
		v := s.Outstanding[id]
		if v == nil || !s.ledger.Valid() || v.Until.Before(now) || vain(v) {
			r.Lost = append(r.Lost, id)
			continue
		}
		v.Renew(now.Add(times.OwnerLease))
	}
	return r
}

// Expire ends visits whose lease is over. Their fetchers send no more requests, and the host gets
// one full delay.
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
		h.DelayUntil(now.Add(max(s.polite.DelayOf(h).D, h.Delay)), "")
		s.ledger.MarkDirty(h)
		if err := s.timeline.Silent(h, v.ID, v.Since, now); err != nil {
			return s.ledger.Fail(err)
		}
	}
	return nil
}

// EndVisit removes an outstanding visit.
func (s *Visits) EndVisit(v *hosts.Visit) {
	delete(s.Outstanding, v.ID)
	s.AllSlots.Release(v)
	s.urls.AddInFlight(-len(v.List))
	v.Host.EndVisit()
}

// maxDigests limits the number of robots.txt files that fetchers may request by digest.
const maxDigests = 100_000
