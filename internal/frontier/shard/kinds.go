package shard

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/pkg/canon"
)

// kinds is the table of the kinds of events of a shard. An event may be of several kinds. Their
// effects are applied in the order of the rows: what a visit found is known before its outcome is.
func kinds(p *Parts) []kind {
	return []kind{
		{"Robots", func(ev *event) error {
			return each(ev.Robots, func(r *crawl.Robots) error { return p.Robots.Apply(r, ev.Visit, ev.at, ev.now) })
		}},
		{"Answers", func(ev *event) error {
			return each(ev.Answers, func(a *crawl.Answer) error { return p.Features.ApplyAnswer(a, ev.at, ev.now) })
		}},
		{"Probes", func(ev *event) error {
			return each(ev.Probes, func(probe *crawl.Probe) error { return applyProbe(p, ev, probe) })
		}},
		{"Links", func(ev *event) error { return applyLinks(p, ev) }},
		{"Reports", func(ev *event) error {
			return each(ev.Reports, func(r *crawl.Report) error { return p.RUPSites.ApplyReport(r, ev.now) })
		}},
		{"Reported", func(ev *event) error {
			return each(ev.Reported, func(r *crawl.IndexNow) error { return p.IndexNow.Apply(r, ev.now) })
		}},
		{"WebSub", func(ev *event) error {
			return each(ev.WebSub, func(m *crawl.WebSub) error { return p.WebSub.Apply(m, ev.now) })
		}},
		{"Aux", func(ev *event) error {
			return each(ev.Aux, func(a *crawl.AuxRequest) error { return p.Features.AddAux(*a, ev.now) })
		}},
		{"StoreFailed", func(ev *event) error {
			return each(ev.StoreFailed, func(u *string) error { return p.Outcomes.StoreFailed(canon.URL(*u)) })
		}},
		{"Missing", func(ev *event) error {
			return each(ev.Missing, func(u *crawl.Unheld) error { return p.Outcomes.Missing(*u) })
		}},
		{"Removed", func(ev *event) error {
			return each(ev.Removed, func(u *crawl.Unheld) error { return p.Outcomes.Removed(*u, ev.now) })
		}},
		{"Skipped", func(ev *event) error {
			return each(ev.Skipped, func(u *crawl.Unheld) error { return p.Outcomes.Skipped(*u, ev.now) })
		}},
		{"Unreadable", func(ev *event) error {
			return each(ev.Unreadable, func(u *crawl.Unheld) error { return p.Outcomes.Unreadable(*u, ev.now) })
		}},
		{"Retry", func(ev *event) error {
			return each(ev.Retry, func(what *string) error { return p.Passes.ApplyRetry(*what) })
		}},
		{"Refetch", func(ev *event) error {
			return each(ev.Refetch, func(u *string) error { return p.Passes.ApplyRefetch(*u, ev.sent) })
		}},
		{"Audits", func(ev *event) error {
			return each(ev.Audits, func(a *crawl.Audit) error { p.Ledger.LogAudit(a.Bounded()); return nil })
		}},
		{"StoreLost", func(ev *event) error {
			if ev.StoreLost == "" {
				return nil
			}
			return p.Passes.ApplyStoreLost(ev.StoreLost, ev.now)
		}},
		{"Traces", func(ev *event) error {
			return each(ev.Traces, func(t *crawl.Trace) error { return p.Timeline.Apply(t, ev.Visit) })
		}},
		{"Outcome", func(ev *event) error { return applyOutcome(p, ev) }},
	}
}

// each calls apply for the items of a list, one after the other.
func each[T any](list []T, apply func(*T) error) error {
	for i := range list {
		if err := apply(&list[i]); err != nil {
			return err
		}
	}
	return nil
}

// applyProbe applies the probe of a well-known file, which is requested again if a lost store had
// it.
func applyProbe(p *Parts, ev *event, probe *crawl.Probe) error {
	if err := p.DataFiles.ApplyProbe(probe, ev.at, ev.now); err != nil {
		return err
	}
	h, err := p.Ledger.HostNamed(probe.Origin.Host)
	if h == nil || err != nil || ev.Visit.IsZero() || !p.Ledger.Meta.Lost.IsLost(ev.Visit) {
		return err
	}
	return p.Passes.ProbeLost(h, func(o *hosts.Origin) bool { return o.Origin == probe.Origin }, ev.now)
}

// applyLinks applies links to this shard, or receives links of which some may be for others.
func applyLinks(p *Parts, ev *event) error {
	receive := p.Links.Apply
	if ev.Forward {
		receive = p.Links.Receive
	}
	for i := range ev.Links {
		if i > 0 && ev.Links[i].FoundOn.Host() != ev.Links[i-1].FoundOn.Host() {
			// a message of another visit, which was forwarded together with the previous one
			p.URLs.CountEvent()
		}
		if err := receive(&ev.Links[i], ev.now); err != nil {
			return err
		}
	}
	return nil
}

// applyOutcome applies an outcome, and adds it to the trace of its visit. That is done only for
// running visits, because the log may be read again.
func applyOutcome(p *Parts, ev *event) error {
	if ev.Outcome == nil {
		return nil
	}
	traces := p.Events.traces
	traced := traces != nil && p.Visits.Outstanding[ev.Visit] != nil
	if err := p.Outcomes.Apply(ev.Event, ev.now); err != nil {
		return err
	}
	if traced {
		traces.Visit(p.Ledger.ID, ev.Visit).Applied(ev.Outcome, ev.now, time.Now())
	}
	return nil
}
