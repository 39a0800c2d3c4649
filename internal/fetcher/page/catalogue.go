package page

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/curtsy/curtsy/internal/catalog"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/answer"
	"github.com/curtsy/curtsy/internal/fetcher/publish"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/rdf"
	"github.com/curtsy/curtsy/pkg/canon"
)

// A JSON document that describes datasets is published as it is when it is short. A long one is a
// catalogue: it is cut while it arrives, and each part is published, and acknowledged, before more
// is read. So only one part is in memory, and a site that sends fast waits for our indexer. The
// page itself follows the parts. If a fetcher dies before that, its parts do not count: the URL is
// granted again, and the newer visit publishes all of them again.

// catalogue is one such document while it is fetched.
type catalogue struct {
	p    *Pages
	u    *crawl.VisitURL
	kind string // its media type

	format rdf.Format // rdf.Unknown if it is JSON

	body []byte // of a short one
	sum  catalog.Summary
	err  error // why a long one is incomplete: an error of catalog.Cut
	sent bool  // it was read in parts
}

func (p *Pages) catalogue(u *crawl.VisitURL, kind string) *catalogue {
	return &catalogue{p: p, u: u, kind: kind, format: rdf.FormatOf(kind)}
}

// want says from the header what is read of the document: nothing if it must not be stored, or if
// it is too long.
func (c *catalogue) want(header http.Header) wire.Wanted {
	most := c.p.MaxCatalogue
	if answer.Length(header) > most {
		c.sent, c.err = true, catalog.ErrCatalogueLarge
		return wire.Wanted{}
	}
	tags := c.p.Sites.HeaderTags(header, time.Now())
	if _, unwanted := c.p.Sites.Unwanted(c.u.URL, c.p.Sites.Usage(c.u.URL, header, tags)); unwanted || tags.Directives.NoIndex {
		return wire.Wanted{}
	}
	return wire.Wanted{Limit: most + 1, Stream: c.read}
}

// read reads the document as it arrives. Errors in the document itself are kept in c.err. It
// returns errors of the connection and of publishing.
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
	if c.format != rdf.Unknown && !aboutDatasets(c.body) {
		c.body, c.sent, c.err = nil, true, catalog.ErrNoDatasets
		return nil
	}
	return c.parts(io.MultiReader(&first, body))
}

// parts publishes the document in parts.
func (c *catalogue) parts(body io.Reader) error {
	c.body, c.sent = nil, true
	c.p.Publisher.FlushPages() // earlier pages are published first
	if c.format != rdf.Unknown {
		c.sum, c.err = catalog.CutRDF(body, c.format, string(c.u.URL), c.p.MaxCatalogue, c.send)
	} else {
		c.sum, c.err = catalog.Cut(body, c.p.MaxCatalogue, c.send)
	}
	if c.err == nil {
		if why := c.sum.Unread(); why != "" {
			return c.send(catalog.UnreadPart(why))
		}
		return nil
	}
	for _, own := range []error{catalog.ErrCatalogueLarge, catalog.ErrNoCatalogue, catalog.ErrBroken, catalog.ErrNoSpace} {
		if errors.Is(c.err, own) {
			return nil
		}
	}
	return c.err
}

// errLost ends a document whose parts cannot be published. The visit is lost then.
var errLost = errors.New("it cannot be sent to an indexer")

// send publishes one part.
func (c *catalogue) send(part []byte) error {
	c.sum.Parts++
	pub := c.p.Publisher
	if pub.Discard {
		return nil
	}
	kind := c.kind
	if c.format != rdf.Unknown {
		kind = typeLD
	}
	page := crawl.Page{Kind: crawl.KindMeta, URL: c.u.URL, Visit: pub.Visit, FetchedAt: time.Now(), Part: c.sum.Parts,
		ContentType: kind, Charset: "utf-8", Size: int64(len(part)), Encoding: crawl.EncodingS2, Body: s2.Encode(nil, part)}
	start := time.Now()
	pub.SendPages(pub.Shard, crawl.AppendPart(nil, &page))
	c.p.Requests.Session.PausedSince(start)
	if pub.Lost() {
		return errLost
	}
	return nil
}

