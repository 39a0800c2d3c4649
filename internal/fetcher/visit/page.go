package visit

import (
	"crypto/sha256"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/document"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/htmlscan"
	"github.com/curtsy/curtsy/internal/pagetext"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robotstag"
)

// page fetches one URL that robots.txt allows.
func (v *Visit) page(u *crawl.VisitURL) crawl.Result {
	var kind string // media type, declared or sniffed
	meta := false   // it is a document that tells of datasets
	var long *catalogue
	conditions := v.conditions(u)
	a, err := v.ask(u.URL, v.accepting(conditions), func(status int, header http.Header) wire.Wanted {
		meta, long = false, nil
		if status < 200 || status > 299 || status == http.StatusPartialContent {
			return wire.Wanted{}
		}
		declared := contentType(header)
		kind = mediaType(declared)
		switch certain, possible := metaDocument(u.URL, kind, declared == ""); {
		case certain:
			meta, long = true, v.catalogue(u, kind)
			return long.want(header)
		case possible || declared == "" || v.mayBeDocument(u.URL, kind):
			return wire.Wanted{Limit: v.largest(), Decide: func(first []byte) bool {
				if declared == "" {
					kind = sniff(first)
				}
				kind = v.documentType(u.URL, kind, first)
				meta = possible && kind != typeHTML && looksLikeJSON(first)
				return meta || v.storable(kind)
			}}
		case !v.storable(kind):
			return wire.Wanted{}
		}
		return v.wanted(kind, header)
	})
	v.cutPage(&a, kind)
	if err != nil && v.sameCut(u, &a, err) && (meta || v.storable(kind)) {
		err, a.Truncated = nil, true
	}
	r := crawl.Result{URL: u.URL, Status: a.Status, Bytes: a.Wire, Took: a.Took, FetchedAt: a.At}
	if err != nil {
		fail := v.failureOf(err)
		r.Reason, r.Rule = fail.Reason, fail.Detail
		if cut := cutAt(&a, err); cut != "" && fail.Reason == crawl.ReasonNetwork {
			r.Rule = cut
		}
		switch {
		case fail.Unsent:
			return crawl.Result{URL: u.URL, Class: crawl.Returned}
		case fail.Barred:
			r.Class = crawl.Refused
		case fail.Final:
			r.Class = crawl.Failed
		default:
			r.Class = crawl.Retry
		}
		return r
	}
	renewed := a.Status == http.StatusNotModified && conditions != nil
	if full := a.Status >= 200 && a.Status <= 299 && a.Status != http.StatusPartialContent; !renewed && !(full && (meta || v.storable(kind))) {
		v.archive(u.URL, &a)
	}
	switch status := a.Status; {
	case renewed:
		v.renewed(u, &a, &r)
	case status == http.StatusPartialContent || status < 200 || status > 599 || status == http.StatusNotModified:
		// A part nobody asked for, a protocol nobody wanted, news about a copy nobody mentioned.
		r.Class, r.Reason = crawl.Failed, crawl.ReasonHTTPOther
	case status <= 299 && meta:
		if long == nil { // it was read as a page might be
			long = v.catalogue(u, kind)
			long.body, long.cut = a.Body, a.Truncated
		}
		v.keepMeta(u, &a, long, &r)
	case status <= 299 && !v.storable(kind):
		r.Class, r.Reason, r.Rule = crawl.Refused, typeReason(kind), typeDetail(a.Header, kind)
		v.forget(u, r.Reason)
	case status <= 299 && document.Reads(kind):
		if v.keepDocument(u, &a, kind, &r); r.Class == crawl.Stored {
			r.Rule = priceOf(a.Header)
		}
	case status <= 299:
		if v.keep(u, &a, kind, &r); r.Class == crawl.Stored {
			r.Rule = priceOf(a.Header) // given all the same: it is noted in the log
		}
	case status <= 399:
		v.redirect(u, &a, &r)
	case overloaded(status):
		v.overload(a)
		r.Class, r.Reason = crawl.Retry, crawl.ReasonOverload
	case status == http.StatusPaymentRequired:
		r.Class, r.Reason, r.Rule = crawl.Refused, crawl.ReasonPayment, priceOf(a.Header)
		v.forget(u, crawl.ReasonPayment)
	case status <= 499:
		r.Class, r.Reason, r.Kept, r.Rule = crawl.Failed, crawl.ReasonHTTP4xx, u.Keep, Wants(&a)
		if !u.Keep { // else it may be back when the frontier looks again
			v.forget(u, crawl.ReasonHTTP4xx)
		}
	default:
		r.Class, r.Reason = crawl.Retry, crawl.ReasonHTTP5xx
	}
	return r
}

