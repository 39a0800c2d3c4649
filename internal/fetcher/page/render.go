package page

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fair"
	"github.com/curtsy/curtsy/internal/fetcher/answer"
	"github.com/curtsy/curtsy/internal/fetcher/metrics"
	"github.com/curtsy/curtsy/internal/fetcher/requests"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/htmlscan"
	"github.com/curtsy/curtsy/internal/render"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robotstag"
)

// Pages that need scripts (--render). Such a page is rendered in the visit that fetched it, and
// stored as what its scripts made of it. Nothing is published before, so whatever dies meanwhile,
// the frontier grants the URL again.

// mostFetching is how long a page may wait for its requests, all together. A host with a long delay
// would otherwise occupy a renderer for hours.
const mostFetching = 10 * time.Minute

// Scripts renders pages of a visit. It belongs to the visit's goroutine.
type Scripts struct {
	p          *Pages
	slot       *fair.Claim // for the page that is fetched or rendered; nil: there is none
	taken      time.Time   // when
	overloaded bool        // the answer to a request of a page was 429 or 503
	missed     string      // why a request of a page failed that may succeed later
}

// Ready reports whether a URL may be fetched now. It may not if its page will probably have to be
// rendered, and no renderer is free; then the visit ends. Close is called after the URL.
func (s *Scripts) Ready(u canon.URL) bool {
	r := s.p.Shared.renderers
	switch s.p.Requests.Config.RenderOf(u) {
	case crawl.RenderNever:
		return true
	case crawl.RenderAuto:
		if !r.expects(u.Host()) {
			return true
		}
	}
	return r.renderer == nil || s.takeSlot(u)
}

// takeSlot takes a slot for a page, or ends the visit if none is free.
func (s *Scripts) takeSlot(u canon.URL) bool {
	if s.slot != nil {
		return true
	}
	slot, wait := s.p.Shared.renderers.try(u.Host(), time.Now())
	if slot == nil {
		s.putBack(wait, "all renderers are in use")
		return false
	}
	s.slot, s.taken = slot, time.Now()
	return true
}

// putBack ends the requests of the visit, and leaves its host alone for a time.
func (s *Scripts) putBack(wait time.Duration, why string) {
	s.p.Requests.End(why)
	s.p.Requests.Account.NotBefore = max(s.p.Requests.Account.NotBefore, wait)
}

// Close returns the slot.
func (s *Scripts) Close() {
	if s.slot != nil {
		s.slot.Release(time.Since(s.taken).Seconds())
		s.slot = nil
	}
}

// rendering is what is known of a page that is stored besides its body and its tags. The zero value
// is right for a page that is stored as its server sent it.
type rendering struct {
	state   crawl.Rendering
	note    string         // for people
	capture *crawl.Capture // of the response of the server; nil: there is none
}

// wantsRendering reports whether the scripts of a page are run before it is stored.
func (s *Scripts) wantsRendering(u *crawl.VisitURL, a *wire.Answer, kind string, scan *htmlscan.Result) bool {
	mode := s.p.Requests.Config.RenderOf(u.URL)
	if mode == crawl.RenderNever || s.p.brings || s.p.Shared.renderers.renderer == nil || kind != answer.HTML && kind != answer.XHTML {
		return false
	}
	needs := needsScript(scan)
	s.p.Shared.renderers.learn(u.URL.Host(), needs)
	if mode == crawl.RenderAuto && !needs || a.Truncated || scan.Directives.At(a.At).NoIndex {
		return false
	}
	_, unwanted := s.p.Sites.Unwanted(u.URL, s.p.Sites.Usage(u.URL, a.Header, scan))
	return !unwanted
}