// keepMeta publishes a document that describes datasets, or the end of one that was published in
// parts.
func (p *Pages) keepMeta(u *crawl.VisitURL, a *wire.Answer, c *catalogue, r *crawl.Result) {
	tags := p.Sites.HeaderTags(a.Header, a.At)
	d := tags.Directives
	if d.NoIndex {
		r.Class, r.Reason = crawl.Refused, crawl.ReasonNoindex
		p.Forget(u, crawl.ReasonNoindex)
		return
	}
	stated := p.Sites.Usage(u.URL, a.Header, tags)
	if rule, yes := p.Sites.Unwanted(u.URL, stated); yes {
		r.Class, r.Reason, r.Rule = crawl.Refused, crawl.ReasonUsage, rule
		p.Forget(u, crawl.ReasonUsage)
		return
	}
	page := crawl.Page{
		Kind: crawl.KindMeta, URL: u.URL, Visit: p.Publisher.Visit, Scope: p.Requests.Config.LinkHash, Status: a.Status, FetchedAt: a.At,
		ContentType: c.kind, Charset: "utf-8", Directives: publish.DirectiveBits(d), UnavailableAfter: d.UnavailableAfter, MaxSnippet: d.MaxSnippet, Depth: u.Depth, FoundOn: u.FoundOn,
		ETag: answer.Short(a.Header, "Etag"), LastModified: answer.Short(a.Header, "Last-Modified"), Usage: stated,
	}
	short := !c.sent && len(c.body) <= maxMeta
	if short {
		p.pack(&page, c.body, r)
		short = !page.Truncated // it fits into a message
	}
	if !short && !c.sent {
		if err := c.parts(bytes.NewReader(c.body)); err != nil {
			*r = crawl.Result{URL: u.URL, Class: crawl.Returned}
			return
		}
	}
	switch {
	case short && c.format != rdf.Unknown:
		c.readRDF()
	case short:
		c.sum, _ = catalog.Cut(bytes.NewReader(c.body), maxMeta, nil)
	}
	if c.incomplete(r) {
		return
	}
	if !short {
		page.SHA256, page.Size = c.sum.SHA256, c.sum.Bytes
		page.Encoding, page.Body, page.Truncated, page.Parts = crawl.EncodingParts, nil, c.sum.LeftOut > 0, c.sum.Parts
		r.Digest = digestOf(page.SHA256)
		r.ETag, r.LastModified = p.keptValidators(page.ETag, page.LastModified)
	}
	r.Class, r.NoSnippet = crawl.Stored, d.NoSnippet
	r.Rule = c.odd()
	p.directives = page.Directives
	p.morePages(u, c)
	switch {
	case d.NoFollow:
	case c.kind == catalog.TypeLinkset:
		p.described(u, c.body)
	default:
		p.whole(u, c.body)
	}
	switch {
	case p.Publisher.Discard:
	case short:
		p.capturePage(&page, a, c.body, nil, rendering{})
		p.Publisher.Page(&page)
	default:
		p.Archive(u.URL, a)
		p.Publisher.FlushPages()
		p.Publisher.SendPages(p.Publisher.Shard, crawl.AppendPart(nil, &page))
	}
}

// odd describes what could not be read of the document, and what was forgiven.
func (c *catalogue) odd() string {
	if c.format != rdf.Unknown {
		return c.sum.RDF.String()
	}
	return c.sum.JSON.String()
}

// incomplete fills in the result of a document that was not read to its end, and reports whether it
// was not.
func (c *catalogue) incomplete(r *crawl.Result) bool {
	refuse := func(why crawl.Reason) {
		*r = crawl.Result{URL: r.URL, Status: r.Status, Bytes: r.Bytes, Took: r.Took, FetchedAt: r.FetchedAt,
			Class: crawl.Refused, Reason: why, Rule: c.kind}
		c.p.Forget(c.u, why)
	}
	switch {
	case errors.Is(c.err, catalog.ErrCatalogueLarge):
		refuse(crawl.ReasonCatalogue)
	case c.u.Keep && (c.sum.JSON.Cut || c.sum.JSON.Failed || c.sum.RDF.Cut):
		// Some of it may be missing, so it does not replace the stored copy.
		r.Class, r.Reason, r.Rule = crawl.Retry, crawl.ReasonNetwork, c.odd()
	case c.err != nil && c.format != rdf.Unknown && !errors.Is(c.err, catalog.ErrNoSpace):
		refuse(crawl.ReasonRDF)
		if r.Rule = c.err.Error(); c.sum.RDF.Lost > 0 {
			r.Rule += "; " + c.odd()
		}
	case errors.Is(c.err, catalog.ErrBroken):
		refuse(crawl.ReasonType)
		r.Rule = c.err.Error()
	case errors.Is(c.err, catalog.ErrNoSpace): // on our disk
		r.Class, r.Reason, r.Rule = crawl.Retry, crawl.ReasonStoreFailed, c.err.Error()
	case errors.Is(c.err, catalog.ErrNoCatalogue):
		refuse(crawl.ReasonTooLarge) // half of it is of no use
		r.Rule = c.err.Error()
	default:
		return false
	}
	return true
}

// described offers the JSON-LD documents that a set of links leads to. The body of a set that was
// read in parts is not in memory any more, so its links are not offered.
func (p *Pages) described(u *crawl.VisitURL, body []byte) {
	var links []canon.URL
	catalog.Described(body, string(u.URL), func(raw, media string) {
		to, err := canon.Parse(raw)
		if err != nil || to == u.URL || slices.Contains(links, to) {
			return
		}
		kind := answer.MediaType(media)
		if metaDocument(to, kind, media == "").named() && rdf.FormatOf(kind) == rdf.Unknown {
			links = append(links, to)
		}
	})
	p.follow(u, links)
}

// whole offers the whole descriptions of the datasets that a list has. The body of a list that was
// read in parts is not in memory any more.
func (p *Pages) whole(u *crawl.VisitURL, body []byte) {
	var links []canon.URL
	for _, raw := range catalog.Whole(body, string(u.URL)) {
		if to, err := canon.Parse(raw); err == nil && to != u.URL {
			links = append(links, to)
		}
	}
	p.follow(u, links)
}

// morePages offers the pages of a catalogue that follow this one.
func (p *Pages) morePages(u *crawl.VisitURL, c *catalogue) {
	var links []canon.URL
	for _, next := range c.sum.Pages.More(string(u.URL), c.sum.Members) {
		if n, err := canon.Parse(next); err == nil && n.Origin() == u.URL.Origin() && n != u.URL {
			links = append(links, n)
		}
	}
	p.Offer(u.URL, u.Depth+1, 0, links)
}
