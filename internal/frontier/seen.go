package frontier

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// recent remembers URLs that were offered lately and at which depth they are known, so that the repeats, which most
// links are, never reach the store. It compares whole texts: what it says is certain, what it does not know is asked
// of the store. The table is bounded whatever the number of URLs.
type recent struct {
	slots []recentSlot
}

type recentSlot struct {
	url   canon.URL
	depth int
}

const (
	recentSlots  = 1 << 14
	recentWays   = 4   // places for each hash: with one, a fifth of a few thousand URLs would push each other out
	maxRecentURL = 256 // so that a shard's table is never over some MiB
)

var recentSeed = maphash.MakeSeed()

// set returns the places where u may be, and which of them a newcomer takes.
func (r *recent) set(u canon.URL) (set []recentSlot, next int) {
	if r.slots == nil {
		r.slots = make([]recentSlot, recentSlots)
	}
	h := maphash.String(recentSeed, string(u))
	at := h % (recentSlots / recentWays) * recentWays
	return r.slots[at : at+recentWays], int(h>>40) % recentWays
}

// known reports whether u was accepted, or refused for good, at this depth or a smaller one.
func (r *recent) known(u canon.URL, depth int) bool {
	set, _ := r.set(u)
	for i := range set {
		if set[i].url == u {
			return set[i].depth <= depth
		}
	}
	return false
}

func (r *recent) add(u canon.URL, depth int) {
	if len(u) > maxRecentURL {
		return
	}
	set, next := r.set(u)
	for i := range set {
		switch set[i].url {
		case u:
			set[i].depth = min(set[i].depth, depth)
			return
		case "":
			next = i
		}
	}
	set[next] = recentSlot{canon.URL(strings.Clone(string(u))), depth}
}

// offer is one link on its way into the seen set.
type offer struct {
	url   canon.URL
	key   [12]byte
	host  *host
	order uint64
	i     int   // in crawl.Links
	mod   int64 // as there, if that matters
}

// applyLinks takes in what one page leads to: out of scope is dropped, known is dropped unless it was found nearer to a
// seed now, the rest joins its host's queue. Replaying it changes nothing.
func (s *shard) applyLinks(l *crawl.Links, now time.Time) error {
	s.met.links.Add(float64(len(l.URLs)))
	if l.Gone {
		return s.applyGone(l, now)
	}
	offers := make([]offer, 0, len(l.URLs))
	var h *host
	for i, u := range l.URLs {
		mod := s.modOf(l, i)
		if mod == 0 && s.recent.known(u, l.Depth) {
			continue
		}
		u = s.cleaned(u)
		name := u.Host()
		if crawl.ShardOf(name, s.j.spec.Shards) != s.id {
			s.log.Error("a link of another shard in this log", "url", u)
			continue
		}
		if !s.j.scope.Decide(u).In {
			continue
		}
		if h == nil || h.Name != name {
			var err error
			if h, err = s.hostOf(name); err != nil {
				return err
			}
		}
		s.m.Order++
		o := offer{url: u, host: h, order: s.m.Order, i: i, mod: mod}
		seenKey(o.key[:0], h.ID, u)
		offers = append(offers, o)
	}
	if l.Source == crawl.SourceSitemap {
		byChange(offers, l)
	}
	// In key order the store is read and written from left to right; the order of arrival is in offer.order.
	slices.SortStableFunc(offers, func(a, b offer) int { return bytes.Compare(a.key[:], b.key[:]) })
	for i := range offers {
		if err := s.accept(&offers[i], l, now); err != nil {
			return err
		}
		if l.Source == crawl.SourcePage { // others come once a day, and many at a time
			s.recent.add(offers[i].url, l.Depth)
		}
	}
	return nil
}

// hostOf returns the host of that name, creating it when it is new.
func (s *shard) hostOf(name canon.Host) (*host, error) {
	if h := s.hosts[name]; h != nil {
		return h, nil
	}
	name = canon.Host(strings.Clone(string(name)))
	s.m.NextHost++
	h := &host{ID: hostID(s.m.NextHost), Name: name, at: -1}
	if err := s.tx.Bucket(bucketNames).Put([]byte(name), h.ID.append(nil)); err != nil {
		return nil, err
	}
	s.hosts[name], s.byID[h.ID] = h, h
	s.touch(h)
	return h, nil
}

// find returns the key and the record of u, whose key in the seen set is seen; or, when u is new, no record and the key
// under which the seen set would know it. Should another URL have the same hash, a probe number is added to that key; no
// URL is ever taken for another.
func (s *shard) find(seen []byte, u canon.URL) (k, v []byte) {
	known, urls := s.tx.Bucket(bucketSeen), s.tx.Bucket(bucketURLs)
	for probe := 0; ; probe++ {
		k = seen
		if probe > 0 {
			k = binary.BigEndian.AppendUint16(slices.Clone(seen), uint16(probe))
		}
		order := known.Get(k)
		if order == nil {
			return k, nil
		}
		n, _ := binary.Uvarint(order)
		key := urlKey(make([]byte, 0, 12), keyHost(seen), n)
		v = urls.Get(key)
		if same, _, _ := peek(v, u); same {
			return key, v
		}
	}
}

// lookup returns the key and the record of u, or nothing.
func (s *shard) lookup(h *host, u canon.URL) (k, v []byte) {
	return s.find(seenKey(make([]byte, 0, 12), h.ID, u), u)
}

