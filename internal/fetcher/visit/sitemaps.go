package visit

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robotstag"
	"github.com/curtsy/curtsy/pkg/sitemap"
)

const (
	// maxSitemapRedirects is how many indexes, and redirects from host to host, lead to a sitemap.
	maxSitemapRedirects = 2
	// sitemapBatch is about how many bytes of a sitemap's entries are held before they are sent.
	sitemapBatch = 32 << 10
	// soonest is how far in the future a change may lie that a sitemap tells of: clocks differ, by
	// no more than time zones do.
	soonest = 24 * time.Hour
)

func doSitemap(v *Visit, e *crawl.AuxRequest, a *crawl.Answer) (done bool) {
	a.Sitemap, done = crawl.Sitemap{Reason: ourMistake}, true
	v.safely(e.URL, func() { a.Sitemap, done = v.sitemap(e) })
	return done
}

// sitemap reads a sitemap and tells the shards of its entries of them; the answer is for whoever
// keeps the account of sitemaps. ok is false when it is to be read again from the beginning,
// whatever of it was told already.
func (v *Visit) sitemap(e *crawl.AuxRequest) (s crawl.Sitemap, ok bool) {
	var r *sitemapReader
	l := v.list(e, func(u canon.URL, conditions http.Header) (wire.Answer, error) {
		r = &sitemapReader{e: e, url: u, base: canon.NewBase(u), batches: batches{v: v, as: crawl.Links{FoundOn: e.URL, Depth: 1, Source: crawl.SourceSitemap}}}
		a, err := v.ask(u, conditions, r.want)
		s = crawl.Sitemap{Status: a.Status, Entries: r.entries, Skipped: r.skipped, Scope: v.cfg.scopeHash}
		if err == nil {
			err = r.flush()
		}
		return a, err
	})
	switch {
	case l.over:
		s.Reason, s.Again = l.reason, l.again
		return s, l.done
	case l.end == TrailLeft:
		s.Reason = fmt.Sprintf("%s: %s", crawl.ReasonRedirect, l.next)
		return s, r.passOn(l.next, &s)
	}
	r.conclude(&l, &s)
	if s.Read && l.redirects == 0 {
		s.ETag, s.LastModified = validators(l.answer.Header.Get("Etag"), l.answer.Header.Get("Last-Modified"))
	}
	return s, true
}

// conclude completes what is told of a sitemap from its last answer.
func (r *sitemapReader) conclude(l *listing, s *crawl.Sitemap) {
	if l.answer.Status == http.StatusNotModified && l.conditional {
		s.NotModified = true
		s.ETag, s.LastModified = validators(r.e.ETag, r.e.LastModified)
		if etag, modified := validators(l.answer.Header.Get("Etag"), l.answer.Header.Get("Last-Modified")); etag != "" || modified != "" {
			s.ETag, s.LastModified = etag, modified
		}
		return
	}
	reason, again, unread := r.v.unread(&l.answer)
	switch {
	case unread:
		s.Reason, s.Again = reason, again
	case r.nofollow:
		s.Reason = "its header forbids following its links (nofollow)"
	case r.not:
		s.Reason = "it is neither a sitemap nor a list of URLs"
	default:
		s.Read, s.Form = true, r.sum.Kind.String()
		switch {
		case r.sum.Entries >= sitemap.MaxEntries && r.sum.Truncated:
			s.Reason = fmt.Sprintf("only its first %d entries were read", sitemap.MaxEntries)
		case r.sum.Bytes >= r.v.deps.opt.MaxSitemap && r.sum.Truncated:
			s.Reason = fmt.Sprintf("only its first %d MiB were read", r.v.deps.opt.MaxSitemap>>20)
		case r.sum.Truncated:
			s.Reason = "it cannot be read to the end"
		case r.deep:
			s.Reason = fmt.Sprintf("it is an index nested more than %d deep; its sitemaps are not read", maxSitemapRedirects)
		}
	}
}

// passOn gives an errand to the host a redirect leads to. It reports whether that is known
// there, or not to be done.
func (r *sitemapReader) passOn(next canon.URL, s *crawl.Sitemap) bool {
	if r.e.Hop >= maxSitemapRedirects {
		s.Reason = fmt.Sprintf("%s: %s is too many redirects away from the robots.txt that lists it", crawl.ReasonRedirects, next)
		return true
	}
	shard := crawl.ShardOf(next.Host(), r.v.deps.opt.Shards)
	return r.v.publish(shard, &crawl.Event{Visit: r.v.job.ID, Fetcher: r.v.deps.opt.Fetcher, Aux: []crawl.AuxRequest{
		{Kind: crawl.AuxSitemap, URL: next, Origin: r.e.Origin, Hop: r.e.Hop + 1, ReplyShard: shard},
	}})
}

// sitemapReader takes a sitemap's entries as they come and tells the shards of them, a
// batch at a time. Those of its own host and of the host whose robots.txt vouches for it
// count: at most two shards.
type sitemapReader struct {
	e    *crawl.AuxRequest
	url  canon.URL // where it is
	base *canon.Base
	batches

	sum      sitemap.Summary
	entries  int
	skipped  int
	not      bool // it is no sitemap
	nofollow bool
	deep     bool // an index too many
}

func (r *sitemapReader) want(status int, header http.Header) wire.Wanted {
	if status < 200 || status > 299 || status == http.StatusPartialContent && !fromStart(header) {
		return wire.Wanted{}
	}
	tags := robotstag.New(r.v.cfg.spec.Agent) // header tags hold for every type
	tags.AddHeaders(header)
	if r.nofollow = tags.Directives().NoFollow; r.nofollow {
		return wire.Wanted{}
	}
	return wire.Wanted{Limit: r.v.deps.opt.MaxSitemap, Stream: r.read}
}

func (r *sitemapReader) read(body io.Reader) (err error) {
	r.sum, err = sitemap.Read(body, sitemap.Options{MaxBytes: r.v.deps.opt.MaxSitemap}, r.entry)
	r.skipped += r.sum.Skipped
	if r.not = errors.Is(err, sitemap.ErrNotSitemap); r.not {
		return nil
	}
	return err
}

// entry takes one entry in.
func (r *sitemapReader) entry(e sitemap.Entry) error {
	u, err := r.base.Join(e.Loc)
	if err != nil {
		r.skipped++
		return nil
	}
	host := u.Host()
	switch {
	case host != r.v.job.Host && host != r.e.Origin.Host: // not for this site to tell
		r.skipped++
		return nil
	case e.Sitemap && (r.e.Hop >= maxSitemapRedirects || u == r.url):
		r.deep = r.deep || u != r.url
		r.skipped++
		return nil
	}
	r.entries++
	if !e.Sitemap && !r.v.cfg.Scope.Decide(u).In {
		return nil
	}
	b := r.of(crawl.ShardOf(host, r.v.deps.opt.Shards))
	if e.Sitemap {
		b.bytes += len(u) + linkOverhead + 100
		b.aux = append(b.aux, crawl.AuxRequest{Kind: crawl.AuxSitemap, URL: u, Origin: r.e.Origin, Hop: r.e.Hop + 1, ReplyShard: b.shard})
	} else {
		mod := int64(0)
		if t := e.LastMod; !t.IsZero() && time.Until(t) < soonest {
			mod, b.dated = t.Unix(), true
			b.bytes += 5
		}
		b.add(u, mod)
	}
	if b.bytes < sitemapBatch {
		return nil
	}
	start := time.Now()
	err = r.send(b)
	r.v.session.PausedSince(start)
	return err
}
