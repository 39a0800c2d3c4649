package visit

import (
	"context"
	"log/slog"
	"slices"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/page"
	"github.com/curtsy/curtsy/internal/fetcher/publish"
	"github.com/curtsy/curtsy/internal/fetcher/requests"
	"github.com/curtsy/curtsy/internal/fetcher/robots"
	"github.com/curtsy/curtsy/internal/fetcher/wellknown"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Visit is one visit that is being carried out, by one goroutine.
type Visit struct {
	deps    *Deps
	sink    Sink
	job     *crawl.Visit
	scratch *Scratch
	log     *slog.Logger

	publishing context.Context // ends when all that is not published yet is dropped

	requests  *requests.Requests
	publisher *publish.Publisher
	sites     *robots.Sites
	files     *wellknown.Files
	pages     *page.Pages

	report report
	probed []canon.Origin // that were asked for /data.txt in this visit
}

// Run carries the visit out, up to its last request. What it leaves to publish is published by
// Close.
func (v *Visit) Run() {
	if !v.requests.Over() {
		v.safely("auxiliary requests", v.auxRequests)
	}
	if len(v.job.URLs) > 0 && v.sink.Stalled(v.job.Shard) {
		v.requests.End("its pages would have to wait because the page queue is full")
	}
	urls := inOrder(v.job.URLs)
	for i, u := range urls {
		r := crawl.Result{URL: u.URL, Class: crawl.Retry, Reason: crawl.ReasonProtocol, Rule: ourMistake}
		v.safely(u.URL, func() { r = v.one(u) })
		v.pages.Scripts.Close()
		v.pages.Ended(r.URL, r.Class)
		r.Rule = crawl.ShortDetail(r.Rule)
		v.publisher.Result(r)
		if i < len(urls)-1 {
			v.reportProgress()
		}
	}
}

// safely calls f and recovers from a panic, which ends the visit's requests.
func (v *Visit) safely(what any, f func()) {
	if !v.requests.Safely(what, f) {
		v.scratch.page.Reset()
	}
}

// Abort ends a request that its sender did not finish, because of a panic.
func (v *Visit) Abort() { v.requests.Abort() }

// inOrder returns the URLs to fetch, with those of an origin together, because the host's one
// connection leads to one origin at a time.
func inOrder(all []crawl.VisitURL) []*crawl.VisitURL {
	urls := make([]*crawl.VisitURL, 0, len(all))
	done := make(map[canon.URL]bool) // roots
	for i := range all {
		root := all[i].URL.Root()
		if i > 0 && done[root] {
			continue
		}
		done[root] = true
		for j := i; j < len(all); j++ {
			if all[j].URL.Root() == root {
				urls = append(urls, &all[j])
			}
		}
	}
	return urls
}

// one fetches one URL and returns its result.
func (v *Visit) one(u *crawl.VisitURL) crawl.Result {
	returned := crawl.Result{URL: u.URL, Class: crawl.Returned}
	if v.sink.Forgotten(u.URL) {
		return crawl.Result{URL: u.URL, Class: crawl.Refused, Reason: crawl.ReasonForgotten}
	}
	// The grant is for one host, even if a frontier should make a mistake.
	if v.requests.Over() || u.URL.Host() != v.job.Host {
		return returned
	}
	if !v.requests.Config.Spec().PlanOnly && !v.pages.Scripts.Ready(u.URL) {
		return returned
	}
	site := v.sites.Of(u.URL.Origin())
	switch {
	case site == nil || v.requests.Over() && !site.Bar.Barred:
		return returned
	case site.Bar.Barred:
		return crawl.Result{URL: u.URL, Class: crawl.Refused, Reason: site.Bar.Reason, Rule: site.Bar.Detail}
	case site.Closed:
		return returned
	}
	if v.probe(site); v.requests.Over() {
		return returned
	}
	if short := v.pages.Clean(u.URL); short != u.URL {
		return v.cleaned(u, short)
	}
	if verdict, why := v.sites.Match(site, u.URL); why != "" {
		v.pages.Forget(u, why)
		return crawl.Result{URL: u.URL, Class: crawl.Refused, Reason: why, Line: verdict.Line, Rule: verdict.Rule}
	}
	pathQuery := u.URL.PathQuery()
	if short := site.Cleaned(pathQuery); short != pathQuery {
		// The frontier did not know the Clean-param when it accepted this spelling.
		if target, err := site.Origin.URL(short); err == nil && target != u.URL {
			return v.cleaned(u, target)
		}
	}
	if v.requests.Config.Spec().PlanOnly {
		return v.pages.Planned(u)
	}
	return v.pages.Fetch(u)
}

// cleaned returns the result of a URL that is not fetched, because Clean-param makes it another
// spelling of target. It counts as a redirect to target, which needs no request.
func (v *Visit) cleaned(u *crawl.VisitURL, target canon.URL) crawl.Result {
	v.pages.Forget(u, crawl.ReasonCleanParam)
	v.pages.Offer(u.URL, u.Depth, u.Redirects, []canon.URL{target})
	return crawl.Result{URL: u.URL, Class: crawl.Redirected, Reason: crawl.ReasonCleanParam, Location: string(target)}
}

// probe asks an origin for its /data.txt, and then for its /data.json, before its pages are
// fetched. It does so once in a visit, if the frontier asks for it.
func (v *Visit) probe(site *robots.Site) {
	o := site.Origin
	wanted := slices.ContainsFunc(v.job.Robots, func(r crawl.Robots) bool { return r.Origin == o && r.ProbeData })
	if !wanted || slices.Contains(v.probed, o) {
		return
	}
	v.probed = append(v.probed, o)
	dataTxt, ok := v.files.Probe(o)
	if !ok {
		return
	}
	v.pages.ProbeJSON(site, dataTxt)
	// If the process is killed while it fetches pages, at most these two requests are repeated.
	v.reportProgress()
}
