package indexer

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/catalog"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/pkg/canon"
)

// keepParts stores parts of documents about datasets, and the pages that they complete. A part that
// cannot be read is stored empty, because the other parts are valid without it.
func (s *shard) keepParts(ctx context.Context, batch []crawl.Page, now time.Time) error {
	all := make([]pages.Page, 0, len(batch))
	var gone []pages.Page // they must not be stored, whatever happened to their parts
	for _, p := range batch {
		if !s.x.mine(s.id)(p.URL.Host()) {
			s.log.Warn("a page of another shard is ignored", "url", p.URL)
			continue
		}
		if p.Part == 0 {
			if out := s.reader.read(p, now); out.Directives&crawl.NoIndex != 0 || out.Deleted != "" {
				gone = append(gone, out)
			} else {
				all = append(all, out)
			}
			continue
		}
		out := pages.Page{Page: p}
		if err := s.marks.read(&out, func() { s.reader.claims(&out, s.reader.unpackPart(&out)) }); err != nil {
			s.log.Warn("a part of a document about datasets is ignored", "url", p.URL, "part", p.Part, "err", err)
			out.Body, out.Encoding = nil, crawl.EncodingNone
		}
		all = append(all, out)
	}
	if err := s.keep(ctx, gone); err != nil {
		return err
	}
	return s.persist(ctx, func() error {
		s.gate.RLock()
		defer s.gate.RUnlock()
		batch := s.unforgotten(all)
		began := time.Now()
		res, err := s.store.PutParts(batch)
		if err == nil {
			s.x.metrics.stored(res, slices.DeleteFunc(slices.Clone(batch), func(p pages.Page) bool { return p.Part > 0 }), time.Since(began))
		}
		return err
	})
}

// claimsOf reads the datasets that a page with Claims describes, as far as there is memory for
// them. Text is left out if the page has nosnippet. A document that could not be read whole has one
// more claim, of crawl.DatasetUnread.
func claimsOf(p *pages.Page, room int) ([]crawl.DatasetClaim, error) {
	raw, err := pages.Unpack(nil, crawl.EncodingS2, p.Claims)
	if len(p.Claims) == 0 {
		if raw, err = p.Unpack(nil); err == nil {
			raw = metadataText(raw, p.Charset)
		}
	}
	if err != nil {
		return nil, err
	}
	doc := documentOf(p)
	doc.Capacity, doc.First = room, max(p.Part-1, 0)*catalog.MaxClaims
	read := catalog.ReadJSON
	if doc.Page {
		read = catalog.ReadPage
	}
	claims, err := read(raw, doc)
	if errors.Is(err, catalog.ErrCut) || errors.Is(err, catalog.ErrTooMuch) && len(claims) > 0 {
		err = nil // this was reported when it was stored
	}
	for i := range claims {
		claims[i].Usage, claims[i].Changed = p.Usage, p.Changed
		if !p.SnippetAllowed() {
			claims[i].RemoveProse()
		}
	}
	if why := catalog.Unread(raw, doc); why != "" {
		claims, err = append(claims, crawl.DatasetClaim{Kind: crawl.DatasetUnread, Document: doc.URL, Unread: why, Allowed: true, FetchedAt: p.FetchedAt}), nil
	}
	return claims, err
}

// datasets sends what each document states about each dataset.
func (a answers) datasets(_ context.Context, _ questions.Nothing, send func(crawl.DatasetClaim) error) error {
	return a.eachClaim(func(c crawl.DatasetClaim) error { return sendClaim(c, a.limit/2, send) })
}

// eachClaim calls fn for what each document states about each dataset, shard by shard.
func (a answers) eachClaim(fn func(crawl.DatasetClaim) error) error {
	now, budget, token := time.Now(), catalog.NewBudget(), a.token()
	for _, p := range a.parts() {
		if err := eachClaimIn(p, token, now, budget, fn); err != nil && !p.gone.Load() {
			return err
		}
	}
	return nil
}