// keepRendered runs the scripts of a page and publishes what they made of it. scan is of the page
// as its server sent it, and is over afterwards.
func (s *Scripts) keepRendered(u *crawl.VisitURL, a *wire.Answer, kind string, scan *htmlscan.Result, r *crawl.Result) {
	if !s.takeSlot(u.URL) {
		s.p.gather.done()
		*r = crawl.Result{URL: u.URL, Class: crawl.Returned}
		return
	}
	// The next request takes the buffers of this one.
	raw, first := *a, keptScan(scan)
	raw.Body = slices.Clone(a.Body)
	how := rendering{capture: s.rawCapture(u, &raw, scan)}
	s.p.gather.done()
	s.p.Requests.Session.Memory.Done()
	done, err := s.render(u, &raw)
	var failed *render.Failed
	var later *Later
	missed := s.missed
	switch {
	case errors.As(err, &later) && s.p.Shared.renderers.mayPutBack(u.URL):
		s.putBack(later.Wait, later.Why)
		*r = crawl.Result{URL: u.URL, Class: crawl.Returned}
		return
	case errors.As(err, &later):
		s.putBack(later.Wait, later.Why)
		missed = later.Why
	case errors.Is(err, render.ErrUnavailable):
		s.p.Shared.noRenderer(err)
		s.putBack(noRenderer, err.Error())
		*r = crawl.Result{URL: u.URL, Class: crawl.Returned}
		return
	case errors.Is(err, render.ErrLost):
		missed = err.Error()
	case errors.Is(err, errVisitOver) && missed == "":
		s.putBack(noSlot, err.Error())
		*r = crawl.Result{URL: u.URL, Class: crawl.Returned}
		return
	}
	s.p.Shared.renderers.rendered(u.URL)
	again := u.Attempts+1 < crawl.MaxAttempts
	switch {
	case errors.Is(err, errOverloaded) && again:
		r.Class, r.Reason = crawl.Retry, crawl.ReasonOverload
	case missed != "" && !errors.As(err, &failed) && again:
		r.Class, r.Reason, r.Rule = crawl.Retry, crawl.ReasonRendering, missed
	case err == nil:
		how.state, how.note = crawl.RenderingDone, noteOf(done)
		s.keepAs(u, rendered(&raw, done), answer.HTML, &first, how, done.Links, r)
	default:
		why := missed
		if failed != nil {
			why = failed.Why
		}
		how.state, how.note = crawl.RenderingFailed, "rendering failed: "+cmp.Or(why, err.Error())
		s.keepAs(u, &raw, kind, nil, how, nil, r)
	}
}

// render runs the scripts of a page.
func (s *Scripts) render(u *crawl.VisitURL, a *wire.Answer) (*render.Result, error) {
	renderer := s.p.Shared.renderers.renderer
	ctx, cancel := context.WithCancel(s.p.Requests.Session.Waiting)
	defer cancel()
	var ended error
	var fetching time.Duration
	start := time.Now()
	s.overloaded, s.missed = false, ""
	done, err := renderer.Render(ctx, s.pageFor(u, a), func(q render.Request) render.Response {
		if ended != nil {
			return refused(ended.Error())
		}
		if fetching > mostFetching {
			return refused(fmt.Sprintf("the page has waited %v for its requests", mostFetching))
		}
		asked := time.Now()
		r, err := s.resource(ctx, u.URL, &q)
		fetching += time.Since(asked)
		if err != nil {
			ended = err
			cancel()
		}
		return r
	})
	s.p.Requests.Metrics.Spent(metrics.Render, start.Add(fetching))
	switch {
	case s.p.Requests.Session.Waiting.Err() != nil:
		return nil, errVisitOver
	case ended != nil:
		return nil, ended
	case errors.Is(err, render.ErrUnavailable):
		s.p.Shared.renderers.unavailable(time.Now())
	}
	return done, err
}

// pageFor returns a page as the renderer gets it. Its clock begins with the day, so that a page
// that shows the date changes once a day, and not with each visit.
func (s *Scripts) pageFor(u *crawl.VisitURL, a *wire.Answer) *render.Page {
	h := plainHeader(a.Header)
	if h.Get("Content-Type") == "" {
		h["Content-Type"] = []string{"text/html"}
	}
	var load []render.Kind
	for _, word := range s.p.spec().RenderLoad {
		load = append(load, render.Kind(word))
	}
	return &render.Page{
		URL: string(u.URL), Status: a.Status, Header: h, Body: a.Body, Time: a.At.UTC().Truncate(24 * time.Hour),
		UserAgent: requests.UserAgent(*s.p.spec()), Load: load,
	}
}

// rendered returns the answer of a server with the body that scripts made of it. What the header
// says of the body does not apply to that.
func rendered(raw *wire.Answer, r *render.Result) *wire.Answer {
	a := *raw
	a.Header = plainHeader(raw.Header)
	delete(a.Header, "Etag")
	delete(a.Header, "Last-Modified")
	a.Header["Content-Type"] = []string{"text/html; charset=utf-8"}
	a.Body, a.Truncated = r.HTML, r.Cut
	return &a
}

