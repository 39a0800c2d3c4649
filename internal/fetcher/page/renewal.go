package page

import (
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/answer"
	"github.com/curtsy/curtsy/internal/fetcher/publish"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/pkg/robotstag"
	"github.com/curtsy/curtsy/pkg/usage"
)

// renewed publishes that the stored copy is still valid. The robots tags of the answer replace
// those of the earlier header. If the answer has none, they stay as they were (formats §4.2).
func (p *Pages) renewed(u *crawl.VisitURL, a *wire.Answer, r *crawl.Result) {
	// The headers of the stored copy did not forbid its use. Those of a 304 replace them (formats
	// §8.14).
	tags := p.Sites.HeaderTags(a.Header, a.At)
	d := tags.Directives
	stated := p.Sites.Usage(u.URL, a.Header, tags)
	if rule, yes := p.Sites.Unwanted(u.URL, stated); yes {
		r.Class, r.Reason, r.Rule = crawl.Refused, crawl.ReasonUsage, rule
		p.Forget(u, crawl.ReasonUsage)
		return
	}
	r.Class, r.NotModified = crawl.Stored, true
	page := crawl.Page{
		URL: u.URL, Visit: p.Publisher.Visit, Status: a.Status, FetchedAt: a.At, Depth: u.Depth, FoundOn: u.FoundOn, Renewed: true,
		ETag: answer.Short(a.Header, "Etag"), LastModified: answer.Short(a.Header, "Last-Modified"),
		Usage: append(stated, usage.Carried(a.Header)...), Purposes: p.Requests.Config.PurposesOf(u.URL),
	}
	if page.ETag == "" {
		page.ETag = strings.TrimPrefix(u.ETag, tookMarkdown)
	}
	if page.LastModified == "" {
		page.LastModified = u.LastModified
	}
	r.ETag, r.LastModified = p.keptValidators(page.ETag, page.LastModified)
	if robotstag.Carries(a.Header) {
		page.Tagged, page.Directives = true, publish.DirectiveBits(d)
		page.UnavailableAfter, page.MaxSnippet = d.UnavailableAfter, d.MaxSnippet
		r.NoSnippet = d.NoSnippet
		if d.NoIndex { // the copy must not be stored any more
			page.Renewed, page.Tagged = false, false
			r.Class, r.Reason, r.NotModified = crawl.Refused, crawl.ReasonNoindex, false
			r.ETag, r.LastModified = "", ""
		}
	}
	p.capturePage(&page, a, nil, nil, rendering{})
	p.Publisher.Page(&page)
}
