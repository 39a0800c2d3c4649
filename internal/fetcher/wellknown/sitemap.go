package wellknown

import (
	"fmt"
	"io"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/answer"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/sitemap"
)

// maxSitemapSteps is how many indexes, and redirects from host to host, lead to a sitemap.
const maxSitemapSteps = 2

// newSitemap makes the reader of a sitemap.
func newSitemap(r *request, at canon.URL) *list {
	l := newList(r, at, crawl.Links{FoundOn: r.aux.URL, Depth: 1, Source: crawl.SourceSitemap})
	l.limit = r.MaxSitemap
	l.parse = func(body io.Reader) (sitemap.Summary, error) {
		return sitemap.Read(body, sitemap.Options{MaxBytes: l.limit}, l.sitemapEntry)
	}
	return l
}

// sitemapEntry publishes one entry of a sitemap.
func (l *list) sitemapEntry(e sitemap.Entry) error {
	u, err := l.base.Join(e.Loc)
	switch {
	case err != nil || !l.ours(u.Host()):
		l.skipped++
		return nil
	case e.Sitemap && (l.r.aux.Hop >= maxSitemapSteps || u == l.url):
		l.deep = l.deep || u != l.url
		l.skipped++
		return nil
	}
	l.entries++
	switch {
	case e.Sitemap:
		return l.Request(crawl.AuxRequest{Kind: crawl.AuxSitemap, URL: u, Origin: l.r.aux.Origin, Hop: l.r.aux.Hop + 1})
	case !l.r.Requests.Config.Scope.Decide(u).In:
		return nil
	}
	return l.Link(u, changed(e))
}

// sitemapAnswer answers for a sitemap, whose entries are published.
func sitemapAnswer(r *request, a *crawl.Answer) (done bool) {
	s := &a.Sitemap
	if r.list != nil {
		*s = crawl.Sitemap{Status: r.got.Status, Entries: r.list.entries, Skipped: r.list.skipped, Scope: r.Requests.Config.ScopeHash}
	}
	c := r.conclude("it is neither a sitemap nor a list of URLs")
	s.Read, s.NotModified, s.Reason, s.Again = c.read, c.notModified, c.reason, c.again
	switch {
	case c.left:
		return r.passOnSitemap(s)
	case c.notModified:
		s.ETag, s.LastModified = answer.Validators(r.aux.ETag, r.aux.LastModified)
		if etag, modified := r.validators(); etag != "" || modified != "" {
			s.ETag, s.LastModified = etag, modified
		}
	case c.read:
		s.Form, s.Reason = r.list.sum.Kind.String(), r.list.sitemapCut()
		if r.redirects == 0 {
			s.ETag, s.LastModified = r.validators()
		}
	}
	return c.done
}

// sitemapCut says for people which part of a sitemap was not read. It is empty if all was.
func (l *list) sitemapCut() string {
	switch {
	case l.sum.Entries >= sitemap.MaxEntries && l.sum.Truncated:
		return fmt.Sprintf("only its first %d entries were read", sitemap.MaxEntries)
	case l.sum.Bytes >= l.limit && l.sum.Truncated:
		return fmt.Sprintf("only its first %d MiB were read", l.limit>>20)
	case l.sum.Truncated:
		return "it cannot be read to the end"
	case l.deep:
		return fmt.Sprintf("it is an index nested more than %d deep; its sitemaps are not read", maxSitemapSteps)
	}
	return ""
}

// passOnSitemap gives the request to the host that a redirect leads to. It returns false if that
// could not be published.
func (r *request) passOnSitemap(s *crawl.Sitemap) bool {
	if r.aux.Hop >= maxSitemapSteps {
		s.Reason = fmt.Sprintf("%s: %s is too many redirects away from the robots.txt that lists it", crawl.ReasonRedirects, r.next)
		return true
	}
	shard := crawl.ShardOf(r.next.Host(), r.Publisher.Shards)
	return r.Publisher.Event(shard, &crawl.Event{Aux: []crawl.AuxRequest{
		{Kind: crawl.AuxSitemap, URL: r.next, Origin: r.aux.Origin, Hop: r.aux.Hop + 1, ReplyShard: shard},
	}})
}
