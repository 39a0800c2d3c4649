package dispatch

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/document"
	"github.com/curtsy/curtsy/internal/fetcher/page"
	"github.com/curtsy/curtsy/internal/fetcher/publish"
	"github.com/curtsy/curtsy/internal/fetcher/requests"
	"github.com/curtsy/curtsy/internal/fetcher/robots"
	"github.com/curtsy/curtsy/internal/mobile/reading"
	"github.com/curtsy/curtsy/pkg/canon"
)

const (
	// maxPages is how many documents of a bundle are used, unchanged ones included.
	maxPages = 1_000_000
	// maxIgnored is how many records may not be used before a bundle counts as useless, unless it
	// has more that may.
	maxIgnored = 10_000

	// Results are published when so many wait, or so many bytes of new URLs, or for so long.
	publishPages = 200
	publishBytes = 64 << 10
	publishEvery = time.Second
)

// Reasons why the rest of a bundle is not used.
var (
	errMany    = fmt.Errorf("it has more than %d documents", maxPages)
	errAsked   = errors.New("it has more documents than were asked for")
	errUseless = fmt.Errorf("more than %d of its records may not be used: their paths are outside, or the site's rules do not allow them", maxIgnored)
	errBehind  = errors.New("it goes on behind its end")
	errFacts   = errors.New("it has records that were not asked for")
)

// bundle makes pages of the records of a run.
type bundle struct {
	requests *requests.Requests
	site     Site
	rules    *robots.Site
	plan     *plan
	origin   canon.Origin
	server   canon.URL // stands for the server
	subtree  string
	robots   canon.URL // where the site names the server
	via      string    // in the crawl log
	most     int64     // documents that may come; -1: there is no limit

	seen   map[uint64]struct{} // documents that were used, by the hash of their path
	counts *crawl.Dispatch
	sent   int64 // documents and skeletons
	sample sample
	ended  bool // the robot's list came to its end

	// What was not published yet.
	links    []canon.URL
	bytes    int // of links
	waiting  int // records that were used
	reported time.Time
}

// take makes pages of one record. An error means that the rest cannot be used.
func (b *bundle) take(octets []byte) error {
	r, err := reading.ParseRecord(octets)
	switch {
	case err != nil:
		return err
	case b.ended:
		return errBehind
	}
	switch b.waiting++; r.Kind {
	case reading.Document, reading.Skeleton:
		if b.sent++; b.most >= 0 && b.sent > b.most {
			return errAsked
		}
		b.document(&r)
	case reading.Unchanged:
		b.unchanged(r.Path, headerOf(r.Head))
	case reading.UnchangedList:
		for _, path := range r.Paths {
			b.unchanged(path, http.Header{})
		}
	case reading.EndOfList:
		b.ended = true
		b.counts.Documents = r.End.Listed
	default:
		return errFacts
	}
	switch used := int64(len(b.seen)); {
	case used > maxPages:
		return errMany
	case b.counts.Ignored > maxIgnored && b.counts.Ignored > used:
		return errUseless
	}
	return nil
}

// document makes a page of a document or a skeleton.
func (b *bundle) document(r *reading.Record) {
	u, ok := b.allowed(r.Path)
	if !ok || r.Head.Status() != http.StatusOK {
		b.counts.Ignored++
		return
	}
	k, known := b.plan.known(reading.PathHash(r.Path))
	v := b.visitURL(u, k, known)
	brought := page.Brought{Header: headerOf(r.Head), Body: r.Body, Truncated: r.Head.Truncated(), At: time.Now()}
	var result crawl.Result
	ok = b.safely(u, func() (ok bool) {
		if r.Kind == reading.Skeleton {
			result, ok = b.site.Pages.BringHead(v, brought)
		} else {
			result, ok = b.site.Pages.Bring(v, brought)
		}
		return ok
	})
	if !ok {
		b.counts.Ignored++
		return
	}
	b.result(u, known, result)
	b.counts.Pages++
	if result.Class == crawl.Stored && result.Digest != 0 {
		b.sample.look(func() crawl.DispatchSample {
			kind, digest := reading.MediaType(brought.Header.Get("Content-Type")), result.Digest
			if document.Reads(kind) { // the result has that of its text
				digest = reading.Digest(r.Body)
			}
			return crawl.DispatchSample{URL: u, Digest: digest, Likeness: page.LikenessOf(kind, r.Body), Directives: uint8(b.site.Pages.Directives()), Type: kind}
		})
	}
}

