package visit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/htmlscan"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robotstag"
	"github.com/curtsy/curtsy/pkg/sitemap"
)

// Feeds that pages announce. A visit offers each to the shard of its host, once; that decides
// whether it is read, and when again. It is read as an errand, and its entries are told as links
// with the time they changed, before the answer.

const (
	// MaxFeedBytes is how much of a feed is read, uncompressed. Many have whole articles in them.
	MaxFeedBytes = 4 << 20
	// MaxFeedEntries is how many entries of a feed are taken in: the first, which are the newest.
	MaxFeedEntries = 500
	// maxAnnounced is how many feeds one visit offers.
	maxAnnounced = 32
)

// announce notes the feeds that a page announces in its head or in its Link headers.
func (v *Visit) announce(u *crawl.VisitURL, h http.Header, scan *htmlscan.Result) {
	if !v.cfg.spec.ReadsFeeds() || scan.Directives.NoFollow {
		return
	}
	for _, f := range append(slices.Clip(scan.Feeds), feedLinks(h, u.URL)...) {
		e := crawl.AuxRequest{Kind: crawl.AuxFeed, URL: f, Origin: u.URL.Origin(), Hop: u.Depth + 1, ReplyShard: crawl.ShardOf(f.Host(), v.deps.opt.Shards)}
		i := slices.IndexFunc(v.feeds, func(x crawl.AuxRequest) bool { return x.URL == e.URL && x.Origin == e.Origin })
		if i < 0 && len(v.feeds) < maxAnnounced {
			v.feeds = append(v.feeds, e)
		}
	}
}

// feedLinks are the feeds that a page's Link headers announce (RFC 8288), a page's share at most.
func feedLinks(h http.Header, at canon.URL) (feeds []canon.URL) {
	base := canon.NewBase(at)
	for _, line := range h["Link"] {
		for len(line) > 0 && len(feeds) < htmlscan.MaxFeeds {
			var l link
			l, line = nextLink(line)
			if media := mediaType(l.kind); media != "application/rss+xml" && media != "application/atom+xml" {
				continue
			}
			u, err := base.Join(l.target)
			if err == nil && l.target != "" && slices.Contains(l.relations(), "alternate") && !slices.Contains(feeds, u) {
				feeds = append(feeds, u)
			}
		}
	}
	return feeds
}

// publishFeeds tells the shards of the feeds that were announced since the last time, and returns
// those for the visit's own shard, which go with its outcome.
func (v *Visit) publishFeeds() (own []crawl.AuxRequest) {
	byShard := map[int][]crawl.AuxRequest{}
	for _, e := range v.feeds[v.reported.feeds:] {
		if e.ReplyShard == v.job.Shard {
			own = append(own, e)
		} else {
			byShard[e.ReplyShard] = append(byShard[e.ReplyShard], e)
		}
	}
	v.reported.feeds = len(v.feeds)
	for shard, list := range byShard {
		if !v.publish(shard, &crawl.Event{Visit: v.job.ID, Fetcher: v.deps.opt.Fetcher, Aux: list}) {
			return nil
		}
	}
	return own
}

func doFeed(v *Visit, e *crawl.AuxRequest, a *crawl.Answer) (done bool) {
	a.Feed, done = &crawl.Feed{Reason: ourMistake}, true
	v.safely(e.URL, func() {
		var f crawl.Feed
		f, done = v.feed(e)
		a.Feed = &f
	})
	return done
}

