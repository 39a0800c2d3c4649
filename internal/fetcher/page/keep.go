package page

import (
	"encoding/binary"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/catalog"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/answer"
	"github.com/curtsy/curtsy/internal/fetcher/metrics"
	"github.com/curtsy/curtsy/internal/fetcher/publish"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/htmlscan"
	"github.com/curtsy/curtsy/internal/pagetext"
	"github.com/curtsy/curtsy/pkg/canon"
)

// keep publishes a page: to the indexer what may be stored, to the frontiers where it leads.
func (p *Pages) keep(u *crawl.VisitURL, a *wire.Answer, kind string, r *crawl.Result) {
	met := p.Requests.Metrics
	start := time.Now()
	scan, err := p.gather.scan(htmlscan.Page{
		URL: u.URL, Body: a.Body, ContentType: scanType(a.Header, kind), HTML: kind != answer.Text,
		Header: a.Header, Token: p.spec().Agent,
	}, 0)
	if err != nil {
		p.gather.done()
		fail(p.Requests, u, err, r)
		return
	}
	if p.Scripts.wantsRendering(u, a, kind, &scan) {
		met.Spent(metrics.Scan, start)
		p.Scripts.keepRendered(u, a, kind, &scan, r)
		return
	}
	defer p.gather.done()
	p.keepScanned(u, a, kind, &scan, unrendered(kind, &scan), start, r)
}

// unrendered is what is known of a page that is stored as its server sent it.
func unrendered(kind string, scan *htmlscan.Result) (how rendering) {
	if (kind == answer.HTML || kind == answer.XHTML) && needsScript(scan) {
		how.state = crawl.RenderingNeeded
	}
	return how
}

// keepScanned publishes a page that was scanned. start is when its scan began.
func (p *Pages) keepScanned(u *crawl.VisitURL, a *wire.Answer, kind string, scan *htmlscan.Result, how rendering, start time.Time, r *crawl.Result) {
	met := p.Requests.Metrics
	if scan.Canonical == "" {
		scan.Canonical = headerCanonical(a.Header, u.URL)
	}
	met.Spent(metrics.Scan, start)
	p.queue(u, a, kind, scan, how, r)
	start = time.Now()
	p.sessions(u, a.Body, scan.Directives.NoFollow)
	repeated := p.repeated(u, kind, a.Body, r)
	if r.Class == crawl.Refused {
		r.Digest = 0 // there is no copy to compare with
	}
	if repeated {
		met.Spent(metrics.Scan, start)
		return
	}
	p.follow(u, scan.Links) // this may publish them, behind the page that they are on
	if !scan.Directives.NoFollow {
		p.follow(u, headerLinks(a.Header, u.URL))
		p.follow(u, signposts(a.Header, u.URL))
	}
	p.announce(u, a.Header, scan)
	met.Spent(metrics.Scan, start)
}

// scanType returns the Content-Type by which a page of a media type is read.
func scanType(h http.Header, kind string) string {
	if value := answer.ContentType(h); answer.MediaType(value) == kind {
		return value
	}
	return kind
}

// queue publishes a page to the indexer, or instead of it that the page must not be stored.
func (p *Pages) queue(u *crawl.VisitURL, a *wire.Answer, kind string, scan *htmlscan.Result, how rendering, r *crawl.Result) {
	d := scan.Directives.At(a.At)
	r.Class, r.NoSnippet = crawl.Stored, d.NoSnippet
	page := crawl.Page{
		URL: u.URL, Visit: p.Publisher.Visit, Scope: p.Requests.Config.LinkHash, Status: a.Status, FetchedAt: a.At, ContentType: kind, Charset: scan.Charset,
		Directives: publish.DirectiveBits(d), UnavailableAfter: d.UnavailableAfter, MaxSnippet: d.MaxSnippet,
		MetaTags: crawl.MetaTags{MetaDirectives: publish.DirectiveBits(scan.Meta), MetaUnavailableAfter: scan.Meta.UnavailableAfter, MetaMaxSnippet: scan.Meta.MaxSnippet},
		Depth:    u.Depth, FoundOn: u.FoundOn, Canonical: scan.Canonical,
		ETag: answer.Short(a.Header, "Etag"), LastModified: answer.Short(a.Header, "Last-Modified"),
		Truncated: a.Truncated, Rendering: how.state,
	}
	if p.spec().AcceptMarkdown {
		page.Vary = strings.ToValidUTF8(crawl.ShortDetail(a.Header.Get("Vary")), "")
	}
	if d.NoIndex {
		r.Class, r.Reason = crawl.Refused, crawl.ReasonNoindex
		p.Publisher.Page(&page)
		return
	}
	page.Usage = p.Sites.Usage(u.URL, a.Header, scan)
	if rule, yes := p.Sites.Unwanted(u.URL, page.Usage); yes {
		r.Class, r.Reason, r.Rule, r.NoSnippet = crawl.Refused, crawl.ReasonUsage, rule, false
		p.Forget(u, crawl.ReasonUsage)
		return
	}
	if p.Publisher.Discard {
		applyRules(p, &page, a, a.Body, r)
		return
	}
	p.pack(&page, a.Body, r)
	if !applyRules(p, &page, a, a.Body[:page.Size], r) {
		p.Forget(u, crawl.ReasonSiteRule)
		return
	}
	p.directives = page.Directives
	page.Head, page.Signposts = headOf(&page, a.Body), signposted(a.Header, u.URL)
	if r.Rendering, r.Rule = how.state, how.note; how.state == crawl.RenderingFailed {
		r.ETag, r.LastModified = "", "" // an unchanged page is to be rendered the next time
	}
	if odd := oddData(&page, a.Body); odd != "" && r.Rule == "" {
		r.Rule = odd
	}
	if u.Keep { // it was sent although it may not have changed; the likeness shows how much did
		r.Likeness = likenessOf(kind, a.Body)
	}
	p.capturePage(&page, a, a.Body, scan.Links, how)
	p.Publisher.Page(&page)
}

