package shard

import (
	"cmp"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/pkg/canon"
)

// maxBuffer is the maximum number of links for which the buffer is kept between pages. Few pages
// have more.
const maxBuffer = 1 << 10

// Apply applies the links of one page. A known link is dropped unless it now has a smaller depth.
// Other links are added to their hosts' queues. Applying a page again has no effect. A seed out of
// scope is recorded as refused, because the spec that contains it may arrive later. So is a link of
// a page: whoever sent it sends only links in the scope of its own spec, which may be newer than
// ours, and the page would not be read for it again. Entries of sitemaps out of scope are dropped.
func (s *Links) Apply(l *crawl.Links, now time.Time) error {
	s.urls.CountPage()
	s.ledger.Metrics.Links.Add(float64(len(l.URLs)))
	if l.Gone {
		return s.rupsites.ApplyGone(l)
	}
	offers := slices.Grow(s.offers[:0], len(l.URLs))
	s.offers = nil
	defer func() {
		if clear(offers); cap(offers) <= maxBuffer {
			s.offers = offers
		}
	}()
	var h *hosts.Host
	for i, u := range l.URLs {
		mod := s.recrawl.ModOf(l, i)
		if mod == 0 && s.Recent.known(u, l.Depth) {
			continue
		}
		u = s.ledger.CleanURL(u)
		name := u.Host()
		if crawl.ShardOf(name, s.ledger.Judge.Spec.Shards) != s.ledger.ID {
			s.ledger.Log.Error("a link of another shard is in this log", "url", u)
			continue
		}
		if !l.Seed && l.Source != crawl.SourcePage && !s.ledger.Judge.Scope.Decide(u).In {
			continue
		}
		if h == nil || h.Name != name {
			if mod == 0 && s.isKnownElsewhere(name, u, l.Depth) {
				if l.Source == crawl.SourcePage {
					s.Recent.add(u, l.Depth)
				}
				continue
			}
			var err error
			if h, err = s.urls.LinkedHost(name, l.Seed); err != nil {
				return err
			}
			if h == nil {
				continue // counted as left out
			}
		}
		offers = append(offers, offer{URL: u, Hash: store.SeenHash(u), Host: h, Order: s.ledger.Meta.NextOrder(), I: i, Mod: mod})
	}
	if l.Source == crawl.SourceSitemap {
		byChange(offers, l)
	}
	// In key order the store is read and written sequentially. Link.Order has the order of arrival.
	slices.SortFunc(offers, func(a, b offer) int {
		return cmp.Or(cmp.Compare(a.Host.ID, b.Host.ID), cmp.Compare(a.Hash, b.Hash), cmp.Compare(a.Order, b.Order))
	})
	type site struct {
		h *hosts.Host
		i int // index of its origin
	}
	sooner := map[site]int64{}
	for i := range offers {
		o, before := &offers[i], s.recrawl.Sooner
		if err := s.accept(o, l, now); err != nil {
			return err
		}
		if l.Source != crawl.SourcePage && l.Source != crawl.SourceRobot && s.recrawl.Sooner > before {
			if at, ok := o.Host.OriginIndex(o.URL.Origin()); ok {
				sooner[site{o.Host, at}]++
			}
		}
		// Links of other sources arrive once a day, and many at a time.
		if l.Source == crawl.SourcePage && !offers[i].Left {
			s.Recent.add(offers[i].URL, l.Depth)
		}
	}
	for of, n := range sooner {
		if err := s.recrawl.AddSooner(of.h, &of.h.Origins[of.i], l.Source, n); err != nil {
			return err
		}
	}
	return nil
}

// isKnownElsewhere reports whether a link leads to a host that is not in memory and changes
// nothing, because its URL is known at this depth or a smaller one. Most links to other hosts are
// such. They need only the seen set and the URL's record, so the host is not loaded. A refused URL
// does not count: it may belong to a closed host, which the link may open.
func (s *Links) isKnownElsewhere(name canon.Host, u canon.URL, depth int) bool {
	id := s.ledger.Evicted(name)
	if id == 0 {
		return false
	}
	_, v := s.urls.Find(id, store.SeenHash(u), u)
	if v == nil {
		return false
	}
	_, known, class := urls.Peek(v, u)
	return known <= depth && class != crawl.Refused
}