func eachClaimIn(p part, token string, now time.Time, budget *catalog.Budget, fn func(crawl.DatasetClaim) error) error {
	hand := func(claims []crawl.DatasetClaim) error {
		if n := len(claims) - 1; n >= 0 && claims[n].Kind == crawl.DatasetUnread {
			if err := fn(claims[n]); err != nil {
				return err
			}
			claims = claims[:n]
		}
		kept := claims[:0]
		for _, c := range claims {
			if c, ok := p.remembered(c); ok {
				kept = append(kept, c)
			}
		}
		for _, c := range budget.Take(kept) {
			if err := fn(c); err != nil {
				return err
			}
		}
		return nil
	}
	err := p.eachEntry(now, func(own *catalog.Entry, nested func(string) (catalog.Entry, bool)) error {
		var claims []crawl.DatasetClaim
		var err error
		if p.marks.read(dataPage(own), func() { claims, err = own.ClaimsWith(token, nested) }) != nil {
			return nil
		}
		if err != nil {
			return err
		}
		return hand(claims)
	})
	if err != nil {
		return err
	}
	return p.store.Datasets().EachClaimed(func(page pages.Page) error {
		if page.Expired(now) || p.hidden(page.URL) {
			return nil
		}
		if page.Encoding == crawl.EncodingParts {
			// If a part of a catalogue is missing, one of its datasets reports that.
			cut := page.Truncated
			return p.store.Datasets().EachPart(&page, func(n int, body []byte) error {
				part := page
				part.Part, part.Claims, part.Encoding, part.Body = n, nil, crawl.EncodingS2, body
				var claims []crawl.DatasetClaim
				var err error
				if p.marks.read(&part, func() { claims, err = claimsOf(&part, budget.Capacity(string(page.URL))) }) != nil || err != nil {
					return nil
				}
				if cut && len(claims) > 0 {
					claims[len(claims)-1].LeftOut++
					cut = false
				}
				return hand(claims)
			})
		}
		var claims []crawl.DatasetClaim
		var err error
		if p.marks.read(&page, func() { claims, err = claimsOf(&page, budget.Capacity(string(page.URL))) }) != nil || err != nil {
			// It could be read when it was stored. Whoever opens the page sees what is wrong with
			// it.
			return nil
		}
		return hand(claims)
	})
}

// dataPage returns a stored data.txt as a page, so that it can be marked and tried.
func dataPage(e *catalog.Entry) *pages.Page {
	return &pages.Page{Page: crawl.Page{Kind: crawl.KindData, URL: canon.URL(e.URL), Visit: e.Visit, Body: e.Body}}
}

// remembered removes forgotten files and addresses for people from a description. A dataset without
// any file left is dropped.
func (p part) remembered(c crawl.DatasetClaim) (crawl.DatasetClaim, bool) {
	forgotten := func(raw string) bool {
		u, err := canon.Parse(raw)
		return err == nil && p.hidden(u)
	}
	if slices.ContainsFunc(c.Files, func(f crawl.DatasetFile) bool { return forgotten(f.URL) }) {
		c.Files = slices.DeleteFunc(slices.Clone(c.Files), func(f crawl.DatasetFile) bool { return forgotten(f.URL) })
		if len(c.Files) == 0 {
			return c, false
		}
	}
	if c.Page != "" && forgotten(c.Page) {
		c.Page = ""
	}
	if c.ID != "" && forgotten(c.ID) {
		c.ID = ""
	}
	return c, true
}

// sendClaim sends a claim, in parts where it is longer than limit bytes of JSON: lists are
// continued, and what is still too long is cut. With limit 0 it goes as it is.
func sendClaim(c crawl.DatasetClaim, limit int, send func(crawl.DatasetClaim) error) error {
	if limit == 0 || jsonSize(&c) <= limit {
		return send(c)
	}
	next := c
	next.Files, next.Columns, next.Creators, next.Keywords, next.Extra = nil, nil, nil, nil, nil
	// Every part contains the fields by which Merge sorts.
	rest := crawl.DatasetClaim{Kind: c.Kind, Document: c.Document, Line: c.Line, N: c.N, Origin: c.Origin, Allowed: c.Allowed, Depth: c.Depth, External: c.External}
	if jsonSize(&next) > limit {
		for _, s := range []*string{&next.ID, &next.Page, &next.Name, &next.Title, &next.Description, &next.License, &next.Publisher,
			&next.Version, &next.Issued, &next.Modified, &next.Type, &next.Source} {
			*s = catalog.Shorten(*s, limit/100) // in JSON one byte may become six
		}
	}
	size := jsonSize(&next) + 100 // for the names and brackets of the lists
	var err error
	add := func(v any, put func(*crawl.DatasetClaim)) {
		n := jsonSize(v) + 1
		if n > limit/2 || err != nil {
			return // such a long value is of no use
		}
		if size+n > limit {
			err = send(next)
			part := next.Part + 1
			next, size = rest, jsonSize(&rest)+100
			next.Part = part
		}
		size += n
		put(&next)
	}
	for _, f := range c.Files {
		add(f, func(c *crawl.DatasetClaim) { c.Files = append(c.Files, f) })
	}
	for _, col := range c.Columns {
		add(col, func(c *crawl.DatasetClaim) { c.Columns = append(c.Columns, col) })
	}
	for _, s := range c.Creators {
		add(s, func(c *crawl.DatasetClaim) { c.Creators = append(c.Creators, s) })
	}
	for _, s := range c.Keywords {
		add(s, func(c *crawl.DatasetClaim) { c.Keywords = append(c.Keywords, s) })
	}
	for _, k := range slices.Sorted(maps.Keys(c.Extra)) {
		add(map[string]any{k: c.Extra[k]}, func(d *crawl.DatasetClaim) {
			if d.Extra == nil {
				d.Extra = map[string]any{}
			}
			d.Extra[k] = c.Extra[k]
		})
	}
	if err != nil {
		return err
	}
	return send(next)
}

func jsonSize(v any) int {
	b, err := json.Marshal(v) // it escapes at least as much as the message
	if err != nil {
		return 0 // sending it reports the error
	}
	return len(b)
}
