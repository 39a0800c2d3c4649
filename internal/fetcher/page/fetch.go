package page

import (
	"bytes"
	"io"
	"net/http"

	"github.com/curtsy/curtsy/internal/catalog/shapes"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/document"
	"github.com/curtsy/curtsy/internal/fetcher/answer"
	"github.com/curtsy/curtsy/internal/fetcher/requests"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/rdf"
	"github.com/curtsy/curtsy/pkg/canon"
)

// fetched is a page, from the request to its result.
type fetched struct {
	p    *Pages
	u    *crawl.VisitURL
	a    wire.Answer
	kind string // its media type, declared or sniffed
	sign metaSign
	// inRDF says that its first bytes decide whether it is in RDF
	inRDF bool
	meta  bool // it is a document that describes datasets
	long  *catalogue
}

// Fetch fetches one URL that robots.txt allows.
func (p *Pages) Fetch(u *crawl.VisitURL) crawl.Result {
	f := &fetched{p: p, u: u}
	conditions := p.conditions(u)
	a, err := p.Requests.Get(u.URL, accepting(p.spec(), conditions), f.want)
	f.a = a
	p.cutPage(&f.a, f.kind)
	if err != nil && sameCut(u, &f.a, err) && (f.meta || p.storable(f.u.URL, f.kind)) {
		err, f.a.Truncated = nil, true
	}
	r := crawl.Result{URL: u.URL, Status: f.a.Status, Bytes: f.a.Wire, Took: f.a.Took, FetchedAt: f.a.At}
	if err != nil {
		fail(p.Requests, u, err, &r)
		if cut := cutAt(&f.a, err); cut != "" && r.Reason == crawl.ReasonNetwork {
			r.Rule = cut
		}
		return r
	}
	renewed := f.a.Status == http.StatusNotModified && conditions != nil
	full := f.a.Status >= 200 && f.a.Status <= 299 && f.a.Status != http.StatusPartialContent
	if !renewed && !(full && (f.meta || p.storable(f.u.URL, f.kind))) {
		p.Archive(u.URL, &f.a)
	}
	switch {
	case renewed:
		p.renewed(u, &f.a, &r)
	case full:
		f.stored(&r)
	default:
		f.refused(&r)
	}
	return r
}

// want says from the head of the answer what is read of its body.
func (f *fetched) want(status int, header http.Header) wire.Wanted {
	p, u := f.p, f.u.URL
	f.meta, f.long = false, nil
	if status < 200 || status > 299 || status == http.StatusPartialContent {
		return wire.Wanted{}
	}
	declared := answer.ContentType(header)
	f.kind = document.Canonical(answer.MediaType(declared))
	f.sign = metaDocument(u, f.kind, declared == "")
	f.inRDF = mayBeRDF(u, f.kind, declared == "")
	switch {
	case f.sign == metaAlways:
		f.meta, f.long = true, p.catalogue(f.u, f.kind)
		return f.long.want(header)
	case (f.sign != metaNever || f.inRDF) && declared != "" && !p.storable(f.u.URL, f.kind) && !p.mayBeDocument(u, f.kind):
		return f.shown(header)
	case f.sign != metaNever || f.inRDF || declared == "" || p.mayBeDocument(u, f.kind):
		return wire.Wanted{Limit: p.largest(p.Requests.Config.TypesOf(u)), First: shapes.Look, Decide: func(first []byte) bool {
			if declared == "" {
				f.kind = answer.Sniff(first)
			}
			f.kind = documentType(u, f.kind, first)
			f.meta = f.isMeta(first)
			return f.meta || p.storable(f.u.URL, f.kind)
		}, Instead: func() *wire.Wanted {
			if !f.meta {
				return nil
			}
			if f.kind == answer.HTML {
				f.kind = typeJSON // what it is
			}
			f.long = p.catalogue(f.u, f.kind)
			want := f.long.want(header)
			return &want
		}}
	case !p.storable(f.u.URL, f.kind):
		return wire.Wanted{}
	}
	return p.wanted(f.kind, header)
}

// shown reads an answer of a type that is not stored, unless its first bytes show that it describes
// datasets, only so far. A document that must not be stored, or is too long, is not read further.
func (f *fetched) shown(header http.Header) wire.Wanted {
	long := f.p.catalogue(f.u, f.kind)
	want := long.want(header)
	return wire.Wanted{Limit: max(want.Limit, shapes.Look), Stream: func(body io.Reader) error {
		first := make([]byte, shapes.Look)
		n, err := io.ReadFull(body, first)
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return err
		}
		if f.meta = f.isMeta(first[:n]); !f.meta {
			return nil
		}
		long.kind, long.format = f.kind, rdf.FormatOf(f.kind)
		if f.long = long; want.Stream == nil {
			return nil
		}
		return want.Stream(io.MultiReader(bytes.NewReader(first[:n]), body))
	}}
}

