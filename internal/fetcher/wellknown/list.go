package wellknown

import (
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/answer"
	"github.com/curtsy/curtsy/internal/fetcher/publish"
	"github.com/curtsy/curtsy/internal/fetcher/requests"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/sitemap"
)

// soonest is how far in the future a change may be that a list reports. Clocks differ, and time
// zones are mistaken for each other.
const soonest = 24 * time.Hour

// list reads the body of a list of URLs, a sitemap or a feed, as it comes, and publishes its
// entries in batches. An entry counts if it is on the list's own host, or on the host whose
// robots.txt or pages lead to the list: those are two shards at most.
type list struct {
	r    *request
	url  canon.URL // where it is
	base *canon.Base
	publish.Batches
	limit int64 // bytes that are read of it
	parse func(io.Reader) (sitemap.Summary, error)

	sum      sitemap.Summary
	entries  int
	skipped  int
	not      bool        // it is no list of this kind
	nofollow bool        // its header forbids following its links
	deep     bool        // it is an index that is nested too deep
	digest   hash.Hash64 // of the entries of a feed
}

// newList makes a list of a request. as says what is published about its entries.
func newList(r *request, at canon.URL, as crawl.Links) *list {
	return &list{r: r, url: at, base: canon.NewBase(at),
		Batches: publish.Batches{Publisher: r.Publisher, As: as, Waited: r.Requests.Session.PausedSince}}
}

func (l *list) want(status int, header http.Header) wire.Wanted {
	if status < 200 || status > 299 || status == http.StatusPartialContent && !answer.FromStart(header) {
		return wire.Wanted{}
	}
	if l.nofollow = l.r.Sites.HeaderTags(header, time.Now()).Directives.NoFollow; l.nofollow {
		return wire.Wanted{}
	}
	return wire.Wanted{Limit: l.limit, Stream: l.read}
}

func (l *list) read(body io.Reader) (err error) {
	l.sum, err = l.parse(body)
	l.skipped += l.sum.Skipped
	if l.not = errors.Is(err, sitemap.ErrNotSitemap); l.not {
		return nil
	}
	return err
}

// ours reports whether the list may name URLs of a host.
func (l *list) ours(host canon.Host) bool {
	return host == l.r.Requests.Host || host == l.r.aux.Origin.Host
}

// changed returns when an entry changed, in Unix seconds; 0: that is unknown.
func changed(e sitemap.Entry) int64 {
	if t := e.LastMod; !t.IsZero() && time.Until(t) < soonest {
		return t.Unix()
	}
	return 0
}

// conclusion is how the request for a list ended.
type conclusion struct {
	read        bool // its entries are published
	notModified bool // it is as it was when it was read last
	left        bool // it is on another host
	done        bool // the request is answered; otherwise the list is read again from the beginning

	reason string // for people: why it was not read
	again  bool   // it may be available later
}

// conclude returns how the request for a list ended. not describes a body that is no such list.
func (r *request) conclude(not string) (c conclusion) {
	switch status := r.got.Status; {
	case r.Publisher.Lost():
		return conclusion{}
	case r.end == requests.TrailBarred:
		closed := r.permission.Closed()
		// Of a robots.txt on its own origin the frontier knows when it is requested again.
		return conclusion{reason: r.permission.Text, again: closed, done: !r.permission.Over && !(closed && r.redirects == 0)}
	case r.err != nil:
		return conclusion{reason: r.fail.String(), again: !r.fail.Final, done: !r.fail.Unsent}
	case r.end == requests.TrailLost:
		c.reason = fmt.Sprintf("%s: %s", crawl.ReasonLocation, answer.Quote(r.got.Header.Get("Location")))
	case r.end == requests.TrailLeft:
		c.left, c.reason = true, fmt.Sprintf("%s: %s", crawl.ReasonRedirect, r.next)
	case status == http.StatusNotModified && r.conditional:
		c.notModified = true
	case answer.Overloaded(status):
		c.reason, c.again = fmt.Sprintf("%s: HTTP %d", crawl.ReasonOverload, status), true
	case status < 200 || status > 299 || status == http.StatusPartialContent && !answer.FromStart(r.got.Header):
		c.reason, c.again = answer.StatusText(&r.got), status >= 500 && status <= 599
	case r.list.nofollow:
		c.reason = "its header forbids following its links (nofollow)"
	case r.list.not:
		c.reason = not
	default:
		c.read = true
	}
	c.done = true
	return c
}

// validators returns those of the answer, for the next request.
func (r *request) validators() (etag, lastModified string) {
	return answer.Validators(r.got.Header.Get("Etag"), r.got.Header.Get("Last-Modified"))
}
