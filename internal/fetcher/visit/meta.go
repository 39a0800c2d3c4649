package visit

import (
	"bytes"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/pkg/canon"
)

// maxMeta is the largest JSON document that is handed over: what tells of datasets is not the data.
const maxMeta = 1 << 20

// Linked data: whoever names it so, by its type or in its name, means it to be
// read for what it tells.
const (
	typeLD = "application/ld+json"
	extLD  = ".jsonld"
)

// metaNames are the names under which sites keep documents that tell of datasets: DCAT,
// Frictionless, Croissant.
var metaNames = []string{"data.json", "datapackage.json", "croissant.json"}

// metaDocument reports whether an answer of this media type, or of none, certainly or possibly is
// such a document. A possible one has to look like JSON.
func metaDocument(u canon.URL, kind string, untold bool) (certain, possible bool) {
	if kind == typeLD {
		return true, false
	}
	if !strings.HasSuffix(string(u), ".json") && !strings.HasSuffix(string(u), extLD) && u.Query() == "" {
		return false, false // nearly all pages
	}
	path := u.Path()
	if !strings.HasSuffix(path, extLD) && !slices.Contains(metaNames, path[strings.LastIndexByte(path, '/')+1:]) {
		return false, false
	}
	if kind == "application/json" || kind == "text/json" || strings.HasSuffix(kind, "+json") {
		return true, false
	}
	return false, untold || kind == typeText || kind == "application/octet-stream"
}

// looksLikeJSON reports whether a document begins as an object or a list.
func looksLikeJSON(first []byte) bool {
	first = bytes.TrimLeft(bytes.TrimPrefix(first, []byte("\xef\xbb\xbf")), " \t\r\n")
	return len(first) > 0 && (first[0] == '{' || first[0] == '[')
}

// keepMeta hands a document that tells of datasets to the indexer.
func (v *Visit) keepMeta(u *crawl.VisitURL, a *wire.Answer, kind string, r *crawl.Result) {
	tooLarge := func() {
		*r = crawl.Result{URL: r.URL, Status: r.Status, Bytes: r.Bytes, Took: r.Took, FetchedAt: r.FetchedAt,
			Class: crawl.Refused, Reason: crawl.ReasonTooLarge, Rule: kind}
		v.forget(u, crawl.ReasonTooLarge)
	}
	if a.Truncated || len(a.Body) > maxMeta {
		tooLarge()
		return
	}
	tags := v.headerTags(a)
	d := tags.Directives
	if d.NoIndex {
		r.Class, r.Reason = crawl.Refused, crawl.ReasonNoindex
		v.forget(u, crawl.ReasonNoindex)
		return
	}
	said := v.said(u.URL, a.Header, tags)
	if rule, yes := v.unwanted(said); yes {
		r.Class, r.Reason, r.Rule = crawl.Refused, crawl.ReasonUsage, rule
		v.forget(u, crawl.ReasonUsage)
		return
	}
	r.Class, r.NoSnippet = crawl.Stored, d.NoSnippet
	if v.kit.opt.DiscardPages {
		return
	}
	p := crawl.Page{
		Kind: crawl.KindMeta, URL: u.URL, Visit: v.job.ID, Scope: v.cfg.scopeHash, Status: a.Status, FetchedAt: a.At,
		ContentType: kind, Charset: "utf-8", Directives: bitsOf(d), UnavailableAfter: d.UnavailableAfter, MaxSnippet: d.MaxSnippet, Depth: u.Depth, FoundOn: u.FoundOn,
		ETag: headerText(a.Header, "Etag"), LastModified: headerText(a.Header, "Last-Modified"), Usage: said,
	}
	// It does not fit into a message, and half of it is of no use.
	if v.pack(&p, a.Body, r); p.Truncated {
		tooLarge()
		return
	}
	v.handOver(&p)
}
