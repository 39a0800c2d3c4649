package frontier

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// downloadTurn is how long a host that is due stays reserved for the crawl's own work after a download.
const downloadTurn = time.Second

// downloadPoll is how often a parked wish for a download is looked at again: nobody tells when its host becomes free.
const downloadPoll = 20 * time.Millisecond

// grantDownload grants a visit for downloads to the host of t.Origin, or nothing while it is not the time. here is false when the
// shard is another frontier's.
//
// An embedded frontier's fetchers die with it, so that its successor need not wait for their leases. Who downloads may be another
// process, which does not: unless it has the frontier's own name, the shard remembers that for good before it grants anything.
func (f *Frontier) grantDownload(t crawl.Take, now time.Time) (visits []crawl.Visit, here bool) {
	if f.full() != nil {
		return nil, true
	}
	id := crawl.ShardOf(t.Origin.Host, f.spec().Shards)
	for _, s := range f.open() {
		if s.id != id {
			continue
		}
		if !s.mu.TryLock() {
			return nil, true // busy: look again soon
		}
		defer s.mu.Unlock()
		if t.Fetcher != f.opt.Instance && !s.m.Strangers && s.mayGrant(now) {
			s.m.Strangers = true
			s.changes++
			if s.commit(true) != nil {
				return nil, true
			}
		}
		v, err := s.download(t.Origin, now)
		if err != nil || v == nil {
			return nil, true // keepCommitted ends the shard with the same error
		}
		return []crawl.Visit{*v}, true
	}
	return nil, false
}

// download makes a visit without URLs: the right to send requests to a host, under its delay and with nobody else there, and what is
// known of the origin's robots.txt. A host not met before is entered: its delay and its rules are kept for it as for any.
func (s *shard) download(o canon.Origin, now time.Time) (*crawl.Visit, error) {
	if !s.mayGrant(now) {
		return nil, s.broken
	}
	h, err := s.hostOf(o.Host)
	if err != nil {
		return nil, s.fail(err)
	}
	if h.visit != nil || h.Due.After(now) {
		return nil, nil
	}
	if from, ok := s.ready(h, now); ok && h.downloaded && !from.After(now) && now.Sub(h.Due) < downloadTurn {
		return nil, nil // the crawl's turn
	}
	i, ok := s.originOf(h, o)
	if !ok || h.Origins[i].from(now).After(now) {
		return nil, nil // its robots.txt cannot be had now
	}
	s.visitN++
	v := &visit{id: crawl.VisitID{Epoch: s.epoch, N: s.visitN}, host: h, until: now.Add(leaseOwner)}
	r := s.robotsFor(h, &h.Origins[i], now, 4*robotsInline)
	r.ProbeData = false
	s.met.visits.Inc()
	s.visits[v.id] = v
	h.visit, h.downloaded = v, true
	s.reschedule(h, now)
	return &crawl.Visit{
		ID: v.id, Shard: s.id, Host: h.Name, Delay: s.grantDelay(h), Lease: LeaseTime, Hurried: s.j.hurry[h.Name], Robots: []crawl.Robots{r},
	}, nil
}