// offer is one link that is being looked up in the seen set.
type offer struct {
	URL   canon.URL
	Hash  uint64 // as store.SeenHash
	Left  bool   // true: it is left out
	Host  *hosts.Host
	Order uint64
	I     int   // index in crawl.Links
	Mod   int64 // as in crawl.Links, if it matters
}

// byChange renumbers the links of a sitemap, so that the latest changes come first.
func byChange(offers []offer, l *crawl.Links) {
	if len(offers) == 0 || len(l.Mods) != len(l.URLs) {
		return
	}
	first := offers[0].Order
	slices.SortStableFunc(offers, func(a, b offer) int { return cmp.Compare(l.Mods[b.I], l.Mods[a.I]) })
	for i := range offers {
		offers[i].Order = first + uint64(i)
	}
}

func (s *Links) accept(o *offer, l *crawl.Links, now time.Time) error {
	k, v := s.urls.Find(o.Host.ID, o.Hash, o.URL)
	if v != nil {
		if _, depth, _ := urls.Peek(v, o.URL); depth > l.Depth {
			if err := s.nearer(o.Host, k, v, l, urls.RankOf(l, o.I)); err != nil || o.Mod == 0 {
				return err
			}
			v = s.ledger.Records().Get(k)
		}
		return s.recrawl.Hint(o.Host, k, v, o.Mod, l.Source, now)
	}
	if s.urls.IsHashFull(o.Host.ID, o.Hash) {
		s.leaveOutHash(o)
		return nil
	}
	oi, ok := s.ledger.OriginOf(o.Host, o.URL.Origin())
	r := s.record
	if s.record = nil; r == nil {
		r = new(urls.Record)
	}
	defer func() { s.record = r }()
	*r = urls.Record{
		URL: o.URL, Class: crawl.Queued, Origin: oi, Depth: l.Depth, Redirects: l.Redirects, Order: o.Order, FoundOn: l.FoundOn,
		Rank: urls.RankOf(l, o.I),
	}
	to := urls.Verdict{Class: crawl.Refused, Reason: crawl.ReasonPorts, Detail: "too many ports of this host"}
	switch {
	case !ok:
	case l.Seed || l.Source == crawl.SourcePage:
		to = s.urls.Decide(r, o.Host)
	default: // in scope, because Apply has checked
		to = s.urls.Judge(r, o.Host)
	}
	if !l.Seed && !s.ledger.Judge.Spec.PlanOnly && s.TooManyWait(o.Host, to.Class) {
		s.leaveOut(o)
		return nil
	}
	s.ledger.Metrics.Accepted.Inc()
	if to.Reason == crawl.ReasonMirror {
		to.Detail = s.mirrors.Forward(o.Host, r)
	}
	if err := s.urls.Insert(o.Host, r, to); err != nil {
		return err
	}
	if r.Class == crawl.Queued {
		s.recrawl.CountSooner()
	}
	if ok && l.Redirects > 0 && l.FoundOn.Host() != o.Host.Name {
		o.Host.Origins[oi].RedirectedHere()
	}
	if err := s.ledger.PutKnown(o.Host.ID, o.Hash, r.Order); err != nil {
		return err
	}
	return s.urls.PutNew(o.Host.ID, r)
}

// nearer notes that a known URL was found at a smaller depth: it moves up in its queue, or is
// queued if its depth was the reason for refusing it.
func (s *Links) nearer(h *hosts.Host, k, v []byte, l *crawl.Links, rank uint16) error {
	r, err := urls.DecodeRecord(k, v)
	if err != nil {
		return err
	}
	ready := r.Class == crawl.Queued && !r.Waiting()
	if ready { // its position in the queue changes
		if err := s.urls.Dequeue(h, &r); err != nil {
			return err
		}
	}
	r.FoundNearer(l, rank)
	switch {
	case ready:
		err = s.urls.Enqueue(h, &r)
	case r.Class == crawl.Refused && r.Reason == crawl.ReasonDepth:
		v := s.urls.Decide(&r, h)
		v.Silent = true
		err = s.urls.SetState(h, &r, v)
	}
	if err != nil {
		return err
	}
	if r.Class == crawl.Refused && r.Reason == crawl.ReasonMirror {
		r.ForwardedTo(s.mirrors.Forward(h, &r))
	}
	return s.urls.PutURL(k, &r)
}