// pack compresses a page and fills in of its result what a later request needs.
func (p *Pages) pack(page *crawl.Page, body []byte, r *crawl.Result) {
	r.Digest = digestOf(p.Publisher.Pack(page, body))
	r.ETag, r.LastModified = p.keptValidators(page.ETag, page.LastModified)
}

// digestOf returns the digest of a body as a result has it.
func digestOf(sum [32]byte) uint64 { return binary.BigEndian.Uint64(sum[:]) }

// headOf reads the head of a page that was packed, while the page is in the processor's cache. It
// reads the body up to where it was cut to fit.
func headOf(p *crawl.Page, body []byte) *crawl.Head {
	x := extractors.Get().(*pagetext.Extractor)
	h := x.Head(p.ContentType, p.Charset, body[:p.Size])
	extractors.Put(x) // not after a panic, which may leave it in any state
	return h
}

// oddData describes JSON-LD of a page that could not be read, or only with errors forgiven. Most
// pages have a head, and no JSON-LD.
func oddData(p *crawl.Page, body []byte) string {
	if p.Head != nil {
		return ""
	}
	x := extractors.Get().(*pagetext.Extractor)
	_, odd := x.LinkedDataReport(p.ContentType, p.Charset, body[:p.Size], catalog.MaxDocument)
	extractors.Put(x)
	var all []string
	for _, s := range odd {
		all = append(all, s.String())
	}
	return strings.Join(all, "; ")
}

var extractors = sync.Pool{New: func() any { return new(pagetext.Extractor) }}

// farFrom is the number of links from a seed from which on the texts of pages are compared as a
// reader sees them, which costs as much as reading them. Closer to the seeds two pages are the same
// only if all bytes are.
const farFrom = 8

// repeated reports whether the links of a page are not followed, because many URLs of its host had
// the same text.
func (p *Pages) repeated(u *crawl.VisitURL, kind string, body []byte, r *crawl.Result) bool {
	text := r.Digest
	if u.Depth >= farFrom {
		text = textOf(kind, body)
	}
	if text == 0 {
		return false
	}
	tooMany, first := p.Shared.repeats.text(u.URL, text)
	if first {
		p.Shared.log.Warn("many URLs of a host have the same text: links of further pages with this text are not followed", "host", u.URL.Host(), "url", u.URL)
	}
	return tooMany
}

// sessions learns about session ids from a page. If its URL may have one, the URL without it is
// offered, unless the page's links must not be followed.
func (p *Pages) sessions(u *crawl.VisitURL, body []byte, noFollow bool) {
	repeats, known := &p.Shared.repeats, false
	if short, ok := sessionless(u.URL); ok {
		if noFollow || p.spec().NoLinks || !repeats.learning(short) {
			return
		}
		var try bool
		if try, known = repeats.session(u.URL, short, sessionDigest(body)); try {
			p.Offer(u.URL, u.Depth, u.Redirects, []canon.URL{short})
		}
	} else if repeats.tried(u.URL) {
		known = repeats.atShort(u.URL, sessionDigest(body))
	}
	if known {
		p.Shared.log.Info("session ids are removed from the URLs of a host: its pages are the same without them", "host", u.URL.Host(), "url", u.URL)
	}
}

// announce offers the feeds that a page announces in its head or in its Link fields. The shard of a
// feed's host decides whether and when it is read.
func (p *Pages) announce(u *crawl.VisitURL, h http.Header, scan *htmlscan.Result) {
	if !p.spec().ReadsFeeds() || scan.Directives.NoFollow {
		return
	}
	for _, f := range append(slices.Clip(scan.Feeds), feedLinks(h, u.URL)...) {
		p.Publisher.Feed(crawl.AuxRequest{Kind: crawl.AuxFeed, URL: f, Origin: u.URL.Origin(), Hop: u.Depth + 1, ReplyShard: crawl.ShardOf(f.Host(), p.Publisher.Shards)})
	}
}
