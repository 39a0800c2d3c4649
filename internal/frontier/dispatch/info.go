package dispatch

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/urls"
)

// Infos are the dispatches of a host, for people.
func (s *Dispatches) Infos(h *hosts.Host) (list []crawl.DispatchInfo, err error) {
	err = s.each(h, func(site *Site) error {
		for i := range site.Paths {
			list = append(list, s.info(site, &site.Paths[i]))
		}
		return nil
	})
	return list, err
}

func (s *Dispatches) info(site *Site, p *Path) crawl.DispatchInfo {
	d := crawl.DispatchInfo{
		Origin: site.origin().String(), Path: p.About.PathQuery(), Server: crawl.AgentAddress(p.Server), Line: p.Line,
		State: p.State, Reason: p.Reason, Sent: p.Sent, At: hosts.At(p.At),
	}
	counts, compared := p.Counts, p.Compared
	if d.State == "" {
		d.State = "waiting"
	}
	if o := site.Out; o != nil && o.About == p.About && o.Server == p.Server {
		d.State, d.Reason, d.At = "queued", "", hosts.At(o.Life)
		if o.Running {
			d.State = crawl.DispatchRunning
		}
		counts, compared = o.Counts, Compared{}
	}
	if c := site.Check; c != nil && c.About == p.About && c.Server == p.Server {
		d.State, compared = "verifying", c.Compared
	}
	d.Documents, d.Pages, d.Unchanged, d.Ignored = counts.Documents, counts.Pages, counts.Unchanged, counts.Ignored
	d.Requests, d.BytesSent, d.BytesReceived = counts.Requests, counts.BytesSent, counts.Received
	d.Sampled, d.Confirmed, d.Unclear = compared.Sampled, compared.Confirmed, compared.Unclear
	if x := site.drop(p.Server); x != nil {
		d.DroppedUntil, d.DropReason = hosts.At(x.Until), x.Reason
	}
	if at, ok := s.dueAt(site, p); ok && !site.working() && s.ledger.Judge.Spec.SendsRobots() {
		d.Next = hosts.At(at)
	}
	return d
}

// Explain says which mobile robot brought the last response to a URL; nil: none did.
func (s *Dispatches) Explain(h *hosts.Host, r *urls.Record) (x *crawl.ExplainRobot, err error) {
	if r.Visit.IsZero() || int(r.Origin) >= len(h.Origins) {
		return nil, nil
	}
	err = s.each(h, func(site *Site) error {
		if site.origin() != h.Origins[r.Origin].Origin {
			return nil
		}
		b := site.bundle(r.Visit)
		if o := site.Out; b == nil && o != nil && o.Visit == r.Visit {
			b = &Bundle{Server: o.Server, At: latestOf(o.Began, o.Queued)}
		}
		if b == nil {
			return nil
		}
		x = &crawl.ExplainRobot{Server: crawl.AgentAddress(b.Server), At: b.At, Verified: b.Verified}
		if d := site.drop(b.Server); d != nil {
			x.DroppedUntil, x.DropReason = hosts.At(d.Until), d.Reason
		}
		return nil
	})
	return x, err
}

// Awaited describes the robot for which the pages of an origin wait; empty: they do not.
func (s *Dispatches) Awaited(h *hosts.Host, i int, now time.Time) (server string, err error) {
	if !now.Before(h.Origins[i].AwaitsRobot()) {
		return "", nil
	}
	site, err := s.site(h, i)
	if err != nil || site.Out == nil {
		return "", err
	}
	return crawl.AgentAddress(site.Out.Server), nil
}

// Sum counts the dispatches of the shard; nil: there never was one.
func (s *Dispatches) Sum() *crawl.MobileRobots {
	n := s.ledger.Meta.Robots
	if n.Sent == 0 {
		return nil
	}
	m := &crawl.MobileRobots{
		Sent: n.Sent, Pages: n.Pages, Unchanged: n.Unchanged, Received: n.Received, Confirmed: n.Confirmed, Dropped: n.Dropped,
	}
	for _, site := range s.working {
		if site.Out != nil {
			m.Outstanding++
		} else {
			m.Verifying++
		}
	}
	return m
}
