package visit

import (
	"context"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/dispatch"
	"github.com/curtsy/curtsy/internal/fetcher/page"
	"github.com/curtsy/curtsy/internal/fetcher/publish"
	"github.com/curtsy/curtsy/internal/fetcher/robots"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/usage"
)

// doDispatch sends a mobile robot to a server on this host, and makes pages of what it brings.
func doDispatch(v *Visit, aux *crawl.AuxRequest, a *crawl.Answer) (done bool) {
	var d crawl.Dispatch
	v.safely(aux.URL, func() {
		// This is published after a panic.
		d = crawl.Dispatch{State: crawl.DispatchFailed, Reason: ourMistake}
		done = true
		d, done = dispatch.Carry(dispatch.Options{
			Robot: v.deps.opt.Robot, Requests: v.requests, Aux: a.Aux, Report: v.reportProgress,
			Plan: func(q crawl.DispatchQuery) (crawl.DispatchPlan, error) {
				return v.sink.DispatchPlan(v.requests.Session.Waiting, aux.ReplyShard, q)
			},
			Open: func(p *crawl.DispatchPlan) dispatch.Site { return v.openSite(aux, p) },
		})
	})
	a.Dispatch = &d
	return done
}

// openSite prepares what makes pages of a site that this visit requests nothing of. They belong to
// the visit that the site's shard reserved.
func (v *Visit) openSite(aux *crawl.AuxRequest, p *crawl.DispatchPlan) dispatch.Site {
	k, config := v.deps, v.requests.Config
	s := dispatch.Site{Publisher: publish.New(publish.Options{
		Sink: v.sink, Context: v.publishing, Visit: p.Visit, Host: aux.Origin.Host, Shard: aux.ReplyShard, Shards: k.opt.Shards, Fetcher: k.opt.Fetcher,
		Scope: config.Scope, Discard: k.opt.DiscardPages, MaxBatch: k.opt.MaxBatch, Archive: config.Spec().WARC != "" && !k.opt.DiscardPages,
		Metrics: k.metrics, Log: v.log, Waited: func() {},
	}, new(publish.Buffers))}
	s.Sites = robots.New(robots.Options{
		Requests: v.requests, Job: &crawl.Visit{Host: aux.Origin.Host, Shard: aux.ReplyShard, Robots: []crawl.Robots{p.Robots}},
		Began: time.Now(), Cache: k.rules, Memo: new(usage.Memo), Fixed: true,
		Text: func(ctx context.Context, digest []byte) ([]byte, error) {
			return v.sink.RobotsText(ctx, aux.ReplyShard, digest)
		},
		Publish:        func(crawl.Robots) bool { return false },
		HasCredentials: k.client.HasCredentials, NeedsText: func(canon.Origin) bool { return false },
	})
	buffers := new(page.Buffers)
	s.Reset = buffers.Reset
	s.Pages = page.NewBringer(page.Options{
		Requests: v.requests, Sites: s.Sites, Publisher: s.Publisher, Shared: k.pages, Context: v.publishing,
		MaxBody: k.opt.MaxBody, MaxCatalogue: k.opt.MaxCatalogue,
	}, buffers)
	return s
}
