package dispatch

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/mirror"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/pkg/canon"
)

func clone(u canon.URL) canon.URL { return canon.URL(strings.Clone(string(u))) }

// answer applies the progress of a dispatch, or its end, if it is about the robot that is out.
func (s *Dispatches) answer(a *crawl.Answer, at, now time.Time) error {
	h, err := s.ledger.HostNamed(a.Aux.Origin.Host)
	if h == nil || err != nil || a.Dispatch == nil {
		return err
	}
	i, known := h.OriginIndex(a.Aux.Origin)
	if !known {
		return nil
	}
	site, err := s.site(h, i)
	if err != nil {
		return err
	}
	if site.Out == nil && site.Check == nil && a.Aux.Hop > site.N {
		s.adopt(site, a, now)
	}
	if o := site.Out; o == nil || o.N != a.Aux.Hop || o.About != a.Aux.About || o.Server != a.Aux.URL {
		return nil
	}
	if a.Dispatch.State == crawl.DispatchRunning {
		return s.progress(h, i, site, a.Dispatch, now)
	}
	return s.finish(h, i, site, a.Dispatch, at, now)
}

// adopt makes a robot the one that is out, although this state does not know of it: an earlier
// owner sent it after its last checkpoint.
func (s *Dispatches) adopt(site *Site, a *crawl.Answer, now time.Time) {
	d := a.Dispatch
	if d.Visit.IsZero() {
		return
	}
	site.N = a.Aux.Hop
	site.Out = &Out{N: site.N, Visit: d.Visit, About: clone(a.Aux.About), Server: clone(a.Aux.URL), Queued: now, Life: now, Limit: max(d.Limit, 0)}
	site.Out.Left = site.Out.Limit // the pages of this report are applied after it
	s.ledger.ReservePages(site.Out.Left)
	if p := site.path(site.Out.About, site.Out.Server); p != nil {
		p.Sent++
	}
}

// progress applies how far a robot is. A report that says less than another one is late.
func (s *Dispatches) progress(h *hosts.Host, i int, site *Site, d *crawl.Dispatch, now time.Time) error {
	o := site.Out
	if o.Running && (d.Requests < o.Requests || d.Requests == o.Requests && d.Received <= o.Received && d.Pages <= o.Pages) {
		return nil
	}
	s.ledger.Meta.CountDispatches(o.Counts.merge(d))
	o.Running, o.AgentID, o.Offset, o.Skip = true, strings.Clone(d.AgentID), d.Offset, d.Skip
	return s.alive(h, i, site, now)
}

// finish applies the end of a dispatch: when the next one is due, what it brought, and the sample
// that is compared.
func (s *Dispatches) finish(h *hosts.Host, i int, site *Site, d *crawl.Dispatch, at, now time.Time) error {
	o := site.Out
	s.ledger.Meta.CountDispatches(o.Counts.merge(d))
	s.ledger.Metrics.Dispatches.WithLabelValues(word(d.State)).Inc()
	s.ledger.ReservePages(-o.Left)
	s.above.Expired(o.Visit, int(o.Left), now)
	site.Out = nil
	brought := o.Pages+o.Unchanged > 0
	if brought {
		site.Bundles = append(site.Bundles, Bundle{Visit: o.Visit, Server: o.Server, At: latestOf(o.Began, o.Queued)})
		site.Bundles = slices.Delete(site.Bundles, 0, max(len(site.Bundles)-MaxBundles, 0))
	}
	if p := site.path(o.About, o.Server); p != nil {
		p.State, p.Reason, p.At = word(d.State), strings.Clone(crawl.ShortDetail(d.Reason)), at.UTC()
		p.Counts, p.Compared = o.Counts, Compared{}
		p.ended(d, brought, at, now)
	}
	s.ledger.Log.Info("a mobile robot is back", "origin", site.origin(), "path", o.About.PathQuery(), "server", crawl.AgentAddress(o.Server), "state", d.State,
		"reason", d.Reason, "pages", o.Pages, "unchanged", o.Unchanged)
	if brought && !h.Origins[i].Mirror.Mirrored() {
		if begun, err := s.checks.begin(h, i, site, o, d.Sample, now); begun || err != nil {
			return err
		}
	}
	h.Origins[i].DispatchEnded()
	if err := s.refresh(h, i, site, now); err != nil {
		return err
	}
	return s.put(site)
}

// ended determines when the next robot is due. brought reports that this one brought anything.
func (p *Path) ended(d *crawl.Dispatch, brought bool, at, now time.Time) {
	p.Good = time.Time{}
	switch state := word(d.State); {
	case state == crawl.DispatchDone, state == crawl.DispatchCut && brought:
		p.Good, p.Failures, p.Due = at.UTC(), 0, time.Time{}
	case state == crawl.DispatchRefused:
		p.Failures, p.Due = 0, now.Add(RefusedFor)
	case state == crawl.DispatchDropped:
		p.Failures, p.Due = 0, now.Add(unwanted)
	default:
		p.Failures++
		p.Due = now.Add(max(polite.RetryDispatch.After(p.Failures), min(d.RetryAfter, RefusedFor)))
	}
}

// word is the state of a dispatch that has ended. Another program may send other words.
func word(state string) string {
	switch state {
	case crawl.DispatchDone, crawl.DispatchCut, crawl.DispatchRefused, crawl.DispatchDropped:
		return state
	}
	return crawl.DispatchFailed
}

func latestOf(began, queued time.Time) time.Time {
	if began.IsZero() {
		return queued.UTC()
	}
	return mirror.Latest(began, queued).UTC()
}

// bundle returns what the robot brought whose pages carry that visit, or nil.
func (r *Site) bundle(id crawl.VisitID) *Bundle {
	i := slices.IndexFunc(r.Bundles, func(b Bundle) bool { return b.Visit == id })
	if i < 0 {
		return nil
	}
	return &r.Bundles[i]
}

// ofServer are the visits whose pages came from a server.
func (r *Site) ofServer(server canon.URL) (list []crawl.VisitID) {
	for _, b := range r.Bundles {
		if b.Server == server {
			list = append(list, b.Visit)
		}
	}
	slices.SortFunc(list, func(a, b crawl.VisitID) int { return cmp.Or(a.Compare(b)) })
	return list
}