// keepAs publishes a page that was rendered, or could not be. first is what was found in the page
// as its server sent it: of two statements the stricter one applies. It is nil if that is what is
// stored. gone are addresses to which scripts wanted to go.
func (s *Scripts) keepAs(u *crawl.VisitURL, a *wire.Answer, kind string, first *htmlscan.Result, how rendering, gone []string, r *crawl.Result) {
	start := time.Now()
	kept := 0
	if len(a.Body) > wire.KeepBuffer {
		kept = htmlFactor * len(a.Body)
	}
	scan, err := s.p.gather.scan(htmlscan.Page{
		URL: u.URL, Body: a.Body, ContentType: scanType(a.Header, kind), HTML: true, Header: a.Header, Token: s.p.spec().Agent,
	}, kept)
	defer s.p.gather.done()
	if err != nil {
		fail(s.p.Requests, u, err, r)
		return
	}
	if first != nil {
		merge(&scan, first, u.URL, gone)
	}
	s.p.keepScanned(u, a, kind, &scan, how, start, r)
}

// keptScan copies what is needed later of the scan of a page. The URLs in it may be kept.
func keptScan(scan *htmlscan.Result) htmlscan.Result {
	first := *scan
	first.Links, first.Feeds = slices.Clone(scan.Links), slices.Clone(scan.Feeds)
	first.Tags, first.Marks = slices.Clone(scan.Tags), slices.Clone(scan.Marks)
	return first
}

// merge adds to the scan of a rendered page what was found in the page as its server sent it, and
// the addresses to which scripts wanted to go.
func merge(scan, first *htmlscan.Result, u canon.URL, gone []string) {
	scan.Directives = scan.Directives.Merge(first.Directives)
	scan.Meta = scan.Meta.Merge(first.Meta)
	for _, m := range first.Marks {
		same := func(o htmlscan.Mark) bool { return o.Kind == m.Kind && o.Name == m.Name && o.Value == m.Value }
		if !slices.ContainsFunc(scan.Marks, same) {
			scan.Marks = append(scan.Marks[:len(scan.Marks):len(scan.Marks)], m)
		}
	}
	for _, t := range first.Tags {
		same := func(o robotstag.Source) bool { return o.Where == t.Where && o.Name == t.Name && o.Value == t.Value }
		if !slices.ContainsFunc(scan.Tags, same) {
			scan.Tags = append(scan.Tags[:len(scan.Tags):len(scan.Tags)], t)
		}
	}
	if scan.Canonical == "" {
		scan.Canonical = first.Canonical
	}
	if scan.Directives.NoFollow {
		scan.Links, scan.Feeds = nil, nil
		return
	}
	links := append(slices.Clone(first.Links), scan.Links...)
	for _, to := range gone {
		if target, err := canon.Parse(to); err == nil && target != u {
			links = append(links, target)
		}
	}
	scan.Links = distinct(links)
	scan.Feeds = distinct(append(slices.Clone(first.Feeds), scan.Feeds...))
	scan.Feeds = scan.Feeds[:min(len(scan.Feeds), htmlscan.MaxFeeds)]
	scan.Links = scan.Links[:min(len(scan.Links), htmlscan.MaxLinks)]
}

// distinct removes all but the first of equal URLs.
func distinct(all []canon.URL) []canon.URL {
	seen := make(map[canon.URL]bool, len(all))
	return slices.DeleteFunc(all, func(u canon.URL) bool {
		was := seen[u]
		seen[u] = true
		return was
	})
}

// noteOf says for people what a rendered page did not get.
func noteOf(r *render.Result) string {
	if r.Omitted == 0 {
		return ""
	}
	var why []string
	counts := map[string]int{}
	for _, o := range r.Omissions {
		if counts[o.Why]++; counts[o.Why] == 1 {
			why = append(why, o.Why)
		}
	}
	for i, w := range why {
		if counts[w] > 1 {
			why[i] = fmt.Sprintf("%d × %s", counts[w], w)
		}
	}
	return fmt.Sprintf("%d requests of its scripts were left out: %s", r.Omitted, strings.Join(why, "; "))
}

// rawCapture returns the capture of the response of the server, for the archive, or nil. The next
// request takes the buffers that it is made of.
func (s *Scripts) rawCapture(u *crawl.VisitURL, a *wire.Answer, scan *htmlscan.Result) *crawl.Capture {
	if s.p.Requests.Session.Recorder == nil || !s.p.archivable(u.URL, a, scan) {
		return nil
	}
	c, body, _ := s.p.capture(a)
	if c != nil {
		packCapture(c, body)
	}
	return c
}

// needsScript reports whether a page has almost no text without its scripts.
func needsScript(scan *htmlscan.Result) bool { return scan.NeedsScript }
