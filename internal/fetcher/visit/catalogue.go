package visit

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/curtsy/curtsy/internal/catalog"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/pkg/canon"
)

// A document that tells of datasets goes to the indexer as it is when it is short. A long one is a
// catalogue: it is cut while it comes, and each part is handed over, and acknowledged, before more
// is read. So memory holds a part of it, and a site that sends fast waits for our indexer. The page
// itself follows the parts. A fetcher that dies before that leaves parts that nobody counts: the
// URL is granted again, and a newer visit brings all of them anew.

// catalogue is one document under way.
type catalogue struct {
	v    *Visit
	u    *crawl.VisitURL
	kind string // its media type

	body []byte // of a short one
	cut  bool   // it has more than body, which was not read
	sum  catalog.Summary
	err  error // why a long one is not whole: an error of catalog.Cut
	sent bool  // it was read in parts
}

func (v *Visit) catalogue(u *crawl.VisitURL, kind string) *catalogue {
	return &catalogue{v: v, u: u, kind: kind}
}

// want says what is wanted of the document, from its header: nothing of one that asks not to be
// kept, or is longer than it may be.
func (c *catalogue) want(header http.Header) wire.Wanted {
	most := c.v.deps.opt.MaxCatalogue
	if n, err := strconv.ParseInt(header.Get("Content-Length"), 10, 64); err == nil && n > most {
		c.sent, c.err = true, catalog.ErrCatalogueLarge
		return wire.Wanted{}
	}
	a := wire.Answer{Header: header, At: time.Now()}
	tags := c.v.headerTags(&a)
	if _, unwanted := c.v.unwanted(c.v.usageOf(c.u.URL, header, tags)); unwanted || tags.Directives.NoIndex {
		return wire.Wanted{}
	}
	return wire.Wanted{Limit: most + 1, Stream: c.read}
}

// read reads the document as it comes. What is wrong with the document itself is kept; an error is
// one of the wire, or of telling.
func (c *catalogue) read(body io.Reader) error {
	var first bytes.Buffer
	n, err := io.CopyN(&first, body, maxMeta+1)
	c.body = first.Bytes()
	if n <= maxMeta {
		if err == io.EOF {
			err = nil
		}
		return err
	}
	return c.parts(io.MultiReader(&first, body))
}

// parts hands the document over in parts.
func (c *catalogue) parts(body io.Reader) error {
	c.body, c.sent = nil, true
	c.v.flushPages() // what came before is not overtaken
	if c.sum, c.err = catalog.Cut(body, c.v.deps.opt.MaxCatalogue, c.send); c.err == nil {
		return nil
	}
	for _, own := range []error{catalog.ErrCatalogueLarge, catalog.ErrNoCatalogue, catalog.ErrBroken, catalog.ErrNoSpace} {
		if errors.Is(c.err, own) {
			return nil
		}
	}
	return c.err
}

// errUntold ends a document whose parts cannot be handed over; the visit is lost.
var errUntold = errors.New("it cannot be sent to an indexer")

func (c *catalogue) send(part []byte) error {
	c.sum.Parts++
	if c.v.deps.opt.DiscardPages {
		return nil
	}
	p := crawl.Page{Kind: crawl.KindMeta, URL: c.u.URL, Visit: c.v.job.ID, FetchedAt: time.Now(), Part: c.sum.Parts,
		ContentType: c.kind, Charset: "utf-8", Size: int64(len(part)), Encoding: crawl.EncodingS2, Body: s2.Encode(nil, part)}
	start := time.Now()
	c.v.sendPages(c.v.job.Shard, crawl.AppendPart(nil, &p))
	c.v.session.PausedSince(start)
	if c.v.lost.Load() {
		return errUntold
	}
	return nil
}

