package search

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Show completes hits from the store: those of urls that this shard has and that may be shown. The
// store decides what is shown: a page that was removed since it was indexed, or must not be shown
// any more, is left out, and a snippet is cut from the stored text, or left out if the page has the
// directive nosnippet.
func (x *Index) Show(ctx context.Context, p *Plan, urls []string) (hits []crawl.Hit, err error) {
	defer x.edge(&err)()
	if x.empty() {
		return nil, x.broken
	}
	r := snippers.Get().(*snipper)
	for _, u := range urls {
		if err := ctx.Err(); err != nil {
			return hits, err
		}
		h, ok, err := x.show(r, p, canon.URL(u))
		if err != nil {
			return hits, fmt.Errorf("search: %w", err)
		}
		if ok {
			hits = append(hits, h)
		}
	}
	r.free()
	return hits, nil
}

func (x *Index) hidden(u string) bool {
	return u != "" && x.o.Hidden != nil && x.o.Hidden(canon.URL(u))
}

func (x *Index) show(r *snipper, p *Plan, u canon.URL) (h crawl.Hit, ok bool, err error) {
	page, ok, err := x.store.GetInto(r.packed, u)
	r.packed = page.Body
	if !ok || err != nil || page.Expired(x.o.Now()) || page.Directives&crawl.NoIndex != 0 || x.hidden(string(u)) {
		return h, false, err
	}
	h = crawl.Hit{URL: string(page.URL), Title: page.Title, Depth: page.Depth, StoredSince: page.Since, Type: page.ContentType,
		FetchedAt: page.FetchedAt, Size: page.Size, Usage: crawl.UsageOf(page.Usage)}
	if !x.hidden(string(page.Canonical)) {
		h.Canonical = string(page.Canonical)
	}
	if !x.hidden(string(page.AliasOf)) {
		h.AliasOf = string(page.AliasOf)
	}
	for _, a := range page.Aliases {
		if !x.hidden(string(a)) {
			h.Also = append(h.Also, string(a))
		}
	}
	h.Description, h.Fields = page.RuledExcerpt()
	if page.SnippetAllowed() {
		var s string
		var marks [][2]int
		var section *crawl.Section
		r.content = x.o.Content
		if x.o.Read(&page, func() { s, marks, section = r.snippet(&page, p) }) != nil {
			*r = snipper{} // what runs there may end in the middle, by a panic
			return h, false, nil
		}
		h.Section = section
		if s != "" {
			h.Snippet, h.Marks = &s, marks
		}
	}
	if page.SHA256 == [32]byte{} {
		return h, true, nil
	}
	h.SHA256 = hex.EncodeToString(page.SHA256[:])
	twins, err := x.store.ByDigest(page.SHA256, maxAlso+1)
	if err != nil {
		return h, false, err
	}
	for _, t := range twins {
		if !x.hidden(string(t.URL)) && !t.Expired(x.o.Now()) && t.Directives&crawl.NoIndex == 0 {
			h.Also = append(h.Also, string(t.URL))
		}
	}
	h.Also = addresses(h.Also, h.URL)
	return h, true, nil
}