// unchanged renews a stored copy. A document that is not stored cannot be unchanged.
func (b *bundle) unchanged(path string, header http.Header) {
	k, known := b.plan.known(reading.PathHash(path))
	u, ok := b.allowed(path)
	if !ok || !known || k.Digest == 0 {
		b.counts.Ignored++
		return
	}
	var result crawl.Result
	if ok := b.safely(u, func() bool {
		result = b.site.Pages.BringUnchanged(b.visitURL(u, k, true), page.Brought{Header: header, At: time.Now()})
		return true
	}); !ok {
		b.counts.Ignored++
		return
	}
	b.result(u, true, result)
	b.counts.Unchanged++
	if result.Class == crawl.Stored {
		// Otherwise nobody would notice a server that says so of everything.
		b.sample.look(func() crawl.DispatchSample { return crawl.DispatchSample{URL: u, Digest: k.Digest} })
	}
}

// visitURL is a document as a visit would have it.
func (b *bundle) visitURL(u canon.URL, k crawl.KnownPage, known bool) *crawl.VisitURL {
	v := &crawl.VisitURL{URL: u, FoundOn: b.robots, Depth: 1, Keep: k.Digest != 0}
	if known {
		v.Depth = k.Depth
	}
	return v
}

// result adds a result to the next report, and a URL that the site's shard may not know.
func (b *bundle) result(u canon.URL, known bool, r crawl.Result) {
	if r.Rule != "" {
		r.Rule = b.via + "; " + r.Rule
	} else {
		r.Rule = b.via
	}
	r.Rule = crawl.ShortDetail(r.Rule)
	b.site.Publisher.Result(r)
	if !known {
		b.links = append(b.links, u)
	}
	b.bytes += len(u) + len(r.Rule)
}

// safely calls f and recovers from a panic, so that a document that meets a mistake of ours does
// not end the whole bundle each time. It is requested like any other page then.
func (b *bundle) safely(u canon.URL, f func() bool) (ok bool) {
	defer func() {
		if p := recover(); p != nil {
			b.requests.Log.Error("an internal error ended the work on a document of a mobile robot", "at", string(u), "panic", p, "stack", string(debug.Stack()))
			b.site.Reset()
			ok = false
		}
	}()
	return f()
}

// due reports whether it is time to publish.
func (b *bundle) due() bool {
	n := b.site.Publisher.Unreported()
	return n >= publishPages || b.bytes >= publishBytes || b.waiting > 0 && time.Since(b.reported) >= publishEvery
}

// publish publishes what was not published yet, and with it how far the dispatch is.
func (b *bundle) publish(at *crawl.Answer) (ok bool) {
	p := b.site.Publisher
	var links []crawl.Links
	if len(b.links) > 0 {
		links = []crawl.Links{{FoundOn: b.robots, Depth: 1, URLs: b.links, Source: crawl.SourceRobot}}
	}
	ok = p.Report(true, func() publish.Progress { return publish.Progress{Links: links, Answer: at} })
	if met := b.requests.Metrics; ok {
		met.Count(p.Results())
		met.DispatchPages.Add(float64(len(p.Results())))
	}
	p.Trim()
	b.links, b.bytes, b.waiting, b.reported = b.links[:0], 0, 0, time.Now()
	return ok
}

// headerOf is the head of a document as a header of HTTP.
func headerOf(h reading.Head) http.Header {
	header := http.Header{}
	for name, value := range h.All() {
		if name != reading.TruncatedLine {
			header.Add(name, strings.TrimSpace(value))
		}
	}
	return header
}
