package indexer

import (
	"context"
	"fmt"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/pagetext"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/pkg/canon"
)

// quoting sends what limits quotations from a stored page. For a page that must not be shown any
// more it sends only this, because nothing else explains why a stored page is not found.
func (a answers) quoting(_ context.Context, r questions.URLRequest, send func(crawl.QuoteLimit) error) error {
	u, err := canon.Parse(r.URL)
	if err != nil {
		return fmt.Errorf("quoting %q: %w", r.URL, err)
	}
	for _, in := range a.parts() {
		p, ok, err := in.store.Get(u)
		if in.gone.Load() {
			continue
		}
		if err != nil {
			return err
		}
		if !ok || in.hidden(u) {
			continue
		}
		if p.Expired(time.Now()) {
			return send(expired(&p))
		}
		limits := tagged(&p)
		// A page that cannot be read is not quoted, and has no statements.
		_ = in.marks.read(&p, func() { limits = append(limits, quiet(&p, in.content)...) })
		for _, q := range limits {
			if err := send(q); err != nil {
				return err
			}
		}
		return nil
	}
	return nil
}

// expired returns the limit of a page that requests not to be available any more.
func expired(p *pages.Page) crawl.QuoteLimit {
	q := crawl.QuoteLimit{Rule: crawl.RuleUnavailable, From: crawl.FromHeader, Since: &p.UnavailableAfter}
	if p.MetaUnavailableAfter.Equal(p.UnavailableAfter) { // the earlier of the two counts
		q.From = crawl.FromMeta
	}
	return q
}

// tagged returns what header and markup state about the whole page. With nosnippet a number of
// characters has no meaning.
func tagged(p *pages.Page) []crawl.QuoteLimit {
	if !p.SnippetAllowed() {
		q := crawl.QuoteLimit{Rule: crawl.RuleNoSnippet, From: crawl.FromHeader}
		if p.MetaDirectives&crawl.NoSnippet != 0 {
			q.From = crawl.FromMeta
		}
		return []crawl.QuoteLimit{q}
	}
	if p.MaxSnippet == 0 {
		return nil
	}
	q := crawl.QuoteLimit{Rule: crawl.RuleMaxSnippet, From: crawl.FromHeader, Chars: p.MaxSnippet}
	if p.MetaMaxSnippet == p.MaxSnippet { // the smaller of the two counts
		q.From = crawl.FromMeta
	}
	return []crawl.QuoteLimit{q}
}

// quiet returns the limits of parts of a page's text.
func quiet(p *pages.Page, content pages.Content) []crawl.QuoteLimit {
	page, err := p.Readable(nil, content)
	if err != nil || !p.SnippetAllowed() {
		return nil
	}
	var x pagetext.Extractor
	r := x.Read(p.URL, page.ContentType, page.Charset, page.Body)
	q := crawl.QuoteLimit{Rule: crawl.RuleDataNoSnippet, From: crawl.FromText}
	for _, s := range r.Spans {
		if s.Kind == pagetext.NoSnippet {
			q.Parts++
		}
	}
	if q.Parts == 0 {
		return nil
	}
	text, _ := r.Quotable()
	q.All = len(text) == 0
	return []crawl.QuoteLimit{q}
}