// priceOf is what an answer says that a page costs (formats §8.24), or nothing.
func priceOf(h http.Header) string {
	if price := h.Get("Crawler-Price"); price != "" {
		return "crawler-price: " + detailText(price)
	}
	return ""
}

// redirect makes a link of where a redirect leads, also on the same host: the seen set decides
// whether it is fetched, so nothing is fetched twice. What the answer's robots tags say is about
// this URL, not about the target.
func (v *Visit) redirect(u *crawl.VisitURL, a *wire.Answer, r *crawl.Result) {
	written := detailText(a.Header.Get("Location"))
	target, ok := location(u.URL, a)
	switch {
	case !ok:
		r.Class, r.Reason, r.Rule = crawl.Failed, crawl.ReasonLocation, written
		return
	case target == u.URL || u.Redirects >= maxRedirects:
		r.Class, r.Reason, r.Rule = crawl.Refused, crawl.ReasonRedirects, written
	default:
		r.Class, r.Reason, r.Location = crawl.Redirected, crawl.ReasonRedirect, string(target)
	}
	// A page that leads elsewhere for a while may do so because its whole site is being mended: the
	// frontier looks again.
	if r.Kept = u.Keep && temporary(a.Status); !r.Kept {
		v.forget(u, r.Reason)
	}
	if r.Class == crawl.Refused {
		return
	}
	if short, ok := sessionless(target); ok && short == u.URL {
		v.deps.repeats.needed(u.URL.Host()) // taking the id off would lead back here
	}
	v.offer(u.URL, u.Depth, u.Redirects+1, []canon.URL{target})
}

// temporary reports whether a redirect does not claim to hold for good (RFC 9110 §15.4).
func temporary(status int) bool {
	return status != http.StatusMovedPermanently && status != http.StatusPermanentRedirect
}

// keep hands a page over: to the indexer what may be kept, to the frontiers where it leads.
func (v *Visit) keep(u *crawl.VisitURL, a *wire.Answer, kind string, r *crawl.Result) {
	start := time.Now()
	scan := v.scratch.scanner.Scan(htmlscan.Page{
		URL: u.URL, Body: a.Body, ContentType: scanType(a.Header, kind), HTML: kind != typeText,
		Header: a.Header, Token: v.cfg.spec.Agent,
	})
	if scan.Canonical == "" {
		scan.Canonical = headerCanonical(a.Header, u.URL)
	}
	v.deps.metrics.stage(stageScan, start)
	v.queuePage(u, a, kind, &scan, r)
	start = time.Now()
	v.sessions(u, a.Body, scan.Directives.NoFollow)
	if v.repeated(u, kind, a.Body, r) {
		v.deps.metrics.stage(stageScan, start)
		return
	}
	v.follow(u, scan.Links) // which may send them: behind the page they are on
	if !scan.Directives.NoFollow {
		v.follow(u, headerLinks(a.Header, u.URL))
		v.follow(u, signposts(a.Header, u.URL))
	}
	v.announce(u, a.Header, &scan)
	v.deps.metrics.stage(stageScan, start)
}

// scanType is the Content-Type by which a page of a type is read.
func scanType(h http.Header, kind string) string {
	if value := contentType(h); mediaType(value) == kind {
		return value
	}
	return kind
}

