package visit

import (
	"net/http"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/html"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/datatxt"
	"github.com/curtsy/curtsy/pkg/robots"
)

// refusedFresh is when an origin whose robots.txt keeps us from its data.txt is looked at again.
const refusedFresh = robots.MaxAge

// toProbe reports whether the frontier wants to know of an origin's /data.txt.
func (v *Visit) toProbe(o canon.Origin) bool {
	return slices.ContainsFunc(v.job.Robots, func(r crawl.Robots) bool { return r.Origin == o && r.ProbeData })
}

// probe asks an origin for /data.txt, once and before its pages. What came of it travels with the
// outcome, behind the page it is about.
func (v *Visit) probe(s *site) {
	u, err := s.origin.URL("/data.txt")
	if err != nil {
		return
	}
	probe, page, ok := (&dataRequest{v, &crawl.AuxRequest{Kind: crawl.AuxData, URL: u, Origin: s.origin}}).fetch()
	if !ok {
		return
	}
	if page != nil {
		v.handOverPage(page)
	}
	if !v.offerNested() {
		return // asked again, it is read again
	}
	v.probes = append(v.probes, probe)
	v.probeJSON(s, u)
	// Before a page is asked for: of a visit that is killed at most two requests are repeated.
	v.report()
}

// probeJSON asks an origin whether it has a /data.json, where and as often as it is asked for
// /data.txt. One that is there, or moved to where such a document may be, is from then on a URL
// like any other that /data.txt might have led to: fetched, and fetched again, with the pages.
// Whatever else is answered is forgotten; nobody was promised the file.
func (v *Visit) probeJSON(s *site, dataTxt canon.URL) {
	u, err := s.origin.URL("/data.json")
	if err != nil || !v.cfg.spec.DataJSON || v.cfg.spec.MaxDepth == 0 || !v.cfg.Scope.Decide(u).In || v.over() {
		return
	}
	if _, why := v.match(s, u); why != "" {
		return
	}
	defer v.asking(crawl.RequestData)()
	a, err := v.ask(u, nil, func(int, http.Header) wire.Wanted { return wire.Wanted{} })
	switch {
	case err != nil:
	case overloaded(a.Status):
		v.overload(a)
	case a.Status == http.StatusOK:
		declared := contentType(a.Header)
		if certain, possible := metaDocument(u, mediaType(declared), declared == ""); certain || possible {
			v.offer(dataTxt, 1, 0, []canon.URL{u})
		}
	case redirects(a.Status):
		if next, ok := location(u, &a); ok {
			if _, possible := metaDocument(next, "", true); possible {
				v.offer(dataTxt, 1, 0, []canon.URL{u})
			}
		}
	}
}

// doData fetches a data.txt for another shard, or a nested one, and hands it to the indexer.
func doData(v *Visit, e *crawl.AuxRequest, a *crawl.Answer) (done bool) {
	if v.sink.Stalled(e.ReplyShard) {
		return false // its copy would have to wait for room
	}
	var page *crawl.Page
	a.Probe, page, done = (&dataRequest{v, e}).fetch()
	if done && page != nil && !v.deps.opt.DiscardPages {
		v.sendPages(e.ReplyShard, crawl.AppendPages(nil, []crawl.Page{*page}))
	}
	return done && v.offerNested()
}

// dataRequest is a request for the data.txt of an origin, or for one nested in it.
type dataRequest struct {
	*Visit
	e *crawl.AuxRequest
}

