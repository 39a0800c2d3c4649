package fetcher

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/htmlscan"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/datatxt"
	"github.com/curtsy/curtsy/pkg/robots"
	"github.com/curtsy/curtsy/pkg/robotstag"
)

// refusedFresh is when an origin whose robots.txt keeps us from its data.txt is looked at again.
const refusedFresh = robots.MaxAge

// toProbe reports whether the frontier wants to know of an origin's /data.txt.
func (v *visit) toProbe(o canon.Origin) bool {
	return slices.ContainsFunc(v.job.Robots, func(r crawl.Robots) bool { return r.Origin == o && r.ProbeData })
}

// probe asks an origin for /data.txt, once and before its pages. What came of it travels with the outcome, behind the page
// it is about.
func (v *visit) probe(s *site) {
	u, err := s.origin.URL("/data.txt")
	if err != nil {
		return
	}
	probe, page, ok := v.fetchData(&crawl.Errand{Kind: crawl.ErrandData, URL: u, Origin: s.origin})
	if !ok {
		return
	}
	if page != nil {
		v.handOver(page)
	}
	if !v.offerNested() {
		return // asked again, it is read again
	}
	v.probes = append(v.probes, probe)
}

// fetchData asks for a data.txt on behalf of an origin, following redirects as long as they stay on this host (protocols
// §5.1), those of a nested file as long as they stay on its origin. It is an ordinary URL: the rules of the origin asked decide, at
// each hop. page is what the indexer is to know; ok is false when nothing was found out. Which files are nested in it is in
// v.nested afterwards.
func (v *visit) fetchData(e *crawl.Errand) (probe crawl.Probe, page *crawl.Page, ok bool) {
	u, o, hops := e.URL, e.Origin, e.Hop
	if e.Kind == crawl.ErrandNested {
		hops = 0
	}
	v.nested = v.nested[:0]
	seen := []canon.URL{u}
	for {
		probe = crawl.Probe{Origin: o, State: crawl.ProbeFailed, Fresh: datatxt.MinLifetime, Hops: hops}
		s := v.site(u.Origin())
		switch {
		case s != nil && s.bar.barred:
			probe.Reason = s.bar.detail
			return probe, nil, true
		case s != nil && s.closed: // also when that is what ended the visit: else its robots.txt is asked for with each visit, for ever
			probe.Reason = "robots.txt of " + s.origin.String() + " cannot be read now"
			return probe, nil, true
		case s == nil || v.over():
			return probe, nil, false
		}
		if verdict := s.rules.Match(u.PathQuery()); !verdict.Allowed {
			probe.State, probe.Fresh = crawl.ProbeRefused, refusedFresh
			probe.Reason = fmt.Sprintf("robots.txt line %d: %s", verdict.Line, verdict.Rule)
			return probe, v.noData(u, e, crawl.ReasonRobots), true
		}
		a, err := v.ask(u, nil, func(status int, _ http.Header) wanted {
			if 200 <= status && status <= 299 {
				return wanted{limit: datatxt.MaxSize + 1} // Parse wants to see that there is more
			}
			return wanted{}
		})
		probe.Status = a.status
		if err != nil {
			fail := v.hold.failureOf(err)
			probe.Reason = fail.String()
			if fail.reason == crawl.ReasonForgotten {
				probe.State, probe.Fresh = crawl.ProbeRefused, refusedFresh
			}
			return probe, nil, !fail.unsent
		}
		if 300 <= a.status && a.status <= 399 && a.status != http.StatusNotModified {
			location := a.header.Get("Location")
			next, err := canon.NewBase(u).Join(location)
			switch hops++; {
			case location == "" || err != nil || hops > robots.MaxRedirects || slices.Contains(seen, next):
				probe.State, probe.Fresh = crawl.ProbeAbsent, datatxt.DefaultLifetime
				probe.Reason = "it redirects to nowhere usable"
				return probe, v.noData(u, e, crawl.ReasonRedirects), true
			case e.Kind == crawl.ErrandNested && next.Origin() != o:
				probe.State, probe.Fresh = crawl.ProbeAbsent, datatxt.DefaultLifetime
				probe.Reason = "it redirects to another origin"
				return probe, v.noData(u, e, crawl.ReasonRedirects), true
			case next.Host() != v.job.Host:
				probe.State, probe.Location, probe.Hops = crawl.ProbePending, string(next), hops
				return probe, nil, true
			}
			u = next
			seen = append(seen, u)
			continue
		}
		if overloaded(a.status) {
			probe.Fresh = max(probe.Fresh, v.overload(a))
		}
		page = v.readData(u, e, &a, &probe)
		return probe, page, true
	}
}

// readData completes a probe from its last answer and returns what the indexer is to know of it.
func (v *visit) readData(u canon.URL, e *crawl.Errand, a *answer, probe *crawl.Probe) *crawl.Page {
	switch datatxt.StateOf(a.status) {
	case datatxt.Read:
	case datatxt.Absent:
		probe.State, probe.Fresh = crawl.ProbeAbsent, datatxt.Lifetime(a.header, a.at)
		probe.Reason = fmt.Sprintf("HTTP %d", a.status)
		return v.noData(u, e, crawl.ReasonHTTP4xx)
	default:
		probe.Reason = fmt.Sprintf("HTTP %d", a.status)
		return nil
	}
	probe.Fresh = datatxt.Lifetime(a.header, a.at)
	if ok, reason := datatxt.Usable(a.header.Get("Content-Type"), a.body); !ok {
		probe.State, probe.Reason = crawl.ProbeAbsent, reason
		return v.noData(u, e, crawl.ReasonType)
	}
	tags := robotstag.New(v.cfg.spec.Agent) // header tags hold for every type
	tags.AddHeaders(a.header)
	d := tags.Directives().At(a.at)
	if d.NoIndex {
		probe.State, probe.Reason = crawl.ProbeRefused, "it asks not to be kept (noindex)"
		return v.noData(u, e, crawl.ReasonNoindex)
	}
	probe.State = crawl.ProbeRead
	p := &crawl.Page{
		Kind: crawl.KindData, Origin: e.Origin, Asked: asked(e), Fresh: probe.Fresh, URL: u, Visit: v.job.ID, Status: a.status, FetchedAt: a.at,
		Directives: bitsOf(d), UnavailableAfter: d.UnavailableAfter,
		ContentType: mediaType(a.header.Get("Content-Type")), Charset: htmlscan.Charset(a.body, a.header.Get("Content-Type")),
		ETag: headerText(a.header, "Etag"), LastModified: headerText(a.header, "Last-Modified"), Truncated: a.truncated,
	}
	v.pack(p, a.body, nil)
	v.findNested(u, e, a.body)
	return p
}

// noData tells the indexer that an origin has no such data.txt that we may use.
func (v *visit) noData(u canon.URL, e *crawl.Errand, why crawl.Reason) *crawl.Page {
	return &crawl.Page{Kind: crawl.KindData, Origin: e.Origin, Asked: asked(e), URL: u, Visit: v.job.ID, FetchedAt: time.Now(), Deleted: why}
}