func (s *shard) accept(o *offer, l *crawl.Links, now time.Time) error {
	k, v := s.find(o.key[:], o.url)
	if v != nil {
		if _, depth, _ := peek(v, o.url); depth > l.Depth {
			if err := s.nearer(o.host, k, v, l, rankOf(l, o.i), now); err != nil || o.mod == 0 {
				return err
			}
			v = s.tx.Bucket(bucketURLs).Get(k)
		}
		return s.hint(o.host, k, v, o.mod, l.Source, now)
	}
	oi, ok := s.originOf(o.host, o.url.Origin())
	r := record{
		URL: o.url, Class: crawl.Queued, Origin: oi, Depth: l.Depth, Hops: l.Hops, Order: o.order, FoundOn: l.FoundOn,
		Rank: rankOf(l, o.i),
	}
	if !ok {
		r.Class, r.Reason, r.Detail = crawl.Refused, crawl.ReasonPorts, "more ports of this host than anyone needs"
	} else {
		r.Class, r.Reason, r.Detail = s.j.judge(&r, o.host)
	}
	s.changes++
	s.met.accepted.Inc()
	if r.Class == crawl.Queued {
		if err := s.enqueue(o.host, &r); err != nil {
			return err
		}
		s.reschedule(o.host, now)
		s.sooner++
	} else {
		if r.Reason == crawl.ReasonMirror {
			s.forward(o.host, &r)
		}
		s.count(&r, +1)
		s.logLine(&r, nil)
	}
	if ok && l.Hops > 0 && l.FoundOn.Host() != o.host.Name {
		o.host.Origins[oi].Led++
		s.touch(o.host)
	}
	if err := s.tx.Bucket(bucketSeen).Put(k, binary.AppendUvarint(nil, r.Order)); err != nil {
		return err
	}
	return s.tx.Bucket(bucketURLs).Put(urlKey(make([]byte, 0, 12), o.host.ID, r.Order), r.append(make([]byte, 0, 160)))
}

// nearer notes that a known URL was found at a smaller depth: it moves up its queue, or is let in again if its depth
// was what refused it.
func (s *shard) nearer(h *host, k, v []byte, l *crawl.Links, rank uint16, now time.Time) error {
	r, err := decodeRecord(k, v)
	if err != nil {
		return err
	}
	switch {
	case r.Class == crawl.Queued:
		if r.Due.IsZero() {
			if err := s.dequeue(h, &r); err != nil {
				return err
			}
			r.Depth, r.FoundOn, r.Rank = l.Depth, l.FoundOn, rank
			if err := s.enqueue(h, &r); err != nil {
				return err
			}
		} else {
			r.Depth, r.FoundOn, r.Rank = l.Depth, l.FoundOn, rank
		}
	case r.Class == crawl.Refused && r.Reason == crawl.ReasonDepth:
		s.count(&r, -1)
		r.Class, r.Reason, r.Detail = crawl.Queued, "", ""
		r.Depth, r.FoundOn, r.Rank = l.Depth, l.FoundOn, rank
		if r.Class, r.Reason, r.Detail = s.j.judge(&r, h); r.Class == crawl.Queued {
			if err := s.enqueue(h, &r); err != nil {
				return err
			}
			s.reschedule(h, now)
		} else {
			s.count(&r, +1)
		}
	default: // nothing comes of it but the knowledge
		r.Depth, r.FoundOn = l.Depth, l.FoundOn
	}
	if r.Class == crawl.Refused && r.Reason == crawl.ReasonMirror {
		s.forward(h, &r)
	}
	s.changes++
	return s.tx.Bucket(bucketURLs).Put(k, r.append(nil))
}

// enqueue puts r, already Queued and without Due, into its host's queue and counts it.
func (s *shard) enqueue(h *host, r *record) error {
	qk := queueKey(make([]byte, 0, 15), h.ID, r.Origin, r.Depth, r.Rank, r.Order)
	if err := s.tx.Bucket(bucketQueue).Put(qk, []byte{}); err != nil {
		return err
	}
	h.Origins[r.Origin].Ready++
	h.Queued++
	s.m.Counts.Queued++
	s.touch(h)
	return nil
}

// dequeue takes a Queued r out of its host's queue, or out of those that wait, and uncounts it.
func (s *shard) dequeue(h *host, r *record) error {
	h.Queued--
	s.m.Counts.Queued--
	s.touch(h)
	if !r.Due.IsZero() {
		h.Later--
		s.m.Counts.Later--
		return s.tx.Bucket(bucketLater).Delete(laterKey(nil, r.Due, h.ID, r.Order))
	}
	h.Origins[r.Origin].Ready--
	return s.tx.Bucket(bucketQueue).Delete(queueKey(make([]byte, 0, 15), h.ID, r.Origin, r.Depth, r.Rank, r.Order))
}

// count adds a record that is not Queued to the accounting, or (n = -1) takes it out.
func (s *shard) count(r *record, n int64) {
	c := &s.m.Counts
	switch r.Class {
	case crawl.Stored:
		c.Stored += n
	case crawl.Redirected:
		c.Redirected += n
	case crawl.Refused:
		c.Refused += n
	case crawl.Failed:
		c.Failed += n
	}
	if r.Reason != "" {
		if c.ByReason[string(r.Reason)] += n; c.ByReason[string(r.Reason)] == 0 {
			delete(c.ByReason, string(r.Reason))
		}
	}
}
