package dispatch

import (
	"math"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/canon"
)

// begin queues a robot for the first path of an origin that is due. What it reserves and the
// request are in one transaction.
func (s *Dispatches) begin(site *Site, now time.Time) error {
	h, i, err := s.hostOf(site)
	if err != nil || site.working() {
		return err
	}
	if h == nil { // it was never more than an entry
		site.Paths = nil
		return s.put(site)
	}
	if err := s.refresh(h, i, site, now); err != nil {
		return err
	}
	p := s.duePath(site, now)
	if p == nil {
		return s.put(site)
	}
	limit, ok := s.reserve(h, now)
	if !ok {
		if s.full(h) {
			p.Due = now.Add(unwanted)
			return s.put(site)
		}
		s.spent = !s.asked
		s.next = now.Add(soon)
		return nil
	}
	s.spent = false
	// The number differs from those that an earlier owner gave after the state that this one began
	// with: owners have ascending epochs, which count seconds.
	site.N = max(site.N+1, int(min(s.ledger.Epoch, math.MaxInt32)))
	p.Sent++
	site.Out = &Out{
		N: site.N, Visit: s.ledger.NextVisit(), About: p.About, Server: p.Server, Queued: now, Life: now, Limit: limit, Left: limit,
	}
	s.ledger.ReservePages(limit)
	s.above.ReportBudget(now)
	site.wakeAt(now)
	h.Origins[i].BeginDispatch(now.Add(Patience))
	s.ledger.Meta.CountDispatches(store.DispatchCounts{Sent: 1})
	s.ledger.Log.Info("a mobile robot is sent", "origin", site.origin(), "path", p.About.PathQuery(), "server", crawl.AgentAddress(p.Server), "visit", site.Out.Visit)
	if err := s.put(site); err != nil {
		return err
	}
	e := s.request(site)
	return s.ledger.Send(crawl.ShardOf(e.URL.Host(), s.ledger.Judge.Spec.Shards), &crawl.Event{Aux: []crawl.AuxRequest{e}})
}

// request is the auxiliary request that sends the robot that is out.
func (s *Dispatches) request(site *Site) crawl.AuxRequest {
	o := site.Out
	return crawl.AuxRequest{Kind: crawl.AuxDispatch, URL: o.Server, Origin: site.origin(), About: o.About, Hop: o.N, ReplyShard: s.ledger.ID}
}

// duePath is the first path for which a robot is due.
func (s *Dispatches) duePath(site *Site, now time.Time) *Path {
	for i := range site.Paths {
		if at, ok := s.dueAt(site, &site.Paths[i]); ok && !at.After(now) {
			return &site.Paths[i]
		}
	}
	return nil
}

// reserve takes pages for a robot from the page budget, at most an eighth of it. A limit of 0 means
// that there is none. ok is false if there are no pages now.
func (s *Dispatches) reserve(h *hosts.Host, now time.Time) (limit int64, ok bool) {
	if s.full(h) {
		return 0, false
	}
	b := s.ledger.Budget
	own := int64(0) // what --max-pages-per-host leaves
	if n := s.ledger.Judge.MaxPages(h.Name); n > 0 {
		own = n - h.Stored
	}
	all := b.Limit()
	if all == 0 { // there may be a limit of bytes
		return own, b.Take(s.ledger.ID, 1) > 0
	}
	want := min(max(all/8, leastPart), math.MaxInt32)
	if own > 0 {
		want = min(want, own)
	}
	got := int64(b.Take(s.ledger.ID, int(want)))
	if got < want && b.Pending() && !s.asked {
		// More is being reserved, and is there a moment later.
		s.asked = true
		s.above.ReportBudget(now) // nothing was taken
		return 0, false
	}
	s.asked = false
	return got, got > 0
}

// full reports that a host has as many pages as it may have.
func (s *Dispatches) full(h *hosts.Host) bool { return s.urls.Full(h) }

// wantRequest decides, in the shard of a server, about a request for it.
func (s *Dispatches) wantRequest(e *crawl.AuxRequest, now time.Time) (*hosts.Host, error) {
	// What stays in memory must not keep the message there.
	e.URL, e.About = clone(e.URL), clone(e.About)
	e.Origin.Host = canon.Host(clone(canon.URL(e.Origin.Host)))
	h, err := s.features.NewAux(e, now)
	if h == nil || err != nil || len(h.Aux) < hosts.MaxAux {
		return h, err
	}
	return nil, s.features.Reply(e, crawl.Answer{Dispatch: &crawl.Dispatch{State: crawl.DispatchFailed, Reason: "too many auxiliary requests for " + string(h.Name)}})
}

// dressRequest answers requests in a visit to a server that are not wanted any more, because no
// robots are sent by now.
func (s *Dispatches) dressRequest(h *hosts.Host, now time.Time) func(e *crawl.AuxRequest) (ok bool, err error) {
	return func(e *crawl.AuxRequest) (bool, error) {
		if s.ledger.Judge.Spec.SendsRobots() {
			return true, nil
		}
		if err := s.features.Reply(e, crawl.Answer{Dispatch: &crawl.Dispatch{State: crawl.DispatchDropped}}); err != nil {
			return false, err
		}
		return false, s.features.DropAux(h, *e, now)
	}
}
