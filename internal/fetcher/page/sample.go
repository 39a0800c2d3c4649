package page

import (
	"crypto/sha256"
	"fmt"
	"net/http"

	"github.com/curtsy/curtsy/internal/catalog/shapes"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/answer"
	"github.com/curtsy/curtsy/internal/fetcher/publish"
	"github.com/curtsy/curtsy/internal/fetcher/robots"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/html"
	"github.com/curtsy/curtsy/internal/htmlscan"
	"github.com/curtsy/curtsy/internal/likeness"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Sample fetches a page to compare it with another one, of a possible mirror (formats §2.4), if
// the rules of its origin allow it. ok is false if nothing was found out.
func (p *Pages) Sample(u canon.URL) (s crawl.Sample, ok bool) {
	if permission := p.Sites.Ask(u); !permission.OK() {
		return crawl.Sample{Reason: permission.Text}, !permission.Over
	}
	kind := ""
	a, err := p.Requests.Get(u, nil, func(status int, header http.Header) wire.Wanted {
		if status < 200 || status > 299 || status == http.StatusPartialContent {
			return wire.Wanted{}
		}
		declared := answer.ContentType(header)
		if kind = answer.MediaType(declared); declared != "" && !comparable(kind) {
			return wire.Wanted{}
		}
		return wire.Wanted{Limit: p.MaxBody, Decide: func(first []byte) bool {
			if declared == "" {
				kind = answer.Sniff(first)
			}
			return comparable(kind)
		}}
	})
	s.Status = a.Status
	if err != nil {
		fail := p.Requests.FailureOf(err)
		s.Status, s.Reason = 0, fail.String()
		return s, !fail.Unsent
	}
	switch status := a.Status; {
	case answer.Overloaded(status):
		p.Requests.Overload(&a)
		s.Reason = fmt.Sprintf("%s: HTTP %d", crawl.ReasonOverload, status)
	case answer.Redirects(status):
		to, _ := answer.Location(u, &a)
		s.Location = string(to)
		s.Reason = string(crawl.ReasonRedirect)
	case status < 200 || status > 299 || status == http.StatusPartialContent:
		s.Reason = answer.StatusText(&a)
	case !comparable(kind):
		s.Reason = fmt.Sprintf("%s: %s", crawl.ReasonType, kind)
	default:
		s.Digest = digestOf(sha256.Sum256(a.Body))
		s.Likeness = likenessOf(kind, a.Body)
	}
	return s, true
}

// Verify fetches a page to compare it with what a mobile robot brought, if the rules of its origin
// allow it. ok is false if nothing was found out.
func (p *Pages) Verify(u canon.URL) (s crawl.Sample, ok bool) {
	permission := p.Sites.Ask(u)
	if !permission.OK() {
		return crawl.Sample{Reason: permission.Text, Again: permission.Closed()}, !permission.Over
	}
	f := &fetched{p: p, u: &crawl.VisitURL{URL: u}}
	a, err := p.Requests.Get(u, accepting(p.spec(), nil), func(status int, header http.Header) wire.Wanted {
		want := f.want(status, header)
		switch want.Instead = nil; {
		case want.Stream == nil:
			return want
		case f.meta: // a document that describes datasets: the whole is compared
			return wire.Wanted{Limit: p.MaxBody}
		}
		return wire.Wanted{Limit: p.MaxBody, First: shapes.Look, Decide: func(first []byte) bool {
			f.meta = f.isMeta(first)
			return f.meta
		}}
	})
	if err != nil {
		fail := p.Requests.FailureOf(err)
		return crawl.Sample{Reason: fail.String(), Again: !fail.Barred && !fail.Final}, !fail.Unsent
	}
	s.Status, s.Type = a.Status, f.kind
	s.Modified, _ = http.ParseTime(a.Header.Get("Last-Modified")) // a zero time if it is none
	switch status := a.Status; {
	case answer.Overloaded(status):
		p.Requests.Overload(&a)
		s.Reason, s.Again = fmt.Sprintf("%s: HTTP %d", crawl.ReasonOverload, status), true
	case answer.Redirects(status):
		to, _ := answer.Location(u, &a)
		s.Location, s.Reason = string(to), string(crawl.ReasonRedirect)
	case status < 200 || status > 299 || status == http.StatusPartialContent:
		s.Reason, s.Again = answer.StatusText(&a), status >= 500
	case !f.meta && !p.storable(f.u.URL, f.kind):
		s.Reason = fmt.Sprintf("%s: %s", crawl.ReasonType, f.kind)
	default:
		p.cutPage(&a, f.kind)
		s.Digest = digestOf(sha256.Sum256(a.Body))
		tags := p.Sites.HeaderTags(a.Header, a.At)
		if f.kind != answer.Text && comparable(f.kind) {
			defer p.gather.done()
			scan := p.gather.tags(htmlscan.Page{URL: u, Body: a.Body, ContentType: scanType(a.Header, f.kind), HTML: true, Header: a.Header, Token: p.spec().Agent})
			tags.Directives = scan.Directives.At(a.At)
		}
		s.Directives = uint8(publish.DirectiveBits(tags.Directives))
		s.Likeness = LikenessOf(f.kind, a.Body)
	}
	return s, true
}

// comparable reports whether pages of this media type can be compared with others.
func comparable(kind string) bool {
	return kind == answer.HTML || kind == answer.XHTML || kind == answer.Text
}

// likenessOf returns the likeness of the text of a page, by which similar pages are found.
func likenessOf(kind string, body []byte) uint64 {
	if kind == answer.Text || kind == answer.Markdown {
		return likeness.OfText(body)
	}
	if kind == answer.XHTML {
		body = html.FromXHTML(body)
	}
	return likeness.OfHTML(body)
}

// textOf returns a hash of the text of a page as a reader sees it, or 0 if there is none.
func textOf(kind string, body []byte) uint64 {
	switch kind {
	case answer.Text, answer.Markdown:
		return likeness.SameText(body)
	case answer.XHTML:
		body = html.FromXHTML(body)
	}
	return likeness.SameHTML(body)
}

// ProbeJSON asks an origin whether it has a /data.json, where and as often as it is asked for its
// /data.txt. If it is there, or redirects to where such a document may be, it is offered as a link
// of dataTxt, and is then fetched like any other page. All other answers are ignored.
func (p *Pages) ProbeJSON(site *robots.Site, dataTxt canon.URL) {
	u, err := site.Origin.URL("/data.json")
	if err != nil || !p.spec().DataJSON || p.spec().MaxDepth == 0 || !p.Requests.Config.Scope.Decide(u).In || p.Requests.Over() {
		return
	}
	if _, why := p.Sites.Match(site, u); why != "" {
		return
	}
	defer p.Requests.For(crawl.RequestData)()
	there := false
	a, err := p.Requests.Get(u, nil, func(status int, header http.Header) wire.Wanted {
		declared := answer.ContentType(header)
		kind := answer.MediaType(declared)
		sign := metaDocument(u, kind, declared == "")
		if there = sign.named(); there || status != http.StatusOK || sign == metaNever {
			return wire.Wanted{}
		}
		// Sites answer with pages where nothing is.
		return wire.Wanted{Limit: shapes.Look, First: shapes.Look, Decide: func(first []byte) bool {
			there = sign.isMeta(u, kind, first)
			return false
		}}
	})
	switch {
	case err != nil:
	case answer.Overloaded(a.Status):
		p.Requests.Overload(&a)
	case a.Status == http.StatusOK && there:
		p.Offer(dataTxt, 1, 0, []canon.URL{u})
	case answer.Redirects(a.Status):
		if next, ok := answer.Location(u, &a); ok && metaDocument(next, "", true).named() {
			p.Offer(dataTxt, 1, 0, []canon.URL{u})
		}
	}
}
