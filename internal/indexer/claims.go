package indexer

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/curtsy/curtsy/internal/catalog"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/pkg/canon"
)

// claims returns what in a page or a metadata document tells of datasets, as Page.Claims has it: for a page its JSON-LD, packed; for
// a document the mark that all of it does. nil: it tells of none.
func (s *shard) claims(p *pages.Page, body []byte) []byte {
	doc := catalog.Document{URL: string(p.URL), Page: !p.IsMeta(), Fetched: p.FetchedAt}
	if p.IsMeta() {
		if len(body) > catalog.MaxDocument {
			s.log.Info("metadata is too long to be read", "url", p.URL, "bytes", len(body), "limit", catalog.MaxDocument)
			return nil
		}
		if _, err := catalog.ReadJSON(pages.DecodeCharset(body, p.Charset), doc); err != nil {
			s.log.Debug("metadata without datasets", "url", p.URL, "err", err)
			return nil
		}
		return []byte{}
	}
	linked := s.extract.LinkedData(p.ContentType, p.Charset, body, catalog.MaxDocument)
	if linked == nil {
		return nil
	}
	if _, err := catalog.ReadJSON(linked, doc); err != nil {
		return nil
	}
	return s2.Encode(nil, linked)
}

// claimsOf reads the datasets that a page with Claims tells of. Its text is not shown where it says nosnippet.
func claimsOf(p *pages.Page) ([]crawl.DatasetClaim, error) {
	raw, err := pages.Unpack(nil, crawl.EncodingS2, p.Claims)
	if len(p.Claims) == 0 {
		if raw, err = p.Unpack(nil); err == nil {
			raw = pages.DecodeCharset(raw, p.Charset)
		}
	}
	if err != nil {
		return nil, err
	}
	claims, err := catalog.ReadJSON(raw, catalog.Document{URL: string(p.URL), Page: !p.IsMeta(), Fetched: p.FetchedAt})
	if !p.SnippetAllowed() {
		for i := range claims {
			claims[i].Untell()
		}
	}
	return claims, err
}

// eachClaim calls fn for what every document says of every dataset, shard by shard.
func eachClaim(parts []part, token string, fn func(crawl.DatasetClaim) error) error {
	now := time.Now()
	for _, p := range parts {
		if err := eachClaimIn(p, token, now, fn); err != nil && !p.gone.Load() {
			return err
		}
	}
	return nil
}

func eachClaimIn(p part, token string, now time.Time, fn func(crawl.DatasetClaim) error) error {
	hand := func(claims []crawl.DatasetClaim) error {
		for _, c := range claims {
			if c, ok := p.remembered(c); ok {
				if err := fn(c); err != nil {
					return err
				}
			}
		}
		return nil
	}
	entries, nested, err := p.liveEntries(now)
	if err != nil {
		return err
	}
	for i := range entries {
		claims, err := entries[i].Claims(token, nested)
		if err != nil {
			return err
		}
		if err := hand(claims); err != nil {
			return err
		}
	}
	return p.store.EachClaimed(func(page pages.Page) error {
		if page.Expired(now) || p.hidden(page.URL) {
			return nil
		}
		claims, err := claimsOf(&page)
		if err != nil {
			return nil // it could be read when it was stored; whoever looks at the page sees what is wrong with it
		}
		return hand(claims)
	})
}

// remembered takes out of a claim what is forgotten: files, and addresses for people. A dataset that has no file left is gone.
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

// Claims calls fn for what every document says of every dataset, data.txt files to the robot with that product token. catalog.Merge
// makes datasets of them.
func (r *Reader) Claims(token string, fn func(crawl.DatasetClaim) error) error {
	return eachClaim(r.all, token, fn)
}

// Datasets calls fn for every dataset, as catalog.Merge makes it of the claims.
func (r *Reader) Datasets(token string, fn func(crawl.DatasetInfo) error) error {
	var all []crawl.DatasetClaim
	err := r.Claims(token, func(c crawl.DatasetClaim) error {
		all = append(all, c)
		return nil
	})
	if err != nil {
		return err
	}
	for _, d := range catalog.Merge(all) {
		if err := fn(d); err != nil {
			return err
		}
	}
	return nil
}

// sendClaim sends a claim, in parts where it is longer than limit bytes of JSON: lists are continued, what is still too long is cut.
func sendClaim(c crawl.DatasetClaim, limit int, send func(any) error) error {
	if jsonSize(&c) <= limit {
		return send(c)
	}
	next := c
	next.Files, next.Columns, next.Creators, next.Keywords, next.Extra = nil, nil, nil, nil, nil
	// What Merge sorts by is in every part.
	rest := crawl.DatasetClaim{Kind: c.Kind, Document: c.Document, Line: c.Line, N: c.N, Origin: c.Origin, Allowed: c.Allowed, Depth: c.Depth, External: c.External}
	if jsonSize(&next) > limit {
		for _, s := range []*string{&next.ID, &next.Page, &next.Name, &next.Title, &next.Description, &next.License, &next.Publisher,
			&next.Version, &next.Issued, &next.Modified, &next.Type, &next.Source} {
			*s = catalog.Shorten(*s, limit/100) // JSON may make six bytes of one
		}
	}
	size := jsonSize(&next) + 100 // the lists' names and brackets
	var err error
	add := func(v any, put func(*crawl.DatasetClaim)) {
		n := jsonSize(v) + 1
		if n > limit/2 || err != nil {
			return // one value that long says nothing to anybody
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
	b, err := json.Marshal(v) // escapes more than what is sent: never less
	if err != nil {
		return 0 // sending it will say so
	}
	return len(b)
}