// fetch asks for a data.txt on behalf of an origin, following redirects as long as they stay on
// this host (formats §5.1), those of a nested file as long as they stay on its origin. It is
// an ordinary URL: the rules of the origin asked decide, at each hop. page is what the indexer
// is to know; ok is false when nothing was found out. Which files are nested in it is in
// v.nested afterwards.
func (v *dataRequest) fetch() (probe crawl.Probe, page *crawl.Page, ok bool) {
	v.nested = v.nested[:0]
	t := Trail{At: v.e.URL, Redirects: v.e.Hop, Most: robots.MaxRedirects}
	if v.e.Kind == crawl.AuxNested {
		t.Redirects, t.within = 0, v.e.Origin
	}
	t.May = func(u canon.URL) (may bool) {
		probe = crawl.Probe{Origin: v.e.Origin, State: crawl.ProbeFailed, Fresh: datatxt.MinLifetime, Redirects: t.Redirects}
		s := v.site(u.Origin())
		switch {
		case s != nil && s.bar.Barred:
			probe.Reason, ok = s.bar.Detail, true
			return false
		case s != nil && s.closed:
			// Also when that is what ended the visit: else its robots.txt is asked for with
			// each visit, for ever.
			probe.Reason, ok = "robots.txt of "+s.origin.String()+" cannot be fetched now", true
			return false
		case s == nil || v.over():
			return false
		}
		verdict, why := v.match(s, u)
		if why != "" {
			probe.State, probe.Fresh = crawl.ProbeRefused, refusedFresh
			probe.Reason = whyNotAsked(verdict, why)
			page, ok = v.none(u, why), true
		}
		return why == ""
	}
	t.Ask = func(u canon.URL, _ bool) (wire.Answer, error) {
		defer v.asking(crawl.RequestKind(v.e.Kind))()
		return v.ask(u, nil, func(status int, _ http.Header) wire.Wanted {
			if 200 <= status && status <= 299 {
				// Parse wants to see that there is more
				return wire.Wanted{Limit: datatxt.MaxSize + 1}
			}
			return wire.Wanted{}
		})
	}
	a, end, err := t.Follow(v.job.Host)
	if end == TrailBarred {
		return probe, page, ok
	}
	probe.Status = a.Status
	switch {
	case err != nil:
		fail := v.failureOf(err)
		probe.Reason = fail.String()
		if fail.Reason == crawl.ReasonForgotten {
			probe.State, probe.Fresh = crawl.ProbeRefused, refusedFresh
		}
		return probe, nil, !fail.Unsent
	case end == TrailLost || end == TrailLeft && v.e.Kind == crawl.AuxNested:
		probe.State, probe.Fresh = crawl.ProbeAbsent, datatxt.DefaultLifetime
		probe.Reason = "it redirects to an unusable URL"
		if end == TrailLeft {
			probe.Reason = "it redirects to another origin"
		}
		return probe, v.none(t.At, crawl.ReasonRedirects), true
	case end == TrailLeft:
		probe.State, probe.Location, probe.Redirects = crawl.ProbePending, string(t.Next), t.Redirects+1
		return probe, nil, true
	case overloaded(a.Status):
		probe.Fresh = max(probe.Fresh, v.overload(a))
	}
	return probe, v.read(t.At, &a, &probe), true
}

// read completes a probe from its last answer and returns what the indexer is to know of it.
func (v *dataRequest) read(u canon.URL, a *wire.Answer, probe *crawl.Probe) *crawl.Page {
	switch datatxt.StateOf(a.Status) {
	case datatxt.Read:
	case datatxt.Absent:
		probe.State, probe.Fresh = crawl.ProbeAbsent, datatxt.Lifetime(a.Header, a.At)
		probe.Reason = statusText(a)
		return v.none(u, crawl.ReasonHTTP4xx)
	default:
		probe.Reason = statusText(a)
		return nil
	}
	probe.Fresh = datatxt.Lifetime(a.Header, a.At)
	if ok, reason := datatxt.Usable(contentType(a.Header), a.Body); !ok {
		probe.State, probe.Reason = crawl.ProbeAbsent, reason
		return v.none(u, crawl.ReasonType)
	}
	tags := v.headerTags(a)
	d := tags.Directives
	if d.NoIndex {
		probe.State, probe.Reason = crawl.ProbeRefused, "it must not be stored (noindex)"
		return v.none(u, crawl.ReasonNoindex)
	}
	stated := v.usageOf(u, a.Header, tags)
	if rule, yes := v.unwanted(stated); yes {
		probe.State, probe.Reason = crawl.ProbeRefused, "it must not be used for search: "+rule
		return v.none(u, crawl.ReasonUsage)
	}
	probe.State = crawl.ProbeRead
	p := &crawl.Page{
		Kind: crawl.KindData, Origin: v.e.Origin, Asked: asked(v.e), Fresh: probe.Fresh, URL: u, Visit: v.job.ID, Status: a.Status, FetchedAt: a.At,
		Directives: bitsOf(d), UnavailableAfter: d.UnavailableAfter, MaxSnippet: d.MaxSnippet,
		ContentType: mediaType(contentType(a.Header)), Charset: html.Charset(a.Body, contentType(a.Header)),
		ETag: headerText(a.Header, "Etag"), LastModified: headerText(a.Header, "Last-Modified"), Truncated: a.Truncated,
		Usage: stated,
	}
	v.pack(p, a.Body, nil)
	v.findNested(u, a.Body)
	return p
}

// none tells the indexer that an origin has no such data.txt that we may use.
func (v *dataRequest) none(u canon.URL, why crawl.Reason) *crawl.Page {
	return &crawl.Page{Kind: crawl.KindData, Origin: v.e.Origin, Asked: asked(v.e), URL: u, Visit: v.job.ID, FetchedAt: time.Now(), Deleted: why}
}