// keepMeta hands a document that tells of datasets to the indexer, or the end of one that went
// there in parts.
func (v *Visit) keepMeta(u *crawl.VisitURL, a *wire.Answer, c *catalogue, r *crawl.Result) {
	refuse := func(why crawl.Reason) {
		*r = crawl.Result{URL: r.URL, Status: r.Status, Bytes: r.Bytes, Took: r.Took, FetchedAt: r.FetchedAt,
			Class: crawl.Refused, Reason: why, Rule: c.kind}
		v.forget(u, why)
	}
	tags := v.headerTags(a)
	d := tags.Directives
	if d.NoIndex {
		r.Class, r.Reason = crawl.Refused, crawl.ReasonNoindex
		v.forget(u, crawl.ReasonNoindex)
		return
	}
	stated := v.usageOf(u.URL, a.Header, tags)
	if rule, yes := v.unwanted(stated); yes {
		r.Class, r.Reason, r.Rule = crawl.Refused, crawl.ReasonUsage, rule
		v.forget(u, crawl.ReasonUsage)
		return
	}
	p := crawl.Page{
		Kind: crawl.KindMeta, URL: u.URL, Visit: v.job.ID, Scope: v.cfg.linkHash, Status: a.Status, FetchedAt: a.At,
		ContentType: c.kind, Charset: "utf-8", Directives: bitsOf(d), UnavailableAfter: d.UnavailableAfter, MaxSnippet: d.MaxSnippet, Depth: u.Depth, FoundOn: u.FoundOn,
		ETag: headerText(a.Header, "Etag"), LastModified: headerText(a.Header, "Last-Modified"), Usage: stated,
	}
	short := !c.sent && !c.cut && len(c.body) <= maxMeta
	if short {
		v.pack(&p, c.body, r)
		short = !p.Truncated // it fits into a message
	}
	if !short && !c.sent && !c.cut {
		if err := c.parts(bytes.NewReader(c.body)); err != nil {
			*r = crawl.Result{URL: u.URL, Class: crawl.Returned}
			return
		}
	}
	switch {
	case c.cut:
		refuse(crawl.ReasonTooLarge)
		return
	case errors.Is(c.err, catalog.ErrCatalogueLarge):
		refuse(crawl.ReasonCatalogue)
		return
	case errors.Is(c.err, catalog.ErrBroken):
		// Some of it may be missing, so it takes the place of nothing.
		r.Class, r.Reason, r.Rule = crawl.Retry, crawl.ReasonNetwork, c.err.Error()
		return
	case errors.Is(c.err, catalog.ErrNoSpace): // of ours
		r.Class, r.Reason, r.Rule = crawl.Retry, crawl.ReasonStoreFailed, c.err.Error()
		return
	case errors.Is(c.err, catalog.ErrNoCatalogue):
		refuse(crawl.ReasonTooLarge) // half of it is of no use
		r.Rule = c.err.Error()
		return
	case short:
		c.sum, _ = catalog.Cut(bytes.NewReader(c.body), maxMeta, nil)
	default:
		p.SHA256, p.Size = c.sum.SHA256, c.sum.Bytes
		p.Encoding, p.Body, p.Truncated, p.Parts = crawl.EncodingParts, nil, c.sum.LeftOut > 0, c.sum.Parts
		r.Digest = digestOf(p.SHA256)
		r.ETag, r.LastModified = v.keptValidators(p.ETag, p.LastModified)
	}
	r.Class, r.NoSnippet = crawl.Stored, d.NoSnippet
	v.morePages(u, c)
	if c.kind == catalog.TypeLinkset && !d.NoFollow {
		v.described(u, c.body)
	}
	switch {
	case v.deps.opt.DiscardPages:
	case short:
		v.capturePage(&p, a, c.body, nil)
		v.handOverPage(&p)
	default:
		v.archive(u.URL, a)
		v.flushPages()
		v.sendPages(v.job.Shard, crawl.AppendPart(nil, &p))
	}
}

// described offers the JSON-LD documents that a set of links leads to. Of a set that is read in
// parts there is no body any more, and none is offered.
func (v *Visit) described(u *crawl.VisitURL, body []byte) {
	var links []canon.URL
	catalog.Described(body, string(u.URL), func(raw, media string) {
		to, err := canon.Parse(raw)
		if err != nil || to == u.URL || slices.Contains(links, to) {
			return
		}
		if certain, possible := metaDocument(to, mediaType(media), media == ""); certain || possible {
			links = append(links, to)
		}
	})
	v.follow(u, links)
}

// morePages offers the pages of a catalogue that lie behind this one.
func (v *Visit) morePages(u *crawl.VisitURL, c *catalogue) {
	var links []canon.URL
	for _, next := range c.sum.Pages.More(string(u.URL), c.sum.Members) {
		if n, err := canon.Parse(next); err == nil && n.Origin() == u.URL.Origin() && n != u.URL {
			links = append(links, n)
		}
	}
	v.offer(u.URL, u.Depth+1, 0, links)
}
