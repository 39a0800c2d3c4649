package wellknown

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"slices"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/answer"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/sitemap"
)

const (
	// MaxFeedBytes is how much of a feed is read, uncompressed. Many feeds contain whole articles.
	MaxFeedBytes = 4 << 20
	// MaxFeedEntries is how many entries of a feed are read: the first, which are the newest.
	MaxFeedEntries = 500
)

// newFeed makes the reader of a feed.
func newFeed(r *request, at canon.URL) *list {
	l := newList(r, at, crawl.Links{FoundOn: r.aux.URL, Depth: max(r.aux.Hop, 1), Source: crawl.SourceFeed})
	l.limit, l.digest = MaxFeedBytes, fnv.New64a()
	l.parse = func(body io.Reader) (sitemap.Summary, error) {
		return sitemap.ReadFeed(body, sitemap.Options{MaxBytes: MaxFeedBytes, MaxEntries: MaxFeedEntries}, l.feedEntry)
	}
	return l
}

// feedEntry publishes one entry of a feed.
func (l *list) feedEntry(e sitemap.Entry) error {
	u, err := l.base.Join(e.Loc)
	if err != nil || !l.ours(u.Host()) {
		l.skipped++
		return nil
	}
	l.entries++
	mod := changed(e)
	l.digest.Write(binary.BigEndian.AppendUint64([]byte(u), uint64(mod))) // it never fails
	if !l.r.Requests.Config.Scope.Decide(u).In {
		return nil
	}
	return l.Link(u, mod)
}

// feedAnswer answers for a feed, whose entries are published.
func feedAnswer(r *request, a *crawl.Answer) (done bool) {
	f := new(crawl.Feed)
	a.Feed = f
	if r.list != nil {
		*f = crawl.Feed{Status: r.got.Status, Entries: r.list.entries, Skipped: r.list.skipped, Scope: r.Requests.Config.ScopeHash}
	}
	c := r.conclude("it is neither RSS nor Atom")
	f.Read, f.NotModified, f.Reason, f.Again = c.read, c.notModified, c.reason, c.again
	switch {
	case c.left:
		return r.passOnFeed()
	case c.read:
		l := r.list
		f.Digest, f.MinInterval = l.digest.Sum64(), l.sum.TTL
		if l.sum.Truncated {
			f.Reason = fmt.Sprintf("only a part was read: %d entries, %d KiB", l.sum.Entries, l.sum.Bytes>>10)
		}
		f.Hub, f.Self = l.hub(r.at, r.got.Header)
		if r.redirects == 0 {
			f.ETag, f.LastModified = r.validators()
		}
	}
	return c.done
}

// passOnFeed gives the request to the host that a redirect leads to, for the same pages. It returns
// false if that could not be published.
func (r *request) passOnFeed() bool {
	next := *r.aux
	next.URL, next.ReplyShard, next.ETag, next.LastModified = r.next, crawl.ShardOf(r.next.Host(), r.Publisher.Shards), "", ""
	return r.Publisher.Event(next.ReplyShard, &crawl.Event{Aux: []crawl.AuxRequest{next}})
}

// maxHubLinks is how many links of one Link field are searched for a hub.
const maxHubLinks = 20

// hub returns the hub that reports a feed's changes and the feed's own name there (WebSub §4), from
// its Link fields or else from the feed itself. A feed can only have a name of its own origin.
func (l *list) hub(at canon.URL, h http.Header) (hub, self canon.URL) {
	hubs, selves := l.sum.Hubs, []string{l.sum.Self}
	for _, line := range h["Link"] {
		n := 0
		for link := range answer.LinksIn(line) {
			if n++; n > maxHubLinks {
				break
			}
			rels := link.Relations()
			if slices.Contains(rels, "hub") {
				hubs = append([]string{link.Target}, hubs...)
			}
			if slices.Contains(rels, "self") {
				selves = append([]string{link.Target}, selves...)
			}
		}
	}
	first := func(list []string, ok func(canon.URL) bool) canon.URL {
		for _, text := range list {
			if u, err := l.base.Join(text); err == nil && text != "" && ok(u) {
				return u
			}
		}
		return ""
	}
	hub = first(hubs, func(u canon.URL) bool { return true })
	if self = first(selves, func(u canon.URL) bool { return u.Origin() == at.Origin() }); self == "" {
		self = at
	}
	if hub == "" {
		self = ""
	}
	return hub, self
}
