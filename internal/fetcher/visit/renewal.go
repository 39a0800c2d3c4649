package visit

import (
	"encoding/binary"
	"net/http"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/pkg/robotstag"
	"github.com/curtsy/curtsy/pkg/usage"
)

// What asking again for something held costs least (RFC 9110 §13): the request tells what the copy
// was answered with, and an origin that has nothing else says so without sending it.

// Longest validators that are remembered for the next request.
const (
	maxETag         = 256
	maxLastModified = 64
)

// conditional is the header of a request for a copy other than the one that was answered with
// these; nil without any.
func conditional(etag, lastModified string) http.Header {
	if etag == "" && lastModified == "" {
		return nil
	}
	h := make(http.Header, 2)
	if etag != "" {
		h["If-None-Match"] = []string{etag}
	}
	if lastModified != "" {
		h["If-Modified-Since"] = []string{lastModified}
	}
	return h
}

// validators are those that a result may carry. A weak one is as good as any here: what it calls
// the same need not be fetched.
func validators(etag, lastModified string) (string, string) {
	if len(etag) > maxETag {
		etag = ""
	}
	if len(lastModified) > maxLastModified {
		lastModified = ""
	}
	return etag, lastModified
}

// digestOf is what a result tells of a body.
func digestOf(sum [32]byte) uint64 { return binary.BigEndian.Uint64(sum[:]) }

// renewed takes in that the copy held is still good. Robots tags of the answer replace those of the
// header before; without any they stay as they were (formats §4.2).
func (v *Visit) renewed(u *crawl.VisitURL, a *wire.Answer, r *crawl.Result) {
	// What the headers of the copy held said did not forbid it; those of a 304 take their place
	// (formats §8.14).
	tags := v.headerTags(a)
	d := tags.Directives
	stated := v.usageOf(u.URL, a.Header, tags)
	if rule, yes := v.unwanted(stated); yes {
		r.Class, r.Reason, r.Rule = crawl.Refused, crawl.ReasonUsage, rule
		v.forget(u, crawl.ReasonUsage)
		return
	}
	r.Class, r.NotModified = crawl.Stored, true
	p := crawl.Page{
		URL: u.URL, Visit: v.job.ID, Status: a.Status, FetchedAt: a.At, Depth: u.Depth, FoundOn: u.FoundOn, Renewed: true,
		ETag: headerText(a.Header, "Etag"), LastModified: headerText(a.Header, "Last-Modified"),
		Usage: append(stated, usage.Carried(a.Header)...), Purposes: v.cfg.purposes,
	}
	if p.ETag == "" {
		p.ETag = strings.TrimPrefix(u.ETag, takesMarkdown)
	}
	if p.LastModified == "" {
		p.LastModified = u.LastModified
	}
	r.ETag, r.LastModified = v.keptValidators(p.ETag, p.LastModified)
	if robotstag.Carries(a.Header) {
		p.Tagged, p.Directives = true, bitsOf(d)
		p.UnavailableAfter, p.MaxSnippet = d.UnavailableAfter, d.MaxSnippet
		r.NoSnippet = d.NoSnippet
		if d.NoIndex { // there is nothing to renew any more
			p.Renewed, p.Tagged = false, false
			r.Class, r.Reason, r.NotModified = crawl.Refused, crawl.ReasonNoindex, false
			r.ETag, r.LastModified = "", ""
		}
	}
	v.capturePage(&p, a, nil, nil)
	v.handOverPage(&p)
}
