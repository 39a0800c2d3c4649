package dispatch

import (
	"encoding/binary"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/pkg/canon"
)

// maxRead is the maximum number of URLs that are read for one part of a plan.
const maxRead = 4 * crawl.MaxKnownPages

// Plan answers a fetcher that is to carry a dispatch out, or a part of the answer: that it is not
// wanted, or what is known below its path. The first part counts as a sign of life.
func (s *Dispatches) Plan(q crawl.DispatchQuery, now time.Time) (p crawl.DispatchPlan, err error) {
	h, err := s.ledger.HostNamed(q.Origin.Host)
	if h == nil || err != nil {
		return p, err
	}
	i, known := h.OriginIndex(q.Origin)
	if !known {
		return p, nil
	}
	site, err := s.site(h, i)
	if err != nil {
		return p, err
	}
	o := site.Out
	if o == nil || o.N != q.Hop || o.About != q.About || o.Unwanted || !s.ledger.Judge.Spec.SendsRobots() {
		return p, nil
	}
	if len(q.After) == 0 {
		if err := s.alive(h, i, site, now); err != nil {
			return p, err
		}
	}
	p = crawl.DispatchPlan{
		Wanted: true, Visit: o.Visit, Robots: s.above.Robots(h, &h.Origins[i], now), Pages: o.Limit, AgentID: o.AgentID, Offset: o.Offset, Skip: o.Skip,
		Before: crawl.Dispatch{
			State: crawl.DispatchRunning, AgentID: o.AgentID, Offset: o.Offset, Skip: o.Skip, Began: o.Began, Requests: o.Requests, Sent: o.BytesSent,
			Received: o.Received, Documents: o.Documents, Pages: o.Pages, Unchanged: o.Unchanged, Ignored: o.Ignored, Visit: o.Visit, Limit: o.Limit,
		},
	}
	p.Known, p.Next, err = s.knownBelow(h, uint8(i), o.About, q.After)
	return p, err
}

// alive notes a sign of life of the robot that is out.
func (s *Dispatches) alive(h *hosts.Host, i int, site *Site, now time.Time) error {
	site.Out.Life = now
	site.wakeAt(now)
	if !site.Out.Unwanted {
		h.Origins[i].BeginDispatch(now.Add(Patience))
	}
	return s.put(site)
}

// knownBelow are some of the URLs of an origin below a path, in the order in which they were found.
// after is where the part before ended, and next is where this one does; empty: it is the last.
func (s *Dispatches) knownBelow(h *hosts.Host, i uint8, about canon.URL, after []byte) (list []crawl.KnownPage, next []byte, err error) {
	from := uint64(0)
	if len(after) == 8 {
		from = binary.BigEndian.Uint64(after)
	}
	path := about.PathQuery()
	c := s.ledger.Records().Cursor()
	read := 0
	for k, v := c.Seek(store.URLKey(nil, h.ID, from)); k != nil && store.KeyHost(k) == h.ID; k, v = c.Next() {
		if read == maxRead || len(list) == crawl.MaxKnownPages {
			return list, binary.BigEndian.AppendUint64(nil, store.KeyOrder(k)), nil
		}
		read++
		r, err := urls.DecodeRecord(k, v)
		if err != nil {
			return nil, nil, err
		}
		of := r.URL.PathQuery()
		if r.Origin != i || !strings.HasPrefix(of, path) {
			continue
		}
		known := crawl.KnownPage{Path: crawl.PathHash(of), Depth: r.Depth}
		if s.urls.IsStored(&r) {
			known.Digest = r.Digest
		}
		list = append(list, known)
	}
	return list, nil, nil
}