// queuePage hands a page to the indexer, or what it asks for instead.
func (v *Visit) queuePage(u *crawl.VisitURL, a *wire.Answer, kind string, scan *htmlscan.Result, r *crawl.Result) {
	d := scan.Directives.At(a.At)
	r.Class, r.NoSnippet = crawl.Stored, d.NoSnippet
	p := crawl.Page{
		URL: u.URL, Visit: v.job.ID, Scope: v.cfg.linkHash, Status: a.Status, FetchedAt: a.At, ContentType: kind, Charset: scan.Charset,
		Directives: bitsOf(d), UnavailableAfter: d.UnavailableAfter, MaxSnippet: d.MaxSnippet,
		MetaDirectives: bitsOf(scan.Meta), MetaUnavailableAfter: scan.Meta.UnavailableAfter, MetaMaxSnippet: scan.Meta.MaxSnippet,
		Depth: u.Depth, FoundOn: u.FoundOn, Canonical: scan.Canonical,
		ETag: headerText(a.Header, "Etag"), LastModified: headerText(a.Header, "Last-Modified"),
		Truncated: a.Truncated,
	}
	if v.cfg.spec.AcceptMarkdown {
		p.Vary = strings.ToValidUTF8(crawl.ShortDetail(a.Header.Get("Vary")), "")
	}
	if d.NoIndex {
		r.Class, r.Reason = crawl.Refused, crawl.ReasonNoindex
		v.handOverPage(&p)
		return
	}
	p.Usage = v.usageOf(u.URL, a.Header, scan)
	if rule, yes := v.unwanted(p.Usage); yes {
		r.Class, r.Reason, r.Rule, r.NoSnippet = crawl.Refused, crawl.ReasonUsage, rule, false
		v.forget(u, crawl.ReasonUsage)
		return
	}
	if v.deps.opt.DiscardPages {
		return
	}
	v.pack(&p, a.Body, r)
	p.Head, p.Signposts = headOf(&p, a.Body), signposted(a.Header, u.URL)
	if u.Keep { // it was sent although it may not have changed: how much of it has?
		r.Likeness = likenessOf(kind, a.Body)
	}
	v.capturePage(&p, a, a.Body, scan.Links)
	v.handOverPage(&p)
}

// headOf reads the head of a page that was packed, while the page is at hand and in the processor's
// cache: the body up to where it was cut to fit.
func headOf(p *crawl.Page, body []byte) *crawl.Head {
	x := extractors.Get().(*pagetext.Extractor)
	h := x.Head(p.ContentType, p.Charset, body[:p.Size])
	extractors.Put(x) // not after a panic: who knows what it was left in
	return h
}

var extractors = sync.Pool{New: func() any { return new(pagetext.Extractor) }}

// bitsOf are directives as they travel with a page.
func bitsOf(d robotstag.Directives) (bits crawl.DirectiveBits) {
	for _, b := range [...]struct {
		on  bool
		bit crawl.DirectiveBits
	}{{d.NoIndex, crawl.NoIndex}, {d.NoSnippet, crawl.NoSnippet}, {d.NoFollow, crawl.NoFollow}, {d.NoArchive, crawl.NoArchive}} {
		if b.on {
			bits |= b.bit
		}
	}
	return bits
}

// forget tells the indexer that there is no page under this URL, or none that may be kept, in case
// it holds one from an earlier visit.
func (v *Visit) forget(u *crawl.VisitURL, why crawl.Reason) {
	v.handOverPage(&crawl.Page{URL: u.URL, Visit: v.job.ID, FetchedAt: time.Now(), Depth: u.Depth, FoundOn: u.FoundOn, Deleted: why})
}

// maxPacked is the largest compressed page: with its other fields it must fit into one message.
const maxPacked = 900 << 10