// isMeta reports whether the first bytes of an answer are those of a document that describes
// datasets, or may do so. It gives a document in RDF its media type.
func (f *fetched) isMeta(first []byte) bool {
	if kind := shownRDF(f.u.URL, first); f.inRDF && kind != "" {
		f.kind = kind
		return true
	}
	return f.sign.isMeta(f.u.URL, f.kind, first)
}

// fail fills in the result of a request that failed, or of a page that could not be processed
// because its visit ended.
func fail(q *requests.Requests, u *crawl.VisitURL, err error, r *crawl.Result) {
	fail := q.FailureOf(err)
	r.Reason, r.Rule = fail.Reason, fail.Detail
	switch {
	case fail.Unsent:
		*r = crawl.Result{URL: u.URL, Class: crawl.Returned}
	case fail.Barred:
		r.Class = crawl.Refused
	case fail.Final:
		r.Class = crawl.Failed
	default:
		r.Class = crawl.Retry
	}
}

// stored fills in the result of an answer with a whole body.
func (f *fetched) stored(r *crawl.Result) {
	p, u, a := f.p, f.u, &f.a
	switch {
	case f.meta:
		p.keepMeta(u, a, f.long, r)
		return
	case !p.storable(f.u.URL, f.kind):
		r.Class, r.Reason, r.Rule = crawl.Refused, typeReason(f.kind), answer.TypeDetail(a.Header, f.kind)
		p.Forget(u, r.Reason)
		return
	case document.Reads(f.kind):
		p.keepDocument(u, a, f.kind, r)
	default:
		p.keep(u, a, f.kind, r)
	}
	if price := priceOf(a.Header); r.Class == crawl.Stored && price != "" {
		r.Rule = price // the crawl log shows the price, although the page was served
	}
}

// refused fills in the result of any other answer.
func (f *fetched) refused(r *crawl.Result) {
	p, u, a := f.p, f.u, &f.a
	switch status := a.Status; {
	case status == http.StatusPartialContent || status < 200 || status > 599 || status == http.StatusNotModified:
		// It is a part of a page, a protocol, or a statement about a copy; we asked for none of
		// them.
		r.Class, r.Reason = crawl.Failed, crawl.ReasonHTTPOther
	case status <= 399:
		p.redirect(u, a, r)
	case answer.Overloaded(status):
		p.Requests.Overload(a)
		r.Class, r.Reason = crawl.Retry, crawl.ReasonOverload
	case status == http.StatusPaymentRequired:
		r.Class, r.Reason, r.Rule = crawl.Refused, crawl.ReasonPayment, priceOf(a.Header)
		p.Forget(u, crawl.ReasonPayment)
	case status <= 499:
		r.Class, r.Reason, r.Kept, r.Rule = crawl.Failed, crawl.ReasonHTTP4xx, u.Keep, answer.Wants(a)
		if !u.Keep { // otherwise it may be back when the frontier asks again
			p.Forget(u, crawl.ReasonHTTP4xx)
		}
	default:
		r.Class, r.Reason = crawl.Retry, crawl.ReasonHTTP5xx
	}
}

// priceOf says what a page costs according to its answer (formats §8.24). It is empty if the
// answer names no price.
func priceOf(h http.Header) string {
	if price := h.Get("Crawler-Price"); price != "" {
		return "crawler-price: " + answer.Quote(price)
	}
	return ""
}

// redirect makes a link of where a redirect leads, also on the same host. The answer's robots tags
// are about this URL, not about the target.
func (p *Pages) redirect(u *crawl.VisitURL, a *wire.Answer, r *crawl.Result) {
	written := answer.Quote(a.Header.Get("Location"))
	target, ok := answer.Location(u.URL, a)
	switch {
	case !ok:
		r.Class, r.Reason, r.Rule = crawl.Failed, crawl.ReasonLocation, written
		return
	case target == u.URL || u.Redirects >= requests.MaxRedirects:
		r.Class, r.Reason, r.Rule = crawl.Refused, crawl.ReasonRedirects, written
	default:
		r.Class, r.Reason, r.Location = crawl.Redirected, crawl.ReasonRedirect, string(target)
	}
	// A temporary redirect may mean that the whole site is under maintenance. The frontier asks
	// again.
	if r.Kept = u.Keep && answer.Temporary(a.Status); !r.Kept {
		p.Forget(u, r.Reason)
	}
	if r.Class == crawl.Refused {
		return
	}
	if short, ok := sessionless(target); ok && short == u.URL {
		p.Shared.repeats.needed(u.URL.Host()) // without the id, the target would be this page again
	}
	p.Offer(u.URL, u.Depth, u.Redirects+1, []canon.URL{target})
}