// feed reads a feed and tells the shards of its entries of them. ok is false when it is to be read
// again from the beginning, whatever of it was told already.
func (v *Visit) feed(e *crawl.AuxRequest) (f crawl.Feed, ok bool) {
	var r *feedReader
	l := v.list(e, func(u canon.URL, conditions http.Header) (wire.Answer, error) {
		r = &feedReader{e: e, base: canon.NewBase(u), digest: fnv.New64a(),
			batches: batches{v: v, as: crawl.Links{FoundOn: e.URL, Depth: max(e.Hop, 1), Source: crawl.SourceFeed}}}
		a, err := v.ask(u, conditions, r.want)
		f = crawl.Feed{Status: a.Status, Entries: r.entries, Skipped: r.skipped, Scope: v.cfg.scopeHash}
		if err == nil {
			err = r.flush()
		}
		return a, err
	})
	switch {
	case l.over:
		f.Reason, f.Again = l.reason, l.again
		return f, l.done
	case l.end == TrailLeft:
		// Whoever is asked for it there may have it read on behalf of the same pages.
		f.Reason = fmt.Sprintf("%s: %s", crawl.ReasonRedirect, l.next)
		next := *e
		next.URL, next.ReplyShard, next.ETag, next.LastModified = l.next, crawl.ShardOf(l.next.Host(), v.deps.opt.Shards), "", ""
		return f, v.publish(next.ReplyShard, &crawl.Event{Visit: v.job.ID, Fetcher: v.deps.opt.Fetcher, Aux: []crawl.AuxRequest{next}})
	}
	r.conclude(&l, &f)
	if f.Read {
		f.Hub, f.Self = r.hubOf(l.at, l.answer.Header)
	}
	if f.Read && l.redirects == 0 {
		f.ETag, f.LastModified = validators(l.answer.Header.Get("Etag"), l.answer.Header.Get("Last-Modified"))
	}
	return f, true
}

// feedReader takes a feed's entries as they come. Those of its own host and of the host whose pages
// announce it count.
type feedReader struct {
	e    *crawl.AuxRequest
	base *canon.Base
	batches

	sum      sitemap.Summary
	digest   hash.Hash64
	entries  int
	skipped  int
	not      bool // it is no feed
	nofollow bool
}

func (r *feedReader) want(status int, header http.Header) wire.Wanted {
	if status < 200 || status > 299 || status == http.StatusPartialContent {
		return wire.Wanted{}
	}
	tags := robotstag.New(r.v.cfg.spec.Agent) // header tags hold for every type
	tags.AddHeaders(header)
	if r.nofollow = tags.Directives().NoFollow; r.nofollow {
		return wire.Wanted{}
	}
	return wire.Wanted{Limit: MaxFeedBytes, Stream: r.read}
}

func (r *feedReader) read(body io.Reader) (err error) {
	r.sum, err = sitemap.ReadFeed(body, sitemap.Options{MaxBytes: MaxFeedBytes, MaxEntries: MaxFeedEntries}, r.entry)
	r.skipped += r.sum.Skipped
	if r.not = errors.Is(err, sitemap.ErrNotSitemap); r.not {
		return nil
	}
	return err
}

// entry takes one entry in.
func (r *feedReader) entry(e sitemap.Entry) error {
	u, err := r.base.Join(e.Loc)
	// Of other hosts it is not for this site to tell.
	if err != nil || u.Host() != r.v.job.Host && u.Host() != r.e.Origin.Host {
		r.skipped++
		return nil
	}
	r.entries++
	mod := int64(0)
	if t := e.LastMod; !t.IsZero() && time.Until(t) < soonest {
		mod = t.Unix()
	}
	r.digest.Write(binary.BigEndian.AppendUint64([]byte(u), uint64(mod))) // never fails
	if !r.v.cfg.Scope.Decide(u).In {
		return nil
	}
	b := r.of(crawl.ShardOf(u.Host(), r.v.deps.opt.Shards))
	b.dated = b.dated || mod != 0
	if b.add(u, mod); b.bytes < sitemapBatch {
		return nil
	}
	start := time.Now()
	err = r.send(b)
	r.v.session.PausedSince(start)
	return err
}

// conclude completes what is told of a feed from its last answer.
func (r *feedReader) conclude(l *listing, f *crawl.Feed) {
	if l.answer.Status == http.StatusNotModified && l.conditional {
		f.NotModified = true
		return
	}
	reason, again, unread := r.v.unread(&l.answer)
	switch {
	case unread:
		f.Reason, f.Again = reason, again
	case r.nofollow:
		f.Reason = "its header forbids following its links (nofollow)"
	case r.not:
		f.Reason = "it is neither RSS nor Atom"
	default:
		f.Read, f.Digest, f.MinInterval = true, r.digest.Sum64(), r.sum.TTL
		if r.sum.Truncated {
			f.Reason = fmt.Sprintf("only a part was read: %d entries, %d KiB", r.sum.Entries, r.sum.Bytes>>10)
		}
	}
}