// pack compresses a page into v.hand.packed and takes its digest, which r, if not nil, is told with
// what else is needed to ask again. A page that stays too large for a message is compressed harder,
// and if that does not do, cut until it fits.
func (v *Visit) pack(p *crawl.Page, body []byte, r *crawl.Result) {
	defer v.deps.metrics.stage(stagePack, time.Now())
	h := v.scratch
	p.SHA256 = sha256.Sum256(body)
	if r != nil {
		r.Digest = digestOf(p.SHA256)
		r.ETag, r.LastModified = v.keptValidators(p.ETag, p.LastModified)
	}
	whole := len(body)
	if need := s2.MaxEncodedLen(len(body)); cap(h.packed) < need {
		h.packed = make([]byte, wire.Roomy(need))
	}
	packed := s2.Encode(h.packed[:cap(h.packed)], body)
	if len(packed) > maxPacked {
		packed = s2.EncodeBest(h.packed[:cap(h.packed)], body)
	}
	for len(packed) > maxPacked {
		p.Truncated = true
		body = body[:int(float64(len(body))*0.97*maxPacked/float64(len(packed)))]
		packed = s2.EncodeBest(h.packed[:cap(h.packed)], body)
	}
	p.Body, p.Encoding = packed, crawl.EncodingS2
	p.Size = int64(len(body))
	if len(body) < whole {
		p.SHA256 = sha256.Sum256(body)
	}
	if cap(h.packed) > wire.KeepBuffer {
		h.packed = nil // p.Body has it, until it is sent
	}
}

// follow offers what a page links to, unless the crawl follows no links.
func (v *Visit) follow(u *crawl.VisitURL, links []canon.URL) {
	if !v.cfg.spec.NoLinks {
		v.offer(u.URL, u.Depth+1, 0, links)
	}
}

// farFrom is how many links from a seed a page is whose text is compared as a reader sees it, which
// costs as much as reading it: closer to the seeds it must be the same to the byte.
const farFrom = 8

// repeated reports whether the links of a page are left alone, since many URLs of its host have had
// the same text.
func (v *Visit) repeated(u *crawl.VisitURL, kind string, body []byte, r *crawl.Result) bool {
	text := r.Digest
	if u.Depth >= farFrom {
		text = textOf(kind, body)
	}
	if text == 0 {
		return false
	}
	tooMany, first := v.deps.repeats.text(u.URL, text)
	if first {
		v.deps.opt.Log.Warn("many URLs of a host have the same text: links of further pages with this text are not followed", "host", u.URL.Host(), "url", u.URL)
	}
	return tooMany
}

// sessions learns of session ids by a page. Where its address may have one, the address without is
// offered, if the links of the page may be followed.
func (v *Visit) sessions(u *crawl.VisitURL, body []byte, noFollow bool) {
	known := false
	if short, ok := sessionless(u.URL); ok {
		if noFollow || v.cfg.spec.NoLinks || !v.deps.repeats.learning(short) {
			return
		}
		var try bool
		if try, known = v.deps.repeats.session(u.URL, short, sessionDigest(body)); try {
			v.offer(u.URL, u.Depth, u.Redirects, []canon.URL{short})
		}
	} else if v.deps.repeats.tried(u.URL) {
		known = v.deps.repeats.atShort(u.URL, sessionDigest(body))
	}
	if known {
		v.deps.opt.Log.Info("session ids are removed from the URLs of a host: its pages are the same without them", "host", u.URL.Host(), "url", u.URL)
	}
}

// offer gathers links for the frontiers.
func (v *Visit) offer(from canon.URL, depth, redirects int, links []canon.URL) {
	for i, u := range links {
		if short := v.deps.repeats.clean(u); short != u {
			links = slices.Clone(links[:len(links):len(links)])
			for ; i < len(links); i++ {
				links[i] = v.deps.repeats.clean(links[i])
			}
			break
		}
	}
	full := v.scratch.links.add(v.cfg, from, depth, redirects, links)
	switch {
	case v.scratch.links.bytes > maxLinks:
		v.flushLinks(v.scratch.links.used...)
	case full >= 0:
		v.flushLinks(full)
	}
}

func detailText(s string) string {
	if len(s) > 200 {
		s = s[:200]
	}
	return strconv.QuoteToASCII(s)
}
